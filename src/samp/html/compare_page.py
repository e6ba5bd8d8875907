"""The page of methods side by side: maps, curves, a table, and how it was made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

import numpy as np
from markupsafe import Markup
from PIL import Image

from samp.compare import Compared, Row
from samp.compare_columns import COLUMNS, Column
from samp.html.compare_facts import missing_notes
from samp.html.embed import embed_image
from samp.html.facts import Record
from samp.html.render import render_page
from samp.html.svg import css_classes, curve_chart
from samp.metrics.panel_result import ONE_PHOTO, Panel
from samp.metrics.panel_table import table_cells
from samp.metrics.protocol_text import describe_protocol, describe_score
from samp.models.prediction import ClassifiedPhoto
from samp.models.question import name_class
from samp.models.zero_colour import zero_colour
from samp.plots.answer_rows import region_sentence
from samp.plots.axes import pad_limits
from samp.plots.region_view import outline_region
from samp.plots.shading import FULL_WHITE_QUANTILE, brightness
from samp.plots.sheet import PANEL
from samp.region import region_of

MOST_COLUMNS = 5  # of maps on a wide screen


def comparison_page(classified: ClassifiedPhoto, compared: Compared, record: Record) -> str:
    """Return the page of one photo; it loads nothing and runs no script but its own."""
    pictures = 1 + len(compared.rows)
    height = describe_score(compared.protocol, record["score_is"])
    deletion, insertion = curve_charts(compared, height)
    values = {
        "title": f"{name_class(record)} in {PurePath(record['photo']).name}: {len(compared.rows)} methods compared",
        "lead": _lead(record),
        "label": name_class(record),
        "notes": missing_notes(compared, record),
        "across": -(-pictures // -(-pictures // MOST_COLUMNS)),
        "photo": embed_image(classified.crop.convert("RGB"), "JPEG"),
        "methods": [_method(number, row, compared, classified) for number, row in enumerate(compared.rows)],
        "deletion": deletion,
        "insertion": insertion,
        "height": height,
        "columns": [_column(column) for column in COLUMNS],
        "meanings": [(column.heading.capitalize(), column.meaning) for column in COLUMNS],
        "judges": _judges(compared.panel) if compared.panel else None,
        "facts": list(_facts(classified, compared, record)),
        "record": record,
    }
    scripts = ["theme.js", "sort.js", "compare.js"]
    return render_page("compare.html", values, styles=["compare.css"], scripts=scripts)


def curve_charts(compared: Compared, height: str) -> tuple[Markup, Markup]:
    """Return the deletion and the insertion curves of the first sample on the same axes; `height` is what they show."""
    deletion = {row.name: row.curves.deletion_curve[0].tolist() for row in compared.rows}
    insertion = {row.name: row.curves.insertion_curve[0].tolist() for row in compared.rows}
    scores = [score for curves in (deletion, insertion) for curve in curves.values() for score in curve]
    limits = pad_limits(scores, 0.04, include_zero=True)
    shares = compared.rows[0].curves.shares.tolist()
    return (
        curve_chart(deletion, shares, limits, "deleted", height),
        curve_chart(insertion, shares, limits, "inserted", height),
    )


def _lead(record: Record) -> str:
    score = f"{record['score']:.3f}".replace("-", "−")
    return (
        f"{record['model']} gives {PurePath(record['photo']).name} a {record['score_is']} of {score} "
        f"for {name_class(record)}. "
        f"Where does that come from? Here is what {len(record['methods'])} methods say, and what the model does when "
        "pixels go or come in the order of their maps."
    )


# ---- methods


def _method(number: int, row: Row, compared: Compared, classified: ClassifiedPhoto) -> Record:
    """Return what the page shows of one method: its map, alone and over the photo, and its line of the table."""
    shade, region = brightness(row.attribution.map[0]), region_of(row.attribution)
    over = outline_region(classified.crop, region, (PANEL, PANEL))
    return {
        "name": row.name,
        "classes": css_classes(number),
        "grey": embed_image(Image.fromarray((255 * shade).round().astype(np.uint8))),
        "over": embed_image(over, "JPEG"),
        "scale": describe_scale(shade),
        "outlined": region_sentence(region),
        "settings": row.attribution.method,
        "cells": [_cell(row, column, compared) for column in COLUMNS],
    }


def _cell(row: Row, column: Column, compared: Compared) -> Record:
    value = row.numbers(0)[column.key]
    return {
        "value": "" if value is None else repr(value),
        "text": column.format_value(value),
        "best": row.name in compared.best(column, 0),
    }


def describe_scale(shade: np.ndarray[Any, Any]) -> str:
    """Return what is bright and what is dark in a map of this brightness (h w in [0, 1])."""
    if not shade.any():
        return "no positive credit: all dark"
    dark = f"no credit, or negative ({(shade == 0).mean():.0%} of pixels)"
    return f"brightest: top {1 - FULL_WHITE_QUANTILE:.0%}; dark: {dark}"


# ---- table and texts


def _column(column: Column) -> dict[str, str]:
    """Return a heading that sorts, in no more than two lines."""
    heading = " ".join(line.replace(" ", "\N{NO-BREAK SPACE}") for line in column.heading_lines)
    return {"heading": heading, "better": column.better or "higher", "meaning": column.meaning}


def _judges(panel: Panel) -> Record:
    """Return the table of the judges: headings with their meanings, a row for each method, and who did not judge."""
    heads, rows = table_cells(panel)
    meanings = [one.meaning for one in panel.criteria]
    return {
        "heads": list(zip(heads[1:], [*meanings, "Mean of the ranks before all judges that rank."], strict=True)),
        "rows": [(row[0].text, row[1:]) for row in rows],
        "meanings": [(f"Judge: {one.heading}", one.meaning) for one in panel.criteria],
        "left_out": list(panel.left_out),
        "note": ONE_PHOTO if panel.has_one_photo else "",
    }


def _facts(classified: ClassifiedPhoto, compared: Compared, record: Record) -> Iterable[tuple[str, str]]:
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    score = f"{record['score']:.3f}".replace("-", "−")
    zero = zero_colour(classified.classifier)
    yield "Photo", PurePath(record["photo"]).name
    yield "Model", record["model"]
    yield "Class", f"{name_class(record, numbers=True)}, {record['score_is']} {score}"
    measured = describe_protocol(compared.protocol, len(record["shares"]), zero, record["score_is"])
    yield "Deletion and insertion", measured
    yield "Made with", f"{versions}; {record['device']}, {record['dtype']}, seed {record['seed']}"
