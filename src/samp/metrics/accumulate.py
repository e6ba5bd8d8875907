"""Metrics over a whole data set: accumulators with `update`, `compute`, `reset` and `merge` over the pure functions.

Their state does not grow with the data: moments of every score, or hits by class. Each worker has its own, and they
are merged in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass

import torch
from torch import Tensor

from samp.lookup import look_up
from samp.metrics.moments import Moments, StreamStatistics
from samp.metrics.pointing_game import PointingGame


class Running:
    """A metric of this package over many batches: `update` measures one, `compute` returns the moments of each score.

    Arguments that are the same in every call (a model, a protocol) are passed here, the others to `update`. A function
    of your own may return b scores, b × k curves, or a mapping of these. With `keep`, each sample's scores are kept as
    well (`scores`), for intervals and paired tests; memory then grows with the data. `only` names the scores to
    accumulate, where others (curves of photos of several sizes) have different lengths.

    >>> from samp.metrics import deletion_insertion
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2)).eval()
    >>> metric = Running(deletion_insertion, net, protocol="rise")
    >>> for _ in range(3):
    ...     metric.update(torch.rand(2, 1, 4, 4), torch.rand(2, 4, 4), target=0)
    >>> metric.compute()["insertion"].count.item()
    6
    """

    def __init__(
        self,
        measure: Callable[..., object],
        *fixed: object,
        keep: bool = False,
        only: Sequence[str] | None = None,
        **settings: object,
    ) -> None:
        self.measure, self.fixed, self.settings, self.keep = measure, fixed, settings, keep
        self.only = None if only is None else tuple(only)
        self.reset()

    def __repr__(self) -> str:
        means = [f"{name} {float(m.mean):.4g}" for name, m in self.compute().items() if m.mean.ndim == 0]
        return f"Running({getattr(self.measure, '__name__', self.measure)}: {', '.join(means) or 'nothing yet'})"

    def reset(self) -> None:
        """Forget all samples."""
        self.moments: dict[str, Moments] = {}
        self.kept: dict[str, list[Tensor]] = {}

    def update(self, *given: object, **settings: object) -> None:
        """Measure a batch and add its scores; an error leaves the state unchanged."""
        scores = self._select_scores(per_sample(self.measure(*self.fixed, *given, **{**self.settings, **settings})))
        self._merge_all({name: _moments(values) for name, values in scores.items()})
        if self.keep:
            for name, values in scores.items():
                self.kept.setdefault(name, []).append(values.detach().cpu())

    def compute(self) -> dict[str, StreamStatistics]:
        """Count, mean, standard deviation and range of each score; NaN and Inf are left out and counted."""
        return {name: moments.compute() for name, moments in self.moments.items()}

    def scores(self) -> dict[str, Tensor]:
        """Each sample's scores, in the order of the updates; only with `keep`."""
        if not self.keep:
            raise ValueError("the scores of single samples were not kept: make the metric with keep=True.")
        return {name: torch.cat(parts) for name, parts in self.kept.items()}

    def merge(self, other: Running) -> None:
        """Add the state of another worker's metric; kept scores are in the order of the merges."""
        if not isinstance(other, Running) or self._kind() != other._kind():
            raise TypeError("merge joins running metrics of one and the same function and settings.")
        self._merge_all(other.moments)
        for name, parts in other.kept.items():
            self.kept.setdefault(name, []).extend(parts)

    def state_dict(self) -> dict[str, Tensor]:
        """The state as plain tensors, without the function and its settings."""
        state = {f"{name}/{key}": t for name, m in self.moments.items() for key, t in m.state_dict().items()}
        return state | {f"{name}/scores": torch.cat(parts) for name, parts in self.kept.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a state of `state_dict`; raise ValueError, and change nothing, if it does not fit."""
        moments, kept = {}, {}
        for name in dict.fromkeys(key.rpartition("/")[0] for key in state):
            own = {key.rpartition("/")[2]: t for key, t in state.items() if key.rpartition("/")[0] == name}
            if "scores" in own:
                kept[name] = [own.pop("scores")]
            moments[name] = Moments()
            moments[name].load_state_dict(own)
        if self.keep and set(kept) != set(moments):
            raise ValueError("the state holds no scores of single samples: it was made without keep=True.")
        self.moments, self.kept = moments, kept if self.keep else {}

    def _kind(self) -> tuple[object, ...]:
        """What must be equal for two to be merged; the model is not compared, since each worker has its own."""
        return self.measure, self.keep, self.only, self.settings

    def _select_scores(self, scores: dict[str, Tensor]) -> dict[str, Tensor]:
        if self.only is None:
            return scores
        return {name: look_up(name, scores, "score") for name in self.only}

    def _merge_all(self, parts: Mapping[str, Moments]) -> None:
        """Add all parts, or none if one does not fit."""
        joined = {}
        for name, part in parts.items():
            joined[name] = _copy(self.moments[name]) if name in self.moments else Moments()
            joined[name].merge(part)
        self.moments |= joined


@dataclass
class Tally:
    """Samples of a class that were played, and hits among them."""

    hits: int = 0
    played: int = 0


class RunningGame:
    """The pointing game over many batches: hits by class, of all samples and of the difficult ones.

    >>> from samp.metrics import pointing_game
    >>> game, mask = RunningGame(), torch.tensor([[[True, False]]])
    >>> game.update(pointing_game(torch.tensor([[[1.0, 0.0]]]), mask, ["dog"], tolerance=0))
    >>> game.update(pointing_game(torch.tensor([[[0.0, 1.0]]]), mask, ["dog"], tolerance=0))
    >>> game.compute()
    {'all': 0.5, 'overall': 0.5, 'difficult': nan, 'difficult overall': nan}
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.all: dict[Hashable, Tally] = {}
        self.difficult: dict[Hashable, Tally] = {}
        self.unknown = 0
        """Samples of which it is not known whether they are difficult."""
        self.tolerance: float | None = None

    def update(self, game: PointingGame) -> None:
        """Add the hits and misses of a batch."""
        if not isinstance(game, PointingGame):
            raise TypeError(f"update takes what samp.metrics.pointing_game returned, not {type(game).__name__}.")
        self._check_tolerance(game.tolerance)
        _count(self.all, game)
        if game.difficult is not None:
            _count(self.difficult, game.difficult_subset)
        else:
            self.unknown += int(game.played.sum())

    def merge(self, other: RunningGame) -> None:
        """Add the counts of another worker's game."""
        self._check_tolerance(other.tolerance)
        self.unknown += other.unknown
        for mine, theirs in ((self.all, other.all), (self.difficult, other.difficult)):
            for label, tally in theirs.items():
                own = mine.setdefault(label, Tally())
                own.hits, own.played = own.hits + tally.hits, own.played + tally.played

    def compute(self) -> dict[str, float]:
        """The mean over classes ("all", "difficult", as in tables) and over samples ("… overall").

        NaN without samples; the difficult ones are NaN too if it is not known of every sample whether it is difficult.
        """
        difficult = {} if self.unknown else self.difficult
        return {
            "all": _mean_over_classes(self.all),
            "overall": _mean_over_samples(self.all),
            "difficult": _mean_over_classes(difficult),
            "difficult overall": _mean_over_samples(difficult),
        }

    def _check_tolerance(self, tolerance: float | None) -> None:
        if None not in (self.tolerance, tolerance) and self.tolerance != tolerance:
            raise ValueError(f"games of tolerance {self.tolerance:g} and {tolerance:g} pixels do not go together.")
        self.tolerance = tolerance if self.tolerance is None else self.tolerance


def per_sample(result: object) -> dict[str, Tensor]:
    """The scores of single samples (b or b k) in the result of a metric, by name; raise TypeError if it has none.

    >>> per_sample({"score": torch.zeros(2)})
    {'score': tensor([0., 0.])}
    """
    if isinstance(result, Tensor):
        return {"score": result}
    if isinstance(result, Mapping):
        parts = {name: per_sample(part) for name, part in result.items()}
        return {_score_name(name, inner): t for name, part in parts.items() for inner, t in part.items()}
    if isinstance(result, PointingGame):
        raise TypeError("a pointing game is counted by class: use RunningGame.")
    names = getattr(result, "PER_SAMPLE", [field.name for field in fields(result)] if is_dataclass(result) else ())
    scores = {name: getattr(result, name) for name in names}
    if not scores or not all(isinstance(values, Tensor) for values in scores.values()):
        raise TypeError(f"a running metric needs b scores, or a mapping of such, not {type(result).__name__}.")
    return scores


def _score_name(name: str, inner: str) -> str:
    return name if inner == "score" else f"{name} {inner}"


def _moments(values: Tensor) -> Moments:
    moments = Moments()
    moments.update(torch.where(values.isfinite(), values, torch.nan) if values.is_floating_point() else values)
    return moments


def _copy(moments: Moments) -> Moments:
    copy = Moments()
    copy.load_state_dict(moments.state_dict())
    return copy


def _count(tallies: dict[Hashable, Tally], game: PointingGame) -> None:
    for label, hit, played in zip(game.labels, game.hits.tolist(), game.played.tolist(), strict=True):
        if played:
            tally = tallies.setdefault(label, Tally())
            tally.hits, tally.played = tally.hits + hit, tally.played + 1


def _mean_over_classes(tallies: Mapping[Hashable, Tally]) -> float:
    shares = [tally.hits / tally.played for tally in tallies.values()]
    return sum(shares) / len(shares) if shares else float("nan")


def _mean_over_samples(tallies: Mapping[Hashable, Tally]) -> float:
    played = sum(tally.played for tally in tallies.values())
    return sum(tally.hits for tally in tallies.values()) / played if played else float("nan")
