"""Noise on the points where a walk takes its gradients, and the mean of several such walks.

A walk that takes the best groups first turns rounding into another order of groups, so one walk's pixels are half
chance. Walks with noise of their own differ by chance alone, and their mean keeps what they agree on.

Noise never touches a walk's ends: the score there is the model's own, so the credit of each walk sums to the score
change exactly. In between, the score at x is that at x + ε less ε·∇f(x + ε), its value to first order. Noise is added
to the model's input and nothing is moved, so a feature that the model does not use has no gradient in any walk, and
earns nothing.

Letters: r rows (one per walk), d directions, n elements, w walks of a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import Direction
from samp.devices import WITHOUT_FLOAT64
from samp.engine.problem import Problem
from samp.engine.record import WalkRecord, join_records, select_rows
from samp.engine.walk import Route

AGREEMENT = 0.95  # correlation with the map of as many other walks, at the stated resolution
SIDES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # pixels, the resolutions that are tried
SHORTEST_FIELD = 2**16  # numbers
MOST_POINTS = 4096  # of a walk that have noise of their own; later ones take it again from the first


@dataclass(eq=False)
class Jitter:
    """Noise for the gradients of a batch of walks; it depends on the seed, the walk and the step, on nothing else.

    There is one field of normal noise for all; each walk reads it from another place at each of its steps. The field is
    at least `SHORTEST_FIELD` long, so that inputs of few elements have noise of their own at each step, too.
    """

    problem: Problem
    walks: int
    first_row: int
    scale: Tensor  # b n or b 1, the standard deviation of the noise on each element
    noise: Tensor  # the field, and its first n numbers again, so that it can be read from any place
    places: Tensor  # w MOST_POINTS d, where to read it
    end: Tensor  # R dn, of the rows
    start_scores: Tensor  # R d
    end_scores: Tensor  # R d
    step: int = 0

    @classmethod
    def make(cls, problem: Problem, route: Route, rows: range, settings: JitterSettings, ends: EndScores) -> Jitter:
        """Return the jitter for these rows of a route."""
        elements, baselines = problem.x.shape[1], settings.baselines
        generator = torch.Generator().manual_seed(settings.seed)
        white = torch.randn(max(elements, SHORTEST_FIELD), generator=generator, dtype=torch.float64)
        seeds = torch.randint(2**62, (settings.first_walk + settings.walks,), generator=generator).tolist()
        places = [_places(len(white), len(baselines), seed) for seed in seeds[settings.first_walk :]]
        start_scores, end_scores = ends.up_to(-(-rows.stop // settings.walks), problem)
        return cls(
            problem=problem,
            walks=settings.walks,
            first_row=rows.start,
            scale=noise_scale(problem, baselines) * settings.noise,
            noise=torch.cat([white, white[:elements]]).to(problem.x),
            places=torch.stack(places).to(problem.x.device),
            end=route.end,
            start_scores=start_scores[route.sample],
            end_scores=end_scores[route.sample],
        )

    def value_and_gradient(self, points: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores (r d) at points (rd n) of these rows (r), and the gradients (rd n) at points with noise."""
        directions = self.start_scores.shape[1]
        samples = (rows // self.walks).repeat_interleave(directions)
        place = self.places[rows % self.walks, self.step % MOST_POINTS].flatten()  # rd
        noise = self.noise.unfold(0, points.shape[1], 1)[place].mul_(self.scale[samples])
        value, gradient = self.problem.value_and_gradient(points + noise, samples)
        value = (value - (gradient * noise).sum(1)).view(-1, directions)
        own = rows - self.first_row
        if self.step == 0:
            value = torch.where(value.isfinite(), self.start_scores[own], value)  # a failure stays one
        else:
            arrived = (points.view(len(rows), -1) == self.end[own]).all(1, keepdim=True)
            value = torch.where(arrived & value.isfinite(), self.end_scores[own], value)
        self.step += 1
        return value, gradient


@dataclass(frozen=True, eq=False)
class JitterSettings:
    """How many walks each sample takes from which on, with how much noise, and between which ends."""

    baselines: Mapping[Direction, Tensor]  # b n each
    noise: float
    walks: int
    first_walk: int
    seed: int


def noise_scale(problem: Problem, baselines: Mapping[Direction, Tensor]) -> Tensor:
    """Return the unit of noise on each element (b n, or b 1 if all have one).

    That is the span of its sample's pixels for an image (b c h w). The elements of other inputs may have units of their
    own: it is how far each of them is from its baseline, the furthest if there are several.
    """
    if len(problem.inputs) == 1 and problem.inputs[0].ndim == 4:
        return problem.x.amax(1, keepdim=True) - problem.x.amin(1, keepdim=True)
    ways = torch.stack([(problem.x - baseline).abs() for baseline in baselines.values()]).amax(0)
    spans = [
        (x.flatten(1).amax(1) - x.flatten(1).amin(1))[:, None].expand(-1, x[0].numel()) if x.ndim == 4 else None
        for x in problem.inputs
    ]
    parts = zip(torch.split(ways, [x[0].numel() for x in problem.inputs], 1), spans, strict=True)
    return torch.cat([way if span is None else span.to(way) for way, span in parts], 1)


class EndScores:
    """The model's scores at the ends of the walks, by forward passes; the walks of a sample share them.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(lambda x: x, torch.tensor([[3.0], [5.0]]), target=0)
    >>> EndScores({"to_baseline": torch.zeros(2, 1), "to_image": torch.ones(2, 1)}).up_to(1, problem)
    (tensor([[3., 1.]]), tensor([[0., 3.]]))
    """

    def __init__(self, baselines: Mapping[Direction, Tensor]) -> None:
        self.baselines, self.scores, self.count = baselines, torch.empty(2, 0, len(baselines)), 0

    def up_to(self, count: int, problem: Problem) -> tuple[Tensor, Tensor]:
        """Return the scores of the first samples at their starts and their ends (s d each), at least `count` of them.

        Only those of further samples than before are computed.
        """
        if count > self.count:
            samples = torch.arange(self.count, count, device=problem.x.device)
            at_image = end_score(problem, problem.x, samples)
            pairs = [
                torch.stack((end_score(problem, baseline, samples), at_image)[:: 1 if direction == "to_image" else -1])
                for direction, baseline in self.baselines.items()
            ]
            new = torch.stack(pairs, 2)  # 2 s d
            self.scores = torch.cat([self.scores, new], 1) if self.count else new
            self.count = count
        return self.scores[0], self.scores[1]


@torch.no_grad()
def end_score(problem: Problem, points: Tensor, samples: Tensor) -> Tensor:
    """Return the model's score (r) at the points (b n) of these samples (r)."""
    x, filled = points[samples], samples
    if problem.sizes:
        x, filled = problem.sizes.fill_up(x, samples)
    return problem.score(problem.output(x, filled), filled)[: len(samples)].to(points.dtype)


def _places(length: int, directions: int, seed: int) -> Tensor:
    """Return where a walk reads a field of this length at each of its points (MOST_POINTS d)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(length, (MOST_POINTS, directions), generator=generator)


class WalkMean:
    """The mean of the walks of each sample; curves, order and tapes are those of the first."""

    def __init__(self, problem: Problem, directions: int) -> None:
        self.shapes, self.directions, self.walks = [x.shape for x in problem.inputs], directions, 0
        self.level_patches = problem.level_patches
        self.values = torch.zeros(problem.batch * directions, problem.x.shape[1]).to(problem.x)  # sums
        self.contrast = torch.zeros_like(problem.x)  # b n, the even walks less the odd ones
        self.gradients, self.blind = (torch.zeros(len(self.values), dtype=torch.long) for _ in range(2))
        self.failed = torch.full((len(self.values),), -1)
        self.first: list[WalkRecord] = []

    def add(self, records: Iterable[WalkRecord], walks: int) -> None:
        """Add so many further walks of every sample, from records in the order of the rows, those of a sample adjacent.

        A sample's walks are added in the same order whatever the batches, so that rounding is the same, too.
        """
        done = 0
        for record in records:
            rows = torch.arange(done, done + len(record.values) // self.directions)
            for walk in range(walks):
                self._add_walk(record, rows // walks, rows % walks == walk, self.walks + walk)
            done += len(rows)
        self.walks += walks

    def _add_walk(self, record: WalkRecord, samples: Tensor, chosen: Tensor, number: int) -> None:
        """Add the chosen rows of a record (r), the walks of this number of their samples (r)."""
        here = chosen.repeat_interleave(self.directions).nonzero().squeeze(1)
        if not len(here):
            return
        part, samples = select_rows(record, here), samples[chosen]
        into = (samples[:, None] * self.directions + torch.arange(self.directions)).flatten()
        if number == 0:
            self.first.append(part)
        self.values[into.to(self.values.device)] += part.values
        both = part.values.view(len(samples), self.directions, -1).sum(1)
        self.contrast[samples.to(self.values.device)] += both if number % 2 == 0 else -both
        self.gradients[into] += part.steps.cpu() + 1
        self.blind[into] += part.blind.cpu()
        self.failed[into] = torch.maximum(self.failed[into], part.failed.cpu())

    def copy(self) -> WalkMean:
        """Return a copy, to which walks can be added while this one stays as it is."""
        other = copy(self)
        for name in ("values", "contrast", "gradients", "blind", "failed"):
            setattr(other, name, getattr(self, name).clone())
        other.first = list(self.first)
        return other

    def record(self) -> WalkRecord:
        """Return one record with a row per sample and direction."""
        first, device = join_records(self.first), self.values.device
        return WalkRecord(
            values=self.values / self.walks,
            scores=first.scores,
            order=first.order,
            steps=first.steps,
            blind=self.blind.to(device),
            failed=self.failed.to(device),
            tapes=first.tapes,
            gradients=self.gradients.to(device),
            resolution=self._resolution(),
        )

    def _resolution(self) -> Tensor | None:
        """Return the resolution of each sample's map in pixels (b), for images; None for other inputs or one walk."""
        image = self.shapes[0]
        if self.walks == 1 or len(self.shapes) > 1 or len(image) != 4:
            return None
        level = self.level_patches  # as the result's map is
        total = level(self.values.view(image[0], self.directions, -1).sum(1)).view(image).sum(1)  # b h w
        contrast = level(self.contrast).view(image).sum(1)
        return map_resolution((total + contrast) / self.walks, (total - contrast) / self.walks)


def map_resolution(even: Tensor, odd: Tensor) -> Tensor:
    """Return the side in pixels of the squares over which maps are reproducible (b), from those of two halves of walks.

    The correlation of the halves (b h w), both averaged over such squares, is that of maps of half as many walks;
    Spearman and Brown's formula makes it that of all. The smallest of `SIDES` at which it is `AGREEMENT` or more is
    returned, or 0 if it is not reached at any that has four squares in a row. It is an estimate from two halves.

    >>> rows = torch.arange(8.0).expand(1, 8, 8)
    >>> checks = torch.tensor([[1.0, -1.0], [-1.0, 1.0]]).repeat(4, 4)
    >>> map_resolution(rows, rows), map_resolution(rows + 4 * checks, rows - 4 * checks)
    (tensor([1]), tensor([2]))
    """
    sides = [side for side in SIDES if side == 1 or 4 * side <= min(even.shape[1:])]
    found = torch.zeros(len(even), dtype=torch.long, device=even.device)
    wide = torch.float32 if even.device.type in WITHOUT_FLOAT64 else torch.float64
    for side in reversed(sides):
        a, b = (F.avg_pool2d(half[:, None].to(wide), side).flatten(1) for half in (even, odd))
        found = torch.where(_correlate_whole(a, b) >= AGREEMENT, side, found)
    return found


def _correlate_whole(a: Tensor, b: Tensor) -> Tensor:
    """Return the correlation (b) expected of means of all walks, from their halves (b s); 1 if these are equal.

    Halves that are level have no correlation, and yet they agree: credit that is 0 everywhere, say.
    """
    same = (a == b).all(1)
    a, b = (half - half.mean(1, keepdim=True) for half in (a, b))
    halves = (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1)).clamp(min=torch.finfo(a.dtype).tiny)
    return torch.where(same, 1, 2 * halves / (1 + halves.clamp(min=-0.99)))
