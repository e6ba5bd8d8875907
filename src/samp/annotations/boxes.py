"""Boxes around objects, and their place in the crop of the photo that is the model's input.

One convention for all: edges in pixels from the photo's upper left corner, lying *between* pixels. Column j spans j to
j + 1, a photo of width w spans 0 to w, and a box is `right − left` pixels wide. `samp.annotations.box_files` converts
the conventions of files to this one: VOC counts pixels from 1 and includes the last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import Tensor

from samp.checks import check_whole, is_number

Size = tuple[int, int]  # height, width
Edges = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Box:
    """The rectangle `left` ≤ x < `right`, `top` ≤ y < `bottom` around an object of the class `label`.

    `difficult` marks what a detector is not judged by: "difficult" in VOC, a crowd in COCO.

    >>> Box("dog", left=10, top=20, right=40, bottom=30).area
    300
    """

    label: str
    left: float
    top: float
    right: float
    bottom: float
    difficult: bool = False

    def __post_init__(self) -> None:
        if not all(map(is_number, self.edges)) or self.right <= self.left or self.bottom <= self.top:
            raise ValueError(
                f"the box of {self.label!r} from x {self.left!r} to {self.right!r} and y {self.top!r} to "
                f"{self.bottom!r} is none: its edges are finite numbers, left before right and top before bottom."
            )

    @property
    def edges(self) -> Edges:
        """Left, top, right, bottom."""
        return self.left, self.top, self.right, self.bottom

    @property
    def area(self) -> float:
        """In square pixels."""
        return (self.right - self.left) * (self.bottom - self.top)


@dataclass(frozen=True)
class Annotation:
    """The boxes of one photo, and its height and width in pixels.

    >>> beach = Annotation((Box("dog", 0, 0, 5, 5), Box("cat", 5, 5, 9, 9), Box("dog", 1, 1, 2, 2)), size=(10, 20))
    >>> beach.labels, len(beach.of("dog"))
    (('dog', 'cat'), 2)
    """

    boxes: tuple[Box, ...]
    size: Size

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_size(self.size))
        if not isinstance(self.boxes, list | tuple) or not all(isinstance(box, Box) for box in self.boxes):
            raise TypeError(f"the boxes of a photo are a tuple of Box, not {self.boxes!r}.")
        object.__setattr__(self, "boxes", tuple(self.boxes))

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, each once, in the order of their first box."""
        return tuple(dict.fromkeys(box.label for box in self.boxes))

    def of(self, label: str) -> tuple[Box, ...]:
        """The boxes of one class."""
        return tuple(box for box in self.boxes if box.label == label)


def crop_boxes(annotation: Annotation, size: int | Size, margin: float | None = 0.875) -> Annotation:
    """Return the boxes as they lie in `samp.images.crop_centre(photo, size, margin)`, in pixels of that picture.

    A box that reaches over the edge is clipped to it; one that lies wholly outside is dropped.

    >>> street = Annotation((Box("car", 0, 40, 100, 80), Box("dog", 0, 0, 10, 10)), size=(100, 200))
    >>> crop_boxes(street, 50, margin=1.0).boxes
    (Box(label='car', left=0.0, top=20.0, right=25.0, bottom=40.0, difficult=False),)
    """
    height, width = check_size((size, size) if isinstance(size, Integral) else size)
    if margin is not None and not (is_number(margin) and 0 < margin <= 1):
        raise ValueError(
            f"margin is a share of the photo above 0 and at most 1, or None to stretch it, not {margin!r}."
        )
    tall, wide = annotation.size
    across, down = wide / width, tall / height  # pixels of the photo in one of the picture
    if margin is not None:
        across = down = margin * min(across, down)
    x, y = (wide - across * width) / 2, (tall - down * height) / 2
    boxes = []
    for box in annotation.boxes:
        moved = (box.left - x) / across, (box.top - y) / down, (box.right - x) / across, (box.bottom - y) / down
        if edges := clip_edges(moved, (height, width)):
            boxes.append(Box(box.label, *edges, box.difficult))
    return Annotation(tuple(boxes), (height, width))


def check_size(size: object) -> Size:
    """Return height and width of a picture as two ints; raise ValueError for anything else.

    >>> check_size([224, 320])
    (224, 320)
    """
    if not isinstance(size, list | tuple) or len(size) != 2:
        raise ValueError(f"the size of a picture is (height, width) in pixels, not {size!r}.")
    height, width = size
    return check_whole("the height of a picture", height, 1), check_whole("the width of a picture", width, 1)


def clip_edges(edges: Edges, size: Size) -> Edges | None:
    """Return the part of a rectangle (left, top, right, bottom) inside a picture, or None if all of it lies outside.

    >>> clip_edges((-5, 2, 5, 4), size=(10, 10)), clip_edges((-5, 2, 0, 4), size=(10, 10))
    ((0.0, 2.0, 5.0, 4.0), None)
    """
    height, width = size
    left, top, right, bottom = map(float, edges)
    left, top, right, bottom = max(left, 0.0), max(top, 0.0), min(right, float(width)), min(bottom, float(height))
    return (left, top, right, bottom) if left < right and top < bottom else None


def as_mask(boxes: Iterable[Box], size: Size) -> Tensor:
    """Return the pixels (h w) whose centres lie in some box; a box too thin for any gets the pixel at its middle.

    >>> as_mask([Box("dog", 1, 0, 3, 1), Box("cat", 0.1, 1.1, 0.4, 1.4)], size=(2, 4)).int().tolist()
    [[0, 1, 1, 0], [1, 0, 0, 0]]
    """
    height, width = size
    mask = torch.zeros(height, width, dtype=torch.bool)
    for box in boxes:
        mask[_pixels(box.top, box.bottom, height), _pixels(box.left, box.right, width)] = True
    return mask


def overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes.

    >>> overlap(Box("dog", 0, 0, 4, 2), Box("dog", 2, 0, 6, 2))
    0.3333333333333333
    """
    wide = min(one.right, other.right) - max(one.left, other.left)
    tall = min(one.bottom, other.bottom) - max(one.top, other.top)
    common = max(wide, 0.0) * max(tall, 0.0)
    return common / (one.area + other.area - common)


def tight_box(mask: Tensor, label: str = "object") -> Box | None:
    """Return the smallest box around the pixels of a mask (h w), or None if it is empty.

    >>> tight_box(torch.eye(3).bool()[1:])
    Box(label='object', left=1, top=0, right=3, bottom=2, difficult=False)
    """
    rows, columns = (mask.any(axis).nonzero().flatten().tolist() for axis in (1, 0))
    return Box(label, columns[0], rows[0], columns[-1] + 1, rows[-1] + 1) if rows else None


def _pixels(first: float, last: float, count: int) -> slice:
    """The pixels, of `count`, whose centres lie between two edges; at least one where the edges differ."""
    first, last = max(first, 0.0), min(last, float(count))
    begin, end = math.ceil(first - 0.5), math.ceil(last - 0.5)
    if first < last and begin == end:
        begin = min(int((first + last) / 2), count - 1)
        end = begin + 1
    return slice(begin, max(begin, end))
