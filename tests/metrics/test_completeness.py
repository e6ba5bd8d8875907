"""What a map misses of the score's change, by hand and of every kind of method."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import laws
import samp
from samp.metrics.accumulate import Running
from samp.metrics.completeness import Completeness, completeness, completeness_of

FOUR = st.lists(st.floats(-10, 10), min_size=4, max_size=4)


@given(FOUR, st.floats(-10, 10).filter(lambda change: change == 0 or abs(change) > 1e-6))
def test_the_error_is_that_of_the_oracle(values: list[float], change: float) -> None:
    found = completeness(torch.tensor([values], dtype=torch.float64), torch.tensor([change], dtype=torch.float64))
    by_hand = abs(math.fsum(values) - change)
    assert found.absolute.item() == pytest.approx(by_hand, abs=1e-12)
    if change:
        assert found.relative.item() == pytest.approx(by_hand / abs(change), rel=1e-6, abs=1e-5)


def test_maps_whose_error_is_known() -> None:
    weight, x = torch.tensor([1.0, -2.0, 0.5, 3.0]), torch.tensor([[2.0, 1.0, -4.0, 1.0]])
    perfect = weight * x  # of a linear score against a black baseline
    change = perfect.sum(1)
    maps = {"perfect": perfect, "reversed": -perfect, "zero": 0 * perfect, "constant": torch.ones(1, 4)}
    errors = {name: completeness(one, change).relative.item() for name, one in maps.items()}
    assert errors == {"perfect": 0, "reversed": 2, "zero": 1, "constant": 3}


def test_without_any_change_the_relative_error_is_0_or_infinite() -> None:
    found = completeness(torch.tensor([[1.0, -1.0], [1.0, 0.0]]), torch.zeros(2))
    assert found.absolute.tolist() == [0, 1]
    assert found.relative.tolist() == [0, math.inf]


def test_half_precision_is_summed_in_double() -> None:
    maps = torch.full((1, 100, 100), 0.1, dtype=torch.float16)
    exact = 10_000 * float(torch.tensor(0.1, dtype=torch.float16))
    assert completeness(maps, torch.tensor([exact], dtype=torch.float64)).absolute.item() < 1e-9


def test_a_sample_does_not_depend_on_the_others() -> None:
    maps, change = laws.images(1, 5, 3, 4, 4), laws.images(2, 5)
    whole = completeness(maps, change)
    for i in range(5):
        alone = completeness(maps[i : i + 1], change[i : i + 1])
        torch.testing.assert_close(whole.relative[i : i + 1], alone.relative, rtol=1e-12, atol=0)


def test_each_direction_and_their_sum_are_judged() -> None:
    x = laws.images(3, 3, 1, 6, 6)
    result = samp.explain(laws.net(features=36), x, target=0, method="samp")
    found = completeness_of(result)
    assert list(found) == ["to_baseline", "to_image", "both"]
    for direction in ("to_baseline", "to_image"):
        residual, change = result.residual_by_direction[direction], result.score_change[direction]
        assert torch.equal(found[direction].relative, residual.abs() / change.abs())
    both = sum(result.score_change.values())
    assert isinstance(both, Tensor)
    by_map = completeness(result, both)
    # the residuals were rounded to the dtype of the walk
    torch.testing.assert_close(found["both"].absolute, by_map.absolute, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(found["both"].relative, found["both"].absolute / both.abs(), rtol=1e-9, atol=0)
    assert float(found["both"].relative.min()) > 0.01  # the paper's credit is not complete


def test_an_exact_credit_is_complete() -> None:
    method = samp.SAMP(credit="shared")
    found = completeness_of(samp.explain(laws.net(features=36), laws.images(4, 3, 1, 6, 6), target=0, method=method))
    for errors in found.values():
        assert float(errors.relative.max()) < 1e-9


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_ways_to_ask_give_the_same_in_double(dtype: torch.dtype) -> None:
    x = laws.images(3, 3, 12).to(dtype)
    result = samp.explain(laws.net().to(dtype), x, target=0, method=samp.IG(steps=5))
    found = completeness_of(result)["to_image"]
    by_map = completeness(result, result.score_change["to_image"])
    for name in ("absolute", "relative"):
        assert getattr(found, name).dtype == getattr(by_map, name).dtype == torch.float64
        torch.testing.assert_close(getattr(found, name), getattr(by_map, name), rtol=1e-4, atol=1e-6)
    assert all(errors.relative.dtype == torch.float64 for errors in completeness_of(result).values())
    none = completeness_of(samp.explain(laws.net().to(dtype), x, target=0, method="random"))
    assert none["both"].absolute.dtype == torch.float64


def test_maps_alone_have_no_change_to_compare_with() -> None:
    with pytest.raises(TypeError, match=r"reads an Attribution, not Tensor: for maps alone, take completeness\(maps"):
        completeness_of(torch.ones(2, 4))  # type: ignore[arg-type]  # that is the point


def test_ig_errs_less_with_more_steps() -> None:
    x = laws.images(5, 3, 12)
    errors = [
        completeness_of(samp.explain(laws.net(), x, target=0, method=samp.IG(steps=steps)))["to_image"].absolute.mean()
        for steps in (5, 50, 500)
    ]
    assert errors[0] > errors[1] > errors[2]


def test_methods_that_promise_no_sum_have_no_error() -> None:
    found = completeness_of(samp.explain(laws.net(), laws.images(6, 2, 12), target=0, method="random"))
    assert list(found) == ["both"]
    assert found["both"].absolute.isnan().all()
    assert found["both"].relative.isnan().all()


def test_it_runs_over_a_data_set() -> None:
    metric = Running(completeness)
    metric.update(torch.ones(2, 4), torch.tensor([4.0, 8.0]))
    metric.update(torch.ones(1, 4), torch.tensor([2.0]))
    assert metric.compute()["relative"].mean.item() == pytest.approx((0 + 0.5 + 1) / 3)


def test_changes_that_do_not_fit_get_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"2 maps but changes of shape \(3,\): give f\(image\)"):
        completeness(torch.ones(2, 4), torch.ones(3))
    with pytest.raises(ValueError, match="sample 1 holds NaN or Inf"):
        completeness(torch.tensor([[1.0], [math.nan]]), torch.ones(2))
    assert isinstance(completeness(torch.ones(1, 4), [4.0]), Completeness)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_maps_and_changes_may_lie_on_different_devices() -> None:
    found = completeness(torch.ones(2, 4).cuda(), torch.tensor([4.0, 2.0]))
    assert found.relative.tolist() == [0, 1]
