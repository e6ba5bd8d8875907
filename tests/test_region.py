"""The region of a map: the fewest pixels that hold a share of its smoothed positive credit."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor

import samp
from samp.region import region_mask, region_of, smooth_credit, smoothing_width


def a_map(height: int = 20, width: int = 20, seed: int = 0) -> Tensor:
    return torch.randn(height, width, generator=torch.Generator().manual_seed(seed))


def test_no_smaller_area_holds_as_much() -> None:
    credit = a_map(2, 4)
    mask, positive = region_mask(credit, 0.5, sigma=0), credit.clamp(min=0).flatten().double()
    held = float(positive[mask.flatten()].sum())
    assert held >= 0.5 * float(positive.sum())
    smaller = [sum(positive[list(some)]) for some in combinations(range(8), int(mask.sum()) - 1)]
    assert max(map(float, smaller)) < 0.5 * float(positive.sum())
    assert held == pytest.approx(max(float(positive[list(s)].sum()) for s in combinations(range(8), int(mask.sum()))))


def test_even_credit_takes_just_its_share_of_the_picture() -> None:
    assert region_mask(torch.ones(10, 10), 0.5).sum() == 50
    assert region_mask(torch.ones(10, 10), 1.0).all()


def test_one_pixel_is_a_region_of_one_pixel_without_smoothing_and_a_disc_with_it() -> None:
    credit = torch.zeros(41, 41)
    credit[20, 20] = 3.0
    assert region_mask(credit, 0.5, sigma=0).nonzero().tolist() == [[20, 20]]
    disc = region_mask(credit, 0.5, sigma=4.0)
    assert disc[20, 20]
    # half of a two-dimensional Gaussian lies within σ·√(2 ln 2)
    assert float(disc.sum()) == pytest.approx(np.pi * 16 * 2 * np.log(2), rel=0.05)
    assert (disc == disc.T).float().mean() > 0.99  # but for equal pixels, of which the first are taken


def test_negative_credit_has_no_part_in_it() -> None:
    credit = a_map()
    assert (region_mask(credit) == region_mask(torch.where(credit < 0, -100.0, credit))).all()


@pytest.mark.parametrize("credit", [torch.zeros(6, 6), -torch.ones(6, 6)])
def test_without_positive_credit_it_is_empty(credit: Tensor) -> None:
    assert not region_mask(credit).any()


def test_it_does_not_depend_on_the_unit_of_credit_and_turns_with_the_map() -> None:
    credit = a_map()
    assert (region_mask(credit) == region_mask(1e-6 * credit)).all()
    assert (region_mask(credit.T) == region_mask(credit).T).all()


def test_a_larger_share_contains_a_smaller_one() -> None:
    credit = a_map()
    small, large = region_mask(credit, 0.2), region_mask(credit, 0.7)
    assert (large | ~small).all()
    assert large.sum() > small.sum()


def test_smoothing_is_a_gaussian_convolution() -> None:
    credit = torch.zeros(31, 31)
    credit[15, 15] = 1.0
    down, right = np.mgrid[-15:16, -15:16]
    bell = np.exp(-(down**2 + right**2) / (2 * 2.0**2))
    # beyond 3 σ the kernel ends
    np.testing.assert_allclose(smooth_credit(credit, 2.0).numpy(), bell / bell.sum(), atol=2e-4)


def test_the_region_of_a_result_is_smoothed_at_least_to_its_resolution() -> None:
    result = samp.explain(
        torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1200, 2)).eval(),
        torch.rand(2, 3, 20, 20),
        method="samp++",
    )
    plain = region_of(result, 1)
    assert plain.sigma == smoothing_width(20, 20) == 0.5
    assert (plain.mask == region_mask(result.map[1], 0.5, 0.5)).all()
    result = replace(result, resolution=torch.tensor([1, 6]))
    coarse = region_of(result, 1)
    assert coarse.sigma == 6 / 12**0.5
    assert (coarse.mask == region_mask(result.map[1], 0.5, 6 / 12**0.5)).all()
    assert region_of(result, 0).sigma == 0.5


def test_its_threshold_separates_it_from_the_rest() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2)).eval()
    result = samp.explain(net, torch.rand(1, 3, 8, 8), method="ig")
    region = region_of(result)
    assert float(region.smooth[region.mask].min()) == region.threshold >= float(region.smooth[~region.mask].max())
    assert region.share_of_picture == pytest.approx(float(region.mask.float().mean()))
    empty = region_of(replace(result, values=torch.zeros(1, 3, 8, 8)))
    assert empty.is_empty
    assert empty.share_of_picture == 0


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="above 0 and up to 1, not"):
        region_mask(torch.ones(4, 4), share)


def test_maps_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape h w, not \(1, 4, 4\)"):
        region_mask(torch.ones(1, 4, 4), sigma=1.0)
    with pytest.raises(ValueError, match="NaN or Inf"):
        region_mask(torch.tensor([[1.0, float("nan")]]))
    with pytest.raises(ValueError, match="at least 0, not -1"):
        region_mask(torch.ones(4, 4), sigma=-1.0)
    table = samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(1, 4), method="ig")
    with pytest.raises(ValueError, match=r"the map has shape \(1, 4\), not b h w"):
        region_of(table)
