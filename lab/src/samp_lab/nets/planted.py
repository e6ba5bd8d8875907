"""A net whose used pixels are known exactly, and its images: planted patterns, distractors and texture.

Each class looks for five patterns of 5 × 5 pixels, wherever they are. With a_k from 0 (absent) to 1 (there),

    score = a_1 + 2 · relu(a_2 + a_3 − 1) + min(a_4 + a_5, 1):

one that counts alone, two that count only together (their gradient vanishes without the other), and two of which either
suffices (their gradient vanishes where both are). An image shows all five patterns of its class, and as distractors one
of each other class and some that no detector has: the same number of ±1 pixels, ignored with a weight of exactly 0.

What the score of the image's class depends on is then a fact: a_k is the maximum of a correlation over the image, a
pattern in its place gives 1, and any other window stays below `LARGEST_ELSEWHERE` whatever the texture is within its
range. So the texture may change at will and the score stays the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from samp.models import Classifier

SIDE = 64
CLASSES = 3
PER_CLASS = 5
DISTRACTORS = 3  # patterns that no detector has
PATTERN = 5  # pixels a side
CELL = 12  # one pattern at most is in each: so far apart that no window of a detector meets two
TEXTURE = 0.3  # the texture's values go from −0.3 to 0.3, those of a pattern are −1 and 1
THRESHOLD = 0.2  # of a full response, below which a detector is silent
LARGEST_ELSEWHERE = 0.45  # of a full response: no window without a whole pattern reaches it


@dataclass(frozen=True, eq=False)
class PlantedImages:
    """Images of `planted_net`, from −1 to 1, and the truth about them."""

    images: Tensor
    """b 3 64 64"""
    target: Tensor
    """b: the class whose patterns are all there; the net predicts it."""
    used: Tensor
    """b 64 64: the pixels on which the score of that class depends (125 of 4096)."""
    ignored: Tensor
    """b 64 64: the pixels of the distractors."""


class PlantedNet(nn.Module):
    """Scores of the classes by fixed detectors: correlation, threshold, maximum over the image, and the formula above.

    >>> given = plant_images(2, seed=1)
    >>> bool((planted_net().net(given.images).argmax(1) == given.target).all())
    True
    """

    def __init__(self) -> None:
        super().__init__()
        detectors = make_patterns()[: CLASSES * PER_CLASS]
        full = detectors[0].numel()
        self.detect = nn.Conv2d(3, len(detectors), PATTERN, padding=PATTERN // 2)
        silent = torch.full((len(detectors),), -THRESHOLD / (1 - THRESHOLD))
        self.detect.load_state_dict({"weight": detectors / (full * (1 - THRESHOLD)), "bias": silent})
        self.act, self.pool = nn.ReLU(), nn.AdaptiveMaxPool2d(1)

    def forward(self, x: Tensor) -> Tensor:
        """b 3 h w -> b classes."""
        there: Tensor = self.pool(self.act(self.detect(x))).view(len(x), CLASSES, PER_CLASS)
        alone, one, other, either, instead = there.unbind(2)
        score: Tensor = alone + 2 * (one + other - 1).relu() + (either + instead).clamp(max=1)
        return score


def planted_net() -> Classifier:
    """Return the net as a classifier.

    >>> planted_net().size
    64
    """
    labels = tuple(f"class {number}" for number in range(CLASSES))
    return Classifier(PlantedNet().eval(), "planted patterns", SIDE, 0.5, 0.5, labels, margin=None)


def plant_images(count: int, seed: int = 0) -> PlantedImages:
    """Return so many images with their target, the pixels that count, and those of the distractors.

    >>> given = plant_images(2)
    >>> given.images.shape, given.used.sum((1, 2)).tolist()
    (torch.Size([2, 3, 64, 64]), [125, 125])
    """
    generator = torch.Generator().manual_seed(seed)
    patterns = make_patterns()
    images = TEXTURE * (2 * torch.rand(count, 3, SIDE, SIDE, generator=generator) - 1)
    target = torch.randint(CLASSES, (count,), generator=generator)
    used, ignored = (torch.zeros(count, SIDE, SIDE, dtype=torch.bool) for _ in range(2))
    for sample in range(count):
        own = _patterns_of(int(target[sample]))
        others = [_patterns_of(one)[_draw(PER_CLASS, generator)] for one in range(CLASSES) if one != target[sample]]
        extra = list(range(CLASSES * PER_CLASS, len(patterns)))
        chosen = own + others + extra
        for place, pattern in zip(_draw_places(len(chosen), generator), chosen, strict=True):
            images[sample, :, place[0], place[1]] = patterns[pattern]
            (used if pattern in own else ignored)[sample, place[0], place[1]] = True
    return PlantedImages(images, target, used, ignored)


def make_patterns() -> Tensor:
    """n 3 5 5: the patterns of all classes in turn, then those that no detector has; −1 and 1, drawn once.

    >>> make_patterns().shape
    torch.Size([18, 3, 5, 5])
    """
    generator = torch.Generator().manual_seed(17)
    count = CLASSES * PER_CLASS + DISTRACTORS
    return 2.0 * torch.randint(2, (count, 3, PATTERN, PATTERN), generator=generator) - 1


def _patterns_of(number: int) -> list[int]:
    return list(range(number * PER_CLASS, (number + 1) * PER_CLASS))


def _draw(below: int, generator: torch.Generator) -> int:
    return int(torch.randint(below, (), generator=generator))


def _draw_places(count: int, generator: torch.Generator) -> list[tuple[slice, slice]]:
    """Return the rows and columns of so many patterns, each in a cell of its own and 4 pixels or more apart."""
    per_row = SIDE // CELL
    cells = torch.randperm(per_row**2, generator=generator)[:count].tolist()
    free = CELL - 2 * PATTERN + 2
    corners = [
        (cell // per_row * CELL + _draw(free, generator), cell % per_row * CELL + _draw(free, generator))
        for cell in cells
    ]
    return [(slice(row, row + PATTERN), slice(column, column + PATTERN)) for row, column in corners]
