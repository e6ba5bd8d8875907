"""Moments and correlation of a stream: any cut, any order and any worker give what one pass gives."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laws import seeds
from samp.metrics.moments import Correlation, Moments

# Relative to the size of what is summed; the rounding of a few hundred float64 additions stays below it.
TIGHT = 1e-12
offsets = st.sampled_from([0.0, 1.0, -1e6, 1e9, 1e12])


def stream(seed: int, count: int, columns: int | None, offset: float, share_of_nan: float = 0.2) -> Tensor:
    """Values of order 1 about an offset, some of them NaN."""
    generator = torch.Generator().manual_seed(seed)
    shape = (count,) if columns is None else (count, columns)
    values = torch.randn(shape, generator=generator, dtype=torch.float64) + offset
    return values.masked_fill(torch.rand(shape, generator=generator) < share_of_nan, torch.nan)


def shuffled_parts(values: Tensor, seed: int) -> list[Tensor]:
    """The row numbers of the stream in any order, cut at any places; some parts may be empty."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(values), generator=generator)
    cuts = torch.randint(len(values) + 1, (3,), generator=generator).sort().values.tolist()
    return list(torch.tensor_split(order, cuts))


def merge_all(parts: list[Any]) -> Any:
    """All parts merged as a tree: neighbours first."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        for first, *second in pairs:
            for other in second:
                first.merge(other)
        parts = [pair[0] for pair in pairs]
    return parts[0]


def moments_of(values: Any) -> Moments:
    moments = Moments()
    moments.update(values)
    return moments


def exact(values: Tensor) -> tuple[float, float]:
    """Mean and standard deviation in fractions."""
    known = [Fraction(v) for v in values.tolist() if not math.isnan(v)]
    if not known:
        return math.nan, math.nan
    mean = sum(known) / len(known)
    squares = sum((v - mean) ** 2 for v in known)
    return float(mean), math.sqrt(squares / (len(known) - 1)) if len(known) > 1 else math.nan


@given(seed=seeds, count=st.integers(0, 40), offset=offsets, nan=st.sampled_from([0.0, 0.2, 1.0]))
def test_one_pass_equals_fractions(seed: int, count: int, offset: float, nan: float) -> None:
    values = stream(seed, count, None, offset, nan)
    found, (mean, sd) = moments_of(values).compute(), exact(values)
    known = values[~values.isnan()]
    assert (found.count, found.left_out) == (len(known), count - len(known))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-15, atol=1e-14)
    np.testing.assert_allclose(found.sd, sd, rtol=TIGHT)
    np.testing.assert_equal(found.minimum.item(), known.min().item() if len(known) else math.nan)
    np.testing.assert_equal(found.maximum.item(), known.max().item() if len(known) else math.nan)


@given(seed=seeds, count=st.integers(1, 60), columns=st.sampled_from([None, 1, 3]), offset=offsets)
def test_any_split_merged_in_any_order_equals_one_pass(
    seed: int, count: int, columns: int | None, offset: float
) -> None:
    values = stream(seed, count, columns, offset)
    one = moments_of(values).compute()
    several = merge_all([moments_of(values[rows]) for rows in shuffled_parts(values, seed)]).compute()
    assert torch.equal(one.count, several.count)
    assert torch.equal(one.left_out, several.left_out)
    for name in ("minimum", "maximum"):
        assert torch.equal(getattr(one, name).nan_to_num(0.5), getattr(several, name).nan_to_num(0.5))
    torch.testing.assert_close(several.mean, one.mean, rtol=TIGHT, atol=TIGHT, equal_nan=True)
    torch.testing.assert_close(several.sd, one.sd, rtol=TIGHT, atol=TIGHT, equal_nan=True)


def test_naive_sums_would_fail_on_the_same_data() -> None:
    values = stream(0, 60, None, 1e9, 0.0)
    naive = ((values**2).sum() - values.sum() ** 2 / 60) / 59
    assert not math.isclose(math.sqrt(max(naive.item(), 0)), exact(values)[1], rel_tol=0.01)
    assert math.isclose(moments_of(values).compute().sd.item(), exact(values)[1], rel_tol=TIGHT)


def test_nan_is_left_out_in_each_column_by_itself() -> None:
    found = moments_of([[1.0, math.nan, math.nan], [3.0, 5.0, math.nan]]).compute()
    assert found.count.tolist() == [2, 1, 0]
    assert found.left_out.tolist() == [0, 1, 2]
    assert found.mean[:2].tolist() == [2.0, 5.0]
    assert found.sd[0].item() == pytest.approx(math.sqrt(2))
    assert found.mean[2].isnan()
    assert found.sd[1:].isnan().all()
    assert found.minimum.isnan().tolist() == found.maximum.isnan().tolist() == [False, False, True]


def test_equal_values_have_no_spread_at_all() -> None:
    moments = moments_of([0.1] * 7)
    moments.merge(moments_of([0.1] * 5))
    assert moments.compute().sd.item() == 0
    assert moments.compute().mean.item() == 0.1


def correlation_of(x: Any, y: Any) -> Correlation:
    correlation = Correlation()
    correlation.update(x, y)
    return correlation


@given(seed=seeds, count=st.integers(1, 60), columns=st.sampled_from([None, 3]), offset=offsets)
def test_correlation_of_any_split_equals_one_pass_and_numpy(
    seed: int, count: int, columns: int | None, offset: float
) -> None:
    x, y = stream(seed, count, columns, offset), stream(seed + 1, count, columns, -offset)
    y = y + 0.7 * (x - offset).nan_to_num(0)
    one = correlation_of(x, y)
    several = merge_all([correlation_of(x[rows], y[rows]) for rows in shuffled_parts(x, seed)])
    torch.testing.assert_close(several.compute(), one.compute(), rtol=TIGHT, atol=TIGHT, equal_nan=True)
    assert torch.equal(several.count, one.count)
    assert torch.equal(several.left_out, one.left_out)
    for a, b, found in zip(x.view(count, -1).T, y.view(count, -1).T, one.compute().view(-1), strict=True):
        known = ~(a.isnan() | b.isnan())
        if known.sum() < 2:
            assert found.isnan()
        else:  # about the first value, as numpy's mean of 1e12 ± 1 keeps few digits
            pair = np.corrcoef(a[known] - a[known][0], b[known] - b[known][0])
            np.testing.assert_allclose(found, pair[0, 1], rtol=1e-11, atol=TIGHT)


def test_correlation_knows_its_best_and_worst_and_that_a_constant_has_none() -> None:
    x = torch.tensor([0.1, 0.2, 0.4])
    assert correlation_of(x, 3 * x).compute().item() == pytest.approx(1, abs=TIGHT)
    assert correlation_of(x, -x).compute().item() == pytest.approx(-1, abs=TIGHT)
    assert correlation_of(x, torch.full((3,), 0.1)).compute().isnan()
    assert Correlation().compute().isnan()


def test_rounding_does_not_lead_above_one() -> None:
    x = stream(0, 5, 500, 0.0, 0.0)
    assert correlation_of(x, 3 * x).compute().max() <= 1
    assert correlation_of(x, -3 * x).compute().min() >= -1


@pytest.mark.parametrize("kind", [Moments, Correlation])
@pytest.mark.parametrize("columns", [None, 2])
def test_state_survives_pickle_and_state_dict_and_goes_on(kind: Any, columns: int | None) -> None:
    sides = 2 if kind is Correlation else 1
    first, second = ([stream(s + i, 9, columns, 5.0) for s in range(sides)] for i in (0, 10))
    whole, loaded = kind(), kind()
    whole.update(*first)
    loaded.load_state_dict(whole.state_dict())
    pickled = pickle.loads(pickle.dumps(whole))
    for accumulator in (whole, loaded, pickled):
        accumulator.update(*second)
    assert all(type(t) is Tensor for t in whole.state_dict().values())
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name])
        assert torch.equal(tensor, pickled.state_dict()[name])


@pytest.mark.parametrize("kind", [Moments, Correlation])
def test_a_state_shares_no_memory_with_the_one_it_came_from_or_goes_to(kind: Any) -> None:
    first, second = kind(), kind()
    first.update(*[torch.rand(4)] * (2 if kind is Correlation else 1))
    state = first.state_dict()
    kept = {name: tensor.clone() for name, tensor in state.items()}
    second.load_state_dict(state)
    for tensor in state.values():
        tensor.add_(1)
    for accumulator in (first, second):
        assert all(torch.equal(kept[name], tensor) for name, tensor in accumulator.state_dict().items())


def test_memory_does_not_grow() -> None:
    moments = Moments()
    for seed in range(50):
        moments.update(stream(seed, 20, 3, 0.0))
    assert all(tensor.shape == (3,) for tensor in moments.state_dict().values())


def test_reset_forgets_everything() -> None:
    moments = moments_of(torch.rand(3, 2))
    moments.reset()
    moments.update([1.0, 3.0])
    assert moments.compute().mean.item() == 2


def test_a_worker_without_work_changes_nothing() -> None:
    moments, before = moments_of([[1.0, 2.0]]), moments_of([[1.0, 2.0]]).state_dict()
    for idle in (Moments(), moments_of(torch.empty(0, 2))):
        moments.merge(idle)
        idle.merge(moments)
        for name, tensor in before.items():
            assert torch.equal(moments.state_dict()[name], tensor)
            assert torch.equal(idle.state_dict()[name], tensor)


def test_results_do_not_depend_on_dtype_of_the_batch() -> None:
    values = torch.tensor([1.5, 2.5, 4.0])
    for dtype in (torch.float16, torch.float32, torch.int64):
        torch.testing.assert_close(moments_of(values.to(dtype)).compute().mean, values.to(dtype).double().mean())


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (lambda: moments_of(torch.rand(2, 3, 4)), r"b or b × k values, not shape \(2, 3, 4\)"),
        (lambda: moments_of(3.0), r"not shape \(\)"),
        (lambda: moments_of([1.0, math.inf]), "hold Inf"),
        (lambda: moments_of(torch.rand(2, 3)).update(torch.rand(2, 4)), r"was \(3,\), but this one is \(4,\)"),
        (lambda: moments_of(torch.rand(2)).merge(moments_of(torch.rand(2, 4))), "was one number"),
        (lambda: moments_of(torch.rand(2)).merge(Correlation()), "not with Correlation"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: Correlation().merge(Moments()), "not with Moments"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: correlation_of(torch.rand(2), torch.rand(3)), r"not \(2,\) and \(3,\)"),
        (lambda: Moments().load_state_dict({"mean": torch.zeros(())}), "holds count, left_out"),
        (lambda: Correlation().load_state_dict({"mean": torch.zeros(())}), "no state of Correlation"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(do: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        do()
