"""Calls come in few sizes where each new one is costly, and filling them up changes no result."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from laws import CLOSE, Recording, assert_same, images, net, uneven_images
from samp.engine import call_sizes
from samp.engine.call_sizes import CallSizes, make_call_sizes, tunes_each_size


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every device tuned its kernels for each number of rows, as cuDNN does where it is asked to."""
    monkeypatch.setattr(call_sizes, "tunes_each_size", lambda device: True)


@given(largest=st.integers(1, 300), calls=st.lists(st.integers(1, 300), max_size=40))
def test_sizes_hold_their_rows_and_are_at_most_four_of_one_largest(largest: int, calls: list[int]) -> None:
    sizes = CallSizes(largest)
    chosen = {sizes.size_for(rows) for rows in calls if rows <= largest}
    assert len(chosen) <= 4
    assert all(sizes.size_for(rows) >= rows for rows in calls)
    assert all(sizes.size_for(rows) <= max(2 * rows, sizes.largest // 8 + 1) for rows in calls)


@pytest.mark.usefixtures("tuned")
@pytest.mark.parametrize(
    "method",
    ["consensus", "coupled", samp.Coupled(quality="fine"), samp.SAMP(1, baseline=0.0), "samp++", "ig", "blurig"],
)
@pytest.mark.parametrize("batch_size", ["auto", 24])
def test_a_run_calls_the_model_in_no_more_than_four_sizes(method: Any, batch_size: Any) -> None:
    x = uneven_images(3, 21, 3, 4, 4)
    model = Recording(net(0, features=48))
    samp.explain(model, x, method=method, batch_size=batch_size)
    assert len(set(model.rows)) <= 4


def test_without_tuning_the_same_run_has_many_sizes_and_no_row_too_many() -> None:
    x = uneven_images(3, 21, 3, 4, 4)
    model = Recording(net(0, features=48))
    result = samp.explain(model, x, target=0, method=samp.SAMP(1, baseline=0.0))
    assert len(set(model.rows)) > 4
    assert sum(model.rows) == int(result.gradients.sum())


@pytest.mark.usefixtures("tuned")
@pytest.mark.parametrize("method", ["consensus", "coupled", "samp++", "ig"])
@pytest.mark.parametrize("batch_size", ["auto", 7])
def test_filling_calls_up_changes_nothing(method: str, batch_size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, scale = uneven_images(4, 5, 3, 2, 2), images(5, 5, 1) + 0.5
    inner = net(1)

    def model(x: Tensor, scale: Tensor) -> Tensor:
        scores: Tensor = inner(x) * scale
        return scores

    question: dict[str, Any] = {"method": method, "forward_args": samp.PerSample(scale), "batch_size": batch_size}
    filled = samp.explain(model, x, **question)
    monkeypatch.setattr(call_sizes, "tunes_each_size", lambda device: False)
    assert_same(filled, samp.explain(model, x, **question), **CLOSE)


@pytest.mark.usefixtures("tuned")
def test_a_sample_whose_scores_are_not_finite_is_counted_once() -> None:
    x = images(0, 3, 12)
    x[0, 0] = 0.5

    def model(x: Tensor) -> Tensor:
        return torch.where(x[:, :1] == 0.5, torch.nan, x[:, :3])

    with pytest.raises(samp.NonFiniteError, match="sample 0"):
        samp.explain(model, x, method="samp++", batch_size=4)


def test_a_compiled_net_is_compiled_for_few_sizes() -> None:
    torch._dynamo.reset()
    graphs: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(1)
        return graph.forward

    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 3)).eval()
    compiled = torch.compile(model, backend=backend, dynamic=False)
    x = uneven_images(0, 12, 3, 2, 2).float()
    result = samp.explain(compiled, x, method="samp++")
    assert 1 <= len(graphs) <= 2 * 4  # one for gradients and one for predictions of each size
    torch.testing.assert_close(result.values, samp.explain(model, x, method="samp++").values, rtol=1e-4, atol=1e-5)


def test_sizes_matter_on_cuda_with_benchmark_and_to_compiled_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    assert not tunes_each_size(cuda)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    assert tunes_each_size(cuda)
    assert not tunes_each_size(cpu)
    assert make_call_sizes(nn.Linear(2, 1), cpu, 8) is None
    assert make_call_sizes(nn.Linear(2, 1), cuda, 8) is not None
    assert make_call_sizes(torch.compile(nn.Linear(2, 1)), cpu, 8) is not None
