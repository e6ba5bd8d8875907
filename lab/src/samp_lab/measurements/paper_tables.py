"""More kinds of cells: μFidelity, the pointing game, seconds of one image at a time, and sums of credit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.annotations.boxes import Annotation, Size, crop_boxes
from samp.attribution import Attribution
from samp.explain import explain
from samp.groups import Pixels
from samp.methods import Method
from samp.metrics.mu_fidelity import mu_fidelity
from samp.metrics.pointing_game import is_difficult, pointing_game
from samp_lab.measurements.base import Column, PartResult, to_numbers
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

FIDELITY_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "novello": {},
    "bhatt": {"groups": Pixels(), "correlation": "pearson"},
}
"""Settings of μFidelity: of Novello et al., whom the paper cites, and as Bhatt et al. define it, on single pixels."""
TOLERANCE = 0.03
"""Of a photo's longer side: the published 15 pixels on VOC's photos, which are 500 pixels long."""


@dataclass(frozen=True)
class Fidelity:
    """μFidelity of a method's maps by the settings of each source (docs/paper.md#mu-fidelity: the paper gives none).

    >>> from samp_lab.setups import parse_setup
    >>> Fidelity(parse_setup("mnist"), "ig").kind, list(FIDELITY_SETTINGS)
    ('fidelity', ['novello', 'bhatt'])
    """

    kind: ClassVar[str] = "fidelity"
    version: ClassVar[int] = 1

    bed: Setup
    method: str | Method
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        found = {
            source: mu_fidelity(part.net, part.x, result, part.target, seed=part.seed, **settings).correlation
            for source, settings in FIDELITY_SETTINGS.items()
        }
        timing = {"seconds": _per_image(seconds, len(part.x))}
        return PartResult({source: to_numbers(correlation) for source, correlation in found.items()}, timing)


@dataclass(frozen=True)
class MethodSeconds:
    """Seconds for one image at a time, after one that is not counted; the model calls each of them took.

    Cells measured at the same time slow each other down, so these are measured `alone`, whatever `--jobs` says.

    >>> from samp_lab.setups import parse_setup
    >>> MethodSeconds(parse_setup("mnist"), "cam").most
    10
    """

    kind: ClassVar[str] = "timed"
    version: ClassVar[int] = 1
    alone: ClassVar[bool] = True

    bed: Setup
    method: str | Method
    most: int | None = 10

    def measure(self, part: ImagePart) -> PartResult:
        self._explain_one(part, 0)  # the first call on a device also loads libraries and probes how much fits
        found: dict[str, Column] = {"gradients": [], "forwards": []}
        seconds = []
        for image in range(len(part.x)):
            started = part.now()
            result = self._explain_one(part, image)
            seconds.append(part.now() - started)
            found["gradients"] += to_numbers(result.gradients)
            found["forwards"].append(int(result.details.get("forwards") or 0))
        return PartResult(found, {"seconds": seconds})

    def _explain_one(self, part: ImagePart, image: int) -> Attribution:
        one = slice(image, image + 1)
        return explain(part.net, part.x[one], target=part.target[one], method=self.method, seed=part.seed)


@dataclass(frozen=True)
class CreditSums:
    """Σa and Δy of each direction that a method walks: what the completeness check correlates over images.

    >>> import samp
    >>> from samp_lab.setups import parse_setup
    >>> CreditSums(parse_setup("mnist"), samp.SAMP(eta=0.1)).kind
    'summed'
    """

    kind: ClassVar[str] = "summed"
    version: ClassVar[int] = 1

    bed: Setup
    method: str | Method
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        if not result.residual_by_direction:
            raise ValueError(f"the credit of {result.method} sums to no change of the score: take a path method.")
        found: dict[str, Column] = {}
        for direction, residual in result.residual_by_direction.items():
            change = result.score_change[direction]
            found[f"credit {direction}"] = to_numbers(change - residual)
            found[f"change {direction}"] = to_numbers(change)
        found["gradients"] = to_numbers(result.gradients)
        return PartResult(found, {"seconds": _per_image(seconds, len(part.x))})


@dataclass(frozen=True)
class Pointing:
    """The pointing game: one map for each photo and each class in it that ImageNet has a name for.

    An ImageNet net has no "dog" but 118 breeds, so each photo's map explains the one that the net finds most likely: a
    single logit, as everywhere in the paper, which CAM, MWP and RISE (a soft-max probability) are defined for as well.
    The truth are boxes, cut as the photo was; what lies outside the cut is not played. `numbers["game"]` holds for each
    photo a list of [class, hit, difficult], or None if its boxes could not be read.

    >>> from samp_lab.setups import parse_setup
    >>> Pointing(parse_setup("coco"), "rise").tolerance
    0.03
    """

    kind: ClassVar[str] = "pointing"
    version: ClassVar[int] = 1

    bed: Setup
    method: str | Method
    tolerance: float = TOLERANCE
    """How far beside the object still hits, as a share of the photo's longer side."""
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        photos = [_annotation(part, number) for number in range(len(part.entries))]
        pairs = _pairs(part, photos)
        started = part.now()
        maps = _maps(part, pairs, self.method)
        seconds = part.now() - started
        games: Column = [None if photo is None else [] for photo in photos]
        spent = [0.0] * len(photos)
        for pair, heat in zip(pairs, maps, strict=True):
            games[pair.photo].append([pair.label, self._hits(part, pair, heat), is_difficult(pair.whole, pair.label)])
            spent[pair.photo] += seconds / len(pairs)
        return PartResult({"game": games}, {"seconds": spent})

    def _hits(self, part: ImagePart, pair: Pair, heat: Tensor) -> bool:
        tolerance = (
            self.tolerance * max(pair.whole.size) * shrinkage(pair.whole.size, pair.cut.size, part.classifier.margin)
        )
        return bool(pointing_game(heat[None], [pair.cut], [pair.label], tolerance=tolerance).hits)


@dataclass(frozen=True)
class Pair:
    """A photo of a part, a class of objects in it, and the ImageNet class that stands for them."""

    photo: int
    label: str
    target: int
    cut: Annotation
    whole: Annotation


@cache
def imagenet_classes_by_label() -> dict[str, tuple[int, ...]]:
    """The ImageNet classes that the classes of COCO and VOC stand for; those that stand for none are left out.

    >>> classes = imagenet_classes_by_label()
    >>> classes["aeroplane"] == classes["airplane"], "person" in classes
    (True, False)
    """
    from samp_lab.datasets.detection import IN_COCO, coco_classes

    coco = {name: indices for name, indices in coco_classes().items() if indices}
    return {**coco, **{voc: coco[name] for voc, name in IN_COCO.items() if name in coco}}


def shrinkage(photo: Size, picture: Size, margin: float | None) -> float:
    """Pixels of the picture that a net is shown to one of the photo; the geometric mean of both axes if stretched.

    >>> shrinkage((500, 353), (224, 224), margin=0.875) == 224 / (0.875 * 353)
    True
    """
    down, across = (p / q for p, q in zip(photo, picture, strict=True))
    if margin is not None:
        down = across = margin * min(down, across)
    return float((down * across) ** -0.5) if down != across else 1 / down


def _annotation(part: ImagePart, number: int) -> Annotation | None:
    """The photo's boxes; None if its file is broken, which is no reason to lose the other photos."""
    entry = part.entries[number]
    try:
        found = entry.annotation
    except (OSError, ValueError):
        return None
    if found is None:
        raise ValueError(f"{entry.id} comes without boxes: play the pointing game on coco or voc.")
    return found


def _pairs(part: ImagePart, photos: Sequence[Annotation | None]) -> list[Pair]:
    logits = _logits(part)
    return [
        pair for photo, whole in enumerate(photos) if whole for pair in _pairs_of(part, photo, whole, logits[photo])
    ]


def _pairs_of(part: ImagePart, photo: int, whole: Annotation, logits: Tensor) -> list[Pair]:
    known = imagenet_classes_by_label()
    cut = crop_boxes(whole, part.classifier.shape, part.classifier.margin)
    # as published: a class whose objects are all "difficult" in VOC's sense is not played
    labels = [label for label in cut.labels if label in known and not all(box.difficult for box in cut.of(label))]
    indices = [torch.tensor(known[label]) for label in labels]
    targets = [int(some[logits[some].argmax()]) for some in indices]
    return [Pair(photo, label, target, cut, whole) for label, target in zip(labels, targets, strict=True)]


def _logits(part: ImagePart) -> Tensor:
    with torch.no_grad():
        logits: Tensor = part.net(part.x).cpu()
    if logits.ndim != 2 or logits.shape[1] != 1000:
        raise ValueError(
            f"the pointing game asks an ImageNet net of 1,000 classes, but this one's output is {tuple(logits.shape)}: "
            "take a bed such as coco/mobilenet_v2."
        )
    return logits


def _maps(part: ImagePart, pairs: Sequence[Pair], method: str | Method) -> Tensor:
    """p h w: the map of each pair."""
    if not pairs:
        return torch.empty(0, *part.x.shape[2:])
    x = part.x[torch.tensor([pair.photo for pair in pairs], device=part.x.device)]
    target = torch.tensor([pair.target for pair in pairs], device=part.x.device)
    maps: Tensor = explain(part.net, x, target=target, method=method, seed=part.seed).map
    return maps.detach().float().cpu()


def _per_image(seconds: float, count: int) -> Column:
    return [seconds / count] * count
