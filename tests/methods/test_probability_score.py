"""Methods that explain the soft-max probability of a class, masks of RISE without a shift, quickshift for LIME."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.methods._perturbation import superpixels
from samp.methods.blur_ig import BlurIG
from samp.methods.guided_ig import GuidedIG
from samp.methods.rise import RISE, draw_masks
from samp.methods.xrai import XRAI

METHODS = [
    BlurIG(steps=6, score="probability"),
    GuidedIG(steps=6, score="probability"),
    XRAI(steps=4, side=24, min_added=4, score="probability"),
    RISE(masks=20, cells=3),
]


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 14 * 14, 5)).eval()


def images() -> Tensor:
    return torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("method", METHODS)
def test_a_probability_is_explained_as_a_target_function_that_takes_the_soft_max(method: Any) -> None:
    classes = torch.tensor([3, 1])

    def soft_max(output: Tensor, samples: Tensor) -> Tensor:
        return output.softmax(1)[torch.arange(len(output)), classes[samples]]

    model, x = net(), images()
    ours = samp.explain(model, x, target=classes, method=method)
    theirs = samp.explain(model, x, target=soft_max, method=replace(method, score="logit"))
    torch.testing.assert_close(ours.map, theirs.map, rtol=1e-4, atol=1e-7)
    assert ours.details["target"] == [3, 1]


@pytest.mark.parametrize("method", METHODS)
def test_the_probability_of_a_target_that_is_no_class_is_refused(method: Any) -> None:
    with pytest.raises(ValueError, match=rf"pass method={type(method).__name__}\(score='logit'\)"):
        samp.explain(net(), images(), target=lambda output: output[:, 0], method=method)


@pytest.mark.parametrize("kind", [BlurIG, GuidedIG, XRAI, RISE])
def test_an_unknown_score_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="score is 'probability' or 'logit', not 'odds'"):
        kind(score="odds")


def test_the_change_of_a_probability_is_what_the_credit_sums_to() -> None:
    model, x = net(), images()
    result = samp.explain(model, x, target=2, method=GuidedIG(steps=400, max_dist=0.0, score="probability"))
    before, after = (model(point).softmax(1)[:, 2].detach() for point in (torch.zeros_like(x), x))
    torch.testing.assert_close(result.group_values.sum(1), after - before, rtol=0.02, atol=1e-4)


def test_masks_without_a_shift_are_the_grid_enlarged_to_the_image() -> None:
    method = RISE(masks=5, cells=4, p=0.5, shift=False)
    masks = torch.cat(list(draw_masks(method, 12, 20, seed=3, like=torch.zeros(1))))
    grid = torch.rand(5, 1, 4, 4, generator=torch.Generator().manual_seed(3)) < 0.5
    assert masks.shape == (5, 12, 20)
    torch.testing.assert_close(masks[:, 1::3, 2::5], grid[:, 0].float())  # in the middle of each cell, its own value
    assert masks.unique().numel() > 2  # between the middles, values between


def test_lime_takes_the_segments_that_quickshift_finds() -> None:
    segmentation = pytest.importorskip("skimage.segmentation")
    x = images()
    found = superpixels(x, None)
    for image, ids in zip(x, found.ids.view(2, 3, 16, 16), strict=True):
        pixels = image.movedim(0, -1).double().numpy()
        stretched = (pixels - pixels.min()) / np.ptp(pixels)
        labels = segmentation.quickshift(stretched, kernel_size=4, max_dist=200, ratio=0.2)
        same = ids[0].numpy()[:, :, None, None] == ids[0].numpy()
        assert (same == (labels[:, :, None, None] == labels)).all()
    assert superpixels(x[:, :1], None).label == "quickshift's superpixels"
