"""Write the numbers that pages repeat from results/ into them: `python docs/build_numbers.py`.

A page has them between two comments, and the script replaces what stands there:

    <!-- table1: IG, SAMP, SAMP++ -->      these rows of Table 1, the paper's beside ours, from results.json
    <!-- /table1 -->

    <!-- gap: mnist@authors -->…<!-- /gap -->    the mean difference to Table 1 on this test bed

    <!-- counts -->…<!-- /counts -->        how many comparisons of the paper hold, from report.md
    <!-- both-counts -->…<!-- /both-counts -->    how many there are of the paper, and of our own
    <!-- claims -->…<!-- /claims -->        how many of the paper's claims hold, from page one of report.md

A line must not begin with one of the latter four: Markdown would take it for HTML. Run `samp bench report` first:
report.md is made from results.json.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from samp_lab.report.provenance import why_stale
from samp_lab.setups import IMAGENET_NETS, Setup, parse_setup
from samp_lab.store import Results, Store
from samp_lab.tables.agreement import mean_gap
from samp_lab.tables.table1 import TABLE1

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
PAGES = ("README.md", "docs/guide.md", "docs/experiments.md")
BLOCK = re.compile(
    r"(?P<begin><!-- (?P<name>[a-z0-9-]+)(?:: (?P<words>[^>]*?))? -->)(?P<old>.*?)(?P<end><!-- /(?P=name) -->)",
    re.DOTALL,
)
DATA = {"mnist": "MNIST", "cifar10": "CIFAR-10", "imagenet": "ImageNet"}
STALE = "†"
"""After a number that was made by an older version of its method."""


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        path = ROOT / page
        path.write_text(fill_page(path.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


def fill_page(text: str, folder: Path) -> str:
    """Return a page with its blocks made from a folder of results; raise ValueError for an unknown block."""

    def replace(found: re.Match[str]) -> str:
        if found["name"] not in BLOCKS:
            raise ValueError(f"there is no block {found['name']!r}: the blocks are {', '.join(BLOCKS)}.")
        words = [word.strip() for word in (found["words"] or "").split(",") if word.strip()]
        return found["begin"] + BLOCKS[found["name"]](folder, words) + found["end"]

    return BLOCK.sub(replace, text)


# ---- Table 1


def table1(folder: Path, rows: Sequence[str]) -> str:
    """Return these rows of Table 1, or all of the paper's: deletion / insertion, the paper's and ours."""
    unknown = [row for row in rows if row not in TABLE1.rows]
    if unknown:
        raise ValueError(f"Table 1 has no row {unknown[0]!r}: its rows are {', '.join(TABLE1.rows)}.")
    results = Store(folder).read()
    columns = [(data, setup) for data in DATA for setup in (None, *_measured_setups(results, data))]
    heads = ["Deletion ↓ / Insertion ↑", *(_head(data, setup) for data, setup in columns)]
    lines = [heads, ["---"] * len(heads)]
    for row in rows or TABLE1.values["mnist"]:
        lines.append([row, *(_cell(results, row, data, setup) for data, setup in columns)])
    return "\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _measured_setups(results: Results, data: str) -> list[Setup]:
    """Return the setup of each reading that has results: that of the paper's net, or of the first other on ImageNet."""
    found = []
    for reading in ("", "@authors"):
        own = [parse_setup(f"{data}{reading}")]
        others = [parse_setup(f"{data}/{net}{reading}") for net in IMAGENET_NETS if data == "imagenet"]
        known = [one for one in own + others if any(map(results.has, TABLE1.measurements([one])))]
        found += known[:1]
    return found


def _head(data: str, setup: Setup | None) -> str:
    if setup is None:
        return f"{DATA[data]}: paper"
    paper_net = parse_setup(f"{data}{'' if setup.reading == 'text' else '@' + setup.reading}").net
    return f"ours, {setup.reading}" + ("" if setup.net == paper_net else f", {setup.title.rpartition(', ')[2]}")


def _cell(results: Results, row: str, data: str, setup: Setup | None) -> str:
    if setup is None:
        value = TABLE1.values[data].get(row)
        return "" if value is None else _pair(value[0], value[2])
    measurement = dict(zip(TABLE1.rows, TABLE1.measurements([setup]), strict=True))[row]
    if not results.has(measurement):
        return "–"
    means = [_mean(results.numbers(measurement, column)) for column in ("deletion", "insertion")]
    return _pair(*means) + (f" {STALE}" if why_stale(results.entry(measurement)) else "")


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return fmean(known) if known else math.nan


def _pair(deletion: float, insertion: float) -> str:
    return f"{deletion:.3f} / {insertion:.3f}".replace("-", "−")


def gap(folder: Path, words: Sequence[str]) -> str:
    """Return the mean difference to Table 1 on a setup, over all of its rows and both metrics."""
    (name,) = words
    return f"{mean_gap(TABLE1.cells, Store(folder).read(), parse_setup(name)):.3f}"


# ---- counts


def counts(folder: Path, words: Sequence[str]) -> str:
    """Return how many comparisons of the paper hold, as a part of a sentence."""
    total, holds, unsure, fails = read_counts(folder, "of the paper")
    return f"of {total} comparisons that the paper draws, {holds} hold, {unsure} stay open and {fails} fail"


def both_counts(folder: Path, words: Sequence[str]) -> str:
    """Return how many comparisons of the paper and of our own there are, as a part of a sentence."""
    paper, own = (read_counts(folder, whose)[0] for whose in ("of the paper", "of our own"))
    return f"{paper} comparisons of the paper and {own} of our own"


def claims(folder: Path, words: Sequence[str]) -> str:
    """Return how many claims of the paper hold, as a part of a sentence."""
    found = re.search(r"\*\*Of (\d+ claims of the paper, [^*]*)\.\*\*", _read_report(folder))
    if not found:
        raise ValueError("results/report.md has no page one: write it again by `samp bench report --out results`.")
    return f"of {found[1]}"


def read_counts(folder: Path, whose: str) -> tuple[int, int, int, int]:
    """Return how many comparisons the report has "of the paper" or "of our own": in all, that hold, are open, fail.

    Raises ValueError if the report does not say.
    """
    said = rf"Of (\d+) (?:claim|comparison)s? {whose} that \w+ tested here, (\d+) holds?, (\d+) \w+ open and (\d+) fail"
    found = re.search(said, _read_report(folder))
    if not found:
        raise ValueError(
            f"results/report.md does not count the comparisons {whose}: write it again by `samp bench report`."
        )
    total, holds, unsure, fails = map(int, found.groups())
    return total, holds, unsure, fails


def _read_report(folder: Path) -> str:
    return (folder / "report.md").read_text(encoding="utf-8")


BLOCKS: dict[str, Callable[[Path, Sequence[str]], str]] = {
    "table1": table1,
    "gap": gap,
    "counts": counts,
    "both-counts": both_counts,
    "claims": claims,
}

if __name__ == "__main__":
    main()
