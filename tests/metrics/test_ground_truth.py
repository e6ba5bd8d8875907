"""The truth as masks and boxes of the map's own picture, from whatever it was given as."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from samp.annotations.boxes import Annotation, Box, as_mask
from samp.metrics.ground_truth import ground_truths
from samp.metrics.segmentation import localisation, segmentation


def test_only_what_lies_in_the_picture_of_an_object_counts() -> None:
    """A box may reach over the edge, as one that was moved by hand: the map can show no more than the picture."""
    over, outside = Box("dog", 0, -20, 10, 5), Box("dog", 0, -20, 10, -2, difficult=True)
    perfect = as_mask([over], (10, 10))[None].float()
    annotation = Annotation((over, outside, Box("cat", -5, 0, 0, 3)), (10, 10))
    for truth, labels in (([[over, outside]], None), ([annotation], ["dog"])):
        for measure in (localisation, segmentation):
            assert measure(perfect, truth, labels).iou.tolist() == [1.0]
    for truth, labels in (([[outside]], None), ([annotation], ["cat"])):
        for measure in (localisation, segmentation):
            assert measure(perfect, truth, labels).iou.isnan().all()


def test_masks_may_be_flipped_or_read_only_arrays() -> None:
    mask = np.zeros((1, 4, 6), dtype=bool)
    mask[0, 0, :2] = True
    flipped = mask[:, ::-1, ::-1]
    frozen = mask[:, ::-1, ::-1].copy()
    frozen.flags.writeable = False
    heat = np.ascontiguousarray(flipped).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for truth in (flipped, list(flipped), frozen):
            assert segmentation(heat, truth).iou.tolist() == [1.0]
    for dtype in ("float32", ">i4", "O"):
        with pytest.raises(TypeError, match=r"mask of sample 0 has dtype .*: make it boolean, as with mask > 0"):
            segmentation(heat, flipped.astype(dtype))


def test_boxes_are_clipped_to_the_picture_and_keep_all_else() -> None:
    inside, over = Box("dog", 1, 1, 3, 3), Box("dog", 2, 2, 9, 9, difficult=True)
    outside = Box("dog", 5, 0, 9, 4)
    annotation = Annotation((inside, over, outside), (4, 4))
    for truth, labels in (([[inside, over, outside]], None), ([annotation], ["dog"])):
        (aim,) = ground_truths(truth, torch.rand(1, 4, 4), labels)
        assert aim.boxes == (inside, Box("dog", 2, 2, 4, 4, difficult=True))
        assert torch.equal(aim.mask, as_mask(aim.boxes, (4, 4)))
