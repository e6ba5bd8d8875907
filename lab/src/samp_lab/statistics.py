"""Numbers of many images that are no mean over images, such as a correlation, with bootstrap intervals over images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samp.metrics.intervals import Bootstrap, Floats
from samp.metrics.statistics import summarise
from samp_lab.sections import State

Statistic = Callable[[Floats], Floats]
"""From weights (r n: how often each image counts, in each of r resamples) to one number per row."""


@dataclass(frozen=True)
class Estimate:
    """A number and the interval it lies in.

    >>> print(Estimate(-0.5, -0.75, -0.25)), Estimate(0.1, -0.1, 0.3).state(sign=1)
    −0.500 [−0.750, −0.250]
    (None, 'open')
    """

    value: float
    low: float
    high: float

    def state(self, sign: int) -> State:
        """Whether the number has this sign, where its interval excludes 0."""
        if not self.low * self.high > 0:  # also where there is no interval
            return "open"
        return "holds" if (self.value > 0) == (sign > 0) else "fails"

    def format(self, form: str = ".3f") -> str:
        """The number and, where there is one, its interval in this format, with true minus signs."""
        if math.isnan(self.value):
            return "–"
        interval = "" if math.isnan(self.low) else f" [{self.low:{form}}, {self.high:{form}}]"
        return f"{self.value:{form}}{interval}".replace("-", "−")

    def __str__(self) -> str:
        return self.format()


def bootstrap_estimate(statistic: Statistic, images: int, bootstrap: Bootstrap | None = None) -> Estimate:
    """The statistic of all images, and its interval between percentiles of resamples of images.

    >>> x = np.arange(50.0)
    >>> mean = bootstrap_estimate(lambda weights: weights @ x / weights.sum(1), images=50)
    >>> mean.value, 19 < mean.low < mean.value < mean.high < 30
    (24.5, True)
    """
    bootstrap = bootstrap or Bootstrap(resamples=1999)
    value = float(statistic(np.ones((1, images)))[0])
    if images < 2:
        return Estimate(value, math.nan, math.nan)
    random = np.random.default_rng(bootstrap.seed)
    found = statistic(random.multinomial(images, np.full(images, 1 / images), bootstrap.resamples).astype(np.float64))
    known = found[~np.isnan(found)]  # a resample may hold one image only
    if math.isnan(value) or not len(known):
        return Estimate(value, math.nan, math.nan)
    tail = (1 - bootstrap.confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return Estimate(value, float(low), float(high))


def correlation(x: Sequence[float], y: Sequence[float]) -> Statistic:
    """Pearson's correlation over images; NaN where either does not vary.

    >>> correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])(np.ones((1, 3))).tolist()
    [-1.0]
    """
    a, b = (np.asarray(values, np.float64) - np.mean(values) for values in (x, y))  # shifts change nothing but rounding
    a, b = (values / (np.abs(values).max(initial=0.0) or 1.0) for values in (a, b))

    def statistic(weights: Floats) -> Floats:
        share = weights / weights.sum(1, keepdims=True)
        mean_a, mean_b = share @ a, share @ b
        together = share @ (a * b) - mean_a * mean_b
        spread = np.sqrt(np.maximum((share @ a**2 - mean_a**2) * (share @ b**2 - mean_b**2), 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > 1e-12, np.clip(together / spread, -1.0, 1.0), np.nan)

    return statistic


def ratio(a: Sequence[float], b: Sequence[float]) -> Estimate:
    """The geometric mean over images of a / b.

    >>> ratio([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]).value
    2.0
    """
    found = summarise([math.log(one / other) for one, other in zip(a, b, strict=True)])
    return Estimate(*(math.exp(value) for value in (found.mean, found.low, found.high)))


Game = Sequence[Sequence[Any] | None]
"""What a `Pointing` measurement keeps: for each photo, a list of [class, hit, difficult], or None."""


@dataclass(frozen=True, eq=False)
class GameTally:
    """Hits and games played of each photo and class (n c).

    >>> tally = tally_games([[["cat", True, False], ["dog", False, True]], [["dog", True, False]], None])
    >>> tally.classes, tally.accuracy(np.ones((1, 3))).tolist(), tally.played.sum(0).tolist()
    (('cat', 'dog'), [75.0], [1.0, 2.0])
    """

    classes: tuple[str, ...]
    hits: Floats
    played: Floats

    def accuracy(self, weights: Floats) -> Floats:
        """Per cent of hits, averaged over the classes that were played, as tables give it."""
        hits, played = weights @ self.hits, weights @ self.played  # r c
        known = played > 0
        shares = np.divide(hits, played, out=np.zeros_like(hits), where=known)
        classes = known.sum(1)
        return np.where(classes > 0, 100 * shares.sum(1) / np.maximum(classes, 1), np.nan)


def tally_games(games: Game, difficult: bool = False) -> GameTally:
    """The games counted up; with `difficult`, those of the difficult subset alone."""
    played = [[one for one in game or () if one[2] or not difficult] for game in games]
    classes = tuple(sorted({str(one[0]) for game in played for one in game}))
    hits, count = np.zeros((2, len(games), len(classes)))
    for photo, game in enumerate(played):
        for label, hit, _ in game:
            place = classes.index(label)
            hits[photo, place] += bool(hit)
            count[photo, place] += 1
    return GameTally(classes, hits, count)


def mcnemar(one: GameTally, other: GameTally) -> float:
    """The two-sided p of McNemar's exact test: of the maps that only one of two methods hits, are half the one's?

    >>> hit, miss = [[["cat", True, False]]] * 6, [[["cat", False, False]]] * 6
    >>> mcnemar(tally_games(hit), tally_games(miss)), mcnemar(tally_games(hit), tally_games(hit))
    (0.03125, 1.0)
    """
    gained = int(((one.hits > other.hits) & (one.played > 0)).sum())
    lost = int(((one.hits < other.hits) & (one.played > 0)).sum())
    tail = sum(math.comb(gained + lost, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << gained + lost))
