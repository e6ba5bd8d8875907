"""The files that hold an explained photo, as bytes: picture, page, arrays or the whole result."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from PIL.PngImagePlugin import PngInfo

from samp.html.explain_page import explanation_page
from samp.html.facts import ExplainedPhoto
from samp.lookup import look_up
from samp.plots.sheet import sheet, stack_sheets


def explanation_file(explained: ExplainedPhoto, form: str) -> bytes:
    """Return the content of a file of this form: png, html, npz or samp; raise ValueError for another."""
    make = look_up(form, FORMS, "form")
    return make(explained)


def _png(explained: ExplainedPhoto) -> bytes:
    """A sheet for each class, one above the other, with the numbers in the file's own notes."""
    classified = explained.classified
    sheets = [
        sheet(
            classified.photo,
            explained.result,
            explained.headline(sample),
            explained.notes(sample),
            sample,
            answers=answers,
            box=classified.crop_box,
            signed=explained.signed,
        )
        for sample, answers in enumerate(explained.answers)
    ]
    notebook = PngInfo()
    notebook.add_itxt("samp", json.dumps(explained.records))
    file = io.BytesIO()
    stack_sheets(sheets).save(file, "PNG", pnginfo=notebook)
    return file.getvalue()


def _html(explained: ExplainedPhoto) -> bytes:
    return explanation_page(explained).encode("utf-8")


def _npz(explained: ExplainedPhoto) -> bytes:
    """The map and credit of each class (k h w, k c h w), what the model was fed, curves, and the numbers as JSON."""
    classified, result = explained.classified, explained.result
    tensors: dict[str, Any] = {"map": result.map, "values": result.values, "input": classified.x}
    tensors |= {f"scores_{direction}": scores for direction, scores in result.scores.items()}
    arrays: dict[str, Any] = {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}
    file = io.BytesIO()
    np.savez_compressed(
        file, photo=np.asarray(classified.crop), facts=np.array(json.dumps(explained.records)), **arrays
    )
    return file.getvalue()


def _samp(explained: ExplainedPhoto) -> bytes:
    result = explained.result
    return replace(result, details={**result.details, "facts": list(explained.records)}).to_bytes()


FORMS: dict[str, Callable[[ExplainedPhoto], bytes]] = {"png": _png, "html": _html, "npz": _npz, "samp": _samp}
