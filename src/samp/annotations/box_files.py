"""Readers of box files: VOC's XML, YOLO's text, COCO's JSON.

A box that reaches over the edge of its photo is clipped to it. Boxes without any area inside the photo are left out,
with one warning per file that names the first. Anything else that cannot be a box raises a ValueError with its place
in the file.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from samp.annotations.boxes import Annotation, Box, Edges, Size, check_size, clip_edges

ROUNDING = 1e-3  # YOLO files are written with few digits, so that a share may come out a little beyond 0 or 1
PathLike = str | os.PathLike[str]
PhotoId = int | str  # as COCO's files have it
ClassNames = Mapping[int, str] | Sequence[str] | None


class ParsedBox(NamedTuple):
    """A box of a file, before it is clipped to the photo."""

    where: str  # the place in the file, for messages
    label: str
    edges: Edges
    difficult: bool


def read_voc(path: PathLike) -> Annotation:
    """Return the annotation of one photo in PASCAL VOC's XML.

    VOC counts pixels from 1 and includes the last one: `xmin` 1 and `xmax` 500 span a photo of width 500. A file with
    a DOCTYPE is refused: the format has none, and entities declared there can blow up a reader.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "000001.xml"
    ...     _ = path.write_text(
    ...         "<annotation><size><width>9</width><height>8</height></size><object><name>dog</name>"
    ...         "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>4</ymax></bndbox></object></annotation>"
    ...     )
    ...     read_voc(path)
    Annotation(boxes=(Box(label='dog', left=0.0, top=1.0, right=4.0, bottom=4.0, difficult=False),), size=(8, 9))
    """
    root = _read_xml(path)
    size = (int(_value(root, "size/height", path)), int(_value(root, "size/width", path)))
    if min(size) < 1:
        raise ValueError(f"{path} gives the photo {size[1]} × {size[0]} pixels: write its true width and height there.")
    boxes = [_voc_object(node, f"object {number}", path) for number, node in enumerate(root.findall("object"), 1)]
    return Annotation(_clip_boxes(boxes, size, path), size)


def read_yolo(path: PathLike, size: Size, names: ClassNames = None) -> Annotation:
    """Return the annotation of one photo in YOLO's text: `class cx cy w h` a line, in shares of `size` (height, width).

    `names` gives the name of a class number; without it the number is the label. An empty file is a photo without
    objects. Size (1, 1) gives the boxes in shares.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "photo.txt"
    ...     _ = path.write_text("16 0.5 0.5 0.5 1.0")
    ...     read_yolo(path, (100, 200), {16: "dog"}).boxes
    (Box(label='dog', left=50.0, top=0.0, right=150.0, bottom=100.0, difficult=False),)
    """
    size = check_size(size)
    lines = enumerate(_read_text(path).splitlines(), 1)
    boxes = [_yolo_line(line, size, names, f"{path}, line {number}") for number, line in lines if line.strip()]
    return Annotation(_clip_boxes(boxes, size, path), size)


def read_coco(path: PathLike) -> dict[str, Annotation]:
    """Return the annotations of all photos of a COCO instances file by file name; crowds are "difficult".

    >>> from tempfile import TemporaryDirectory
    >>> photo = {"id": 7, "file_name": "a.jpg", "height": 8, "width": 9}
    >>> dog = {"id": 1, "image_id": 7, "category_id": 18, "bbox": [1, 2, 3, 4], "iscrowd": 0}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "instances.json"
    ...     _ = path.write_text(
    ...         json.dumps({"images": [photo], "annotations": [dog], "categories": [{"id": 18, "name": "dog"}]})
    ...     )
    ...     read_coco(path)["a.jpg"].boxes
    (Box(label='dog', left=1.0, top=2.0, right=4.0, bottom=6.0, difficult=False),)
    """
    table = _read_json(path)
    classes = _rows_by_id(table, "categories", ("id", "name"), path)
    names = {number: str(one["name"]) for number, one in classes.items()}
    photos = _rows_by_id(table, "images", ("id", "file_name", "height", "width"), path)
    _check_unique((one["file_name"] for one in photos.values()), f"{path}: file_name of 'images'")
    parsed: dict[PhotoId, list[ParsedBox]] = {photo: [] for photo in photos}
    for row in _rows(table, "annotations", ("image_id", "category_id", "bbox"), path):
        if row["image_id"] not in parsed or row["category_id"] not in names:
            raise ValueError(
                f"{path}, {_name(row)}: there is no image {row['image_id']!r} or no category {row['category_id']!r} "
                "in the file."
            )
        parsed[row["image_id"]].append(_coco_row(row, names[row["category_id"]], path))
    sizes = {photo: _coco_size(one, path) for photo, one in photos.items()}
    inside = _clip_all_boxes(parsed, sizes, path)
    return {str(photos[photo]["file_name"]): Annotation(boxes, sizes[photo]) for photo, boxes in inside.items()}


# ---- one box ----


def _voc_object(node: ElementTree.Element, which: str, path: PathLike) -> ParsedBox:
    label = (node.findtext("name") or "").strip()
    where = f"{path}, {which}" + (f" ({label})" if label else "")
    if not label:
        raise ValueError(f"{where} has no <name>: say what it is.")
    left, top, right, bottom = (_value(node, f"bndbox/{tag}", where) for tag in ("xmin", "ymin", "xmax", "ymax"))
    edges = _check_edges((left - 1, top - 1, right, bottom), where)
    return ParsedBox(where, label, edges, (node.findtext("difficult") or "0").strip() not in ("", "0"))


def _yolo_line(line: str, size: Size, names: ClassNames, where: str) -> ParsedBox:
    words = line.split()
    if len(words) != 5:
        raise ValueError(f"{where} holds {len(words)} numbers: a box is 5, `class cx cy w h`.")
    x, y, wide, tall = (_number(word, where) for word in words[1:])
    if not all(-ROUNDING <= share <= 1 + ROUNDING for share in (x, y, wide, tall)):
        raise ValueError(f"{where}: {' '.join(words[1:])} are not all shares from 0 to 1: divide pixels by the size.")
    height, width = size
    edges = ((x - wide / 2) * width, (y - tall / 2) * height, (x + wide / 2) * width, (y + tall / 2) * height)
    return ParsedBox(where, _class_name(words[0], names, where), edges, difficult=False)


def _class_name(word: str, names: ClassNames, where: str) -> str:
    if not word.isdecimal():
        raise ValueError(f"{where}: the class is a whole number from 0, not {word!r}.")
    if names is None:
        return word
    try:
        return names[int(word)]
    except (KeyError, IndexError):
        raise ValueError(
            f"{where}: there is no name for class {word}: the names are of {len(names)} classes."
        ) from None


def _coco_row(row: Mapping[str, Any], label: str, path: PathLike) -> ParsedBox:
    where = f"{path}, {_name(row)}"
    box = row["bbox"]
    if not isinstance(box, list) or len(box) != 4:
        raise ValueError(f"{where} has the bbox {box!r}: a box is 4 numbers, [x, y, width, height].")
    left, top, wide, tall = (_number(value, where) for value in box)
    edges = _check_edges((left, top, left + wide, top + tall), where)
    return ParsedBox(where, label, edges, difficult=bool(row.get("iscrowd", 0)))


def _coco_size(photo: Mapping[str, Any], path: PathLike) -> Size:
    where = f"{path}, image {photo['id']}"
    height, width = (int(_number(photo[side], where)) for side in ("height", "width"))
    if min(height, width) < 1:
        raise ValueError(f"{where} is given {width} × {height} pixels: write its true width and height there.")
    return height, width


def _check_edges(edges: Edges, where: str) -> Edges:
    left, top, right, bottom = edges
    if right < left or bottom < top:
        raise ValueError(f"{where} ends before it begins: x from {left:g} to {right:g}, y from {top:g} to {bottom:g}.")
    return edges


def _clip_boxes(parsed: Iterable[ParsedBox], size: Size, path: PathLike) -> tuple[Box, ...]:
    return _clip_all_boxes({0: parsed}, {0: size}, path)[0]


def _clip_all_boxes(
    parsed: Mapping[PhotoId, Iterable[ParsedBox]], sizes: Mapping[PhotoId, Size], path: PathLike
) -> dict[PhotoId, tuple[Box, ...]]:
    """Return the part of each photo's boxes that lies inside it; warn once about all that do not."""
    inside: dict[PhotoId, tuple[Box, ...]] = {}
    outside: list[str] = []
    for photo, boxes in parsed.items():
        clipped = [(box, clip_edges(box.edges, sizes[photo])) for box in boxes]
        inside[photo] = tuple(Box(box.label, *edges, box.difficult) for box, edges in clipped if edges)
        outside += [box.where for box, edges in clipped if not edges]
    if outside:
        warnings.warn(
            f"{path}: left out, for no area inside the photo: {len(outside)} of its boxes, the first being "
            f"{outside[0]}.",
            stacklevel=4,
        )
    return inside


# ---- the files ----


def _read_text(path: PathLike) -> str:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8 ({error}).") from error


class _NoDoctype(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ElementTree.ParseError("it declares a DOCTYPE, which VOC files do not")


def _read_xml(path: PathLike) -> ElementTree.Element:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    try:
        return ElementTree.parse(path, ElementTree.XMLParser(target=_NoDoctype())).getroot()
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # unknown encodings raise the last two
        raise ValueError(f"{path} is not a VOC annotation: {error}.") from error


def _read_json(path: PathLike) -> dict[str, Any]:
    try:
        table = json.loads(_read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from error
    if not isinstance(table, dict):
        raise ValueError(
            f"{path} holds a {type(table).__name__}: a COCO file holds images, annotations and categories."
        )
    return table


def _rows_by_id(
    table: Mapping[str, Any], part: str, keys: Sequence[str], path: PathLike
) -> dict[PhotoId, Mapping[str, Any]]:
    """Return the rows of a part of the file by their id; raise ValueError if two share one."""
    rows = list(_rows(table, part, keys, path))
    _check_unique((row["id"] for row in rows), f"{path}: id of {part!r}")
    return {row["id"]: row for row in rows}


def _check_unique(values: Iterable[object], what: str) -> None:
    seen = set()
    for value in map(str, values):
        if value in seen:
            raise ValueError(f"{what}: {value} stands there twice, and only one could be kept: rename or remove one.")
        seen.add(value)


def _rows(table: Mapping[str, Any], part: str, keys: Sequence[str], path: PathLike) -> Iterable[Mapping[str, Any]]:
    rows = table.get(part)
    if not isinstance(rows, list):
        raise ValueError(f"{path} has no list {part!r}: a COCO file holds images, annotations and categories.")
    for number, row in enumerate(rows):
        missing = [key for key in keys if not isinstance(row, dict) or key not in row]
        if missing:
            raise ValueError(f"{path}: number {number} of {part!r}, counted from 0, has no {' or '.join(missing)}.")
        for key in keys:
            if key.endswith("id") and not isinstance(row[key], int | str):
                raise ValueError(
                    f"{path}: number {number} of {part!r} has the {key} {row[key]!r}: give a whole number."
                )
        yield row


def _name(row: Mapping[str, Any]) -> str:
    return f"annotation {row.get('id', 'without id')}"


def _value(node: ElementTree.Element, tag: str, where: object) -> float:
    text = node.findtext(tag)
    if text is None:
        raise ValueError(f"{where} has no <{tag.replace('/', '><')}>: it is no VOC annotation.")
    return _number(text.strip(), f"{where}, <{tag.replace('/', '><')}>")


def _number(value: object, where: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever float refuses is what is caught
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        raise ValueError(f"{where}: {value!r} is not a number.")
    return number
