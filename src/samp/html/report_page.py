"""The page about a run: distributions, examples, classes, failures, and how it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from samp.batch.columns import TRUE, Columns
from samp.batch.results import RunResults
from samp.batch.shards import describe_shards
from samp.html.embed import EmbeddedImage, embed_image
from samp.html.facts import Record
from samp.html.render import render_page
from samp.html.report_facts import (
    MOST_CLASSES,
    QUANTITIES,
    Quantity,
    class_summaries,
    extreme_positions,
    histogram,
    is_complete,
    median_and_deciles,
    ranking_quantity,
    run_numbers,
)
from samp.html.report_labels import label_facts, surest_mistakes
from samp.html.report_pictures import read_pictures
from samp.html.svg import histogram_chart
from samp.plots.shading import brightness

MOST_FAILURES = 50


def run_page(run: RunResults, pictures: bool = False, *, gallery: str = "") -> str:
    """Return the page of a run, with the photos of the examples if asked; it loads nothing from elsewhere.

    `gallery` is the address of the gallery's page, for a link.
    """
    columns = run.columns()
    labels = label_facts(run, columns)
    ranking, summaries = ranking_quantity(columns), class_summaries(columns)
    values = {
        "title": f"{columns.explained_count} inputs explained by {_method_label(run)}",
        "lead": _lead(run, columns),
        "gallery": gallery,
        "labels": labels,
        "method": _method_label(run),
        "notes": list(_notes(run, columns)),
        "cards": [describe_quantity(quantity, columns) for quantity in QUANTITIES],
        "examples_title": "Best and worst" if ranking is QUANTITIES[0] else "Best and worst, by concentration",
        "ranking": _ranking_note(columns, ranking),
        "headings": ["inputs", "agreed", *(quantity.heading for quantity in QUANTITIES)],
        "classes": [_class_row(one) for one in summaries[:MOST_CLASSES]],
        "table_note": _table_note(len(summaries)),
        "failures": _failures(run, columns),
        "facts": list(_facts(run)),
        "data": {**run_numbers(run, columns), **(labels.to_dict() if labels else {})},
        **_examples(run, columns, ranking, pictures),
    }
    return render_page("report.html", values, styles=["report.css"], scripts=["theme.js", "sort.js"])


def _lead(run: RunResults, columns: Columns) -> str:
    parts = [f"{run.settings['model']} on {run.settings['inputs']:,} inputs: {columns.explained_count:,} explained"]
    failed = len(columns) - columns.explained_count
    parts += [f"{failed:,} failed"] if failed else []
    spent = columns["gradients"][columns["gradients"] > 0]
    parts += [f"{np.median(spent):.0f} gradients each"] if len(spent) else []
    resolution = columns["resolution"][columns["resolution"] > 0]  # NaN: not measured; 0: none was found
    parts += [f"maps reproducible at {np.median(resolution):.0f} px in the median"] if len(resolution) else []
    parts += [f"{np.nansum(columns['seconds']):,.0f} s of work in all"] if columns.explained_count else []
    return ", ".join(parts) + "."


def _notes(run: RunResults, columns: Columns) -> Iterable[str]:
    missing = run.settings["inputs"] - len(columns)
    if missing:
        yield f"{missing:,} inputs have no row yet: run the same command again to finish them."
    if columns.explained_count and not len(QUANTITIES[0].values(columns)):
        yield "This method's credit is not meant to sum to the score, so there is no completeness error."
    if run.damaged:
        yield damage_note(run.damaged).capitalize()


def damage_note(shards: Sequence[int]) -> str:
    """Return the sentence about shards whose files are damaged.

    >>> damage_note([0])
    'shard 0 does not hold what its receipt says, and is left out: the same `samp run` command repairs it.'
    """
    many = len(shards) > 1
    damage = "do not hold what their receipts say, and are" if many else "does not hold what its receipt says, and is"
    repair = f"the same `samp run` command repairs {'them' if many else 'it'}."
    return f"{describe_shards(shards)} {damage} left out: {repair}"


# ---- distributions


def describe_quantity(quantity: Quantity, columns: Columns) -> Record:
    """Return the heading, summary, meaning and histogram of a quantity; None for the histogram of no values."""
    values = quantity.values(columns)
    middle = median_and_deciles(values)
    summary = "not known" if middle is None else "median {}, from {} to {} for 8 of 10".format(*map(_number, middle))
    infinite = int(np.isinf(values).sum())
    summary += f"; {infinite:,} without bound, as the score does not change" if infinite else ""
    bars = histogram(values, quantity.logarithmic)
    label = f"{quantity.heading} of {len(values)} inputs"
    return {
        "heading": quantity.heading,
        "summary": summary,
        "meaning": quantity.meaning,
        "chart": bars and histogram_chart(bars, label, quantity.logarithmic),
    }


# ---- examples


def _ranking_note(columns: Columns, ranking: Quantity) -> str:
    exact = "Credit sums to the score change up to rounding, so completeness has no best and worst. "
    return f"{exact if is_complete(columns) else ''}{ranking.heading}: {ranking.meaning}"


def _examples(run: RunResults, columns: Columns, ranking: Quantity, pictures: bool) -> Record:
    """Return both ends of the ranking; only the rows and maps of these examples are read."""
    values = ranking.per_input(columns)
    least, most = extreme_positions(values)
    wrong = surest_mistakes(columns)
    rows = {position: run.row(*columns.locate(position)) for position in dict.fromkeys((*wrong, *least, *most))}
    photos = read_pictures(run, [row["id"] for row in rows.values()]) if pictures and rows else {}
    by_error = {"The best": least, "The worst": most}
    by_concentration = {"The most concentrated": most, "The most even": least}

    def describe_value(position: int) -> str:
        value = f"{ranking.heading.lower()} {_number(float(values[position]))}"
        return f"{rows[position]['label']}, score {_number(rows[position]['score'])}, {value}"

    def describe_mistake(position: int) -> str:
        row, true = rows[position], int(columns[TRUE][position])
        said = run.class_name(row["predicted"]) if row["predicted"] != row["target"] else row["label"]
        sure = "" if row.get("confidence") is None else f", {row['confidence']:.0%} sure"
        other = "" if row["predicted"] == row["target"] else f"; the map is of {row['label']}"
        return f"says {said}{sure}, is {columns.labels.get(true) or run.class_name(true)}{other}"

    def describe_example(position: int, describe: Callable[[int], str] = describe_value) -> Record:
        row = rows[position]
        photo = photos.get(row["id"])
        return {
            "id": row["id"],
            "photo": embed_image(photo.convert("RGB"), "JPEG") if photo else None,
            "map": embed_map(run.map(*columns.locate(position))),
            "text": describe(position),
        }

    groups = by_error if ranking is QUANTITIES[0] else by_concentration
    return {
        "examples": [
            {"heading": heading, "examples": [describe_example(position) for position in positions]}
            for heading, positions in groups.items()
            if positions
        ],
        "mistakes": [describe_example(position, describe_mistake) for position in wrong],
        "photos_missing": bool(pictures and rows and not photos),
    }


def embed_map(credit: Tensor) -> EmbeddedImage:
    """Return a map in grey; credit of other inputs than images is one row of pixels."""
    shade = brightness(credit if credit.ndim == 2 else credit.reshape(1, -1))
    return embed_image(Image.fromarray((255 * shade).round().astype(np.uint8)))


# ---- classes and failures


def _class_row(summary: Record) -> Record:
    cells = [(summary["inputs"], f"{summary['inputs']:,}"), (summary["agreed"], f"{summary['agreed']:.0%}")]
    cells += [(summary[quantity.key], _number(summary[quantity.key])) for quantity in QUANTITIES]
    return {
        "name": summary["class"],
        "index": summary["index"],
        "cells": [{"value": "" if value is None else repr(value), "text": text} for value, text in cells],
    }


def _table_note(count: int) -> str:
    cut = f"The {MOST_CLASSES} most frequent of {count} classes are shown. " if count > MOST_CLASSES else ""
    return (
        cut + "Agreed: the share of inputs for which the explained class is the one that the model predicts. The other "
        "numbers are medians. Press a heading to sort."
    )


def _failures(run: RunResults, columns: Columns) -> Record:
    failed = np.flatnonzero(columns.failed).tolist()
    rows = [run.row(*columns.locate(position)) for position in failed[:MOST_FAILURES]]
    return {"shown": rows, "more": len(failed) - MOST_FAILURES}


# ---- how it was made


def _facts(run: RunResults) -> Iterable[tuple[str, str]]:
    settings = run.settings
    yield "Method", settings["method"]
    if "walk" in settings:  # runs of older versions do not have it
        yield "Walk", "; ".join(f"{kind}: {_format_settings(numbers)}" for kind, numbers in settings["walk"].items())
    yield "Model", f"{settings['model']}, weights {settings['weights'][:12]}…"
    yield "Fed", _format_settings(settings["fed"])
    yield "Class explained", settings["target"]
    yield "Data set", "{kind}, {place}".format(**run.about["source"])
    versions = ", ".join(f"{name} {version}" for name, version in settings["versions"].items())
    yield "Made with", f"{versions}; {settings['device']}, {settings['dtype']}, seed {settings['seed']}"
    yield "Kept as", f"{settings['numbers']} and {settings['map_dtype']} maps, {settings['shard_size']} inputs a shard"


def _method_label(run: RunResults) -> str:
    return str(run.settings["method"].partition("(")[0]).replace("PlusPlus", "++")


def _format_settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_format_setting(value)}" for name, value in values.items())


def _format_setting(value: object) -> str:
    """Return a setting with four digits of each number.

    >>> _format_setting([0.4980392156862745, 0.5]), _format_setting("rgb")
    ('0.498, 0.5', 'rgb')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_setting, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: float | None) -> str:
    """Return a number with three digits, or a dash for none.

    >>> _number(0.01234), _number(-3.0), _number(None)
    ('0.0123', '−3', '–')
    """
    return "–" if value is None else f"{value:.3g}".replace("-", "−")
