"""Files: where each explanation goes, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from samp import drawing
from samp.attribution import Attribution
from samp.cli.asking import Asked
from samp.cli.facts import notes, title
from samp.cli.page import page
from samp.files import whole

FORMS = ("png", "html", "npz", "samp")
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


def places(photos: Sequence[Path], out: Path | None, form: str | None, folder: bool) -> tuple[list[Path], str]:
    """The file for each photo, and the form: `out` is the folder of several photos, else the file.

    >>> files, form = places([Path("a/cat.jpg"), Path("b/cat.jpg")], Path("why"), "html", folder=False)
    >>> [file.name for file in files], form
    (['cat.html', 'cat-2.html'], 'html')
    """
    several = folder or len(photos) > 1 or (out is not None and out.is_dir())
    form = form or _form_of(out, several)
    if several:
        files = _in_folder(photos, out or Path("explanations"), form)
    else:
        files = [out or Path(f"explanation.{form}")]
        if files[0].suffix.lower() != f".{form}":
            raise ValueError(f"--out {files[0]} does not end in .{form}: change its name or --format.")
    ours = {photo.resolve() for photo in photos}
    for file in files:
        if file.resolve() in ours:
            raise ValueError(f"{file} would overwrite a photo: choose another --out.")
    return files, form


def make_room(files: Sequence[Path], folder_is_ours: bool) -> None:
    """The folder of several files is made; that of a single one must be there."""
    folder = files[0].parent
    if folder_is_ours:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"the folder {folder} cannot be made ({error.strerror}): choose another --out.") from error
    elif not folder.is_dir():
        raise FileNotFoundError(f"the folder {folder} does not exist: make it first, or choose another --out.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder} may not be written to: choose another --out.")


def _form_of(out: Path | None, several: bool) -> str:
    suffix = out.suffix.lower().removeprefix(".") if out and not several else ""
    return suffix if suffix in FORMS else "png"


def _in_folder(photos: Sequence[Path], folder: Path, form: str) -> list[Path]:
    """A file in the folder for each photo; photos of the same name are numbered."""
    files: dict[Path, None] = {}
    for photo in photos:
        file, number = folder / f"{photo.stem}.{form}", 1
        while file in files:
            number += 1
            file = folder / f"{photo.stem}-{number}.{form}"
        files[file] = None
    return list(files)


def _png(path: Path, asked: Asked, result: Attribution, told: Told) -> None:
    """A sheet for each class, one above the other, with the numbers in the file's own notes."""
    crop, notebook = asked.crop, PngInfo()
    pictures = [
        drawing.sheet(crop, result, title(one), notes(one, asked.classifier), sample) for sample, one in enumerate(told)
    ]
    whole_page = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures)), drawing.PAPER)
    top = 0
    for picture in pictures:
        whole_page.paste(picture, (0, top))
        top += picture.height
    notebook.add_itxt("samp", json.dumps(list(told)))
    whole_page.save(path, "PNG", pnginfo=notebook)


def _html(path: Path, asked: Asked, result: Attribution, told: Told) -> None:
    crop = asked.crop
    panels = [drawing.panels(crop, result, sample) for sample in range(len(told))]
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
