"""Fast calls on a GPU, compiled and captured for real; skipped where there is none."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.fast import Speed

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def net() -> nn.Sequential:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Conv2d(16, 16, 3, 2), nn.Softplus()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(576, 5)).cuda().eval()


def images(count: int) -> Tensor:
    return torch.rand(count, 3, 16, 16, generator=torch.Generator().manual_seed(1)).cuda()


def alike(a: Tensor, b: Tensor) -> float:
    return float(torch.cosine_similarity(a.flatten(), b.flatten(), 0))


@pytest.mark.parametrize(("count", "label"), [(1, "CUDA graphs of 2 rows"), (3, "CUDA graphs of 6 rows"), (40, "")])
@pytest.mark.parametrize(
    "method",
    [samp.SAMP(pixels_per_step=32), samp.IG(steps=8, direction="both"), samp.Coupled(pixels_per_step=32, eta=1)],
)
def test_fast_agrees_with_exact_and_says_what_it_used(count: int, label: str, method: Any) -> None:
    model, x = net(), images(count)
    exact = samp.explain(model, x, target=1, method=method, batch_size=2 * count)
    for _ in range(2):  # made, then found again
        quick = samp.explain(model, x, target=1, method=method, batch_size=2 * count, speed="fast")
        assert quick.details["speed"].startswith("fast: bfloat16, channels last, compiled")
        assert label in quick.details["speed"]
        assert "; no " not in quick.details["speed"]
        assert alike(quick.values, exact.values) > 0.95
        torch.testing.assert_close(quick.score_change, exact.score_change, rtol=0.05, atol=0.01)


def test_rows_that_leave_at_different_steps_are_padded_and_right() -> None:
    model, x = net(), images(7)
    x[::2] *= 0.01  # short walks
    exact, quick = (samp.explain(model, x, target=1, speed=speed) for speed in ("exact", "fast"))
    assert alike(quick.values, exact.values) > 0.8


def test_fast_works_with_the_numbers_of_now() -> None:
    model, x = net(), images(2)
    samp.explain(model, x, target=1, speed="fast", method="ig")
    model[0].weight.data.neg_()
    model[1].running_var.mul_(4)
    exact, quick = (samp.explain(model, x, target=1, speed=speed, method="ig") for speed in ("exact", "fast"))
    assert alike(quick.values, exact.values) > 0.95


def test_a_model_that_looks_at_its_numbers_is_not_captured() -> None:
    class Looking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, x: Tensor) -> Tensor:
            scores: Tensor = self.net(x)
            return scores * 2 if bool(x.mean() > 0.2) else scores

    model, x = Looking().eval(), images(2)
    ask = partial(samp.explain, model, x, target=1, method="ig", batch_size=2)  # few rows: they would be captured
    exact, quick = (ask(speed=speed) for speed in ("exact", "fast"))
    assert alike(quick.values, exact.values) > 0.95
    assert "no CUDA graphs" in quick.details["speed"]
    torch.cuda.synchronize()  # a capture that failed must leave the device in order
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_callers_on_several_streams_and_threads_take_turns() -> None:
    """All graphs of a model share their memory: one's work must be over before the next one's begins."""
    model, x = net(), images(8)
    ask = partial(samp.explain, model, target=1, method="ig", speed="fast")
    wanted = [ask(x[:count]).values for count in (1, 2, 4, 8)]

    def again(place: int) -> Tensor:
        with torch.cuda.stream(torch.cuda.Stream()):
            found = [ask(x[: 2**place]).values for _ in range(5)][-1]
            torch.cuda.current_stream().synchronize()
        return found

    with ThreadPoolExecutor(4) as pool:
        for found, right in zip(pool.map(again, range(4)), wanted, strict=True):
            torch.testing.assert_close(found, right, rtol=1e-3, atol=1e-6)


def test_what_was_kept_goes_with_the_model() -> None:
    def used() -> int:
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated()

    samp.explain(net(), images(2), target=1, speed="fast")  # what the compiler itself keeps
    before = used()
    samp.explain(net(), images(2), target=1, speed="fast")
    assert used() <= before + 2**20


@pytest.mark.parametrize("speed", ["exact", "fast"])
def test_a_walk_waits_for_the_device_only_at_its_ends(speed: Speed) -> None:
    """The host waits to check, to start and to end, however many steps there are between (up to `LOOK_EVERY`)."""
    model, x = net(), images(4)

    def waits(pixels_per_step: int) -> int:
        method = samp.SAMP(pixels_per_step)
        for _ in range(2):
            samp.explain(model, x, target=1, method=method, speed=speed)
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with pytest.warns(UserWarning, match="synchronizing") as warned:
                samp.explain(model, x, target=1, method=method, speed=speed)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return len([w for w in warned if "synchronizing" in str(w.message)])

    assert waits(64) == waits(20)  # 4 and 13 steps


@pytest.mark.parametrize("steps", [7, 14, 27, 55, 111])
def test_a_line_ends_at_its_end_after_as_many_steps_as_it_was_given(steps: int) -> None:
    """On a GPU 55 / 55 may be less than 1."""
    result = samp.explain(net(), images(3), target=1, method=samp.IG(steps=steps), batch_size=16)
    assert result.steps["to_image"].tolist() == [steps] * 3


def test_steps_are_compiled_whole() -> None:
    """Not left as they were because the compiler gave up."""
    from samp.fast import compiled

    compiled._COMPILED.clear()
    for method in ("samp++", "coupled"):
        samp.explain(net(), images(4), target=1, method=method, speed="fast")
    kept = {function.__name__: made.call is made.function for function, made in compiled._COMPILED.items()}
    assert not any(kept.values()), kept


def test_many_points_of_a_line_in_one_call_are_the_same_line() -> None:
    model, x = net().double(), images(3).double()
    together = samp.explain(model, x, target=1, method="ig")
    one_by_one = samp.explain(model, x, target=1, method="ig", batch_size=1)
    torch.testing.assert_close(together.values, one_by_one.values, rtol=1e-9, atol=1e-12)
