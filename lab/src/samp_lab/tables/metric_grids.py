"""The grids of a table of Deletion and Insertion: both readings beside the paper's values, and all other nets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from samp.metrics.statistics import Summary
from samp_lab.effects import ARROWS, BETTER, Column
from samp_lab.report.provenance import DEVICES
from samp_lab.sections import Grid
from samp_lab.setups import SEED, Setup, net_title
from samp_lab.store import Results
from samp_lab.tables.agreement import COLUMNS
from samp_lab.tables.metric_cells import MetricCells

CALLS = ("gradients", "forwards")
NOT_MEASURED = "not measured"


def full_grid(cells: MetricCells, results: Results, setups: Sequence[Setup]) -> Grid:
    """Return one grid for the setups of a data set, one of each reading: values, differences to the paper's, and cost.

    One setup has the columns "ours", "the paper's" and "difference"; those of two are named by their readings, and Δ is
    ours less the paper's.
    """
    if len(setups) == 1:
        return _grid_of_one(cells, results, setups[0])
    readings = [one.reading for one in setups]
    has_paper = bool(cells.values.get(setups[0].data))
    heads = ("the paper's", *readings, *(f"Δ {one}" for one in readings)) if has_paper else tuple(readings)
    best = {(one, column): _best_rows(cells, results, one, column) for one in setups for column in COLUMNS}
    rows = []
    for row in _rows_of(cells, results, setups):
        texts = [row]
        for column in COLUMNS:
            paper = cells.paper(row, setups[0].data, column)
            found = [_summary(cells, results, row, one, column) for one in setups]
            bold = [row in best[one, column] for one in setups]
            texts += [_paper_text(paper)] if has_paper else []
            texts += [_mean_text(*pair, digits=2) for pair in zip(found, bold, strict=True)]  # fits a laptop
            texts += [_difference_text(one, paper) for one in found] if has_paper else []
        rows.append((*texts, *(_costs_text(cells, results, row, setups, name) for name in CALLS)))
    title = f"{setups[0].data_title}: " + ", ".join(f"{net_title(one.net)} ({one.reading})" for one in setups)
    groups = (
        ("", 1),
        *((ARROWS[c], len(heads)) for c in COLUMNS),
        ("calls of an image", len(CALLS)),
    )
    return Grid(("", *heads * len(COLUMNS), *CALLS), tuple(rows), title, groups)


def _grid_of_one(cells: MetricCells, results: Results, setup: Setup) -> Grid:
    what = ("ours", "the paper's", "difference") if cells.values.get(setup.data) else ("ours",)
    best = {column: _best_rows(cells, results, setup, column) for column in COLUMNS}
    rows = []
    for row in cells.present(results, setup):
        texts = [row]
        for column in COLUMNS:
            found, paper = cells.summary(results, row, setup, column), cells.paper(row, setup.data, column)
            three = (_mean_text(found, row in best[column]), _paper_text(paper), _difference_text(found, paper))
            texts += three[: len(what)]
        seconds = results.seconds(cells.measurement(row, setup))
        texts += [_cost_text(cells, results, row, setup, name) for name in CALLS]
        rows.append((*texts, f"{fmean(seconds):.3g}" if seconds else "–"))
    groups = (("", 1), *((ARROWS[c], len(what)) for c in COLUMNS), ("cost of an image", len(CALLS) + 1))
    return Grid(("", *what * len(COLUMNS), *CALLS, "seconds"), tuple(rows), setup.title, groups)


def other_nets_grid(cells: MetricCells, results: Results, full: Sequence[Setup], others: Sequence[Setup]) -> Grid:
    """Return the means on all other nets of a data set, a column for each net, as "deletion / insertion".

    A method that failed on a net has words in place of numbers. A net that was measured on fewer images than most, or
    on another kind of device, has that in its heading. Nets that differ by their training seed alone have one more
    column: the standard deviation over the seeds, those of the setups in `full` included.
    """
    rows = []
    spreads = list(_seed_groups(full, others))
    failed = {one: cells.failures(results, one) for one in others}
    for row in _rows_of(cells, results, others):
        means = {one: _means(cells, results, row, one) for one in (*full, *others)}
        texts = [NOT_MEASURED if row in failed[one] else _pair_text(means[one]) for one in others]
        rows.append((row, *texts, *(_pair_text(_deviations([means[one] for one in group])) for group in spreads)))
    seeds = [f"{net_title(group[0].net)}: deviation over {len(group)} seeds" for group in spreads]
    heads = ("", *_net_heads(cells, results, full, others), *seeds)
    return Grid(heads, tuple(rows), f"{others[0].data_title}, other nets: mean deletion / mean insertion")


def _net_heads(cells: MetricCells, results: Results, full: Sequence[Setup], others: Sequence[Setup]) -> Iterator[str]:
    """Yield the title of each of the other nets, with its images and device where those are not the most frequent."""
    runs = {one: _run_words(cells, results, one) for one in (*full, *others)}
    usual = Counter(runs.values()).most_common(1)[0][0]
    return (net_title(one.net) + (f" ({runs[one]})" if runs[one] != usual else "") for one in others)


def _run_words(cells: MetricCells, results: Results, setup: Setup) -> str:
    """Return how many images a setup was measured on, and on which kind of device."""
    measurement = cells.measurement(cells.present(results, setup)[0], setup)
    device = results.entry(measurement).get("facts", {}).get("device")
    count = len(results.numbers(measurement, COLUMNS[0]))
    return f"{count} images" + (f" on a {DEVICES.get(device, device)}" if device else "")


def _seed_groups(full: Sequence[Setup], others: Sequence[Setup]) -> Iterator[list[Setup]]:
    """Yield the setups of each net that was trained from several seeds."""
    groups: dict[tuple[str, str], list[Setup]] = {}
    for one in (*full, *others):
        groups.setdefault((one.reading, one.net.partition(SEED)[0]), []).append(one)
    return (group for group in groups.values() if len(group) > 1)


def _deviations(pairs: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """Return the standard deviations of the first and of the second number; None below two known pairs."""
    known = [pair for pair in pairs if pair is not None]
    if len(known) < 2:
        return None
    first, second = zip(*known, strict=True)
    return stdev(first), stdev(second)


def _means(cells: MetricCells, results: Results, row: str, setup: Setup) -> tuple[float, float] | None:
    if row not in cells.present(results, setup):
        return None
    deletion, insertion = (cells.mean(results, row, setup, column) for column in COLUMNS)
    return None if math.isnan(deletion) or math.isnan(insertion) else (deletion, insertion)


def _pair_text(pair: tuple[float, float] | None) -> str:
    return "–" if pair is None else f"{pair[0]:.3f} / {pair[1]:.3f}".replace("-", "−")


def _rows_of(cells: MetricCells, results: Results, setups: Sequence[Setup]) -> list[str]:
    """Return the rows that any of the setups has or failed to have, in the order of the table."""
    found = {row for one in setups for row in (*cells.present(results, one), *cells.failures(results, one))}
    return [row for row in cells.rows if row in found]


def _summary(cells: MetricCells, results: Results, row: str, setup: Setup, column: Column) -> Summary | None:
    return cells.summary(results, row, setup, column) if row in cells.present(results, setup) else None


def _best_rows(cells: MetricCells, results: Results, setup: Setup, column: Column) -> set[str]:
    means = {row: cells.mean(results, row, setup, column) for row in cells.present(results, setup)}
    known = {row: mean for row, mean in means.items() if not math.isnan(mean)}
    goal = (min if BETTER[column] == "lower" else max)(known.values(), default=None)
    return {row for row, mean in known.items() if mean == goal}


def _mean_text(found: Summary | None, best: bool, digits: int = 3) -> str:
    """Return our mean with deviation and interval, whose ends have this many digits."""
    if found is None or not found.count:
        return "–"
    mean = f"**{found.mean:.3f}**" if best else f"{found.mean:.3f}"
    spread = f" ± {found.sd:.2f} [{found.low:.{digits}f}, {found.high:.{digits}f}]" if found.count > 1 else ""
    return (mean + spread).replace("-", "−")


def _paper_text(paper: tuple[float, float | None] | None) -> str:
    if paper is None:
        return "–"
    value, deviation = paper
    return (f"{value:.3f}" + (f" ± {deviation:.2f}" if deviation is not None else "")).replace("-", "−")


def _difference_text(found: Summary | None, paper: tuple[float, float | None] | None) -> str:
    if found is None or not found.count or paper is None:
        return "–"
    return f"{found.mean - paper[0]:+.3f}".replace("-", "−")


def _cost_text(cells: MetricCells, results: Results, row: str, setup: Setup, name: str) -> str:
    if row not in cells.present(results, setup):
        return "–"
    return f"{fmean(results.numbers(cells.measurement(row, setup), name)):,.0f}"


def _costs_text(cells: MetricCells, results: Results, row: str, setups: Sequence[Setup], name: str) -> str:
    """Return the cost under each reading in the order of the title, once where they are the same."""
    texts = [_cost_text(cells, results, row, one, name) for one in setups]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)
