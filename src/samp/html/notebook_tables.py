"""What a notebook shows of comparisons, curves, panels and runs: tables, maps and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from samp.attribution import Attribution
from samp.batch.results import RunResults
from samp.batch.summary import Summary
from samp.batch.tables import Row
from samp.compare import Compared
from samp.compare_columns import COLUMNS
from samp.html.embed import EmbeddedImage
from samp.html.notebook import embed_pictures, render_part
from samp.html.notebook_charts import draw_chart, line_colour
from samp.metrics.deletion_insertion import Curves
from samp.metrics.panel_result import ONE_PHOTO, Panel
from samp.metrics.panel_table import Cell, table_cells
from samp.plots.result_pictures import as_wide, enlarge_squares, shrink_map, to_image
from samp.plots.result_view import Picture, shorten, view_sample
from samp.plots.shading import signed_colours

SIDE = 112  # pixels of a map
SAMPLES = 3  # of a comparison whose maps are shown
LISTED = 10  # samples, failures and methods' settings that are listed
MOST_METHODS = 12  # of a comparison whose maps are shown
MAPS = 8  # of a run that are shown
AREAS = ("deletion", "insertion", "difference")
NUMBERS = ("score", "residual", "gini", "gradients", "seconds")  # of the rows of a run
SCALE = "Maps: orange for, blue against, white 0; each has a scale of its own, full at the 99th percentile of |credit|."


@dataclass(frozen=True)
class MapTable:
    """Pictures in rows, each with a text before it, below headings."""

    heads: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[EmbeddedImage]]] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Sheet:
    """What is shown, from above: title, maps, charts, table, notes; empty parts are left out."""

    title: str
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    notes: Sequence[str] = ()
    maps: MapTable = MapTable()
    charts: Sequence[str] = ()
    colours: Sequence[str] = ()
    """Of the curve of each row, where there are charts of several."""

    def render(self) -> str:
        """Return the part of a page."""
        return render_part("notebook_table.html", sheet=self)


def compared_html(compared: Compared) -> str:
    """Return the maps of the first samples by each method, the mean curves, and the table of means."""
    count = len(compared.rows[0].gradients)
    best = {column.key: compared.best(column) for column in COLUMNS}
    rows = [
        [
            Cell(shorten(row.name)),
            *(Cell(column.format_value(row.numbers()[column.key]), row.name in best[column.key]) for column in COLUMNS),
        ]
        for row in compared.rows
    ]
    means = f"Means over {count} samples" if count > 1 else "One sample"
    maps = _draw_maps([(row.name, row.attribution) for row in compared.rows[:MOST_METHODS]], min(count, SAMPLES))
    bold = "The best of a column is bold, but never a map made without the model."
    return Sheet(
        f"{len(compared.rows)} methods on {_count(count, 'sample')}",
        ["method", *(column.heading_with_arrow for column in COLUMNS)],
        rows,
        [
            *maps.notes,
            f"{means}; protocol {compared.protocol.label}. {bold}",
            *(f"{shorten(row.name)}: {shorten(row.attribution.method, 300)}" for row in compared.rows),
        ],
        maps,
        _mean_charts({row.name: row.curves for row in compared.rows}),
        [line_colour(number) for number in range(len(compared.rows))],
    ).render()


def curves_html(curves: Curves) -> str:
    """Return the mean curves, and the areas under those of the first samples."""
    count, left_out = len(curves.deletion), curves.unnormalised
    areas = [getattr(curves, name) for name in AREAS]
    rows = [[Cell("mean"), *(Cell(_format(float(area.nanmean()))) for area in areas)]] if count > 1 else []
    rows += [
        [Cell(f"sample {n}"), *(Cell(_format(float(area[n]))) for area in areas)] for n in range(min(count, LISTED))
    ]
    notes = [f"{count - LISTED:,} further samples are in the mean."] if count > LISTED else []
    notes += [f"{left_out} of {count} samples cannot be normalised and are left out."] if left_out else []
    return Sheet(
        f"Deletion and insertion of {_count(count, 'sample')}",
        ["", "deletion ↓", "insertion ↑", "insertion − deletion ↑"],
        rows,
        [*notes, f"Protocol {curves.protocol.label}."],
        charts=_mean_charts({"mean": curves}),
    ).render()


def panel_html(panel: Panel) -> str:
    """Return the table of a panel's means and mean ranks, and why other judges did not judge."""
    heads, rows = table_cells(panel)
    notes = ["The best of a column is bold.", *([f"({ONE_PHOTO})"] if panel.has_one_photo else [])]
    notes += [f"Without {key}: {shorten(reason, 200)}" for key, reason in panel.left_out.items()]
    title = f"{_count(len(panel.methods), 'method')} before {_count(len(panel.criteria), 'judge')}"
    return Sheet(title, heads, rows, notes).render()


def summary_html(summary: Summary) -> str:
    """Return the counts of a run, and its first failures."""
    reasons = {**summary.failures, **{f"shard {number}": reason for number, reason in summary.lost.items()}}
    rows = [[Cell(shorten(name)), Cell(shorten(reason, 300))] for name, reason in islice(reasons.items(), LISTED)]
    before = f", {summary.found:,} of them before" if summary.found else ""
    more = [f"and {len(reasons) - LISTED:,} further failures"] if len(reasons) > LISTED else []
    return Sheet(
        f"{summary.explained:,} of {summary.inputs:,} inputs explained{before}",
        ["failed", "why"] if rows else [],
        rows,
        [*more, f"In {summary.folder}, {summary.seconds:.1f} s."],
    ).render()


def run_html(run: RunResults) -> str:
    """Return the first maps and rows of a run."""
    columns = run.columns()
    first = run.shards.rows(run.numbers[0])[:MAPS] if run.numbers else []
    pictures = [
        Picture(enlarge_squares(to_image(signed_colours(shrink_map(one, SIDE))), SIDE), shorten(name, 20), False)
        for name, one in islice(run.maps(), MAPS)
    ]
    maps = MapTable([one.caption for one in pictures], [("", embed_pictures(pictures))]) if pictures else MapTable()
    damaged = f", {_count(len(run.damaged), 'damaged shard')} left out" if run.damaged else ""
    return Sheet(
        f"{columns.explained_count:,} of {run.settings['inputs']:,} inputs explained",
        ["id", "class", *NUMBERS, "error"] if first else [],
        [_run_cells(row) for row in first],
        [*([SCALE] if pictures else []), f"The first {len(first)} of {len(columns):,} rows{damaged}; {run.folder}."],
        maps,
    ).render()


def _run_cells(row: Row) -> list[Cell]:
    label = row.get("label") or row.get("target")
    texts = [str(row["id"]), "–" if label is None else str(label), *(_format(row.get(name)) for name in NUMBERS)]
    return [Cell(shorten(text, 100)) for text in (*texts, row.get("error") or "")]


def _draw_maps(results: Sequence[tuple[str, Attribution]], samples: int) -> MapTable:
    """Return for each sample its question and pictures, the input first if it is known; nothing without pictures."""
    found: list[tuple[str, list[Picture]]] = []
    notes: dict[str, None] = {SCALE: None}
    for sample in range(samples):
        views = [view_sample(result, sample, SIDE) for _, result in results]
        if not all(view.pictures and not view.bars for view in views):
            return MapTable()
        inputs = [one for one in views[0].pictures if one.caption == "input"]
        found.append((views[0].question, [*inputs, *(view.pictures[-1] for view in views)]))
        notes |= dict.fromkeys(note for note in views[0].notes if note.startswith("Photo "))
    embedded = iter(embed_pictures([one for _, pictures in found for one in pictures]))
    rows = [(question, [next(embedded) for _ in pictures]) for question, pictures in found]
    heads = ["input"] if len(rows[0][1]) > len(results) else []
    return MapTable([*heads, *(shorten(name, 24) for name, _ in results)], rows, list(notes))


def _mean_charts(curves: Mapping[str, Curves]) -> list[str]:
    """Return a chart of deletion and one of insertion, with the mean curve of each."""
    shares = next(iter(curves.values())).shares.tolist()
    charts: list[str] = []
    for kind, done, better in (("deletion", "deleted", "lower"), ("insertion", "inserted", "higher")):
        lines = {name: as_wide(getattr(one, f"{kind}_curve")).nanmean(0).tolist() for name, one in curves.items()}
        charts.append(draw_chart(f"{kind}: {better} is better", f"share of features {done}", shares, lines))
    return charts


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _format(value: float | int | None) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}".replace("-", "−")
