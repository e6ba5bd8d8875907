"""The files of explanations: where each one goes, and writing them whole or not at all.

Where they go is checked before a model is loaded, so nothing here imports torch before a file is written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from samp.atomic import atomic_write

if TYPE_CHECKING:
    from samp.html.facts import ExplainedPhoto

FORMS = ("png", "html", "npz", "samp")


def output_files(photos: Sequence[Path], out: Path | None, form: str | None, folder: bool) -> tuple[list[Path], str]:
    """Return the file for each photo, and their form; `out` is the folder of several photos, else the file.

    Raises ValueError if the name does not fit the form, or if a file would overwrite a photo.

    >>> files, form = output_files([Path("a/cat.jpg"), Path("b/cat.jpg")], Path("why"), "html", folder=False)
    >>> [file.name for file in files], form
    (['cat.html', 'cat-2.html'], 'html')
    """
    several = folder or len(photos) > 1 or (out is not None and out.is_dir())
    form = form or _form_of(out, several)
    if several:
        files = _files_in_folder(photos, out or Path("explanations"), form)
    else:
        files = [out or Path(f"explanation.{form}")]
        if files[0].suffix.lower() != f".{form}":
            raise ValueError(f"--out {files[0]} does not end in .{form}: change its name or --format.")
    ours = {photo.resolve() for photo in photos}
    for file in files:
        if file.resolve() in ours:
            raise ValueError(f"{file} would overwrite a photo: choose another --out.")
    return files, form


def check_writable(files: Sequence[Path]) -> None:
    """Raise OSError if the folder of these files cannot be written to, or is not there and cannot be made."""
    folder = files[0].parent
    above = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not above.is_dir():
        raise OSError(f"the folder {folder} cannot be made ({above} is not a folder): choose another --out.")
    if not os.access(above, os.W_OK):
        raise PermissionError(f"the folder {above} may not be written to: choose another --out.")


def make_folder(files: Sequence[Path]) -> None:
    """Make the folder of these files, and those around it, if they are not there; raise OSError if that fails."""
    folder = files[0].parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"the folder {folder} cannot be made ({error.strerror}): choose another --out.") from error


def write_explanation(out: Path, form: str, explained: ExplainedPhoto) -> None:
    """Write the explanations of one photo into a file of this form: png, html, npz or samp."""
    from samp.html.explanation_file import explanation_file

    content = explanation_file(explained, form)
    with atomic_write(out) as unfinished:
        unfinished.write_bytes(content)


def _form_of(out: Path | None, several: bool) -> str:
    suffix = out.suffix.lower().removeprefix(".") if out and not several else ""
    return suffix if suffix in FORMS else "png"


def _files_in_folder(photos: Sequence[Path], folder: Path, form: str) -> list[Path]:
    """Return a file in the folder for each photo; those of photos of the same name are numbered."""
    files: dict[Path, None] = {}
    for photo in photos:
        file, number = folder / f"{photo.stem}.{form}", 1
        while file in files:
            number += 1
            file = folder / f"{photo.stem}-{number}.{form}"
        files[file] = None
    return list(files)
