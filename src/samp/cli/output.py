"""The files of explanations, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from samp.atomic import whole
from samp.attribution import Attribution
from samp.html.explain_page import page
from samp.html.facts import notes, title
from samp.models.prediction import Asked
from samp.plots import sheet

Told = Sequence[dict[str, Any]]  # one entry for each class explained


def write(out: Path, form: str, asked: Asked, result: Attribution, told: Told) -> None:
    """One file for one photo in this form: png, html, npz or samp."""
    writers: dict[str, Callable[[Path, Asked, Attribution, Told], None]] = {
        "png": _png,
        "html": _html,
        "npz": _npz,
        "samp": _samp,
    }
    with nullcontext(out) if form == "samp" else whole(out) as unfinished:  # a result is saved whole by itself
        writers[form](unfinished, asked, result, told)


def _png(path: Path, asked: Asked, result: Attribution, told: Told) -> None:
    """A sheet for each class, one above the other, with the numbers in the file's own notes."""
    crop, notebook = asked.crop, PngInfo()
    pictures = [
        sheet.sheet(crop, result, title(one), notes(one, asked.classifier), sample) for sample, one in enumerate(told)
    ]
    whole_page = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures)), sheet.PAPER)
    top = 0
    for picture in pictures:
        whole_page.paste(picture, (0, top))
        top += picture.height
    notebook.add_itxt("samp", json.dumps(list(told)))
    whole_page.save(path, "PNG", pnginfo=notebook)


def _html(path: Path, asked: Asked, result: Attribution, told: Told) -> None:
    crop = asked.crop
    panels = [sheet.panels(crop, result, sample) for sample in range(len(told))]
    path.write_text(page(panels, told, asked.classifier), encoding="utf-8")


def _npz(path: Path, asked: Asked, result: Attribution, told: Told) -> None:
    """The map and credit of each class (k h w, k c h w), what the model was fed, curves, and the numbers as JSON."""
    tensors: dict[str, Any] = {"map": result.map, "values": result.values, "input": asked.x}
    tensors |= {f"scores_{way}": scores for way, scores in result.scores.items()}
    arrays: dict[str, Any] = {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, photo=np.asarray(asked.crop), facts=np.array(json.dumps(list(told))), **arrays)


def _samp(path: Path, asked: Asked, result: Attribution, told: Told) -> None:
    replace(result, details={**result.details, "facts": list(told)}).save(path)
