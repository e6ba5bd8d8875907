"""The standings: methods by their mean rank over all judges, on each net and over all nets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from samp.metrics import Criterion, MeanRank, Panel, join_panels
from samp_lab.leaderboard.results_file import NetResult, PanelResults
from samp_lab.setups import NET_TITLES

Ranks = dict[str, MeanRank]


@dataclass(frozen=True, eq=False)
class Board:
    """Everything that the leaderboard shows, computed from `results` when it is first asked for.

    Over all nets, a method is ranked among those that were measured on every net.
    """

    results: PanelResults

    @property
    def nets(self) -> list[NetResult]:
        """The nets, in the order of the file."""
        return list(self.results.nets.values())

    @cached_property
    def methods(self) -> list[str]:
        """All methods, the best mean rank first; those that are not on every net come last."""
        every = list(dict.fromkeys(name for one in self.nets for name in one.panel.methods))

        def place(name: str) -> tuple[float, float]:
            own = [ranks[name].mean for ranks in self.net_ranks.values() if name in ranks]
            return _number_or_last(self.ranks, name), min(map(_or_last, own))

        return sorted(every, key=place)

    @cached_property
    def common_methods(self) -> list[str]:
        """The methods that were measured on every net."""
        first, *others = [one.panel.methods for one in self.nets] or [()]
        return [name for name in first if all(name in methods for methods in others)]

    @cached_property
    def panel_of_all(self) -> Panel | None:
        """The panels of all nets as one, of the common methods; None if there are none."""
        if not self.common_methods:
            return None
        parts = [select_methods(one.panel, self.common_methods) for one in self.nets]
        return join_panels(parts, [one.net for one in self.nets])

    @cached_property
    def ranks(self) -> Ranks:
        """{method: mean rank over the judges of all nets}, of the common methods."""
        return self.panel_of_all.mean_rank() if self.panel_of_all is not None else {}

    @cached_property
    def net_ranks(self) -> dict[str, Ranks]:
        """{net: {method: mean rank over its judges}}."""
        return {one.net: one.panel.mean_rank() if one.panel.methods else {} for one in self.nets}

    @cached_property
    def judges(self) -> list[Criterion]:
        """The judges of all nets, each once, in the order in which they stand on the first net that has them."""
        return list({one.key: one for net in self.nets for one in net.panel.criteria}.values())

    @cached_property
    def judge_ranks(self) -> dict[str, dict[str, float]]:
        """{judge: {method: mean of its ranks over the nets}}, of the judges that rank and the common methods."""
        found = self.panel_of_all.ranks() if self.panel_of_all is not None else {}
        places = {judge.key: [f"{one.net}, {judge.key}" for one in self.nets] for judge in self.judges}
        table = {
            key: {name: [row[place] for place in own if place in row] for name, row in found.items()}
            for key, own in places.items()
        }
        return {
            key: {name: sum(ranks) / len(ranks) for name, ranks in row.items()}
            for key, row in table.items()
            if row and all(row.values())
        }

    def order_on(self, net: str) -> list[str]:
        """Return the methods of a net, the best mean rank there first."""
        return sorted(self.results.nets[net].panel.methods, key=lambda name: _or_last(self.net_ranks[net][name].mean))

    def gradients(self, method: str, net: str | None = None) -> float:
        """Return the gradients of an image on a net, or their mean over all nets that have the method; else NaN."""
        nets = self.nets if net is None else [self.results.nets[net]]
        known = [one.gradients[method] for one in nets if method in one.gradients]
        return sum(known) / len(known) if known else math.nan

    def is_ours(self, method: str) -> bool:
        """Return whether a method is samp's own."""
        return self.results.is_ours(method)


def select_methods(panel: Panel, methods: list[str]) -> Panel:
    """Return the panel of some of its methods, in this order.

    >>> import torch
    >>> panel = Panel((), {"road": {"a": torch.ones(1), "b": torch.ones(1)}})
    >>> select_methods(panel, ["b"]).methods
    ('b',)
    """
    scores = {key: {name: row[name] for name in methods} for key, row in panel.scores.items()}
    return Panel(panel.criteria, scores, panel.left_out, panel.image_sets, panel.details)


def judge_title(judge: Criterion) -> str:
    """Return the heading of a judge, with nets named as reports name them.

    >>> judge_title(Criterion("transfer: resnet50", "transfer: resnet50", "higher", "…"))
    'transfer: ResNet-50'
    """
    name, colon, net = judge.heading.partition(": ")
    return f"{name}{colon}{NET_TITLES.get(net, net)}"


def judge_title_with_arrow(judge: Criterion) -> str:
    """Return `judge_title` with ↑ or ↓ behind it if the judge ranks.

    >>> judge_title_with_arrow(Criterion("mprt", "MPRT", "lower", "…"))
    'MPRT ↓'
    """
    return replace(judge, heading=judge_title(judge)).heading_with_arrow


def meanings(judges: Iterable[Criterion]) -> list[tuple[str, str]]:
    """Return the titles of judges and what they ask; those that ask the same share an entry.

    >>> meanings([Criterion("a", "A", "lower", "x"), Criterion("b", "B", None, "y"), Criterion("c", "C", "lower", "x")])
    [('A ↓, C ↓', 'x'), ('B', 'y')]
    """
    found: dict[str, list[str]] = {}
    for judge in judges:
        found.setdefault(judge.meaning, []).append(judge_title_with_arrow(judge))
    return [(", ".join(titles), meaning) for meaning, titles in found.items()]


def best_methods(ranks: Mapping[str, float]) -> set[str]:
    """Return the methods with the lowest rank; none if all have the same.

    >>> best_methods({"a": 1.0, "b": 2.0, "c": math.nan}), best_methods({"a": 1.5, "b": 1.5})
    ({'a'}, set())
    """
    known = {name: rank for name, rank in ranks.items() if not math.isnan(rank)}
    best = {name for name, rank in known.items() if rank == min(known.values())}
    return set() if len(best) == len(ranks) else best


def _number_or_last(ranks: Ranks, name: str) -> float:
    return _or_last(ranks[name].mean) if name in ranks else math.inf


def _or_last(value: float) -> float:
    return math.inf if math.isnan(value) else value
