"""One self-contained HTML page about a run: distributions, examples, classes, failures, and how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from samp.batch.columns import Columns
from samp.batch.results import RunResults
from samp.batch.shards import describe_shards
from samp.batch.tables import Row
from samp.html.embed import as_json, content_security_policy, data_uri
from samp.html.report_facts import (
    MOST_CLASSES,
    QUANTITIES,
    Quantity,
    class_summaries,
    extreme_positions,
    is_complete,
    median_and_deciles,
    ranking_quantity,
)
from samp.html.report_pictures import read_pictures
from samp.html.report_svg import chart
from samp.plots import sheet

TINY = 100  # pixels: smaller pictures are enlarged as squares rather than blurred
MOST_FAILURES = 50


def run_page(run: RunResults, pictures: bool = False) -> str:
    """The page of a run; it needs no network, runs no script but its own, and all text in it is escaped."""
    css, script = _read_source("compare.css") + _read_source("report.css"), _read_source("report.js")
    columns = run.columns()
    judge = ranking_quantity(columns)
    table = class_summaries(columns)
    return Template(_read_source("report.html")).substitute(
        policy=content_security_policy(script, css),
        title=escape(f"{columns.explained_count} inputs explained by {_method_label(run)}"),
        css=css,
        script=script,
        method=escape(_method_label(run)),
        lead=escape(_lead(run, columns)),
        notes="".join(f'<p class="note">{escape(note)}</p>' for note in _notes(run, columns)),
        charts="".join(_card(quantity, columns) for quantity in QUANTITIES),
        examples_title="Best and worst" if judge is QUANTITIES[0] else "Best and worst, by concentration",
        judge=escape(_ranking_note(columns, judge)),
        examples=_examples(run, columns, judge, pictures),
        heads="".join(_head(words) for words in ("inputs", "agreed", *(q.heading for q in QUANTITIES))),
        classes="".join(_class_row(one) for one in table[:MOST_CLASSES]),
        table_note=escape(_table_note(len(table))),
        failures=_failures(run, columns),
        facts=_items(_facts(run)),
        data=as_json(_data(run, columns)),
    )


def _lead(run: RunResults, columns: Columns) -> str:
    found = [f"{run.settings['model']} on {run.settings['inputs']:,} inputs: {columns.explained_count:,} explained"]
    failed = len(columns) - columns.explained_count
    found += [f"{failed:,} failed"] if failed else []
    spent = columns["gradients"][columns["gradients"] > 0]
    found += [f"{np.median(spent):.0f} gradients each"] if len(spent) else []
    found += [f"{np.nansum(columns['seconds']):,.0f} s of work in all"] if columns.explained_count else []
    return ", ".join(found) + "."


def _notes(run: RunResults, columns: Columns) -> Iterable[str]:
    missing = run.settings["inputs"] - len(columns)
    if missing:
        yield f"{missing:,} inputs have no row yet: run the same command again to finish them."
    if columns.explained_count and not len(QUANTITIES[0].values(columns)):
        yield "This method's credit is not meant to sum to the score, so there is no completeness error."
    if run.damaged:
        yield damage_note(run.damaged).capitalize()


def damage_note(shards: Sequence[int]) -> str:
    """What is said of shards whose files are damaged.

    >>> damage_note([0])
    'shard 0 does not hold what its receipt says, and is left out: the same `samp run` command repairs it.'
    """
    many = len(shards) > 1
    said = "do not hold what their receipts say, and are" if many else "does not hold what its receipt says, and is"
    return f"{describe_shards(shards)} {said} left out: the same `samp run` command repairs {'them' if many else 'it'}."


# ---- distributions


def _card(quantity: Quantity, columns: Columns) -> str:
    values = quantity.values(columns)
    middle = median_and_deciles(values)
    words = "not known" if middle is None else "median {}, from {} to {} for 8 of 10".format(*map(_number, middle))
    infinite = int(np.isinf(values).sum())
    words += f"; {infinite:,} without bound, as the score does not change" if infinite else ""
    return (
        f'<figure class="card"><div class="line-up"><h2>{escape(quantity.heading)}</h2>'
        f'<span class="quiet">{escape(words)}</span></div>{chart(quantity, values)}'
        f'<figcaption class="quiet">{escape(quantity.meaning)}</figcaption></figure>'
    )


# ---- examples


def _ranking_note(columns: Columns, ranking: Quantity) -> str:
    exact = "Credit sums to the score change up to rounding, so completeness has no best and worst. "
    return f"{exact if is_complete(columns) else ''}{ranking.heading}: {ranking.meaning}"


def _examples(run: RunResults, columns: Columns, ranking: Quantity, pictures: bool) -> str:
    """Only these are read as rows, and of the maps only theirs."""
    values = ranking.per_input(columns)
    least, most = extreme_positions(values)
    if not least:
        return '<p class="quiet">There are too few maps for this.</p>'
    chosen = {position: run.row(*columns.locate(position)) for position in (*least, *most)}
    photos = read_pictures(run, [row["id"] for row in chosen.values()]) if pictures else {}
    by_error = {"The best": least, "The worst": most}
    by_concentration = {"The most concentrated": most, "The most even": least}
    parts = []
    for head, positions in (by_error if ranking is QUANTITIES[0] else by_concentration).items():
        told = {position: f"{ranking.heading.lower()} {_number(float(values[position]))}" for position in positions}
        figures = "".join(_figure(run.map(*columns.locate(p)), chosen[p], words, photos) for p, words in told.items())
        parts.append(f"<h3>{head}</h3><div class='maps n6'>{figures}</div>")
    missing = pictures and not photos
    return "".join(parts) + ('<p class="note">The data set could not be read again: maps alone.</p>' if missing else "")


def _figure(credit: Tensor, row: Row, value_words: str, photos: dict[str, Image.Image]) -> str:
    shade = sheet.brightness(credit if credit.ndim == 2 else credit.reshape(1, -1))
    grey = Image.fromarray((255 * shade).round().astype(np.uint8))
    photo = photos.get(row["id"])
    above = _image(photo.convert("RGB"), f"{row['id']}, as the model is shown it", "JPEG") if photo else ""
    words = f"{row['label']}, score {_number(row['score'])}, {value_words}"
    return (
        f"<figure>{above}{_image(grey, 'credit in ' + row['id'], 'PNG')}"
        f"<figcaption><b>{escape(row['id'])}</b> <span>{escape(words)}</span></figcaption></figure>"
    )


def _image(image: Image.Image, alt: str, form: str) -> str:
    tiny = ' class="tiny"' if max(image.size) < TINY else ""
    size = f'width="{image.width}" height="{image.height}"'
    return f'<img{tiny} {size} alt="{escape(alt)}" src="{data_uri(image, form)}">'


# ---- classes and failures


def _head(words: str) -> str:
    return f'<th scope="col"><button type="button">{escape(words)}</button></th>'


def _class_row(one: dict[str, Any]) -> str:
    cells = [(one["inputs"], f"{one['inputs']:,}"), (one["agreed"], f"{one['agreed']:.0%}")]
    cells += [(one[quantity.key], _number(one[quantity.key])) for quantity in QUANTITIES]
    told = "".join(f'<td data-value="{"" if v is None else repr(v)}">{escape(words)}</td>' for v, words in cells)
    return f'<tr><th scope="row" data-value="{one["index"]}">{escape(one["class"])}</th>{told}</tr>'


def _table_note(count: int) -> str:
    cut = f"The {MOST_CLASSES} most frequent of {count} classes are shown. " if count > MOST_CLASSES else ""
    return (
        cut + "Agreed: the share of inputs for which the explained class is the one that the model predicts. The other "
        "numbers are medians. Press a heading to sort."
    )


def _failures(run: RunResults, columns: Columns) -> str:
    failed = np.flatnonzero(columns.failed).tolist()
    if not failed:
        return '<p class="quiet">Nothing failed.</p>'
    rows = [run.row(*columns.locate(position)) for position in failed[:MOST_FAILURES]]
    shown = "".join(f"<li><b>{escape(row['id'])}</b>: {escape(row['error'])}</li>" for row in rows)
    more = len(failed) - MOST_FAILURES
    return f"<ul>{shown}</ul>" + (f'<p class="quiet">… and {more:,} more.</p>' if more > 0 else "")


# ---- words


def _facts(run: RunResults) -> Iterable[tuple[str, str]]:
    settings = run.settings
    yield "Method", settings["method"]
    if "walk" in settings:  # not in runs of old
        yield "Walk", "; ".join(f"{kind}: {_format_settings(numbers)}" for kind, numbers in settings["walk"].items())
    yield "Model", f"{settings['model']}, weights {settings['weights'][:12]}…"
    yield "Fed", _format_settings(settings["fed"])
    yield "Class explained", settings["target"]
    yield "Data set", "{kind}, {place}".format(**run.about["source"])
    versions = ", ".join(f"{name} {version}" for name, version in settings["versions"].items())
    yield "Made with", f"{versions}; {settings['device']}, {settings['dtype']}, seed {settings['seed']}"
    yield "Kept as", f"{settings['numbers']} and {settings['map_dtype']} maps, {settings['shard_size']} inputs a shard"


def _data(run: RunResults, columns: Columns) -> dict[str, Any]:
    """The numbers of the page for machines."""
    found = {quantity.key: median_and_deciles(quantity.values(columns)) for quantity in QUANTITIES}
    counts = {"explained": columns.explained_count, "failed": len(columns) - columns.explained_count}
    return {"settings": run.settings, **counts, "median_10_90": found}


def _method_label(run: RunResults) -> str:
    return str(run.settings["method"].partition("(")[0]).replace("PlusPlus", "++")


def _format_settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_brief(value)}" for name, value in values.items())


def _brief(value: Any) -> str:
    """A setting with four digits of each number.

    >>> _brief([0.4980392156862745, 0.5]), _brief("rgb")
    ('0.498, 0.5', 'rgb')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(_brief, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: float | None) -> str:
    """A few digits, or a dash.

    >>> _number(0.01234), _number(-3.0), _number(None)
    ('0.0123', '−3', '–')
    """
    return "–" if value is None else f"{value:.3g}".replace("-", "−")


def _items(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in pairs)


def _read_source(name: str) -> str:
    return (files("samp") / "html" / "templates" / name).read_text(encoding="utf-8")
