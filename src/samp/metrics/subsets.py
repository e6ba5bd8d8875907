"""Random subsets of features, with their credit and their scores: for Sensitivity-N, μFidelity and infidelity.

Subset number k is the beginning of a random order of all features, drawn on the CPU from (seed, k). It is the same for
every sample, device and batch size, so a result does not depend on how it was computed or on the other samples of the
batch. Subsets of several sizes with the same number contain one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from samp.checks import check_list, check_whole
from samp.devices import widen
from samp.engine.problem import Problem
from samp.groups import Segments
from samp.metrics.masked_forward import MaskedScorer, Masker

PLACES_AT_ONCE = 2**22  # subsets × features held at a time: 83 subsets of 50,176 pixels, some tens of MiB


@dataclass(frozen=True, eq=False)
class Subsets:
    """Some of the numbered subsets, each in every size.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(torch.nn.Flatten(), torch.rand(2, 5), target=0)
    >>> subsets = Subsets.draw(problem, torch.tensor([[1, 3], [1, 3]]), range(4), seed=0)
    >>> subsets.membership(torch.tensor([0, 1]), torch.tensor([0, 5])).sum(1).tolist()  # size 1, then size 3
    [1, 3]
    """

    places: Tensor  # k g: each feature's place in the order of this subset
    sizes: Tensor  # b s
    present: Tensor | None  # b g: the features each sample has, where any lacks some

    @classmethod
    def draw(cls, problem: Problem, sizes: Tensor, numbers: range, seed: int) -> Subsets:
        """Draw the subsets of these numbers, in these sizes (b s) of each sample."""
        orders = torch.stack([_order(problem.features.count, seed, number) for number in numbers])
        return cls(_inverse(orders).int().to(problem.x.device), sizes, _present(problem))

    @property
    def points(self) -> int:
        """How many subsets there are: all sizes of the first, then all of the second, and so on."""
        return len(self.places) * self.sizes.shape[1]

    def membership(self, samples: Tensor, numbers: Tensor) -> Tensor:
        """r g: which features are in the subsets of these numbers (r), for these samples (r)."""
        each = self.sizes.shape[1]
        size = self.sizes[samples, numbers % each][:, None]
        places = self.places[numbers // each]
        return places < size if self.present is None else _first_present(places, self.present[samples], size)


def credit_and_scores(
    scorer: MaskedScorer, hide: Masker, values: Tensor, sizes: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """(credit, scores), both b s k: a map's credit of each of `count` subsets, and the score with it hidden.

    The credit is in whole numbers of a unit of its own, so that sums are exact and do not depend on their order.
    """
    problem = scorer.problem
    whole = _whole_numbers(problem, values)
    credit, scores = [], []
    scorer.expect(count * sizes.shape[1])
    for subsets in _chunks(problem, sizes, count, scorer.seed):
        credit.append(_credit(whole, subsets))
        scores.append(scorer.scores(hide, subsets.points, subsets.membership))
    by_subset = (torch.cat(parts, 1).view(problem.batch, count, -1) for parts in (credit, scores))
    summed, without = (part.transpose(1, 2) for part in by_subset)
    return summed, without


def own_counts(problem: Problem) -> Tensor:
    """b: how many features each sample has; group numbers that a mask does not use are no features.

    >>> from samp.engine.problem import make_problem
    >>> own_counts(make_problem(torch.nn.Flatten(), torch.rand(2, 3), 0, torch.tensor([0, 0, 2]))).tolist()
    [2, 2]
    """
    present = _present(problem)
    if present is None:
        return torch.full((problem.batch,), problem.features.count, device=problem.x.device)
    return present.sum(1)


def check_sizes(problem: Problem, sizes: object) -> Tensor:
    """b s: these sizes of subsets for every sample; raise ValueError where a sample has fewer features.

    >>> from samp.engine.problem import make_problem
    >>> check_sizes(make_problem(torch.nn.Flatten(), torch.rand(1, 3), 0), [4])
    Traceback (most recent call last):
    ValueError: a subset of 4 features is larger than a sample with 3.
    """
    checked = [check_whole("the size of a subset", size, 1) for size in check_list("sizes", sizes)]
    if not checked:
        raise ValueError("sizes is empty: give at least one size of a subset.")
    least = int(own_counts(problem).min())
    if max(checked) > least:
        raise ValueError(f"a subset of {max(checked)} features is larger than a sample with {least}.")
    return torch.tensor(checked, device=problem.x.device).expand(problem.batch, -1)


def sizes_for_share(problem: Problem, share: float) -> Tensor:
    """b: this share of each sample's own features, rounded to a whole number of at least 1.

    >>> from samp.engine.problem import make_problem
    >>> sizes_for_share(make_problem(torch.nn.Flatten(), torch.rand(1, 9, 9), 0), 0.2).tolist()
    [16]
    """
    return (own_counts(problem) * share).round().long().clamp(min=1)


def _order(count: int, seed: int, number: int) -> Tensor:
    """A random order of `count` features, drawn so that a larger count extends it without reordering the first ones.

    A sample's subsets then do not depend on other samples of the batch that have more features.
    """
    drawn = np.random.PCG64([seed % 2**64, number]).random_raw(count)
    low = np.uint64(2**32 - 1)  # 32 random bits above the feature's index: sorting these is faster than an argsort
    keys = np.sort(drawn & ~low | np.arange(count, dtype=np.uint64))
    return torch.from_numpy((keys & low).astype(np.int64))


def _inverse(orders: Tensor) -> Tensor:
    """k g: the place of each feature in each order."""
    return torch.empty_like(orders).scatter_(1, orders, torch.arange(orders.shape[1]).to(orders).expand_as(orders))


def _chunks(problem: Problem, sizes: Tensor, count: int, seed: int) -> Iterator[Subsets]:
    """Subsets 0 … count − 1, as many at a time as memory should hold."""
    step = max(PLACES_AT_ONCE // problem.features.count, 1)
    for first in range(0, count, step):
        yield Subsets.draw(problem, sizes, range(first, min(first + step, count)), seed)


def _present(problem: Problem) -> Tensor | None:
    """b g: which features have any element, or None if all have."""
    features = problem.features
    if not isinstance(features, Segments) or bool((features.sizes > 0).all()):
        return None
    return (features.sizes > 0).expand(problem.batch, -1)


def _first_present(places: Tensor, present: Tensor, size: Tensor) -> Tensor:
    """r g: the first `size` (r 1) features of an order (r g) among those that are present."""
    order = _inverse(places.long())
    in_order = present.gather(1, order)
    return (in_order & (in_order.cumsum(1) <= size)).gather(1, places.long())


def _whole_numbers(problem: Problem, values: Tensor) -> Tensor:
    """b g: the map in units so small that rounding is far below float32's and so large that no sum overflows int64."""
    present = _present(problem)
    values = values if present is None else values.masked_fill(~present, 0)
    bits = 61 - math.ceil(math.log2(values.shape[1]))
    wide = widen(values)
    largest = wide.abs().amax(1, keepdim=True)
    return (wide / torch.where(largest > 0, largest, 1) * 2.0**bits).round().long()


def _credit(whole: Tensor, subsets: Subsets) -> Tensor:
    """b × points: the sum of each sample's values over each subset."""
    rows = len(whole) * subsets.points
    step = max(PLACES_AT_ONCE // whole.shape[1], 1)
    sums = []
    for first in range(0, rows, step):
        row = torch.arange(first, min(first + step, rows), device=whole.device)
        samples, numbers = row // subsets.points, row % subsets.points
        sums.append(torch.where(subsets.membership(samples, numbers), whole[samples], 0).sum(1))
    return torch.cat(sums).view(len(whole), -1)
