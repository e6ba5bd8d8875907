"""Whether `speed="fast"` changes what the judges of the panel say: the same methods at both speeds, on the same photos.

Fast gradients differ from exact ones by rounding, walks choose their steps by gradients, and so single maps differ.
What matters is whether they are as good. For every judge the mean difference fast − exact is set against the spread of
the judge over images: it agrees if its whole interval lies within a quarter of one standard deviation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from samp.atomic import atomic_write
from samp.metrics import Criterion
from samp.metrics.statistics import Summary, summarise
from samp_lab.leaderboard.results_file import FILE, NetResult, PanelResults, read_results
from samp_lab.panel_methods import FAST

NETS = ("mobilenet_v2", "resnet50", "squeezenet1_1")
"""They judge each other's maps, too."""
METHODS = ("consensus", "coupled", "SAMP++")
BOUND = 0.25
"""Standard deviations of the exact scores over images that a mean difference may have."""
PAGE = "agreement.md"


@dataclass(frozen=True)
class JudgeAgreement:
    """One judge of one method on one net: the exact scores, and the differences fast − exact, over images."""

    net: str
    method: str
    judge: Criterion
    exact: Summary
    difference: Summary

    @property
    def in_deviations(self) -> tuple[float, float, float]:
        """The mean difference and the ends of its interval, in standard deviations of the exact scores."""
        found = self.difference.mean, self.difference.low, self.difference.high
        scale = self.exact.sd
        return tuple(value / scale if scale > 0 else value for value in found)  # type: ignore[return-value]  # three

    @property
    def state(self) -> str:
        """ "agrees", "differs" where the whole interval lies beyond the bound, or else "undecided"."""
        _, low, high = self.in_deviations
        if low >= -BOUND and high <= BOUND:
            return "agrees"
        return "differs" if low > BOUND or high < -BOUND else "undecided"


def both_speeds(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the names of these methods at both speeds.

    >>> both_speeds(["coupled"])
    ('coupled', 'coupled (fast)')
    """
    return tuple(name for method in methods for name in (method, f"{method}{FAST}"))


def compare_speeds(result: NetResult) -> Iterator[JudgeAgreement]:
    """Yield every judge of every method that the panel of a net has at both speeds."""
    for judge in result.panel.criteria:
        scores = result.panel.scores[judge.key]
        for method in (name for name in scores if f"{name}{FAST}" in scores):
            exact, fast = scores[method], scores[f"{method}{FAST}"]
            known = ~(exact.isnan() | fast.isnan())
            if known.any():
                yield _judge_agreement(result.title, method, judge, exact[known], fast[known])


def write_agreement(folder: Path) -> Path:
    """Write agreement.md from the panel.json of a folder, and return its path; raise FileNotFoundError without one."""
    path = folder / PAGE
    with atomic_write(path) as unfinished:
        unfinished.write_text(_page(read_results(folder / FILE)), encoding="utf-8")
    return path


def summary_table(found: Sequence[JudgeAgreement]) -> str:
    """Return the counts of judges as Markdown, a row for each net and method."""
    lines = [
        "| net | method | judges | agree | undecided | differ | largest difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for net, method in dict.fromkeys((one.net, one.method) for one in found):
        own = [one for one in found if (one.net, one.method) == (net, method)]
        count = [sum(one.state == state for one in own) for state in ("agrees", "undecided", "differs")]
        worst = max(own, key=lambda one: abs(one.in_deviations[0]))
        size = f"{worst.in_deviations[0]:+.2f} SD ({worst.judge.heading})"
        lines.append(f"| {net} | {method} | {len(own)} | {' | '.join(map(str, count))} | {size} |")
    return "\n".join(lines)


def likeness_table(results: PanelResults) -> str:
    """Return how alike the maps themselves are as Markdown, by rank correlation."""
    lines = ["| net | method | photos | correlation by pixels | by cells of 8 × 8 |", "|---|---|---|---|---|"]
    lines += [
        f"| {net.title} | {method} | {net.photos} | {alike['pixels']:.3f} | {alike['cells']:.3f} |"
        for net in results.nets.values()
        for method, alike in net.facts.get("alike", {}).items()
    ]
    return "\n".join(lines)


def judge_table(found: Sequence[JudgeAgreement]) -> str:
    """Return every judge as Markdown."""
    lines = [
        "| net | method | judge | images | exact | fast − exact | in SD | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        exact, change = one.exact, one.difference
        mean, low, high = one.in_deviations
        cells = [
            one.net,
            one.method,
            one.judge.heading,
            str(exact.count),
            f"{exact.mean:.3f} ± {exact.sd:.2f}",
            f"{change.mean:+.4f}",
            f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]",
            one.state,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _page(results: PanelResults) -> str:
    found = [one for net in results.nets.values() for one in compare_speeds(net)]
    states = [one.state for one in found]
    first = (
        f"Of {len(found)} comparisons, {states.count('agrees')} agree, {states.count('undecided')} are undecided and "
        f"{states.count('differs')} differ. One agrees if the whole 95 % interval of the mean difference fast − exact "
        f"lies within {BOUND:g} standard deviations of the judge over images, and differs if it lies beyond."
    )
    ways = {way for net in results.nets.values() for way in net.facts.get("speeds", {}).values()}
    made = f"`{results.about.get('command', '')}`; {results.about.get('machine', '')}; {'; '.join(sorted(ways))}."
    tables = [summary_table(found), likeness_table(results), judge_table(found)]
    parts = ["# Fast maps before the panel", first, *tables, made]
    return "\n\n".join(parts) + "\n"


def _judge_agreement(net: str, method: str, judge: Criterion, exact: Tensor, fast: Tensor) -> JudgeAgreement:
    return JudgeAgreement(net, method, judge, summarise(exact.double()), summarise((fast - exact).double()))
