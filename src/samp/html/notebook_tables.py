"""What a notebook shows of comparisons, curves, panels and runs: tables, maps and charts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import torch

from samp.attribution import Attribution
from samp.batch.results import RunResults
from samp.batch.summary import Summary
from samp.compare import Compared
from samp.compare_columns import COLUMNS
from samp.html.notebook import embed_pictures, render_part
from samp.html.notebook_charts import draw_chart, line_colour
from samp.metrics.deletion_insertion import Curves
from samp.metrics.panel_result import ONE_PHOTO, Panel
from samp.metrics.panel_table import Cell, table_cells
from samp.plots.result_pictures import to_image
from samp.plots.result_view import Picture, shorten, view_sample
from samp.plots.shading import signed_colours

SIDE = 112  # pixels of a map
SAMPLES = 3  # of a comparison whose maps are shown
FAILURES = 10  # of a run that are listed
MAPS = 8  # of a run that are shown
NUMBERS = ("score", "residual", "gini", "gradients", "seconds")  # of the rows of a run
SCALE = "Maps: orange for, blue against, white 0; each has a scale of its own, full at the 99th percentile of |credit|."


def compared_html(compared: Compared) -> str:
    """Return the maps of the first samples by each method, the mean curves, and the table of means."""
    count = len(compared.rows[0].gradients)
    rows, captions = _map_rows([(row.name, row.attribution) for row in compared.rows], min(count, SAMPLES))
    best = {column.key: compared.best(column) for column in COLUMNS}
    cells = [
        [
            Cell(shorten(row.name)),
            *(Cell(column.format_value(row.numbers()[column.key]), row.name in best[column.key]) for column in COLUMNS),
        ]
        for row in compared.rows
    ]
    means = f"Means over {count} samples" if count > 1 else "One sample"
    notes = [
        f"{means}; {compared.protocol.label}. The best of a column is bold, but never a map made without the model."
    ]
    return render_part(
        "notebook_table.html",
        map_rows=rows,
        map_heads=captions,
        charts=_mean_charts({row.name: row.curves for row in compared.rows}),
        colours=[line_colour(number) for number in range(len(compared.rows))],
        heads=["method", *(column.heading_with_arrow for column in COLUMNS)],
        rows=cells,
        notes=[
            SCALE if rows else "",
            *notes,
            *(f"{row.name}: {shorten(row.attribution.method, 300)}" for row in compared.rows),
        ],
        title=f"{len(compared.rows)} methods on {count} sample{'s' * (count > 1)}",
    )


def curves_html(curves: Curves) -> str:
    """Return the mean curves, and the areas under those of the first samples."""
    count = len(curves.deletion)
    mean = [Cell("mean"), *(Cell(_format(float(getattr(curves, name).nanmean()))) for name in _AREAS)]
    rows = [
        [Cell(f"sample {n}"), *(Cell(_format(float(getattr(curves, name)[n]))) for name in _AREAS)]
        for n in range(min(count, FAILURES))
    ]
    left = (
        f"{curves.unnormalised} of {count} samples cannot be normalised and are left out. "
        if curves.unnormalised
        else ""
    )
    more = f"{count - FAILURES} further samples are in the mean. " if count > FAILURES else ""
    return render_part(
        "notebook_table.html",
        map_rows=[],
        map_heads=[],
        charts=_mean_charts({"mean": curves}),
        colours=[],
        heads=["", "deletion ↓", "insertion ↑", "insertion − deletion ↑"],
        rows=[mean, *rows] if count > 1 else rows,
        notes=[f"{more}{left}{curves.protocol.label}."],
        title=f"Deletion and insertion of {count} sample{'s' * (count > 1)}",
    )


def panel_html(panel: Panel) -> str:
    """Return the table of a panel's means and mean ranks, and why other judges did not judge."""
    heads, rows = table_cells(panel)
    notes = [f"({ONE_PHOTO})"] if panel.has_one_photo else []
    notes += [f"Without {key}: {shorten(reason, 200)}" for key, reason in panel.left_out.items()]
    return render_part(
        "notebook_table.html",
        map_rows=[],
        map_heads=[],
        charts=[],
        colours=[],
        heads=heads,
        rows=rows,
        notes=["The best of a column is bold.", *notes],
        title=f"{len(panel.methods)} methods before {len(panel.criteria)} judges",
    )


def summary_html(summary: Summary) -> str:
    """Return the counts of a run, and its first failures."""
    failures = [
        [Cell(shorten(name)), Cell(shorten(reason, 300))] for name, reason in islice(summary.failures.items(), FAILURES)
    ]
    lost = [
        [Cell(f"shard {number}"), Cell(shorten(reason, 300))]
        for number, reason in islice(summary.lost.items(), FAILURES)
    ]
    left = len(summary.failures) + len(summary.lost) - len(failures) - len(lost)
    return render_part(
        "notebook_table.html",
        map_rows=[],
        map_heads=[],
        charts=[],
        colours=[],
        heads=["failed", "why"] if failures or lost else [],
        rows=[*failures, *lost],
        notes=[f"and {left:,} further failures" if left else "", f"In {summary.folder}, {summary.seconds:.1f} s."],
        title=f"{summary.explained:,} of {summary.inputs:,} inputs explained"
        + (f", {summary.found:,} of them before" if summary.found else ""),
    )


def run_html(run: RunResults) -> str:
    """Return the first maps and rows of a run."""
    columns = run.columns()
    first = run.shards.rows(run.numbers[0])[:MAPS] if run.numbers else []
    maps = dict(islice(run.maps(), MAPS))
    pictures = [
        Picture(to_image(signed_colours(torch.as_tensor(one))), shorten(name, 20), False) for name, one in maps.items()
    ]
    embedded = embed_pictures([_fit(one) for one in pictures])
    rows = [
        [
            Cell(shorten(str(row["id"]))),
            Cell(shorten(str(row.get("label") or row.get("target")))),
            *(Cell(_format(row.get(name))) for name in NUMBERS),
            Cell(shorten(row.get("error") or "", 100)),
        ]
        for row in first
    ]
    damaged = f", {len(run.damaged)} damaged shards are left out" if run.damaged else ""
    return render_part(
        "notebook_table.html",
        map_rows=[("", embedded)] if embedded else [],
        map_heads=[one.caption for one in pictures],
        charts=[],
        colours=[],
        heads=["id", "class", *NUMBERS, "error"] if rows else [],
        rows=rows,
        notes=[SCALE if embedded else "", f"The first {len(rows)} of {len(columns):,} rows{damaged}; {run.folder}."],
        title=f"{columns.explained_count:,} of {run.settings['inputs']:,} inputs explained",
    )


_AREAS = ("deletion", "insertion", "difference")


def _map_rows(
    results: Sequence[tuple[str, Attribution]], samples: int
) -> tuple[list[tuple[str, list[object]]], list[str]]:
    """Return for each sample its question and pictures, the input first if it is known; and headings of the columns."""
    found = []
    for sample in range(samples):
        views = [view_sample(result, sample, SIDE) for _, result in results]
        if not all(view.pictures for view in views):
            return [], []
        shown = [view.pictures[-1] for view in views]
        inputs = [one for one in views[0].pictures[:-1] if one.caption == "input"]
        found.append((views[0].question, [*inputs, *shown]))
    embedded = iter(embed_pictures([one for _, pictures in found for one in pictures]))
    rows: list[tuple[str, list[object]]] = [
        (question, [next(embedded) for _ in pictures]) for question, pictures in found
    ]
    names = [shorten(name, 24) for name, _ in results]
    return rows, (["input"] if rows and len(rows[0][1]) > len(names) else []) + names


def _mean_charts(curves: dict[str, Curves]) -> list[str]:
    """Return a chart of deletion and one of insertion, with the mean curve of each."""
    charts: list[str] = []
    for kind, done, better in (("deletion", "deleted", "lower"), ("insertion", "inserted", "higher")):
        lines = {name: getattr(one, f"{kind}_curve").double().nanmean(0).tolist() for name, one in curves.items()}
        shares = next(iter(curves.values())).shares.tolist()
        charts.append(draw_chart(f"{kind}: {better} is better", f"share of features {done}", shares, lines))
    return charts


def _fit(picture: Picture) -> Picture:
    from samp.plots.result_pictures import enlarge_squares

    return Picture(enlarge_squares(picture.image, SIDE), picture.caption, picture.flat)


def _format(value: object) -> str:
    if not isinstance(value, int | float) or value != value:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}".replace("-", "−")
