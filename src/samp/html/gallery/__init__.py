"""The gallery of a run: every input with its photo and its map, in a folder that opens from disk.

    report-gallery/index.html             the page: filters, sorting, one page of cards at a time
    report-gallery/tiles/000/000000.jpg   photos beside their maps, sixteen in a file

The page holds the numbers of all inputs as arrays and nothing else of them: names are unpacked and tiles loaded for the
cards that are shown. Shards are read one after the other, so memory does not grow with their number.

    tiles.py    from maps and photos to files of tiles
    index.py    the numbers and names in the page, packed
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samp.atomic import atomic_write
from samp.batch.columns import Columns
from samp.batch.results import RunResults
from samp.html.facts import Record
from samp.html.gallery.index import NamePacker, class_names, pack_numbers
from samp.html.gallery.tiles import ACROSS, DOWN, PER_FILE, SIDE, TileWriter, map_tiles
from samp.html.render import render_page
from samp.html.report_labels import LabelFacts, label_facts
from samp.html.report_pictures import PictureReader, open_pictures
from samp.images import ignore_pillow_warnings

PAGE, TILES = "index.html", "tiles"
PER_PAGE = 48  # cards
GONE = "The data set could not be read again: maps alone."


@dataclass(frozen=True)
class Commands:
    """What to type to see one input in more detail, with {photo}, {target} and {true} to be replaced; "" if unknown.

    >>> Commands(explain="samp explain {photo} --target {target}").play
    ''
    """

    explain: str = ""
    play: str = ""
    against: str = ""
    """Why the predicted class rather than the true one."""


def write_gallery(
    run: RunResults, folder: Path, *, pictures: bool = True, data: Any = None, commands: Commands | None = None
) -> Path:
    """Write the gallery of a run into this folder, replacing a former one, and return the path of its page.

    - `pictures`: whether photos are shown beside the maps, read again from the data set.
    - `data`: the data set, if it was only in memory or has moved since.
    - `commands`: what the page tells to type for one input.

    Raises ValueError if the folder is there and holds something else.
    """
    _check_ours(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        unfinished.chmod(0o755)  # others may read what was meant for them; mkdtemp forbids it
        with atomic_write(unfinished / PAGE) as page:
            page.write_text(_write_tiles(run, unfinished, pictures, data, commands or Commands()), encoding="utf-8")
        _remove(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder / PAGE


def _check_ours(folder: Path) -> None:
    """Raise ValueError if there is something at this place that is no gallery: it would be removed."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if (folder.exists() and not folder.is_dir()) or (names and not {PAGE, TILES} >= names):
        raise ValueError(f"{folder} is there and is no gallery: move it away, or write the report to another place.")


def _remove(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)


def _write_tiles(run: RunResults, folder: Path, pictures: bool, data: Any, commands: Commands) -> str:
    """Write the tiles of all inputs, and return the page."""
    columns = run.columns()
    facts = label_facts(run, columns)
    reader = open_pictures(run, data)
    shown = reader if pictures else None
    names = NamePacker()
    with TileWriter(folder / TILES, with_photos=shown is not None) as tiles, ignore_pillow_warnings():
        for number in run.numbers:
            for row, photo, tile in _shard_tiles(run, number, shown):
                tiles.add(photo, tile)
                names.add(row["id"], reader.path(row["id"]) if reader else None, row["error"])
    values = {
        "title": "Gallery",
        "lead": _lead(columns, facts),
        "notes": [GONE] if pictures and shown is None else [],
        "labelled": facts is not None,
        "confusions": facts.confusions if facts else [],
        "per_page": PER_PAGE,
        "facts": _facts(run, columns, facts, commands, with_photos=shown is not None),
        "numbers": pack_numbers(columns),
        "names": names.finish(),
        "suggestions": _suggestions(run, columns),
    }
    # 'self' is the folder for pages from disk in Firefox, and on a server; Chromium wants the scheme.
    scripts = ["theme.js", "gallery.js"]
    return render_page("gallery.html", values, styles=["gallery.css"], scripts=scripts, images="'self' file:")


def _shard_tiles(run: RunResults, shard: int, reader: PictureReader | None) -> Iterator[tuple[Record, Any, Any]]:
    rows, maps = run.shards.rows(shard), run.shards.maps(shard)
    photos = reader.read_all([row["id"] for row in rows]) if reader else [None] * len(rows)
    yield from zip(rows, photos, map_tiles(maps), strict=True)


def _facts(
    run: RunResults, columns: Columns, facts: LabelFacts | None, commands: Commands, *, with_photos: bool
) -> Record:
    """Return what the script reads."""
    return {
        "count": len(columns),
        "across": ACROSS,
        "down": DOWN,
        "perFile": PER_FILE,
        "side": SIDE,
        "photos": with_photos,
        "labelled": facts is not None,
        "classes": class_names(run, columns),
        "commands": vars(commands),
    }


def _lead(columns: Columns, facts: LabelFacts | None) -> str:
    explained = f"{columns.explained_count:,} inputs explained"
    return f"{explained}; {facts.sentence}" if facts else f"{explained}."


def _suggestions(run: RunResults, columns: Columns, most: int = 200) -> list[str]:
    """Return the names of classes that the box for a class proposes."""
    names: Mapping[str, str] = class_names(run, columns)
    return sorted(set(names.values()))[:most]
