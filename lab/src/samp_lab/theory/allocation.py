"""Allocations of credit under Ass. 1: a simulation of Prop. 1 and 2, and the same moments of real walks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from samp_lab.theory.optimal_path import Floats, Integers

AT_ONCE = 2**22  # numbers drawn at a time: 32 MiB


@dataclass(frozen=True)
class Bridge:
    """Moments of simulated allocations given their sum, each with the half width of its 95 % interval."""

    count: int
    mean: tuple[float, float]
    variance: tuple[float, float]
    covariance: tuple[float, float]


@cache
def simulate_bridge(groups: int, sigma: float, total: float, draws: int = 100_000, seed: int = 0) -> Bridge:
    """Simulate Brownian motions u_t ~ N(0, σt) of `groups` steps, and keep those that end near `total`.

    Nothing of Prop. 1 is assumed: motions are drawn and rejected. Moments are of a_1 … a_(d−1), averaged over places;
    each tenth of the draws is an estimate of its own, and their spread gives the intervals.

    >>> found = simulate_bridge(4, 1.0, 2.0, draws=20_000)
    >>> abs(found.mean[0] - 2 / 4) < 0.05, abs(found.covariance[0] + 1 / 4) < 0.05
    (True, True)
    """
    _check_groups(groups)
    random, near = np.random.default_rng(seed), 0.1 * np.sqrt(sigma * groups)
    parts = [_sample_ending_near(random, (draws // 10, groups), sigma, (total - near, total + near)) for _ in range(10)]
    estimates = np.array([_moments(part[:, :-1]) for part in parts])  # 10 3
    centre, half = estimates.mean(0), 2.26 * estimates.std(0, ddof=1) / np.sqrt(10)  # Student's t with 9 degrees
    mean, variance, covariance = ((float(a), float(b)) for a, b in zip(centre, half, strict=True))
    return Bridge(sum(map(len, parts)), mean, variance, covariance)


def _sample_ending_near(
    random: np.random.Generator, shape: tuple[int, int], sigma: float, near: tuple[float, float]
) -> Floats:
    rows = max(AT_ONCE // shape[1], 1)
    found = []
    for first in range(0, shape[0], rows):
        steps = random.normal(0.0, np.sqrt(sigma), (min(rows, shape[0] - first), shape[1]))
        ends = steps.sum(1)
        found.append(steps[(near[0] < ends) & (ends < near[1])])
    return np.concatenate(found)


def _moments(credit: Floats) -> tuple[float, float, float]:
    """Return mean, variance and covariance of two places, averaged over places."""
    matrix, places = np.cov(credit, rowvar=False), credit.shape[1]
    diagonal = float(np.trace(matrix))
    return float(credit.mean()), diagonal / places, (float(matrix.sum()) - diagonal) / (places * (places - 1))


@dataclass(frozen=True, eq=False)
class Allocation:
    """Statistics of credits along random orders of one image's groups, with their values under Ass. 1."""

    curve: list[float]
    """The mean score after 0, 1 … d moves, less the first; a straight line by Prop. 1."""
    spread: list[float]
    """The variance of the credit of the first, second … move; the same for all by Prop. 1."""
    neighbours: float
    """The mean correlation of a move's credit with the next one's; −1/(d−1) by Prop. 1."""
    others: float
    """The same of moves further apart."""
    kurtosis: float
    """Excess kurtosis of the credit of all moves; 0 if Gaussian."""
    identity: float
    """The share of the credits' variance that goes with which group moves; 0 if all are alike."""


def allocation(scores: Floats, orders: Integers) -> Allocation:
    """Return the statistics of paths with these scores (k d+1) that moved groups in these orders (k d).

    >>> orders = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]])
    >>> steps = np.array([1.0, 2.0, 6.0])[orders]  # a linear model: only who moves matters
    >>> found = allocation(np.pad(steps.cumsum(1), ((0, 0), (1, 0))), orders)
    >>> found.curve[-1], found.identity
    (9.0, 1.0)
    """
    credit = np.diff(scores, axis=1)
    _check_groups(credit.shape[1])
    matrix = np.cov(credit, rowvar=False)
    apart = np.subtract.outer(range(len(matrix)), range(len(matrix)))
    level = float(np.trace(matrix)) / len(matrix)
    centred = credit - credit.mean(0)
    by_group = np.take_along_axis(credit, np.argsort(orders, axis=1), 1)  # k d, by group instead of by move
    return Allocation(
        curve=(scores.mean(0) - scores[:, 0].mean()).tolist(),
        spread=np.diag(matrix).tolist(),
        neighbours=_ratio(float(matrix[np.abs(apart) == 1].mean()), level),
        others=_ratio(float(matrix[np.abs(apart) > 1].mean()), level),
        kurtosis=_ratio(float((centred**4).mean()), float((centred**2).mean()) ** 2) - 3,
        identity=1 - _ratio(float(by_group.var(0, ddof=1).mean()), float(credit.var(ddof=1))),
    )


def _check_groups(groups: int) -> None:
    if groups < 3:
        raise ValueError(f"{groups} groups are too few to have moves that are not neighbours: take at least 3 groups.")


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else float("nan")
