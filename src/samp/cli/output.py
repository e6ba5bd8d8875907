"""The files of explanations, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL.PngImagePlugin import PngInfo

from samp.atomic import atomic_write
from samp.attribution import Attribution
from samp.html.facts import notes, title
from samp.models.prediction import ClassifiedPhoto
from samp.plots import sheet

Records = Sequence[dict[str, Any]]  # one entry for each class explained


def write_explanation(out: Path, form: str, classified: ClassifiedPhoto, result: Attribution, records: Records) -> None:
    """One file for one photo in this form: png, html, npz or samp."""
    writers: dict[str, Callable[[Path, ClassifiedPhoto, Attribution, Records], None]] = {
        "png": _png,
        "html": _html,
        "npz": _npz,
        "samp": _samp,
    }
    with nullcontext(out) if form == "samp" else atomic_write(out) as unfinished:  # a result is saved whole by itself
        writers[form](unfinished, classified, result, records)


def _png(path: Path, classified: ClassifiedPhoto, result: Attribution, records: Records) -> None:
    """A sheet for each class, one above the other, with the numbers in the file's own notes."""
    sheets = [
        sheet.sheet(classified.crop, result, title(one), notes(one, classified.classifier), sample)
        for sample, one in enumerate(records)
    ]
    notebook = PngInfo()
    notebook.add_itxt("samp", json.dumps(list(records)))
    sheet.stack_sheets(sheets).save(path, "PNG", pnginfo=notebook)


def _html(path: Path, classified: ClassifiedPhoto, result: Attribution, records: Records) -> None:
    from samp.html.explain_page import explanation_page  # jinja2 is imported for pages alone

    path.write_text(explanation_page(classified, result, records), encoding="utf-8")


def _npz(path: Path, classified: ClassifiedPhoto, result: Attribution, records: Records) -> None:
    """The map and credit of each class (k h w, k c h w), what the model was fed, curves, and the numbers as JSON."""
    tensors: dict[str, Any] = {"map": result.map, "values": result.values, "input": classified.x}
    tensors |= {f"scores_{way}": scores for way, scores in result.scores.items()}
    arrays: dict[str, Any] = {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}
    with path.open("wb") as file:
        np.savez_compressed(
            file, photo=np.asarray(classified.crop), facts=np.array(json.dumps(list(records))), **arrays
        )


def _samp(path: Path, classified: ClassifiedPhoto, result: Attribution, records: Records) -> None:
    replace(result, details={**result.details, "facts": list(records)}).save(path)
