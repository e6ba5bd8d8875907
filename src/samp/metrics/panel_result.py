"""What a panel of judges found: scores, ranks with intervals, paired tests, a table, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from samp.data_frames import make_frame
from samp.lookup import look_up
from samp.metrics.correlations import mean_ranks
from samp.metrics.intervals import Bootstrap
from samp.metrics.judge import Criterion
from samp.metrics.statistics import Comparison, compare_pairs, holm, summarise

if TYPE_CHECKING:
    from pandas import DataFrame

ONE_PHOTO = "one photo: no intervals, no tests"
EQUAL = 1e-10  # of a judge's largest mean: means that differ by less rank equal, so that rounding decides nothing
RESAMPLES_AT_ONCE = 1000
LEVEL = 0.05  # of p, in tables


@dataclass(frozen=True)
class MeanRank:
    """The mean of a method's ranks over all judges, 1 being the best, and its bootstrap interval over images.

    >>> print(MeanRank(1.5, 1.2, 2.0, 0.95))
    1.50 [1.20, 2.00]
    """

    mean: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.mean:.2f}{interval}"


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """What `panel` returns: every judge's number for every method and image.

    >>> road = Criterion("road", "ROAD", "higher", "…")
    >>> scores = {"road": {"ours": torch.tensor([0.4, 0.6]), "theirs": torch.tensor([0.1, 0.2])}}
    >>> result = Panel((road,), scores)
    >>> result.ranks(), str(result.mean_rank()["ours"])
    ({'ours': {'road': 1.0}, 'theirs': {'road': 2.0}}, '1.00 [1.00, 1.00]')
    >>> print(result.table())
    | method | ROAD ↑ | mean rank ↓ |
    |---|---|---|
    | ours | **0.500** | **1.00 [1.00, 1.00]** |
    | theirs | 0.150 | 2.00 [2.00, 2.00] |
    """

    criteria: tuple[Criterion, ...]
    """The columns, in order."""
    scores: Mapping[str, Mapping[str, Tensor]]
    """{key of the judge: {method: b numbers}}; NaN where an image has none."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why each of the other judges did not judge."""
    image_sets: Mapping[str, int] = field(default_factory=dict)
    """The number of the set of images that each judge saw; those of one set are resampled together."""
    details: tuple[Mapping[str, Any], ...] = ()
    """Target, device, dtype, versions and seed of each set of images."""

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(next(iter(self.scores.values()), {}))

    @property
    def has_one_photo(self) -> bool:
        """Whether no set has more than one image, so that there are no intervals and no tests."""
        return max((len(values) for row in self.scores.values() for values in row.values()), default=0) < 2

    def __repr__(self) -> str:
        return f"Panel({', '.join(self.methods)} before {', '.join(one.key for one in self.criteria)})"

    def _repr_html_(self) -> str:
        from samp.display import panel_html

        return panel_html(self)

    def to_pandas(self) -> DataFrame:
        """Return the means as a table of pandas, methods × judges, with the mean rank as the last column."""
        means, ranks = self.means(), self.mean_rank()
        rows = [{key: row[name] for key, row in means.items()} for name in self.methods]
        named = zip(self.methods, rows, strict=True)
        return make_frame(
            [{"method": name, **row, "mean rank": ranks[name].mean} for name, row in named], index="method"
        )

    def means(self) -> dict[str, dict[str, float]]:
        """{judge: {method: mean over the images that have a number}}; NaN without any."""
        return {
            key: {name: float(values.nanmean()) for name, values in row.items()} for key, row in self.scores.items()
        }

    def ranks(self) -> dict[str, dict[str, float]]:
        """{method: {judge: rank of its mean among the methods}}: 1 is the best, equal means share the mean of theirs.

        A method without any number comes last. Judges that rank nothing are left out: those whose `better` is None,
        and those who have no number for any method.
        """
        judges = self._ranking_judges()
        found = {one.key: _ranks(self._stack(one).nanmean(1), one) for one in judges}
        return {name: {key: float(row[n]) for key, row in found.items()} for n, name in enumerate(self.methods)}

    def mean_rank(self, bootstrap: Bootstrap | None = None) -> dict[str, MeanRank]:
        """{method: mean of its ranks over the judges, with a percentile interval}.

        Images are drawn anew, the same for all judges of one set, and means and ranks computed from each draw. With one
        photo the ends of the interval are NaN.
        """
        drawing = bootstrap or Bootstrap()
        means = torch.tensor([list(row.values()) for row in self.ranks().values()], dtype=torch.float64).mean(1)
        ends = torch.full((2, len(means)), torch.nan, dtype=torch.float64)
        if not self.has_one_photo and self._ranking_judges():
            draws = torch.cat(list(self._draw_mean_ranks(drawing)))  # resamples × methods
            tail = (1 - drawing.confidence) / 2
            ends = draws.quantile(torch.tensor([tail, 1 - tail], dtype=torch.float64), dim=0)
        return {
            name: MeanRank(mean, low, high, drawing.confidence)
            for name, mean, low, high in zip(self.methods, means.tolist(), *ends.tolist(), strict=True)
        }

    def compare(
        self, a: str, b: str, *, correct: bool = False, bootstrap: Bootstrap | None = None
    ) -> dict[str, Comparison]:
        """{judge: paired comparison of two methods' numbers} (`compare_pairs`), for all judges that rank.

        With `correct`, the p-values have Holm's correction for the number of judges. Raises ValueError for one photo.
        """
        if self.has_one_photo:
            raise ValueError(f"{ONE_PHOTO}: give the panel several images.")
        found: dict[str, Comparison] = {}
        for one in self._ranking_judges():
            first, second = (look_up(name, self.scores[one.key], "method") for name in (a, b))
            found[one.key] = compare_pairs(first, second, one.better, bootstrap)  # type: ignore[arg-type]  # it ranks
        ps = holm([one.p for one in found.values()]) if correct and found else [one.p for one in found.values()]
        return {key: replace(one, p=p) for (key, one), p in zip(found.items(), ps, strict=True)}

    def table(self, *, intervals: bool = False, against: str | None = None) -> str:
        """Return a Markdown table of the means, methods × judges, with arrows, the best in bold, and the mean rank.

        `intervals` adds the bootstrap interval of each mean. `against` names a method that each other one is compared
        with: by how many judges it is better, and worse, at p < 0.05 with Holm's correction.
        """
        from samp.metrics.panel_table import format_markdown  # it formats Panels, so it imports this module

        return format_markdown(self, intervals, against)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain lists, strings and numbers; None stands for what is not finite."""
        return {
            "judges": [asdict(one) for one in self.criteria],
            "scores": {
                key: {name: [v if math.isfinite(v) else None for v in values.tolist()] for name, values in row.items()}
                for key, row in self.scores.items()
            },
            "left_out": dict(self.left_out),
            "image_sets": dict(self.image_sets),
            "details": [dict(one) for one in self.details],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Panel:
        """Return the panel that `to_json` wrote; raise ValueError if the record is none.

        >>> Panel.from_json(Panel((), {}).to_json()).methods
        ()
        """
        try:
            criteria = tuple(Criterion(**one) for one in record["judges"])
            scores = {
                key: {name: _from_list(values) for name, values in row.items()} for key, row in record["scores"].items()
            }
            left_out, sets, details = record["left_out"], record["image_sets"], tuple(record["details"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no panel as Panel.to_json() writes it: {error}.") from error
        return cls(criteria, scores, left_out, sets, details)

    def summary(self, key: str, method: str, bootstrap: Bootstrap | None = None) -> tuple[float, float, float]:
        """Return the mean of a method under a judge, and the ends of its bootstrap interval."""
        found = summarise(look_up(method, look_up(key, self.scores, "judge"), "method"), bootstrap)
        return found.mean, found.low, found.high

    def _stack(self, criterion: Criterion) -> Tensor:
        return torch.stack([values.double() for values in self.scores[criterion.key].values()])  # methods × b

    def _ranking_judges(self) -> list[Criterion]:
        return [one for one in self.criteria if one.better and not bool(self._stack(one).isnan().all())]

    def _draw_mean_ranks(self, bootstrap: Bootstrap) -> Iterator[Tensor]:
        """Yield the mean ranks (resamples × methods) of as many draws of the images as memory should hold."""
        generator = torch.Generator().manual_seed(bootstrap.seed)
        sets: dict[int, list[Criterion]] = {}
        for one in self._ranking_judges():
            sets.setdefault(self.image_sets.get(one.key, 0), []).append(one)
        for first in range(0, bootstrap.resamples, RESAMPLES_AT_ONCE):
            count = min(RESAMPLES_AT_ONCE, bootstrap.resamples - first)
            ranks = []
            for number in sorted(sets):
                size = self._stack(sets[number][0]).shape[1]
                drawn = torch.randint(size, (count, size), generator=generator)
                weights = torch.zeros(count, size, dtype=torch.float64).scatter_add_(
                    1, drawn, torch.ones(count, size, dtype=torch.float64)
                )
                ranks += [_ranks(_weighted_means(weights, self._stack(one)), one) for one in sets[number]]
            yield torch.stack(ranks).mean(0)


def join_panels(panels: Sequence[Panel], names: Sequence[str] | None = None) -> Panel:
    """Return several panels of the same methods as one, whose mean rank goes over all their judges.

    Each may have images of its own: photos for curves, photos with boxes for places. If a judge stands in several of
    them, such as those of several nets, give each panel a name: its judges become "name, judge".

    >>> one, other = (Criterion(key, key, "higher", "…") for key in ("road", "auroc"))
    >>> halves = [Panel((c,), {c.key: {"a": torch.ones(n), "b": torch.zeros(n)}}) for c, n in ((one, 2), (other, 3))]
    >>> joined = join_panels(halves)
    >>> joined.ranks()["a"], joined.mean_rank()["b"].mean
    ({'road': 1.0, 'auroc': 1.0}, 2.0)
    """
    parts = list(panels)
    if not parts:
        raise ValueError("there are no panels to join: give at least one.")
    if names is not None:
        if len(names) != len(parts) or len(set(names)) != len(parts):
            raise ValueError(f"give each of the {len(parts)} panels a name of its own, not {list(names)}.")
        parts = [_rename(part, name) for part, name in zip(parts, names, strict=True)]
    _check_joinable(parts)
    criteria: list[Criterion] = []
    scores: dict[str, Mapping[str, Tensor]] = {}
    left_out: dict[str, str] = {}
    sets: dict[str, int] = {}
    first = 0
    for part in parts:
        criteria += part.criteria
        scores |= {key: {name: row[name] for name in parts[0].methods} for key, row in part.scores.items()}
        left_out |= part.left_out
        sets |= {one.key: first + part.image_sets.get(one.key, 0) for one in part.criteria}
        first += 1 + max(part.image_sets.values(), default=0)
    missing = {key: reason for key, reason in left_out.items() if key not in scores}
    return Panel(tuple(criteria), scores, missing, sets, tuple(one for part in parts for one in part.details))


def _check_joinable(parts: Sequence[Panel]) -> None:
    for part in parts[1:]:
        if set(part.methods) != set(parts[0].methods):
            different = ", ".join(sorted(set(part.methods) ^ set(parts[0].methods)))
            raise ValueError(f"panels of different methods cannot be joined: {different} is not in all of them.")
    keys = [one.key for part in parts for one in part.criteria]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} judged in several of the panels: pass names=[…] to tell them apart.")


def _rename(part: Panel, name: str) -> Panel:
    criteria = tuple(replace(one, key=f"{name}, {one.key}", heading=f"{name}, {one.heading}") for one in part.criteria)
    scores = {f"{name}, {key}": row for key, row in part.scores.items()}
    left_out = {f"{name}, {key}": reason for key, reason in part.left_out.items()}
    sets = {f"{name}, {key}": number for key, number in part.image_sets.items()}
    return Panel(criteria, scores, left_out, sets, part.details)


def _ranks(means: Tensor, criterion: Criterion) -> Tensor:
    """… × methods: ranks from 1, the best, along the last axis; NaN comes last."""
    lower = means if criterion.better == "lower" else -means
    unit = lower.nan_to_num(0).abs().amax(-1, keepdim=True) * EQUAL
    steps = (lower / unit.where(unit > 0, 1)).round()
    return mean_ranks(steps.nan_to_num(torch.inf)).double()


def _weighted_means(weights: Tensor, scores: Tensor) -> Tensor:
    """Resamples × methods: means over the drawn images that have a number; NaN if none has."""
    known = ~scores.isnan()
    return (weights @ scores.nan_to_num(0).T) / (weights @ known.double().T)


def _from_list(values: Sequence[float | None]) -> Tensor:
    return torch.tensor([math.nan if value is None else value for value in values], dtype=torch.float64)
