"""Samples, directions and batches do not get in each other's way; a sample that fails takes no other with it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import samp
from laws import CLOSE, CountingModel, assert_same, assert_same_sample, images, methods, net, seeds


@given(seed=seeds, method=methods(), shape=st.sampled_from([(12,), (1, 3, 4), (3, 2, 2)]), blank=st.booleans())
def test_batched_walk_equals_one_by_one(seed: int, method: Any, shape: Any, blank: bool) -> None:
    model, x = net(seed), images(seed, 4, *shape)
    x[0, ..., 0], x[2, ..., 1:] = 0, 0  # shorter walks, so that rows leave the batch at different times
    x[1] = 0 if blank else x[1]  # and one of no steps at all
    together = samp.explain(model, x, target=[0, 1, 2, 0], method=method, seed=seed)
    for i in range(4):
        alone = samp.explain(model, x[i : i + 1], target=[0, 1, 2, 0][i], method=method, seed=seed)
        assert_same_sample(together, i, alone, 0, **CLOSE)


@given(seed=seeds, method=methods(), size=st.integers(1, 9))
def test_result_does_not_depend_on_batch_size_or_on_the_order_of_samples(seed: int, method: Any, size: int) -> None:
    model, x = net(seed), images(seed, 4, 3, 2, 2)
    x[2, :, 0] = 0
    expected = samp.explain(model, x, method=method)
    counted = CountingModel(model)
    assert_same(samp.explain(counted, x, method=method, batch_size=size), expected, **CLOSE)
    assert counted.largest <= size
    backwards = samp.explain(model, x.flip(0), method=method)
    for i in range(4):
        assert_same_sample(expected, i, backwards, 3 - i, **CLOSE)


@given(seed=seeds, method=methods())
def test_both_directions_in_one_batch_equal_two_runs(seed: int, method: Any) -> None:
    model, x = net(seed), images(seed, 3, 3, 2, 2)
    both = samp.explain(model, x, target=1, method=replace(method, direction="both"))
    runs = {
        d: samp.explain(model, x, target=1, method=replace(method, direction=d)) for d in ("to_baseline", "to_image")
    }
    torch.testing.assert_close(both.values, sum(run.values for run in runs.values()), **CLOSE)
    torch.testing.assert_close(both.residual, sum(run.residual for run in runs.values()), **CLOSE)
    assert torch.equal(both.gradients, sum(run.gradients for run in runs.values()))
    for d, run in runs.items():
        for name in ("scores", "order", "steps", "score_change", "residual_by_direction", "blind"):
            torch.testing.assert_close(getattr(both, name)[d], getattr(run, name)[d], equal_nan=True, **CLOSE)
    assert set(both.scores) == set(runs)


@pytest.mark.parametrize("size", [1, 3, "auto"])
def test_per_sample_masks_tuples_and_extra_arguments_stay_with_their_samples(size: Any) -> None:
    """Everything at once, with walks of different lengths."""
    first, second = net(1, 12), net(2, 5)
    x, y, scale = images(1, 4, 3, 2, 2), images(2, 4, 5), images(3, 4, 1) + 0.5
    x[0, :, 0], x[3], y[3, 1:] = 0, 0, 0

    def model(x: Tensor, y: Tensor, scale: Tensor, power: float) -> Tensor:
        return (first(x) * scale + torch.tanh(first(x)) * second(y)) * power

    masks = [torch.randint(4, (4, 1, 2, 2), generator=torch.Generator().manual_seed(i)) for i in (0, 1)]
    masks[1] = masks[1].flatten(1).repeat(1, 2)[:, :5]
    method = samp.SAMPPlusPlus(1, baseline=["uniform", "gaussian"])
    question: Any = {"method": method, "seed": 5}
    result = samp.explain(
        model, (x, y), groups=masks, forward_args=(samp.PerSample(scale), 2.0), batch_size=size, **question
    )
    for i in range(4):
        one = slice(i, i + 1)
        alone = samp.explain(
            model,
            (x[one], y[one]),
            groups=[m[one] for m in masks],
            forward_args=(samp.PerSample(scale[one]), 2.0),
            **question,
        )
        width = alone.group_values.shape[1]  # alone, a sample has no groups that only its neighbours use
        assert not result.group_values[i, width:].any()
        trimmed = replace(
            result,
            group_values=result.group_values[:, :width],
            order={d: order[:, :width] for d, order in result.order.items()},
        )
        assert_same_sample(trimmed, i, alone, 0, **CLOSE)


@given(seed=seeds, method=methods())
def test_repeated_runs_are_identical_to_the_bit(seed: int, method: Any) -> None:
    model, x = net(seed).float(), images(seed, 3, 3, 2, 2).float()
    assert_same(samp.explain(model, x, method=method), samp.explain(model, x, method=method))


def explosive(x: Tensor) -> Tensor:
    """Finite near 0 and 1, but Inf once the first feature of a sample is large."""
    return x.sum(1) + torch.where(x[:, 0] > 2, float("inf"), 0.0)


@pytest.mark.parametrize("length", [5, 60])
def test_a_score_that_turns_infinite_names_sample_and_step_and_keeps_the_others(length: int) -> None:
    x = images(0, 4, length)
    x[2, 0] = 3  # the largest gain: moves first
    with pytest.raises(samp.NonFiniteError) as caught:
        samp.explain(explosive, x, method=samp.SAMP(1, direction="to_image"))
    assert str(caught.value).startswith(
        "score or gradient turned NaN or Inf in sample 2 at step 1 of its walk to_image:"
    )
    assert "float32 or float64 inputs, or another baseline" in str(caught.value)
    result = caught.value.result
    others = [0, 1, 3]
    expected = samp.explain(explosive, x[others], method=samp.SAMP(1, direction="to_image"))
    for i, other in enumerate(others):
        assert_same_sample(result, other, expected, i, **CLOSE)
    assert result.values[2].isnan().all()
    assert result.residual[2].isnan()
    back = pickle.loads(pickle.dumps(caught.value))  # as from a worker
    assert str(back) == str(caught.value)
    assert_same(back.result, result)


def test_several_failing_samples_are_all_named() -> None:
    x = images(0, 3, 5)
    x[[0, 2], 0] = 3
    with pytest.raises(samp.NonFiniteError, match=r"sample 0 at step 0 of its walk to_baseline \(2 .* \[0, 2\]\)"):
        samp.explain(explosive, x, batch_size=1)


@pytest.mark.parametrize("samples", [1, 3])
def test_scores_that_are_nan_from_the_start_get_the_same_sentence(samples: int) -> None:
    with pytest.raises(samp.NonFiniteError, match="NaN or Inf in sample 0 at step 0") as caught:
        samp.explain(lambda x: x.sum(1) * float("nan"), images(0, samples, 5))
    assert caught.value.result.values.isnan().all()


@pytest.mark.parametrize("method", ["samp", "coupled"])
def test_a_walk_that_fails_before_its_first_move_has_no_credit_at_all(method: str) -> None:
    """Beside a sample that has nowhere to go, rows are looked at from the start, and this one leaves at once."""
    x = torch.tensor([[0.0, 0.0], [0.9, 0.1]])
    with pytest.raises(samp.NonFiniteError) as caught:
        samp.explain(
            lambda x: x.sum(1).where(x[:, 0] < 0.5, torch.nan),
            x,
            method=replace(samp.methods.resolve_method(method), baseline=0.0),
        )
    assert caught.value.result.values[1].isnan().all()
    assert (caught.value.result.values[0] == 0).all()


@pytest.mark.parametrize("momentum", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("eta", [None, 0.1, 0.01])
@pytest.mark.parametrize("zeros", [1, 3, 5])
def test_a_gradient_that_turns_infinite_is_caught_too(momentum: float, eta: float | None, zeros: int) -> None:
    """√x has a finite score and an infinite gradient at 0; what it leaves in a momentum stays with its sample."""
    x, blank = images(0, 3, 5) + 0.1, torch.full((3, 5), 0.05, dtype=torch.float64)
    blank[1, :zeros] = 0
    method = samp.SAMP(1, eta=eta, momentum=momentum, direction="to_image", baseline=blank)
    with pytest.raises(samp.NonFiniteError, match="sample 1 at step 0 of its walk to_image:") as caught:
        samp.explain(lambda x: x.sqrt().sum(1), x, method=method)
    expected = samp.explain(lambda x: x.sqrt().sum(1), x[::2], method=replace(method, baseline=blank[::2]))
    for i in (0, 1):
        assert_same_sample(caught.value.result, 2 * i, expected, i, **CLOSE)


def test_half_precision_that_overflows_is_caught() -> None:
    x = torch.full((2, 4), 200.0).half()
    x[0] = 1
    with pytest.raises(samp.NonFiniteError, match="in sample 1 at step 0 of its walk to_baseline") as caught:
        samp.explain(lambda x: (x**3).sum(1), x, method=samp.SAMP(1))
    assert caught.value.result.values[0].isfinite().all()


def test_large_gradients_whose_sum_overflows_are_still_numbers() -> None:
    x = torch.full((1, 4), 1e-3)
    result = samp.explain(lambda x: x.sum(1) * 3e38, x, method=samp.SAMP(1, direction="to_image"))
    torch.testing.assert_close(result.values, torch.full((1, 4), 3e35))
