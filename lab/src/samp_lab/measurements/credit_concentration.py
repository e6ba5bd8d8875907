"""Def. 1 in numbers: how concentrated a method's credit is, and the true changes of the score along its order.

Def. 1 compares paths by Var(a) where all credits sum to the same C = Δy. The paper's credits do not sum to it, so two
variances are measured: that of the map, brought to the sum 1; and that of *exact* credits, each step's true change of
the score, along the order in which the method moves (or ranks) the pixels, which sum to C for every order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.baselines import Blurred, black
from samp.explain import explain
from samp.methods import SAMP, Method, resolve_method
from samp.metrics.concentration import gini, top_share, variance
from samp.metrics.protocols import PROTOCOLS
from samp_lab.measurements.base import PartResult, to_numbers
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

SMALL_SIDE, SMALL_STEP, STEPS = 32, 10, 14  # SAMP's: 10 pixels a step up to 32×32 pixels, else 14 steps


@dataclass(frozen=True)
class CreditConcentration:
    """How concentrated a method's credit is on each image, by two variances, Gini and the share of the top 10 %.

    `map variance` is log10 of d²·Var(a / Σa) of the map, in which Σa is 1 for all. `path variance` is log10 of Var(a)
    of exact credits along the method's order of pixels (`exact_variance`), by direction: SAMP's is that of its path,
    that of a method which does not move pixel by pixel is the ranking by its credit. Logarithms, since ratios of
    variances compare over images; NaN where credit sums to 0.

    >>> from samp_lab.setups import parse_setup
    >>> CreditConcentration(parse_setup("mnist"), "samp").kind
    'concentrated'
    """

    kind: ClassVar[str] = "concentrated"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        maps = result.map.detach()
        found = {
            "map variance": to_numbers(relative_variance(maps).log10()),
            "gini": to_numbers(gini(maps)),
            "top10": to_numbers(top_share(maps)),
        }
        moves_pixels = isinstance(resolve_method(self.method), SAMP)
        for direction, (start, end) in walk_ends(part.x, self.setup.protocol).items():
            order = path_order(result, direction) if moves_pixels else credit_order(result)
            spread, change = exact_variance(part, start, end, order)
            found[f"path variance {direction}"] = to_numbers(spread.log10())
            found[f"change {direction}"] = to_numbers(change)
        return PartResult(found, {"seconds": [seconds / len(maps)] * len(maps)})


def relative_variance(maps: Tensor) -> Tensor:
    """Return b: d²·Var(a / Σa), the variance of credit in units of its mean's square; 0 for even credit.

    >>> relative_variance(torch.tensor([[[4.0, 0.0]], [[8.0, 0.0]], [[1.0, 1.0]]])).tolist()
    [1.0, 1.0, 0.0]
    """
    mean = maps.double().flatten(1).mean(1)
    return variance(maps) / mean**2


def walk_ends(x: Tensor, protocol: str) -> dict[Direction, tuple[Tensor, Tensor]]:
    """Return the two ends of each direction's walk, b c h w: the image and the fills of the setup's protocol.

    Fills that are made of what is visible have no end of a walk: the paper's black and blurred stand in for them.
    """
    chosen = PROTOCOLS[protocol]
    fill, start = (
        given(x) if callable(given) else other(x) for given, other in ((chosen.fill, black), (chosen.start, Blurred()))
    )
    return {"to_baseline": (x, fill), "to_image": (start, x)}


def path_order(result: Attribution, direction: Direction) -> Tensor:
    """Return b p: each image's pixels in the order in which they arrive, those that never move last.

    Pixels that arrive together keep the order of their indices.
    """
    arrival = result.order[direction]
    return torch.where(arrival < 0, arrival.max() + 1, arrival).argsort(dim=1, stable=True)


def credit_order(result: Attribution) -> Tensor:
    """Return b p: each image's pixels by their credit, the largest first."""
    return result.map.detach().flatten(1).argsort(dim=1, descending=True, stable=True)


def exact_variance(part: ImagePart, start: Tensor, end: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Return b: Var(a) over pixels, where each pixel of a step gets an even share of the score's true change; and b: C.

    Only pixels that differ between the ends move; they do so in this order (b p), as many a step as SAMP moves.
    """
    spread, changes = [], []
    for image in range(len(order)):
        scores, sizes = _scores_along(part, image, (start[image], end[image]), order[image])
        credit, change = scores.diff(), scores[-1] - scores[0]
        spread.append(step_variance(credit, sizes, order.shape[1]))
        changes.append(change)
    return torch.stack(spread), torch.stack(changes)


def step_variance(credit: Tensor, sizes: Tensor, pixels: int) -> Tensor:
    """Return the variance over all pixels of credits that steps (n) share evenly among the pixels they move (n).

    >>> step_variance(torch.tensor([4.0, 0.0]), torch.tensor([2, 1]), pixels=4)  # of 2, 2, 0 and 0
    tensor(1., dtype=torch.float64)
    """
    credit = credit.double()
    return (credit**2 / sizes).sum() / pixels - (credit.sum() / pixels) ** 2


def pixels_per_step(height: int, width: int) -> int:
    """Return how many pixels SAMP moves in a step.

    >>> pixels_per_step(28, 28), pixels_per_step(224, 224)
    (10, 3584)
    """
    return SMALL_STEP if max(height, width) <= SMALL_SIDE else -(-height * width // STEPS)


def _scores_along(part: ImagePart, image: int, ends: tuple[Tensor, Tensor], order: Tensor) -> tuple[Tensor, Tensor]:
    """Return n+1 scores of an image's points along an order (p), in float64, and how many pixels each step moved."""
    start, end = ends
    moving = (start != end).any(0).flatten().to(order.device)
    order = order[moving[order]]
    size = pixels_per_step(*start.shape[1:])
    step = torch.full((start[0].numel(),), -1, device=order.device)
    step[order] = torch.arange(len(order), device=order.device) // size
    steps = -(-len(order) // size)
    place = step.view(1, 1, *start.shape[1:]).to(start.device)
    done = torch.arange(steps + 1, device=start.device).view(-1, 1, 1, 1)
    points = torch.where(place < done, end, start)  # n+1 c h w; pixels alike at both ends have step −1
    with torch.no_grad():
        scores = torch.cat([part.net(some)[:, part.target[image]] for some in torch.split(points, 128)])
    return scores.double().cpu(), torch.bincount(step[order], minlength=steps).cpu()
