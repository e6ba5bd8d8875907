"""Fixed paths ask for many points at once and tell the same story; fused steps are the steps themselves."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from compiled_walks import compile_walks
from laws import CLOSE, assert_same, images, net
from samp.errors import NonFiniteError
from samp.fast.compiled import CompiledFunction
from samp.methods.blur_ig import BlurIG

STRAIGHT = samp.IG(steps=7)


class Counted(nn.Module):
    """A net that notes how many rows each call with a gradient has."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self.calls = model, list[int]()
        self.eval()

    def forward(self, *inputs: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            self.calls.append(len(inputs[0]))
        out: Tensor = self.model(*inputs)
        return out


@pytest.mark.parametrize("method", [STRAIGHT, samp.IG(steps=5, direction="both", credit="idgi"), BlurIG(steps=6)])
@pytest.mark.parametrize("batch_size", [2, 5, 100])
def test_points_at_once_or_one_by_one_are_the_same_walk(method: Any, batch_size: int) -> None:
    x = images(1, 3, 1, 4, 3)
    one_by_one = samp.explain(net(0), x, method=method, batch_size=1, keep_points=True)
    together = samp.explain(net(0), x, method=method, batch_size=batch_size, keep_points=True)
    assert_same(together, one_by_one, **CLOSE)
    for a, b in zip(together.tapes["to_image"], one_by_one.tapes["to_image"], strict=True):
        torch.testing.assert_close(a.points, b.points, **CLOSE)


def test_a_call_has_as_many_points_as_the_batch_has_room_for() -> None:
    model = Counted(net(0))
    samp.explain(model, images(1, 2, 12), target=0, method=STRAIGHT, batch_size=6)
    assert model.calls == [6, 6, 4]  # 8 points of 2 rows each


def test_a_walk_under_a_step_rule_takes_its_points_one_by_one() -> None:
    model = Counted(net(0))
    samp.explain(model, images(1, 2, 12), target=0, method=samp.IG(steps=7, eta=0.1), batch_size=6)
    assert set(model.calls) == {2}


def test_every_point_has_its_own_samples_target_and_arguments() -> None:
    def model(x: Tensor, weight: Tensor) -> Tensor:
        return torch.stack([(x**2).sum(1), (x**3).sum(1)], 1) * weight[:, None]

    x, weight = images(1, 3, 4), torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64)
    ask = partial(samp.explain, model, x, target=[0, 1, 0], forward_args=samp.PerSample(weight), method=STRAIGHT)
    assert_same(ask(batch_size=12), ask(batch_size=1))


def test_rows_that_leave_early_leave_the_others_right() -> None:
    """Sample 0 has nowhere to go, sample 2 is nothing but rounding away from its end."""
    x = images(1, 3, 4)
    baseline = torch.stack([x[0], torch.zeros(4, dtype=torch.float64), x[2] * (1 + 1e-15)])
    ask = partial(samp.explain, net(0, 4), x, target=1, method=samp.IG(steps=6, baseline=baseline))
    together = ask(batch_size=9)
    assert_same(together, ask(batch_size=1), **CLOSE)
    assert together.steps["to_image"].tolist() == [0, 6, 1]


def test_a_sample_that_fails_on_the_way_fails_as_ever() -> None:
    def ask(batch_size: int) -> NonFiniteError:
        x = torch.tensor([[1.0], [-1.0]])
        with pytest.raises(NonFiniteError, match="sample 1") as caught:
            samp.explain(lambda x: x.log().sum(1), x, method=samp.IG(steps=40, baseline=2.0), batch_size=batch_size)
        return caught.value

    together, one_by_one = ask(20), ask(1)
    assert str(together) == str(one_by_one)
    torch.testing.assert_close(together.result.values, one_by_one.result.values, equal_nan=True)


def test_fewer_points_at_once_where_memory_runs_out() -> None:
    class Hungry(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 4:
                raise RuntimeError("CUDA out of memory")
            return x.square()

    x = images(0, 1, 3)
    result = samp.explain(Hungry().eval(), x, target=0, method=STRAIGHT)
    assert_same(result, samp.explain(lambda x: x.square(), x, target=0, method=STRAIGHT, batch_size=1))


@pytest.mark.parametrize(
    ("method", "groups"), [("samp++", None), (samp.SAMP(pixels_per_step=3, credit="shared"), samp.Patches(2))]
)
def test_compiled_steps_are_the_steps_themselves(method: Any, groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced whole, without a break, and run as traced; what a compiler makes of that is its own business."""
    model, x = net(0), images(2, 3, 3, 2, 2)
    expected = samp.explain(model, x, method=method, groups=groups)
    traced: dict[Any, Any] = {}
    called: set[str] = set()

    def compiler(function: Any) -> Any:
        compiled = traced.setdefault(function, torch.compile(function, backend="eager", fullgraph=True))

        def call(*args: Any) -> Any:
            called.add(function.__name__)
            return compiled(*args)

        return call

    compile_walks(monkeypatch, compiler)
    assert_same(samp.explain(model, x, method=method, groups=groups), expected)
    assert called >= {"step_state", "_advance", "_add_credit"}


def test_what_cannot_be_fused_is_done_as_it_is() -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("no compiler")

    fused = CompiledFunction(lambda x: x + 1, lambda function: refuse)
    assert [fused(1), fused(2)] == [2, 3]
    assert fused.call is fused.function


def test_an_error_of_the_function_itself_is_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        CompiledFunction(lambda x: 1 // x, lambda function: function)(0)
