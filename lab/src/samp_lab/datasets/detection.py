"""Photos with boxes: COCO in YOLO's text or its own JSON, and PASCAL VOC."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from samp_lab.datasets.folders import photo_entry, photos_in, size_of
from samp_lab.datasets.images import Entry, Images
from samp_lab.datasets.locate import find_folder, missing_error

if TYPE_CHECKING:
    from samp.annotations.boxes import Annotation

COCO_UNDER = ("coco254", "coco", ".")
COCO_CREDIT = "COCO 2017, T.-Y. Lin et al., 2014; annotations CC BY 4.0, photos under Flickr's terms."
VOC_UNDER = ("VOCdevkit/VOC2007", "VOC2007", "voc2007_8", ".")
VOC_CREDIT = "PASCAL VOC2007, M. Everingham et al., 2010; photos under Flickr's terms, for research."
SPLITS = ("test", "val", "trainval")  # the first one found is read

# What VOC calls otherwise than COCO; the other 14 classes have the same name in both.
IN_COCO = {"aeroplane": "airplane", "diningtable": "dining table", "motorbike": "motorcycle"}
IN_COCO |= {"pottedplant": "potted plant", "sofa": "couch", "tvmonitor": "tv"}
VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable"),
    *("dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)

ClassMapping = dict[str, tuple[int, ...]]


def coco_classes(folder: Path | None = None) -> ClassMapping:
    """Return the 80 classes of COCO in their order, each with its ImageNet classes, of which some have none.

    A `mapping.json` in the folder takes precedence over ours.

    >>> coco_classes()["zebra"], coco_classes()["person"], len(coco_classes())
    ((340,), (), 80)
    """
    if folder is not None and (folder / "mapping.json").is_file():
        return _own_mapping(folder / "mapping.json")
    ours = json.loads((files("samp_lab.datasets") / "coco_classes.json").read_text(encoding="utf-8"))
    return {name: tuple(indices) for name, indices in ours.items()}


def open_coco(folder: Path) -> Images:
    """Return photos with boxes: `images/` beside `boxes/` or `labels/` in YOLO's text, or beside `instances*.json`.

    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as data:
    ...     for name in ("images", "boxes"):
    ...         (Path(data) / name).mkdir()
    ...     Image.new("RGB", (200, 100)).save(Path(data) / "images" / "1.png")
    ...     _ = (Path(data) / "boxes" / "1.txt").write_text("22 0.5 0.5 0.5 1.0")
    ...     images = open_coco(Path(data))
    ...     images[0].annotation.boxes
    (Box(label='zebra', left=50.0, top=0.0, right=150.0, bottom=100.0, difficult=False),)
    """
    for home in (folder / name for name in COCO_UNDER):
        classes = coco_classes(home)
        if entries := _yolo(home, tuple(classes)) or _instances(home):
            return Images("coco", entries, tuple(classes), credit=COCO_CREDIT, mapping=classes)
    wanted = ["images/*.jpg with boxes/*.txt or labels/*.txt", "or with annotations/instances_*.json"]
    raise missing_error("coco", folder, COCO_UNDER, wanted)


def open_voc(folder: Path) -> Images:
    """Return photos with boxes in VOC's XML: the devkit (its test part if there is one), or photos beside XML files.

    >>> open_voc(Path("nowhere"))
    Traceback (most recent call last):
    FileNotFoundError: data set voc is not there: looked for JPEGImages/*.jpg with Annotations/*.xml, or *.jpg with
    *.xml, in nowhere/VOCdevkit/VOC2007, nowhere/VOC2007, nowhere/voc2007_8, nowhere; get it into nowhere
    with `samp bench download voc`.
    """
    ours = coco_classes()
    mapping = {name: ours[IN_COCO.get(name, name)] for name in VOC_CLASSES}
    make = partial(Images, "voc", classes=VOC_CLASSES, mapping=mapping)
    if home := find_folder(folder, VOC_UNDER, ["JPEGImages", "Annotations/*.xml"]):
        names, split = _read_split(home)
        pairs = [(home / "JPEGImages" / f"{name}.jpg", home / "Annotations" / f"{name}.xml") for name in names]
        return make([_voc_entry(*pair) for pair in pairs], credit=f"{VOC_CREDIT} Part: {split}.")
    if home := find_folder(folder, VOC_UNDER, ["*.jpg", "*.xml"]):
        return make([_voc_entry(path, path.with_suffix(".xml")) for path in photos_in(home)], credit=VOC_CREDIT)
    raise missing_error("voc", folder, VOC_UNDER, ["JPEGImages/*.jpg with Annotations/*.xml, or *.jpg with *.xml,"])


# ---- COCO ----


def _yolo(home: Path, classes: tuple[str, ...]) -> list[Entry]:
    """Return entries of all photos; one without a text file has no objects, as in YOLO's tools."""
    kept = next((home / name for name in ("boxes", "labels") if (home / name).is_dir()), None)
    if kept is None:
        return []
    found = [path for place in _with_subfolders(home / "images") for path in photos_in(place)]
    texts = {path: kept / path.relative_to(home / "images").with_suffix(".txt") for path in found}
    if found and not any(text.is_file() for text in texts.values()):
        raise FileNotFoundError(f"no photo in {home / 'images'} has a text file of its name in {kept}: add the boxes.")
    entries = (
        photo_entry(path, home / "images", boxes=partial(_yolo_boxes, path, text, classes))
        for path, text in texts.items()
    )
    return sorted(entries, key=lambda entry: entry.id)


def _with_subfolders(folder: Path) -> list[Path]:
    return [folder, *sorted(one for one in folder.glob("*") if one.is_dir())]


def _yolo_boxes(path: Path, text: Path, classes: tuple[str, ...]) -> Annotation:
    from samp.annotations.box_files import read_yolo
    from samp.annotations.boxes import Annotation

    size = size_of(path)
    return read_yolo(text, size, classes) if text.is_file() else Annotation((), size)


def _instances(home: Path) -> list[Entry]:
    from samp.annotations.box_files import read_coco

    table = min([*home.glob("annotations/instances_val*.json"), *home.glob("instances*.json")], default=None)
    table = table or min(home.glob("annotations/instances*.json"), default=None)
    if table is None:
        return []
    annotations = read_coco(table)
    split = table.stem.removeprefix("instances").lstrip("_")
    first = next(iter(annotations), "")
    homes = [one for one in (home / "images" / split, home / split, home / "images", home) if one.is_dir()]
    at = next((one for one in homes if (one / first).is_file()), homes[0])
    if not any((at / name).is_file() for name in annotations):
        raise FileNotFoundError(f"none of the {len(annotations)} photos of {table} is in {at}: unpack them there.")
    return [
        photo_entry(at / name, at, boxes=partial(_check_photo_size, at / name, partial(_identity, annotation)))
        for name, annotation in sorted(annotations.items())
    ]


def _own_mapping(path: Path) -> ClassMapping:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        names = {int(number): str(name) for number, name in table["coco_names"].items()}
        stands = {int(number): tuple(map(int, known)) for number, known in table["coco_to_imagenet"].items()}
        return {names[number]: stands.get(number, ()) for number in range(len(names))}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no mapping with coco_names and coco_to_imagenet ({error!r}): mend it.") from error


# ---- VOC ----


def _read_split(home: Path) -> tuple[list[str], str]:
    """Return the names of the photos in the first part found, else of all that have an XML file."""
    lists = {split: home / "ImageSets" / "Main" / f"{split}.txt" for split in SPLITS}
    for split, path in lists.items():
        if path.is_file() and (
            names := [line.split()[0] for line in path.read_text(errors="replace").splitlines() if line.strip()]
        ):
            return sorted(names), split
    return sorted(path.stem for path in home.glob("Annotations/*.xml")), "all"


def _voc_entry(path: Path, xml: Path) -> Entry:
    from samp.annotations.box_files import read_voc

    return photo_entry(path, path.parent, boxes=partial(_check_photo_size, path, partial(read_voc, xml)))


# ---- both ----


def _identity(annotation: Annotation) -> Annotation:
    return annotation


def _check_photo_size(path: Path, boxes: Callable[[], Annotation]) -> Annotation:
    """Return boxes in pixels; raise ValueError if the photo has not the size that they were drawn for."""
    annotation, size = boxes(), size_of(path)
    if annotation.size != size:
        raise ValueError(
            f"{path} has {size[1]} × {size[0]} pixels, but its boxes were drawn on {annotation.size[1]} × "
            f"{annotation.size[0]}: give the photo as published."
        )
    return annotation
