"""Each method of ours against each rival: by which judges it is worse, better, or neither, by paired tests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from samp.metrics import Bootstrap, Criterion, Panel
from samp_lab.leaderboard.board import Board, judge_title
from samp_lab.leaderboard.results_file import NetResult

LEVEL = 0.01
"""A test whose p is not below this tells nothing apart."""
NO_INTERVALS = Bootstrap(resamples=1)  # duels ask for p and sign alone, and intervals would take most of the time


@dataclass(frozen=True)
class Finding:
    """What a paired test on the images of one net found: mean difference ours − rival's, and Wilcoxon's p."""

    net: str
    judge: Criterion
    difference: float
    p: float


@dataclass(frozen=True)
class Duel:
    """A method of ours and a rival before the judges of all nets that have both.

    >>> judge = Criterion("road", "ROAD", "higher", "…")
    >>> duel = Duel("coupled", "IG", (Finding("ResNet-50", judge, -0.1, 1e-4),), (), ())
    >>> duel.tests, duel.name_losses()
    (1, 'ResNet-50: ROAD')
    """

    ours: str
    rival: str
    worse: tuple[Finding, ...]
    level: tuple[Finding, ...]
    """Where the two cannot be told apart."""
    better: tuple[Finding, ...]

    @property
    def tests(self) -> int:
        return len(self.worse) + len(self.level) + len(self.better)

    def on_net(self, net: str) -> Duel:
        """Return the same two before the judges of one net, by its title."""
        parts = ([one for one in part if one.net == net] for part in (self.worse, self.level, self.better))
        return Duel(self.ours, self.rival, *map(tuple, parts))

    def name_losses(self) -> str:
        """Return the judges by which ours is worse, by net; empty if there are none."""
        return name_findings(self.worse)


def find_duels(board: Board) -> list[Duel]:
    """Return the duels of each method of ours, in the order of the standings, with all rivals, the most losses first.

    Nets with one photo have no tests; a pair that no net tests is left out.
    """
    ours = [name for name in board.methods if board.is_ours(name)]
    rivals = [name for name in board.methods if not board.is_ours(name)]
    found = [_fight(board.nets, own, rival) for own in ours for rival in rivals]
    return sorted((duel for duel in found if duel.tests), key=lambda duel: (ours.index(duel.ours), -len(duel.worse)))


def select_net(duels: Iterable[Duel], net: str) -> list[Duel]:
    """Return the duels on one net, by its title, those without a test there left out."""
    return [one for duel in duels if (one := duel.on_net(net)).tests]


def name_findings(findings: Iterable[Finding]) -> str:
    """Return the judges of findings, by net.

    >>> road, sds = (Criterion(key, key, "higher", "…") for key in ("road", "sds"))
    >>> name_findings([Finding("A", road, 0, 0), Finding("B", road, 0, 0), Finding("A", sds, 0, 0)])
    'A: road, sds; B: road'
    """
    nets: dict[str, list[str]] = {}
    for one in findings:
        nets.setdefault(one.net, []).append(judge_title(one.judge))
    return "; ".join(f"{net}: {', '.join(judges)}" for net, judges in nets.items())


def _fight(nets: Iterable[NetResult], ours: str, rival: str) -> Duel:
    tested = [one for net in nets for one in _test(net, ours, rival)]
    sure = [(one, better) for one, better in tested if one.p < LEVEL]
    return Duel(
        ours,
        rival,
        worse=tuple(one for one, better in sure if not better),
        level=tuple(one for one, _ in tested if not one.p < LEVEL),
        better=tuple(one for one, better in sure if better),
    )


def _test(net: NetResult, ours: str, rival: str) -> list[tuple[Finding, bool]]:
    """Return what each judge of a net found, and whether ours is the better one."""
    panel: Panel = net.panel
    if panel.has_one_photo or not {ours, rival} <= set(panel.methods):
        return []
    judges = {one.key: one for one in panel.criteria}
    return [
        (Finding(net.title, judges[key], one.difference, one.p), one.rank_biserial > 0)
        for key, one in panel.compare(ours, rival, bootstrap=NO_INTERVALS).items()
        if not math.isnan(one.p)
    ]
