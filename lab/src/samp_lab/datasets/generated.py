"""Generated images: coloured shapes to count, and mosaics of four digits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from PIL import Image, ImageDraw

from samp.annotations.boxes import Annotation, Box
from samp_lab.datasets.images import Entry, Images
from samp_lab.nets.blue_counter import BLUE, SIDE

# Three grounds and three colours: without any blue, and with some beside full red or full green, so that none counts.
PLAIN = ((0, 0, 0), (255, 160, 0), (80, 120, 0), (255, 0, 0), (0, 255, 0), (255, 255, 0))
MIXED = ((255, 255, 255), (255, 220, 160), (170, 255, 220), (0, 255, 255), (255, 0, 255), (255, 128, 200))
MOSAICS = 500
SHAPES = 100
Colour = tuple[int, int, int]


def coloured_shapes(colours: Sequence[Colour] = PLAIN, name: str = "plain") -> Images:
    """Return small pictures of five shapes, two of them blue, the others and the background of these colours.

    >>> colours = {colour for _, colour in coloured_shapes()[0].picture().getcolors()}
    >>> BLUE in colours, len(colours) > 2
    (True, True)
    """
    ids = [(f"{name} shapes/{number:02d}", partial(_draw_shapes, tuple(colours), number)) for number in range(SHAPES)]
    entries = [Entry(called, None, read) for called, read in ids]
    return Images(f"{name} shapes", entries, ("blue pixels",), free=True, credit="made by samp")


def mixed_shapes() -> Images:
    """Return the same in colours that contain some blue, such as white and cyan.

    >>> mixed_shapes()[0].id
    'mixed shapes/00'
    """
    return coloured_shapes(MIXED, "mixed")


def mosaics_of(digits: Images) -> Images:
    """Pictures of 2×2 digits, drawn from these by a fixed seed, with a box around each digit (docs/paper.md#mosaics).

    >>> black = [Entry(str(n), n, lambda: Image.new("L", (28, 28))) for n in range(10)]
    >>> mosaic = mosaics_of(Images("ten", black, tuple("0123456789")))[0]
    >>> mosaic.picture().size, len(mosaic.annotation.boxes)
    ((56, 56), 4)
    """
    draw = random.Random(0)
    chosen = {tuple(draw.choices(range(len(digits)), k=4)): None for _ in range(MOSAICS)}  # each once
    entries = [_mosaic([digits[place] for place in places], digits.classes) for places in chosen]
    return Images(f"mosaics of {digits.name}", entries, digits.classes, digits.free, digits.credit)


def _draw_shapes(colours: Sequence[Colour], number: int) -> Image.Image:
    """Return overlapping shapes, the first and the last of them blue, on one of the first three colours."""
    choose = random.Random(number)
    image = Image.new("RGB", (SIDE, SIDE), colours[number % 3])
    pen = ImageDraw.Draw(image)
    for colour in (BLUE, *choose.sample(colours[3:], 3), BLUE):
        size, left, top = choose.randint(7, 13), choose.randint(0, SIDE - 8), choose.randint(0, SIDE - 8)
        shape = choose.choice((pen.rectangle, pen.ellipse))
        shape((left, top, min(left + size, SIDE - 1), min(top + size, SIDE - 1)), fill=colour)
    return image


def _mosaic(four: Sequence[Entry], classes: Sequence[str]) -> Entry:
    def read() -> Image.Image:
        pictures = [entry.picture() for entry in four]
        width, height = pictures[0].size
        whole = Image.new(pictures[0].mode, (2 * width, 2 * height))
        for place, picture in enumerate(pictures):
            whole.paste(picture, (place % 2 * width, place // 2 * height))
        return whole

    def boxes() -> Annotation:
        width, height = four[0].picture().size
        return Annotation(
            tuple(_box(_name(entry, classes), place, width, height) for place, entry in enumerate(four)),
            (2 * height, 2 * width),
        )

    return Entry("+".join(entry.id for entry in four), None, read, boxes)


def _box(label: str, place: int, width: int, height: int) -> Box:
    """Return the box around one quarter: upper left, upper right, lower left, lower right."""
    left, top = place % 2 * width, place // 2 * height
    return Box(label, left, top, left + width, top + height)


def _name(entry: Entry, classes: Sequence[str]) -> str:
    if entry.label is None:
        raise ValueError(f"{entry.id} has no label: mosaics are made of pictures whose classes are known.")
    return classes[entry.label] if classes else str(entry.label)
