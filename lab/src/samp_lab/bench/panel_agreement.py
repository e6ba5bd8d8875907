"""Exact and fast maps of real nets before the panel: how far every judge's verdict moves.

A path is chosen step by step, so that single pixels of a fast map differ from those of the exact one. What must not
move is what the judges say: each is asked about both maps of the same photos, and the mean of the differences is given
with its interval, and as a share of how much the judge's verdicts of exact maps differ from photo to photo.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from samp.fast import SPEEDS
from samp.metrics import Criterion, Panel, map_agreement, summarise
from samp_lab.bench.map_agreement import CELL
from samp_lab.panel_run import PanelOptions, PanelRunner

METHODS = ("consensus", "coupled", "SAMP++")
SETS = ("photos", "again", "boxes")  # a grid is four times as large: it would be compiled anew
AGAIN = ("stability", "random-logit")  # so would each net of random weights


@dataclass(frozen=True)
class Alike:
    """Mean rank correlation of the exact and the fast map of a photo, by pixels and by cells of 8 × 8."""

    net: str
    method: str
    images: int
    pixels: float
    cells: float


@dataclass(frozen=True)
class Moved:
    """What a judge says of exact and of fast maps, on average, and the mean difference with its 95 % interval."""

    net: str
    method: str
    judge: Criterion
    images: int
    exact: float
    fast: float
    difference: float
    low: float
    high: float
    spread: float
    """Standard deviation over the images, of exact maps."""

    @property
    def share(self) -> float:
        """The difference over that spread; NaN where all images have the same verdict."""
        return self.difference / self.spread if self.spread else math.nan


def agreement_options(options: PanelOptions) -> PanelOptions:
    """Return the options with the image sets and judges that are asked here."""
    return replace(options, sets=SETS, again_judges=AGAIN)


def measure_net(
    net: str, options: PanelOptions, say: Callable[[str], None] = lambda line: None
) -> tuple[list[Alike], list[Moved]]:
    """Return how alike the maps of this net are, and every judge's verdicts of them."""
    maps: list[dict[str, Tensor]] = []
    panels: list[Panel] = []

    def keep(what: str, found: Mapping[str, Tensor]) -> None:
        if what == "photos":
            maps.append({name: one.cpu() for name, one in found.items()})

    for speed in SPEEDS:
        panels.append(PanelRunner(replace(options, speed=speed), say, keep).judge_net(net).panel)
    return list(_compare_maps(net, *maps)), list(compare_panels(net, *panels))


def _compare_maps(net: str, exact: Mapping[str, Tensor], fast: Mapping[str, Tensor]) -> Iterator[Alike]:
    for name, first in exact.items():
        pixels, cells = (map_agreement(first, fast[name], pool).spearman.nanmean() for pool in (1, CELL))
        yield Alike(net, name, len(first), float(pixels), float(cells))


def compare_panels(net: str, exact: Panel, fast: Panel) -> Iterator[Moved]:
    """Yield every judge's verdicts of every method by both panels of the same images."""
    for judge in exact.criteria:
        for method, first in exact.scores[judge.key].items():
            second = fast.scores[judge.key][method]
            moved, before = summarise(second - first), summarise(first)
            yield Moved(
                net, method, judge, moved.count, before.mean, summarise(second).mean,
                moved.mean, moved.low, moved.high, before.sd,
            )  # fmt: skip


def alike_table(rows: Iterable[Alike]) -> str:
    """Return how alike the maps are, as Markdown.

    >>> print(alike_table([Alike("resnet50", "coupled", 100, 0.5, 0.75)]).splitlines()[2])
    | resnet50 | coupled | 100 | 0.500 | 0.750 |
    """
    lines = [
        f"| net | method | photos | rank correlation by pixels | by cells of {CELL} × {CELL} |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {one.net} | {one.method} | {one.images} | {one.pixels:.3f} | {one.cells:.3f} |" for one in rows]
    return "\n".join(lines)


def moved_table(rows: Iterable[Moved]) -> str:
    """Return every judge's verdicts as Markdown, the largest share of a spread last."""
    rows = list(rows)
    lines = [
        "| net | method | judge | images | exact | fast | fast − exact [95 % interval] | of the spread over images |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.net} | {one.method} | {one.judge.heading} | {one.images} | {one.exact:.4f} | {one.fast:.4f} "
        f"| {one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}] | {_share_text(one)} |"
        for one in rows
    ]
    known = [one for one in rows if not math.isnan(one.share)]
    if known:
        most = max(known, key=lambda one: abs(one.share))
        lines += ["", f"Largest: {most.share:+.3f} of the spread ({most.net}, {most.method}, {most.judge.heading})."]
    return "\n".join(lines)


def _share_text(one: Moved) -> str:
    return "–" if math.isnan(one.share) else f"{one.share:+.3f}"
