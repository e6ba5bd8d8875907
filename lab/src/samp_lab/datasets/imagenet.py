"""ImageNet photos in folders per class or with a table of labels, and photos that may be published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from samp.models import imagenet_classes
from samp_lab.datasets.folders import (
    LABELS,
    classes_in,
    photo_entry,
    photos_in,
    read_class_folders,
    read_labelled_photos,
)
from samp_lab.datasets.images import Images
from samp_lab.datasets.label_files import read_labels
from samp_lab.datasets.locate import find_folder, missing_error

UNDER = ("imagenet250", "imagenet", "imagenet/val", "ILSVRC2012_img_val", "val", ".")
CREDIT = "ImageNet, O. Russakovsky et al., 2015; non-commercial research and education, not to be published."
NUMBERED = re.compile(r"n\d{8}_(\d{1,3})_")  # a WordNet id and the index of the class begin the name of a file

# In the public domain or CC0, as scikit-image and alibi state for the photos they come with.
FREE = {"astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "n02123045_281_tabby_cat.jpg"}
FREE |= {"n02123394_283_Persian_cat.jpg", "n02123597_284_Siamese_cat.jpg", "n02124075_285_Egyptian_cat.jpg"}
FREE_CREDIT = "photos of scikit-image (CC0 and public domain) and of alibi (public domain)."


def open_imagenet(folder: Path) -> Images:
    """Return photos with ImageNet's labels: a folder per class, by WordNet id or name, or a flat one with `labels.csv`.

    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as data:
    ...     (Path(data) / "n02123045").mkdir()
    ...     Image.new("RGB", (4, 4)).save(Path(data) / "n02123045" / "tom.png")
    ...     images = open_imagenet(Path(data))
    >>> images[0], images.classes[281]
    (Entry(id='n02123045/tom.png', label=281), 'tabby')
    """
    if home := find_folder(folder, UNDER, [LABELS]):
        _check_labels(home / LABELS)
        entries = read_labelled_photos(home)[0]
    elif home := _find_class_folders(folder):
        entries = read_class_folders(home, {name: _index(name, home) for name in classes_in(home)})
    else:
        raise missing_error("imagenet", folder, UNDER, ["labels.csv or one folder of photos per class"])
    return Images("imagenet", entries, imagenet_classes(), credit=CREDIT)


def open_photos(folder: Path) -> Images:
    """Return a flat folder of photos, `free` if all are known to be in the public domain.

    A name that begins like `n02123045_281_` gives the label, here 281.

    >>> from samp.images import example_photo
    >>> images = open_photos(example_photo().parent)
    >>> [entry.id for entry in images], images.labels, images.free
    (['chelsea.jpg', 'coffee.jpg'], (None, None), False)
    """
    home = next((folder / name for name in ("photos", ".") if photos_in(folder / name)), None)
    if home is None:
        raise missing_error("photos", folder, ("photos", "."), ["JPEG or PNG files"])
    entries = [photo_entry(path, home, _class_number(path.name)) for path in photos_in(home)]
    free = FREE.issuperset(entry.id for entry in entries)
    credit = FREE_CREDIT if free else "photos of the user's"
    return Images("photos", entries, imagenet_classes(), free, credit)


@cache
def wnids() -> tuple[str, ...]:
    """Return the WordNet ids of the 1,000 classes, in the order of their index.

    >>> wnids()[281], len(wnids())
    ('n02123045', 1000)
    """
    return tuple((files("samp_lab.datasets") / "imagenet_wnids.txt").read_text(encoding="ascii").split())


@cache
def _by_name() -> Mapping[str, int]:
    """Return the index of each WordNet id and of each name; the two names that two classes share are left out."""
    names = [_normalise_name(name) for name in imagenet_classes()]
    known = {name: index for index, name in enumerate(names) if names.count(name) == 1}
    return known | {wnid: index for index, wnid in enumerate(wnids())}


def _normalise_name(name: str) -> str:
    return name.casefold().replace("_", " ").strip()


def _index(name: str, home: Path) -> int:
    if _normalise_name(name) not in _by_name():
        raise ValueError(
            f"the folder {home / name} is called after no class of ImageNet: name it by its WordNet id, such as "
            "n02123045, or read it as the data set 'folder'."
        )
    return _by_name()[_normalise_name(name)]


def _find_class_folders(folder: Path) -> Path | None:
    """Return the first place with a folder named after a class; a folder of all data contains others as well."""
    homes = (folder / name for name in UNDER if (folder / name).is_dir())
    return next((home for home in homes if any(_normalise_name(name) in _by_name() for name in classes_in(home))), None)


def _check_labels(path: Path) -> None:
    labels = read_labels(path)
    for file, index in labels.indices.items():
        if index >= len(wnids()) or labels.wnids.get(file, wnids()[index]) != wnids()[index]:
            raise ValueError(
                f"{path} gives {file} the class {index} {labels.wnids.get(file, '')}, which is none of ImageNet's "
                "1,000 in the order of their WordNet ids: correct it, or read it as the data set 'folder'."
            )


def _class_number(name: str) -> int | None:
    found = NUMBERED.match(name)
    return int(found[1]) if found else None
