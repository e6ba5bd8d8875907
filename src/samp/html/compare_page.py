"""One self-contained HTML page of methods side by side: maps, curves, a table, and how it was made."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import PurePath
from string import Template
from typing import Any

import numpy as np
from PIL import Image

from samp.compare import Compared, Row
from samp.compare_columns import COLUMNS, Column
from samp.html.compare_facts import missing_notes, protocol_words, score_words
from samp.html.embed import as_json, content_security_policy, data_uri
from samp.html.svg import charts, css_classes
from samp.models.prediction import ClassifiedPhoto
from samp.plots import sheet

MOST_COLUMNS = 5  # of maps on a wide screen
TINY = 100  # pixels: smaller pictures are enlarged as squares rather than blurred


def comparison_page(classified: ClassifiedPhoto, compared: Compared, record: dict[str, Any]) -> str:
    """The page of one photo; it needs no network, runs no script but its own, and all text in it is escaped."""
    css, script = _read_source("css"), _read_source("js")
    deletion, insertion = charts(compared, score_words(compared.protocol, record["score_is"]))
    pictures = [_photo(classified), *(_map(i, row, classified) for i, row in enumerate(compared.rows))]
    return Template(_read_source("html")).substitute(
        policy=content_security_policy(script, css),
        title=escape(f"{record['class']} in {PurePath(record['photo']).name}: {len(compared.rows)} methods compared"),
        css=css,
        script=script,
        label=escape(record["class"]),
        lead=escape(_lead(record)),
        missing="".join(f'<p class="note">{escape(note)}</p>' for note in missing_notes(compared, record)),
        chips="".join(_chip(i, name) for i, name in enumerate(compared.names)),
        maps="".join(pictures),
        columns=-(-len(pictures) // -(-len(pictures) // MOST_COLUMNS)),
        deletion=deletion,
        insertion=insertion,
        height=escape(score_words(compared.protocol, record["score_is"])),
        heads="".join(_head(column) for column in COLUMNS),
        rows="".join(_row(i, row, compared) for i, row in enumerate(compared.rows)),
        meanings=_items((column.heading.capitalize(), column.meaning) for column in COLUMNS),
        facts=_items(_facts(classified, compared, record)),
        command=escape(record["command"]),
        data=as_json(record),
    )


def _lead(record: dict[str, Any]) -> str:
    score = f"{record['score']:.3f}".replace("-", "−")
    return (
        f"{record['model']} gives {PurePath(record['photo']).name} a {record['score_is']} of {score} "
        f"for {record['class']}. "
        f"Where does that come from? Here is what {len(record['methods'])} methods say, and what the model does when "
        "pixels go or come in the order of their maps."
    )


# ---- maps


def _photo(classified: ClassifiedPhoto) -> str:
    words = "what the model is shown"
    picture = _image(classified.crop.convert("RGB"), words, "JPEG")
    return f"<figure>{picture}<figcaption><b>photo</b> <span>{words}</span></figcaption></figure>"


def _map(number: int, row: Row, classified: ClassifiedPhoto) -> str:
    """The grey map and the same over the photo, one of which is shown, and how they were made."""
    credit = row.attribution.map[0]
    shade = sheet.brightness(credit)
    grey = Image.fromarray((255 * shade).round().astype(np.uint8))
    over = _crop_padding(sheet.overlay(classified.crop, shade), shade.shape[1], shade.shape[0])
    return (
        f'<figure class="{css_classes(number)}" data-method="{number}">'
        f"{_image(grey, f'credit by {row.name}', 'PNG', 'grey')}"
        f"{_image(over, f'credit by {row.name} over the photo', 'JPEG', 'over')}"
        f"<figcaption>{_swatch()}<b>{escape(row.name)}</b> <span>{escape(_scale(shade))}</span>"
        f"<details><summary>settings</summary><code>{escape(row.attribution.method)}</code></details>"
        "</figcaption></figure>"
    )


def _scale(shade: np.ndarray[Any, Any]) -> str:
    if not shade.any():
        return "no positive credit: all dark"
    dark = f"no credit, or negative ({(shade == 0).mean():.0%} of pixels)"
    return f"brightest: top {1 - sheet.FULL_WHITE_QUANTILE:.0%}; dark: {dark}"


def _crop_padding(panel: Image.Image, width: int, height: int) -> Image.Image:
    """A panel without the paper beside a picture that is not square."""
    fit = max(panel.size) / max(width, height)
    wide, high = max(round(width * fit), 1), max(round(height * fit), 1)
    left, top = (panel.width - wide) // 2, (panel.height - high) // 2
    return panel.crop((left, top, left + wide, top + high))


def _image(image: Image.Image, alt: str, form: str, kind: str = "") -> str:
    classes = f"{kind} tiny".strip() if max(image.size) < TINY else kind
    size = f'width="{image.width}" height="{image.height}"'
    return f'<img class="{classes}" {size} alt="{escape(alt)}" src="{data_uri(image, form)}">'


def _swatch() -> str:
    return '<svg class="swatch" viewBox="0 0 26 10" aria-hidden="true"><path class="line" d="M1 5H25"/></svg>'


def _chip(number: int, name: str) -> str:
    return (
        f'<button type="button" class="chip {css_classes(number)}" data-method="{number}" aria-pressed="false">'
        f"{_swatch()}{escape(name)}</button>"
    )


# ---- table


def _head(column: Column) -> str:
    """A heading that sorts, in no more than two lines."""
    heading = " ".join(line.replace(" ", "\N{NO-BREAK SPACE}") for line in column.heading_lines)
    return (
        f'<th scope="col" data-better="{column.better or "higher"}"><button type="button" '
        f'title="{escape(column.meaning)}">{escape(heading)}</button></th>'
    )


def _row(number: int, row: Row, compared: Compared) -> str:
    numbers = row.numbers(0)
    cells = []
    for column in COLUMNS:
        value = numbers[column.key]
        best = row.name in compared.best(column, 0)
        words = escape(column.format_value(value))
        told = f'<strong>{words}</strong><span class="unseen"> best</span>' if best else words
        cells.append(f'<td data-value="{"" if value is None else repr(value)}">{told}</td>')
    head = f'<th scope="row" data-value="{number}">{_swatch()}{escape(row.name)}</th>'
    return f'<tr class="{css_classes(number)}" data-method="{number}">{head}{"".join(cells)}</tr>'


# ---- words


def _facts(classified: ClassifiedPhoto, compared: Compared, record: dict[str, Any]) -> Iterable[tuple[str, str]]:
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    score = f"{record['score']:.3f}".replace("-", "−")
    yield "Photo", PurePath(record["photo"]).name
    yield "Model", record["model"]
    yield "Class", f"{record['class']} ({record['index']}), {record['score_is']} {score}"
    words = protocol_words(compared.protocol, len(record["shares"]), classified.classifier, record["score_is"])
    yield "Deletion and insertion", words
    yield "Made with", f"{versions}; {record['device']}, {record['dtype']}, seed {record['seed']}"


def _items(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in pairs)


# ---- the file


def _read_source(kind: str) -> str:
    return (files("samp") / "html" / "templates" / f"compare.{kind}").read_text(encoding="utf-8")
