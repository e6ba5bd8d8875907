"""Inputs of every kind reach the model as they were meant; what cannot be explained gets one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, differs, images, net
from samp.engine.batches import Batches
from samp.engine.inputs import check_device
from samp.engine.problem import make_problem


@pytest.mark.parametrize("shape", [(12,), (3, 4), (3, 2, 2), (1, 3, 2, 2), (2, 1, 3, 2, 1)])
def test_inputs_of_any_shape_are_explained_in_their_shape(shape: tuple[int, ...]) -> None:
    x = images(0, 2, *shape)
    result = samp.explain(net(0), x, keep_points=True)
    assert result.values.shape == x.shape
    assert result.tapes["to_image"][0].points.shape[1:] == shape
    assert result.map.shape == (x.sum(1).shape if x.ndim == 4 else x.shape)
    assert result.group_values.shape == (2, 4 if x.ndim == 4 else 12)


def strange_memory(x: Tensor) -> dict[str, Tensor]:
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    wide[..., ::2] = x
    with torch.inference_mode():
        unsaved = x.clone()
    return {
        "not contiguous": wide[..., ::2],
        "channels last": x.contiguous(memory_format=torch.channels_last),
        "with gradient": x.clone().requires_grad_(),
        "with history": x.clone().requires_grad_() * 1,
        "parameter": nn.Parameter(x),
        "inference": unsaved,
    }


@pytest.mark.parametrize("kind", list(strange_memory(images(0, 2, 3, 2, 2))))
def test_how_an_input_lies_in_memory_does_not_matter(kind: str) -> None:
    x = images(0, 2, 3, 2, 2)
    expected = samp.explain(net(0), x)
    strange = strange_memory(x)[kind]
    assert_same(samp.explain(net(0), strange), expected)
    assert not strange.is_leaf or strange.grad is None
    assert not expected.values.requires_grad


def test_an_expanded_input_is_explained_and_left_alone() -> None:
    one = images(0, 1, 3, 2, 2)
    before = one.clone()
    result = samp.explain(net(0), one.expand(3, -1, -1, -1))
    assert_same(result, samp.explain(net(0), one.repeat(3, 1, 1, 1)))
    assert torch.equal(one, before)


def test_the_model_sees_each_input_in_its_own_dtype_and_the_walk_is_wider() -> None:
    seen = set()

    def model(a: Tensor, b: Tensor) -> Tensor:
        seen.add((a.dtype, b.dtype, a.shape[1:], b.shape[1:]))
        return a.float().flatten(1).sum(1) * b.float().sum(1)

    x = images(0, 2, 2, 2, 2).half(), images(1, 2, 3).bfloat16()
    result = samp.explain(model, x)
    assert seen == {(torch.float16, torch.bfloat16, (2, 2, 2), (3,))}
    assert [value.dtype for value in result.values] == [torch.float32, torch.float32]


def test_a_tuple_of_inputs_moves_in_one_joint_walk() -> None:
    """Two inputs of six features are the same question as one of twelve."""
    model, x = net(3), images(3, 2, 12)
    one = samp.explain(model, x, method=samp.SAMP(2, eta=0.2, momentum=0.5))
    two = samp.explain(
        lambda a, b: model(torch.cat([a, b], 1)), (x[:, :6], x[:, 6:]), method=samp.SAMP(2, eta=0.2, momentum=0.5)
    )
    torch.testing.assert_close(torch.cat(two.values, 1), one.values, **CLOSE)
    assert torch.equal(two.order["to_image"], one.order["to_image"])
    with pytest.raises(ValueError, match=r"there are 2 inputs and so no single map: use values or group_values"):
        _ = two.map


def test_an_input_the_model_ignores_gets_nothing() -> None:
    result = samp.explain(lambda a, b: net(3)(a), (images(3, 2, 12), images(4, 2, 5)))
    assert not result.values[1].any()
    assert result.values[0].any()


def test_a_list_or_tuple_of_one_input_gives_a_tuple_back() -> None:
    for inputs in ([images(3, 2, 12)], (images(3, 2, 12),)):
        result = samp.explain(net(3), inputs)
        assert isinstance(result.values, tuple)
        assert len(result.values) == 1


def test_extra_arguments_reach_the_model_and_per_sample_ones_are_split() -> None:
    inner, x, gate = net(3), images(3, 3, 12), images(4, 3, 1)
    seen = []

    def model(x: Tensor, gate: Tensor, name: str, table: Tensor) -> Tensor:
        seen.append((gate.shape[0] == x.shape[0], name, tuple(table.shape)))
        return inner(x) * gate

    x[0, 1:] = 0  # one walk is short: later steps hold fewer samples
    args = (samp.PerSample(gate), "name", torch.zeros(7, 2))
    result = samp.explain(model, x, target=0, forward_args=args, method=samp.SAMP(1))
    assert set(seen) == {(True, "name", (7, 2))}
    plain = samp.explain(inner, x, target=0, method=samp.SAMP(1))
    torch.testing.assert_close(result.values, plain.values * gate, **CLOSE)
    bare = samp.explain(
        lambda x, gate: inner(x) * gate, x, target=0, forward_args=samp.PerSample(gate), method=samp.SAMP(1)
    )
    assert_same(bare, result, **CLOSE)


@pytest.mark.parametrize(
    ("inputs", "error", "sentence"),
    [
        (torch.ones(2, 3).long(), TypeError, "the input has dtype torch.int64, .*: pass floats"),
        (torch.ones(0, 3), ValueError, r"the input is empty, with shape \(0, 3\): give at least one sample"),
        (torch.ones(2, 0), ValueError, r"the input is empty, with shape \(2, 0\)"),
        (torch.ones(3), ValueError, r"the input has shape \(3,\): give it a batch axis and at least one feature axis"),
        (torch.tensor([[1.0, 2], [3, float("nan")]]), ValueError, "the input holds NaN or Inf in sample 1: replace"),
        (torch.tensor([[float("inf"), 2.0]]), ValueError, "the input holds NaN or Inf in sample 0"),
        ((torch.ones(2, 3), torch.ones(2, 3).int()), TypeError, "input 1 has dtype torch.int32"),
        ((torch.ones(2, 3), torch.ones(3, 3)), ValueError, r"one common batch size of at least 1, but have \[2, 3\]"),
        ((), ValueError, "one common batch size"),
        ([[1.0, 2.0]], TypeError, "input 0 is list, not a tensor or an array: convert it with torch.tensor"),
        (None, TypeError, "the input is NoneType, not a tensor or an array"),
    ],
)
def test_inputs_that_cannot_be_explained_get_a_sentence(inputs: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        samp.explain(lambda *x: x[0].sum(1), inputs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        lambda x: x.detach().sum(1),
        lambda x: torch.ones(len(x)),
        lambda x: x.argmax(1),
        torch.no_grad()(lambda x: x.sum(1)),
        lambda x: torch.ones(len(x), requires_grad=True) * 2,
    ],
)
def test_a_score_that_does_not_depend_on_the_input_gets_a_sentence(model: Any) -> None:
    with pytest.raises(ValueError, match=r"the score does not depend on the input: no gradient reaches it\. Look for"):
        samp.explain(model, images(0, 2, 3), target=0)


def test_devices_must_agree() -> None:
    model = nn.Linear(3, 2, device="meta").eval()
    with pytest.raises(ValueError, match=r"the model is on meta but the input on cpu: move one with \.to\('meta'\)"):
        samp.explain(model, torch.ones(1, 3))
    with pytest.raises(ValueError, match="the inputs lie on different devices: move them to one"):
        check_device(model, (torch.ones(1, 3), torch.ones(1, 3, device="meta")))


def test_a_problem_knows_no_score_before_its_target_is_settled() -> None:
    problem = make_problem(net(0), images(0, 2, 12))
    with pytest.raises(RuntimeError, match="the target is not known yet"):
        problem.value_and_gradient(problem.x, torch.arange(2))
    settled = problem.with_target(Batches(1, 12, torch.device("cpu")))
    value, gradient = settled.value_and_gradient(problem.x, torch.arange(2))
    torch.testing.assert_close(value, net(0)(images(0, 2, 12)).amax(1).detach())
    assert gradient.shape == (2, 12)


def test_a_result_says_how_it_was_made() -> None:
    result = samp.explain(net(0), images(0, 2, 12), target=[1, 2], method="ig", seed=7)
    assert result.details["target"] == [1, 2]
    assert result.details["groups"] == "Elements()"
    assert (result.details["seed"], result.details["device"], result.details["dtype"]) == (7, "cpu", "torch.float64")
    assert result.details["versions"] == {"samp": samp.__version__, "torch": torch.__version__}
    assert result.method == (
        "IG(steps=50, eta=None, credit='trapezoid', direction='to_image', baseline=Constant(value=0.0))"
    )
    assert "residual up to" in repr(result)
    predicted = samp.explain(net(0), images(0, 2, 12))
    assert predicted.details["target"] == net(0)(images(0, 2, 12)).argmax(1).tolist()
    chosen = samp.explain(net(0), images(0, 2, 12), target=lambda output: output[:, 0])
    assert "lambda" in str(chosen.details["target"])
    assert not differs(chosen, samp.explain(net(0), images(0, 2, 12), target=0))


def test_the_model_is_fed_in_the_memory_format_of_the_input() -> None:
    seen: list[bool] = []

    def model(x: Tensor) -> Tensor:
        seen.append(x.is_contiguous(memory_format=torch.channels_last))
        return x.square().sum((1, 2, 3))

    x = torch.rand(2, 3, 4, 4)
    plain = samp.explain(model, x, method="samp")
    assert not any(seen)
    seen.clear()
    last = samp.explain(model, x.to(memory_format=torch.channels_last), method="samp")
    assert all(seen)
    torch.testing.assert_close(last.values, plain.values)
