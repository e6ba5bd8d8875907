"""Measurements of the paper's figures: scores along a walk, similarity of maps, confidence, counting."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.explain import explain
from samp.methods import SAMP, Method, SAMPPlusPlus
from samp.metrics.concentration import gini
from samp_lab.measurements.base import PartResult, to_numbers
from samp_lab.measurements.map_grain import contours
from samp_lab.nets.blue_counter import BLUE
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

FROM_BLACK = SAMP(direction="to_image", baseline="black")
FOR_PICTURES = SAMPPlusPlus(eta=0.02)  # the paper's η for pictures
POINTS = 101  # of a score curve, at each percent of its walk
EARLY = 25  # percent of the walk that the paper calls its start


@dataclass(frozen=True)
class WalkScores:
    """The walk from black to the image: its map, when each pixel arrives, and the score at each percent of its steps.

    `early` is the score's rise over the first quarter and `drop` its fall at the end, both as shares of the whole rise
    from the start to the highest score; `last` is the change of the last step over that of a mean step. SAMP moves each
    pixel in one step, so the credit so far is that of the pixels that have arrived.

    >>> from samp_lab.setups import parse_setup
    >>> WalkScores(parse_setup("photos")).method.direction
    'to_image'
    """

    kind: ClassVar[str] = "walked"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method = FROM_BLACK
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        steps, order = result.steps["to_image"].clamp(min=1), result.order["to_image"]
        arrival = (order.clamp(min=0) / steps[:, None]).view(len(part.x), *part.x.shape[2:])
        scores = even_scores(result)
        start, highest = scores[:, 0], result.scores["to_image"].nan_to_num(nan=-torch.inf).amax(1).to(scores)
        rise = highest - start
        found = {
            "early": to_numbers((scores[:, EARLY] - start) / rise),
            "drop": to_numbers((highest - scores[:, -1]) / rise),
            "last": to_numbers(last_change(result.scores["to_image"], result.steps["to_image"])),
            "steps": to_numbers(steps),
        }
        arrays = {"map": result.map, "arrival": arrival, "scores": scores}
        return PartResult(found, arrays={name: array.detach().float().cpu() for name, array in arrays.items()})


def even_scores(result: Attribution) -> Tensor:
    """Return b 101: the scores of the walk to the image at each percent of its steps, interpolated linearly."""
    rows = []
    for scores, count in zip(result.scores["to_image"].double(), result.steps["to_image"].tolist(), strict=True):
        place = torch.linspace(0, count, POINTS, dtype=torch.float64, device=scores.device)
        below = place.floor().long().clamp(max=max(count - 1, 0))
        above = (below + 1).clamp(max=count)
        rows.append(torch.lerp(scores[below], scores[above], place - below))
    return torch.stack(rows)


def last_change(scores: Tensor, steps: Tensor) -> Tensor:
    """Return b: |change of the score| in a walk's last step, over its mean over all steps; NaN if nothing changes.

    >>> last_change(torch.tensor([[0.0, 3.0, 2.0, torch.nan]]), torch.tensor([2]))
    tensor([0.5000], dtype=torch.float64)
    """
    changes = [row[: count + 1].diff().abs() for row, count in zip(scores.double(), steps.tolist(), strict=True)]
    return torch.stack([one[-1:].sum() / one.mean() for one in changes])  # the mean of no steps is NaN


@dataclass(frozen=True)
class MapSimilarity:
    """How similar the maps of several methods are: for each image the mean Pearson correlation over all pairs.

    `contours` is the same of the maps' contours (`samp_lab.measurements.map_grain`).

    >>> from samp_lab.setups import parse_setup
    >>> MapSimilarity(parse_setup("photos"), (SAMP(), SAMPPlusPlus())).kind
    'alike'
    """

    kind: ClassVar[str] = "alike"
    version: ClassVar[int] = 1

    setup: Setup
    methods: tuple[Method, ...]
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        maps = torch.stack([_map(part, method) for method in self.methods], 1)  # b m h w
        found = {"correlation": mean_correlation(maps), "contours": mean_correlation(contours(maps))}
        return PartResult({name: to_numbers(values) for name, values in found.items()}, arrays={"maps": maps})


def mean_correlation(maps: Tensor) -> Tensor:
    """Return b: the mean Pearson correlation over all pairs of m maps (b m h w).

    >>> one = torch.tensor([[[[1.0, 2.0]], [[2.0, 4.0]], [[2.0, 1.0]]]])
    >>> mean_correlation(one)  # 1, −1 and −1
    tensor([-0.3333], dtype=torch.float64)
    """
    flat = maps.double().flatten(2)
    flat = flat - flat.mean(2, keepdim=True)
    flat = flat / flat.norm(dim=2, keepdim=True)
    pairs = [(flat[:, i] * flat[:, j]).sum(1) for i, j in combinations(range(flat.shape[1]), 2)]
    return torch.stack(pairs).mean(0)


@dataclass(frozen=True)
class Confidence:
    """The net's confidence in the class explained (soft-max), and how concentrated and how scattered its map is.

    >>> from samp_lab.setups import parse_setup
    >>> Confidence(parse_setup("imagenet")).method.eta
    0.02
    """

    kind: ClassVar[str] = "confident"
    version: ClassVar[int] = 1

    setup: Setup
    method: Method = FOR_PICTURES
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        with torch.no_grad():
            confidence = part.net(part.x).double().softmax(1).gather(1, part.target[:, None])[:, 0]
        maps = _map(part, self.method)
        found = {
            "confidence": to_numbers(confidence),
            "gini": to_numbers(gini(maps)),
            "scatter": to_numbers(scatter(maps)),
        }
        return PartResult(found, arrays={"map": maps})


def scatter(maps: Tensor) -> Tensor:
    """Return b: the root mean square distance of positive credit from its centre, over that of even credit.

    >>> even, point = torch.ones(1, 4, 4), torch.eye(16)[:1].view(1, 4, 4)
    >>> scatter(even).item(), scatter(point).item()
    (1.0, 0.0)
    """
    height, width = maps.shape[1:]
    rows, columns = torch.meshgrid(
        *(torch.arange(n, dtype=torch.float64, device=maps.device) for n in (height, width)), indexing="ij"
    )
    credit = maps.double().clamp(min=0)
    credit = credit / credit.sum((1, 2), keepdim=True)  # b h w, NaN where none is positive
    squares = torch.zeros(len(maps), dtype=torch.float64, device=maps.device)
    for place in (rows, columns):
        centre = (credit * place).sum((1, 2), keepdim=True)
        squares += (credit * (place - centre) ** 2).sum((1, 2))
    even = (height**2 - 1 + width**2 - 1) / 12  # the variance of whole numbers 0 … n − 1 is (n² − 1) / 12
    return (squares / even).sqrt()


@dataclass(frozen=True)
class CountingCredit:
    """Credit for counting blue pixels: how unequal it is among them, and how much of it other pixels get.

    `spread` is (largest − smallest) / mean over the blue pixels, all equally blue; `elsewhere` the share of |credit|
    on all other pixels.

    >>> from samp_lab.setups import parse_setup
    >>> CountingCredit(parse_setup("counting"), "ig").setup.net
    'counting'
    """

    kind: ClassVar[str] = "counted"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        maps = _map(part, self.method)
        blue = (part.x.cpu() == torch.tensor(BLUE).view(3, 1, 1) / 255).all(1)  # b h w
        spread = torch.stack([relative_spread(credit[mask]) for credit, mask in zip(maps, blue, strict=True)])
        elsewhere = (maps.abs() * ~blue).sum((1, 2)) / maps.abs().sum((1, 2))
        found = {"spread": to_numbers(spread), "elsewhere": to_numbers(elsewhere), "blue": blue.sum((1, 2)).tolist()}
        return PartResult(found, arrays={"map": maps})


def relative_spread(credit: Tensor) -> Tensor:
    """Return (largest − smallest) / |mean|.

    >>> relative_spread(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return (credit.max() - credit.min()) / credit.mean().abs()


def _map(part: ImagePart, method: str | Method) -> Tensor:
    result = explain(part.net, part.x, target=part.target, method=method, seed=part.seed)
    return result.map.detach().float().cpu()
