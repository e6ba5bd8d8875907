"""Measurements beyond the paper: paths beside the optimum, scores along random orders, maps scored by another net."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from samp.attribution import DIRECTIONS, Attribution, Direction
from samp.baselines import Blurred, black
from samp.explain import explain
from samp.groups import Patches
from samp.methods import Method
from samp.metrics.deletion_insertion import deletion_insertion
from samp_lab.measurements.base import Column, PartResult, to_numbers
from samp_lab.setups import Setup
from samp_lab.theory.allocation import Allocation, allocation
from samp_lab.theory.optimal_path import (
    Floats,
    Integers,
    Manipulation,
    ScoredPath,
    beam_search,
    evaluate_order,
    greedy_path,
    max_area_path,
    max_variance_path,
    variance,
)
from samp_lab.workspace import ImagePart

PAIR = (black, Blurred())
"""The paper's baselines: deletion ends at black, insertion starts from the blurred image."""
WAYS = (*DIRECTIONS, "both")
"""The two directions, each with its own order, and "both": one order, whose moves earn in both directions."""
WIDTHS = (4, 16, 64)
RANDOM = 200  # orders


@dataclass(frozen=True)
class Squares:
    """Groups of `across` × `across` equal patches.

    >>> Squares(2).ids(torch.zeros(1, 1, 4, 4)).tolist()
    [[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]]
    """

    across: int = 4

    def ids(self, x: Tensor) -> Tensor:
        """Return b h w: the number of each pixel's group."""
        size = -(-max(x.shape[2:]) // self.across)
        return Patches(size).ids((1, *x.shape[2:])).to(x.device).expand(len(x), -1, -1)


@dataclass(frozen=True)
class Superpixels:
    """Groups of similar pixels near each other: k-means over colour and place, from the centres of `across` × `across`.

    Weighed as in SLIC: a distance of `stiffness` standard deviations of colour counts as one patch's width.

    >>> halves = torch.cat([torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, 2)], 3)
    >>> Superpixels(2).ids(halves)[0].unique().tolist()
    [0, 1, 2, 3]
    """

    across: int = 4
    stiffness: float = 1.0
    rounds: int = 10

    def ids(self, x: Tensor) -> Tensor:
        """Return b h w: the number of each pixel's group."""
        squares = Squares(self.across).ids(x)
        return torch.stack([self._segment_one(image, first) for image, first in zip(x, squares, strict=True)])

    def _segment_one(self, image: Tensor, ids: Tensor) -> Tensor:
        height, width = ids.shape
        place = torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")).to(image)
        colour = image / (image.std() * self.stiffness).clamp(min=1e-6)
        points = torch.cat([colour, place * self.across / max(height, width)]).flatten(1).T  # p c+2
        found, count = ids.flatten(), int(ids.max()) + 1
        for _ in range(self.rounds):
            member = torch.nn.functional.one_hot(found, count).to(points)  # p g
            centres = member.T @ points / member.sum(0).clamp(min=1)[:, None]
            centres[member.sum(0) == 0] = torch.inf  # a group that lost all its pixels stays empty
            found = torch.cdist(points, centres, compute_mode="donot_use_mm_for_euclid_dist").argmin(1)
        return found.view(height, width)


Cut = Squares | Superpixels


@dataclass(frozen=True)
class Optimum:
    """The largest variance of credits (Eq. 5) and the largest area of all orders, and searches without gradients.

    `numbers` hold both by search and way (`WAYS`): "optimum to_image variance", "beam 4 both area" … "optimum" is the
    path of largest variance, "highest" that of largest area, "random" the mean of many orders.

    >>> from samp_lab.setups import parse_setup
    >>> Optimum(parse_setup("mnist")).cut
    Squares(across=4)
    """

    kind: ClassVar[str] = "optimum"
    version: ClassVar[int] = 1

    setup: Setup
    cut: Cut = Squares()
    most: int | None = 50

    def measure(self, part: ImagePart) -> PartResult:
        found: dict[str, Column] = {}
        started = part.now()
        for image, walks in enumerate(manipulations(part, self.cut)):
            tables = {direction: walk.score_all_sets() for direction, walk in walks.items()}
            for way, score in rising_scores(tables).items():
                for search, paths in self._search(score, part.seed + image).items():
                    for name in ("variance", "area"):
                        mean = float(np.mean([getattr(path, name) for path in paths]))
                        found.setdefault(f"{search} {way} {name}", []).append(float(f"{mean:.7g}"))
        return PartResult(found, {"seconds": [(part.now() - started) / len(part.x)] * len(part.x)})

    def _search(self, score: Floats, seed: int) -> dict[str, list[ScoredPath]]:
        """Return the paths of each search for a score that should rise."""
        orders = random_orders(len(score).bit_length() - 1, RANDOM, seed)
        found = {"optimum": max_variance_path(score), "highest": max_area_path(score), "greedy": greedy_path(score)}
        found |= {f"beam {width}": beam_search(score, width) for width in WIDTHS}
        return {**{name: [path] for name, path in found.items()}, "random": [evaluate_order(score, o) for o in orders]}


@dataclass(frozen=True)
class MethodOrders:
    """The variance of true credits and the area along a method's order of groups, one a step, in each of the `WAYS`.

    The orders of the two directions are those of its paths; the order for both is the ranking of its credit.

    >>> from samp_lab.setups import parse_setup
    >>> MethodOrders(parse_setup("mnist"), "samp").kind
    'ordered'
    """

    kind: ClassVar[str] = "ordered"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    cut: Cut = Squares()
    most: int | None = 50

    def measure(self, part: ImagePart) -> PartResult:
        ids = self.cut.ids(part.x)[:, None]  # b 1 h w
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, groups=ids, seed=part.seed)
        seconds = part.now() - started
        found: dict[str, Column] = {"gradients": to_numbers(result.gradients)}
        for image, walks in enumerate(manipulations(part, self.cut)):
            for way, order in orders_of(result, image, next(iter(walks.values())).groups).items():
                along = rising_scores({d: walk.score_along(order) for d, walk in walks.items()})[way]
                for name, value in (("variance", variance(np.diff(along))), ("area", along.mean())):
                    found.setdefault(f"{way} {name}", []).append(float(f"{float(value):.7g}"))
        return PartResult(found, {"seconds": [seconds / len(part.x)] * len(part.x)})


@dataclass(frozen=True)
class RandomOrders:
    """Scores and credits of a real net along random orders of the groups, to compare with Ass. 1.

    `numbers` hold the fields of `Allocation`, by direction.

    >>> from samp_lab.setups import parse_setup
    >>> RandomOrders(parse_setup("mnist")).orders
    100
    """

    kind: ClassVar[str] = "shuffled"
    version: ClassVar[int] = 1

    setup: Setup
    cut: Cut = Squares(7)
    orders: int = 100
    most: int | None = 20

    def measure(self, part: ImagePart) -> PartResult:
        found: dict[str, Column] = {}
        started = part.now()
        for image, walks in enumerate(manipulations(part, self.cut)):
            for direction, walk in walks.items():
                orders = random_orders(walk.groups, self.orders, part.seed + image)
                for name, value in _round_all(allocation(walk.score_along(orders), orders)).items():
                    found.setdefault(f"{name} {direction}", []).append(value)
        return PartResult(found, {"seconds": [(part.now() - started) / len(part.x)] * len(part.x)})


@dataclass(frozen=True)
class TransferCurves:
    """Maps of the setup's net, scored by another net: its Deletion and Insertion of the class that they explain.

    >>> from samp_lab.setups import parse_setup
    >>> TransferCurves(parse_setup("imagenet"), "samp++", "squeezenet1_1").judge
    'squeezenet1_1'
    """

    kind: ClassVar[str] = "transferred"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    judge: str
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        judge, x = part.other_net(self.judge)
        if x.shape[2:] != part.x.shape[2:]:
            raise ValueError(
                f"{self.judge} takes {tuple(x.shape[2:])} pixels and {self.setup.net} {tuple(part.x.shape[2:])}: "
                "take a judge of the same input size."
            )
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        curves = deletion_insertion(judge, x, result.map, part.target, self.setup.protocol)
        columns = {name: to_numbers(getattr(curves, name)) for name in ("deletion", "insertion", "difference")}
        return PartResult(columns, {"seconds": [seconds / len(part.x)] * len(part.x)})


def manipulations(part: ImagePart, cut: Cut) -> Iterator[dict[Direction, Manipulation]]:
    """Yield the two walks by groups of each image, scored by the logit of the predicted class."""
    dark, soft = (baseline(part.x) for baseline in PAIR)
    for image, ids in enumerate(cut.ids(part.x)):
        score = partial(_class_score, part.net, int(part.target[image]))
        ends = {"to_baseline": (part.x[image], dark[image]), "to_image": (soft[image], part.x[image])}
        yield {d: Manipulation(score, *ends[d], ids) for d in DIRECTIONS}


def rising_scores(scores: Mapping[Direction, Floats]) -> dict[str, Floats]:
    """Return scores of both directions as quantities that should rise, for each of the `WAYS`.

    >>> list(rising_scores({"to_baseline": np.array([1.0]), "to_image": np.array([3.0])}).values())
    [array([-1.]), array([3.]), array([2.])]
    """
    fall, rise = scores["to_baseline"], scores["to_image"]
    return {"to_baseline": -fall, "to_image": rise, "both": rise - fall}


def random_orders(groups: int, count: int, seed: int) -> Integers:
    """Return k d: `count` uniformly random orders.

    >>> random_orders(3, 2, seed=0).shape
    (2, 3)
    """
    return np.random.default_rng(seed).permuted(np.tile(np.arange(groups), (count, 1)), axis=1)


def orders_of(result: Attribution, image: int, groups: int) -> dict[str, Integers]:
    """Return an image's order for each of the `WAYS`; groups that never had to move come last."""
    arrived = {d: result.order[d][image, :groups].cpu() for d in DIRECTIONS}
    orders: dict[str, Tensor] = {
        d: torch.where(steps < 0, torch.inf, steps).argsort(stable=True) for d, steps in arrived.items()
    }
    orders["both"] = result.group_values[image, :groups].cpu().argsort(descending=True, stable=True)
    return {way: np.asarray(order.numpy(), np.int64) for way, order in orders.items()}


def _class_score(net: Callable[[Tensor], Tensor], target: int, x: Tensor) -> Tensor:
    return net(x)[:, target]


def _round_all(found: Allocation) -> dict[str, object]:
    """Return the fields with seven digits, None for NaN."""
    return {
        name: to_numbers(torch.tensor(value)) if isinstance(value, list) else to_numbers(torch.tensor([value]))[0]
        for name, value in vars(found).items()
    }
