"""Operations that run out of sight: no propagation method takes their plain gradient for its own rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from propagation_nets import images, net
from samp.methods.propagation import LRP, METHODS

BY_OPERATIONS = [name for name in METHODS if name != "gradientxinput"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning"),
]


class Halved(nn.Module):
    """A net of two halves, either of which may be TorchScript."""

    def __init__(self, whole: Any, scripted: int) -> None:
        super().__init__()
        halves: list[Any] = [nn.Sequential(*whole[:2]), nn.Sequential(*whole[2:])]
        halves[scripted] = torch.jit.script(halves[scripted])
        self.first, self.second = halves

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(self.first(x))
        return out


class Reversed(torch.autograd.Function):
    """Hands on a view of its input, with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return -grads[0]


def rectified_in_place(x: Tensor) -> Tensor:
    return x.relu_()


def with_in_place(model: nn.Module, whole: bool) -> Callable[[Tensor], Tensor]:
    """The net's scores, with a rectifier that TorchScript writes over a tensor that was seen, or over a part of it."""

    rectify: Any = torch.jit.script(rectified_in_place)

    def score(x: Tensor) -> Tensor:
        y: Tensor = model(x).relu() - 1
        rectify(y if whole else y[:, 1:])
        return y

    return score


def traced() -> Any:
    trace: Any = torch.jit.trace
    return trace(net("modules"), images())


reverse: Any = Reversed.apply
HIDING: dict[str, Callable[[], Any]] = {
    "scripted": lambda: torch.jit.script(net("modules")),
    "traced": traced,
    "frozen": lambda: _called(torch.jit.freeze(torch.jit.script(net("modules")))),
    "optimised": lambda: _called(torch.jit.optimize_for_inference(torch.jit.script(net("modules")))),
    "first half scripted": lambda: Halved(net("modules"), 0).eval(),
    "second half scripted": lambda: Halved(net("modules"), 1).eval(),
    "scripted in place": lambda: with_in_place(net("modules"), True),
    "scripted in place on a part": lambda: with_in_place(net("modules"), False),
    "exported": lambda: _called(torch.export.export(net("modules"), (images(),)).module()),
    "autograd function on the way": lambda: lambda x: net("modules")(reverse(x)),
    "autograd function at the end": lambda: lambda x: reverse(net("modules")(x)),
    "gradient inside": lambda: lambda x: torch.autograd.grad(net("modules")(x).sum(), x, create_graph=True)[0].sum(1),
    "checkpointed": lambda: lambda x: torch.utils.checkpoint.checkpoint(net("modules"), x, use_reentrant=True),
}


def _called(model: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: model(x)


@pytest.mark.parametrize("method", BY_OPERATIONS)
@pytest.mark.parametrize("build", HIDING)
def test_a_model_that_hides_operations_is_refused(method: str, build: str) -> None:
    target = (0, 0) if build == "gradient inside" else 0
    with pytest.raises(NotImplementedError, match=r"^[^\n]+: use [^\n]+\.$"):
        samp.explain(HIDING[build](), images(), target=target, method=METHODS[method])


def test_the_refusal_names_what_hides_and_what_to_use() -> None:
    said = r"DeepLIFT needs to see every operation, but {}: use the nn.Module .*, such as 'consensus' or 'ig'\."
    for model, words in (
        (torch.jit.script(net("modules")), "the model, which is TorchScript, runs Addmm"),
        (Halved(net("modules"), 0).eval(), "the model's module 'first', which is TorchScript, runs Relu"),
        (HIDING["exported"](), "the model runs aten::conv2d, which exported"),
    ):
        with pytest.raises(NotImplementedError, match=said.format(words + ".*")):
            samp.explain(model, images(), target=0, method="deeplift")


@pytest.mark.parametrize("method", BY_OPERATIONS)
def test_a_compiled_model_is_refused_before_it_is_compiled_anew(method: str) -> None:
    def never(graph: Any, example: Any) -> Any:
        raise AssertionError("compiled")

    layer: Any = torch.compile(nn.Linear(4, 4), backend=never)
    inside = nn.Sequential(layer, nn.ReLU())
    itself = nn.Linear(4, 4)
    itself.compile(backend=never)
    for model in (torch.compile(net("modules"), backend=never), inside.eval(), itself.eval(), torch.compile(abs)):
        with pytest.raises(NotImplementedError, match=r"compiled by torch\.compile.*: use the model as it was before"):
            samp.explain(model, images() if model is not inside else torch.ones(1, 4), target=0, method=METHODS[method])


@pytest.mark.parametrize("method", BY_OPERATIONS)
def test_a_quantised_model_is_refused(method: str) -> None:
    class Quantised(nn.Module):
        """A branch through eight bits, and one around it that has a gradient."""

        def forward(self, x: Tensor) -> Tensor:
            small = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
            return x.relu() + small.dequantize()

    with pytest.raises(NotImplementedError, match=r"quantises .*: use the nn\.Module in floats"):
        samp.explain(Quantised().eval(), torch.rand(2, 3), target=0, method=METHODS[method])


@pytest.mark.parametrize("method", [name for name in BY_OPERATIONS if name not in ("attnlrp", "libragrad")])
def test_all_that_python_shows_is_seen(method: str) -> None:
    """Parts, views written into, loops, functions and copies by torch.fx: none of it is taken for hidden."""
    torch.manual_seed(0)
    plain: Any = net("modules")
    made = torch.ones(1, dtype=torch.float64, requires_grad=True) * 2

    def shown(x: Tensor) -> Tensor:
        x = plain[:4](x)
        parts = torch.zeros_like(x)
        low, high = parts[:, :2], parts[:, 2:]
        high.copy_(x[:, 2:])
        low += x[:, :2]
        rows = torch.stack([row for row in parts])  # noqa: C416  # a loop, as models have them
        rows = torch.utils.checkpoint.checkpoint(lambda y: y * 2, rows, use_reentrant=False) / made
        out: Tensor = torch.func.functional_call(plain[4:], dict(plain[4:].named_parameters()), rows)
        return out

    x = images()
    chosen = LRP(0) if method == "lrp" else METHODS[method]  # a sum of one summand would absorb some of ε
    want = samp.explain(plain, x, target=0, method=chosen).values
    for model in (shown, torch.fx.symbolic_trace(plain)):
        found = samp.explain(model, x, target=0, method=chosen).values
        torch.testing.assert_close(found, want, rtol=1e-9, atol=1e-10)


def test_a_further_argument_with_a_history_of_its_own_is_a_constant() -> None:
    x = torch.randn(3, 4, dtype=torch.float64)
    factor = torch.linspace(1, 2, 4, dtype=torch.float64)
    history = torch.linspace(1, 2, 4, dtype=torch.float64, requires_grad=True) * 1

    def model(x: Tensor, factor: Tensor) -> Tensor:
        return (x * factor).relu()

    found, want = (samp.explain(model, x, target=0, forward_args=(f,), method="deeplift") for f in (history, factor))
    torch.testing.assert_close(found.values, want.values, rtol=0, atol=0)
