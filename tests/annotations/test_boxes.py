"""Boxes keep their geometry, follow the photo into its cut, and what is no box gets a sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from samp import images as photos
from samp.annotations.boxes import Annotation, Box, as_mask, clip_edges, crop_boxes, overlap, tight_box

# ---- what is no box ----


@pytest.mark.parametrize("edges", [(3, 0, 3, 2), (4, 0, 3, 2), (0, 2, 3, 2), (0, float("nan"), 3, 2)])
def test_a_box_without_area_is_refused(edges: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"the box of 'dog' .* is none"):
        Box("dog", *edges)


@pytest.mark.parametrize("edges", [("0", 0, 3, 2), (0, 0, "3", 2), (0, None, 3, 2), (0, 0, 3, True)])
def test_a_box_whose_edges_are_no_numbers_is_refused(edges: Any) -> None:
    with pytest.raises(ValueError, match=r"the box of 'dog' .*: its edges are finite numbers"):
        Box("dog", *edges)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ((0, 5), "the height of a picture is a whole number of at least 1, not 0"),
        ((5, 2.5), "the width of a picture is a whole number of at least 1, not 2.5"),
        ((5,), r"the size of a picture is \(height, width\) in pixels, not \(5,\)"),
        ("ab", r"the size of a picture is \(height, width\) in pixels, not 'ab'"),
        (None, "not None"),
    ],
)
def test_a_photo_without_whole_pixels_is_refused(size: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Annotation((), size)


def test_sizes_and_boxes_may_come_as_lists_and_numpys_numbers() -> None:
    dog = Box("dog", 1, 1, 4, 3)
    assert Annotation([dog], [10, np.int64(20)]) == Annotation((dog,), (10, 20))  # type: ignore[arg-type]  # tuples by type
    assert type(Annotation((), (np.int64(3), 4)).size[0]) is int  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match=r"the boxes of a photo are a tuple of Box, not Box\("):
        Annotation(dog, (10, 20))  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("size", "margin", "sentence"),
    [
        (0, 0.875, "the height of a picture is a whole number of at least 1, not 0"),
        ((5, 0), 0.875, "the width of a picture is a whole number of at least 1, not 0"),
        (2.5, 0.875, r"is \(height, width\) in pixels, not 2.5"),
        (5, 0, "margin is a share of the photo above 0 and at most 1, or None to stretch it, not 0"),
        (5, 1.5, "margin is a share .*, not 1.5"),
        (5, math.nan, "margin is a share .*, not nan"),
        (5, "1", "margin is a share .*, not '1'"),
    ],
)
def test_a_cut_that_shows_nothing_is_refused(size: Any, margin: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        crop_boxes(Annotation((), (10, 20)), size, margin)


# ---- geometry ----


def edges(limit: int = 12) -> st.SearchStrategy[Box]:
    place = st.tuples(*[st.floats(-2, limit)] * 2, *[st.floats(0.05, limit)] * 2)
    return place.map(lambda at: Box("dog", at[0], at[1], at[0] + at[2], at[1] + at[3]))


@given(edges())
def test_a_mask_holds_the_pixels_whose_centres_lie_in_the_box(box: Box) -> None:
    rows, columns = np.mgrid[:9, :11] + 0.5
    oracle = (box.left <= columns) & (columns < box.right) & (box.top <= rows) & (rows < box.bottom)
    found = as_mask([box], (9, 11)).numpy()
    if oracle.any():
        assert (found == oracle).all()
    else:  # too thin for any centre along one side, or out of the picture
        assert found.any() == (clip_edges((box.left, box.top, box.right, box.bottom), (9, 11)) is not None)


@given(edges(), edges())
def test_overlap_is_symmetric_and_1_only_with_itself(one: Box, other: Box) -> None:
    assert overlap(one, other) == pytest.approx(overlap(other, one))
    assert overlap(one, one) == pytest.approx(1)
    assert 0 <= overlap(one, other) <= 1 + 1e-12  # rounding


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_overlap_of_whole_pixels_is_that_of_their_masks(height: int, width: int, data: st.DataObject) -> None:
    def draw() -> Box:
        left, top = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
        return Box("dog", left, top, left + width, top + height)

    one, other = draw(), draw()
    a, b = (as_mask([box], (12, 12)) for box in (one, other))
    assert overlap(one, other) == pytest.approx(int((a & b).sum()) / int((a | b).sum()))


@given(st.integers(0, 5), st.integers(0, 5), st.integers(1, 5), st.integers(1, 5))
def test_the_box_around_the_mask_of_a_box_is_that_box(left: int, top: int, wide: int, tall: int) -> None:
    box = Box("object", left, top, left + wide, top + tall)
    assert tight_box(as_mask([box], (10, 10))) == box
    assert tight_box(torch.zeros(3, 3).bool()) is None


@given(
    st.tuples(st.integers(20, 90), st.integers(20, 90)),
    st.tuples(st.integers(8, 40), st.integers(8, 40)),
    st.sampled_from([None, 0.875, 1.0]),
    st.data(),
)
def test_boxes_follow_the_photo_into_the_cut(
    photo: tuple[int, int], size: tuple[int, int], margin: float | None, data: st.DataObject
) -> None:
    height, width = photo
    left, top = data.draw(st.integers(0, width - 8)), data.draw(st.integers(0, height - 8))
    box = Box("dog", left, top, data.draw(st.integers(left + 4, width)), data.draw(st.integers(top + 4, height)))
    painted = Image.fromarray(as_mask([box], photo).numpy().astype(np.uint8) * 255)
    seen = np.asarray(photos.crop_centre(painted, size, margin, Image.Resampling.BOX)) / 255
    boxes = crop_boxes(Annotation((box,), photo), size, margin).boxes
    expected = as_mask(boxes, size).numpy()
    # a pixel at the edge is partly the box's; only those wholly in or wholly out are certain
    assert expected[seen > 0.99].all()
    if all(box.right - box.left > 1 and box.bottom - box.top > 1 for box in boxes):  # the resize may miss a sliver
        assert not expected[(seen < 0.01) & _away_from(seen > 0.01)].any()


def _away_from(mask: np.ndarray[Any, np.dtype[np.bool_]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Not within a pixel of the mask: the resize rounds its filter, and a thin sliver keeps one pixel by the rule."""
    padded = np.pad(mask, 1)
    near = [np.roll(padded, shift, (0, 1)) for shift in np.ndindex(3, 3)]
    return ~np.roll(np.any(near, 0), (-1, -1), (0, 1))[1:-1, 1:-1]


def test_what_the_cut_leaves_nothing_of_is_dropped_and_flags_stay() -> None:
    wide = Annotation((Box("left", 0, 0, 10, 10), Box("middle", 15, 0, 25, 10, difficult=True)), (10, 40))
    assert crop_boxes(wide, 10, margin=1.0).boxes == (Box("middle", 0, 0, 10, 10, difficult=True),)
    assert crop_boxes(wide, (20, 80), margin=None).boxes[0] == Box("left", 0, 0, 20, 20)
    assert crop_boxes(wide, np.int64(10), margin=1.0) == crop_boxes(wide, 10, margin=1.0)  # type: ignore[arg-type]  # numpy's too
