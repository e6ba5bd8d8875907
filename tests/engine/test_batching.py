"""Memory: batches that do not fit are done again in halves, nothing is lost, and steps leave nothing behind."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from laws import CLOSE, CountingModel, assert_same, images, net
from samp.devices import is_out_of_memory
from samp.engine.batches import MOST_ROWS, Batches
from samp.engine.credit import CREDITS
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.fixed_paths import StraightPath
from samp.engine.paths import MaxL1, SalientPath
from samp.engine.problem import make_problem

CPU = torch.device("cpu")
OUT = [
    torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried ..."),
    RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    MemoryError(),
]


class Cramped(nn.Module):
    """A model that runs out of memory above so many rows; with gradients, if asked, only from its nth call on."""

    def __init__(self, most: int, error: BaseException, patience: int = 0) -> None:
        super().__init__()
        self.inner, self.most, self.error, self.patience, self.failures = net(0), most, error, patience, 0
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        self.patience -= torch.is_grad_enabled()
        if len(x) > self.most and self.patience < 0:
            self.failures += 1
            raise self.error
        return self.inner(x)


@pytest.mark.parametrize("error", OUT, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("most", "patience"), [(1, 0), (3, 0), (5, 4)])
def test_running_out_of_memory_changes_nothing(error: BaseException, most: int, patience: int) -> None:
    x = images(0, 7, 12)
    x[2, :8] = 0
    model = Cramped(most, error, patience)
    result = samp.explain(model, x, method=samp.SAMP(1), keep_points=True)
    expected = samp.explain(model.inner, x, method=samp.SAMP(1), keep_points=True)
    assert_same(result, expected, **CLOSE)
    assert model.failures > 0
    assert result.details["batch_size"] <= most
    for direction, tapes in expected.tapes.items():
        for ours, theirs in zip(result.tapes[direction], tapes, strict=True):
            torch.testing.assert_close(ours.points, theirs.points, **CLOSE)


@pytest.mark.parametrize("error", OUT, ids=lambda error: type(error).__name__)
def test_a_batch_size_of_the_users_is_not_touched(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        samp.explain(Cramped(3, error), images(0, 7, 12), target=0, batch_size=4)
    assert caught.value is error


@pytest.mark.parametrize("target", [None, 0])
def test_memory_that_holds_no_single_sample_gets_a_sentence(target: Any) -> None:
    with pytest.raises(MemoryError, match="memory ran out with a single sample: use smaller inputs, a smaller model"):
        samp.explain(Cramped(0, OUT[1]), images(0, 3, 12), target=target)


def test_other_errors_of_the_model_pass_as_they_are() -> None:
    broken = RuntimeError("shapes do not match")
    model = Cramped(0, broken)
    with pytest.raises(RuntimeError, match="shapes do not match") as caught:
        samp.explain(model, images(0, 3, 12), target=0)
    assert caught.value is broken
    assert model.failures == 1
    assert not is_out_of_memory(broken)


@given(count=st.integers(0, 40), most=st.integers(1, 50), size=st.integers(1, 64))
def test_slices_cover_all_rows_once_in_order(count: int, most: int, size: int) -> None:
    batches = Batches("auto", 1, CPU)
    batches.size = size

    def work(first: int, last: int) -> range:
        if last - first > most:
            raise MemoryError
        return range(first, last)

    done = list(batches.map_slices(count, work))
    assert [row for rows in done for row in rows] == list(range(count))


def test_auto_gives_small_inputs_many_rows_and_large_ones_few() -> None:
    assert Batches("auto", 1, CPU).size == MOST_ROWS
    assert Batches("auto", 3 * 224 * 224, CPU).size == 2
    assert Batches("auto", 10**9, CPU).size == 1
    assert Batches("auto", 3 * 224 * 224, torch.device("cuda")).size > 100
    model = CountingModel(net(0))
    samp.explain(model, images(0, 5, 12), target=0)
    assert model.largest == 40  # both directions of all four walks of all samples in one batch


@pytest.mark.parametrize("size", [0, -1, 2.5, "full", None])
def test_a_batch_size_is_auto_or_a_whole_number(size: Any) -> None:
    with pytest.raises(ValueError, match=r"batch_size is 'auto' or a whole number of at least 1, not"):
        samp.explain(net(0), images(0, 1, 12), batch_size=size)


class Watched:
    """A path that counts how many tensors of past Steps are still alive when it is asked for the next point."""

    def __init__(self, path: Any) -> None:
        self.path, self.most_alive, self.past = path, 0, []
        self.needs_start, self.is_fixed, self.may_pause = path.needs_start, path.is_fixed, path.may_pause

    def propose(self, step: Any, route: Any) -> Tensor:
        self.past = [one for one in self.past if one() is not None]
        self.most_alive = max(self.most_alive, len(self.past))
        self.past += [weakref.ref(tensor) for tensor in (step.x, step.gradient, step.guide, step.moving)]
        return self.path.propose(step, route)

    def least_steps(self, route: Any) -> int:
        return self.path.least_steps(route)

    def most_steps(self, route: Any) -> int:
        return self.path.most_steps(route)


@pytest.mark.parametrize("path", [SalientPath(1), StraightPath(40)])
def test_memory_does_not_grow_with_the_number_of_steps(path: Any) -> None:
    inner, x, inputs, alive = net(0), images(0, 3, 12), [], []
    x[0, 1:] = 0  # rows leave

    def model(x: Tensor) -> Tensor:
        inputs[:] = [one for one in inputs if one() is not None]
        alive.append(len(inputs))
        inputs.append(weakref.ref(x))
        return inner(x)

    steps, seen = [], []
    for eta in (0.2, 0.01):
        watched, problem = Watched(path), make_problem(model, x, 0)
        plan = WalkPlan(
            watched, MaxL1(eta), 0.5, CREDITS["trapezoid"], {"to_image": torch.zeros_like(problem.x)}, "watched"
        )
        steps.append(int(run_walks(problem, plan, RunOptions()).steps["to_image"].max()))
        seen.append((watched.most_alive, max(alive)))
    assert steps[1] > 2.5 * steps[0]
    assert seen[0] == seen[1]
    assert seen[1][0] <= 8  # the Step before and the Step now
    assert seen[1][1] <= 1  # the model's last input at most
