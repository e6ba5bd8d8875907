"""Masks that a model makes of its own activations: DeepLIFT stays complete or refuses, and a ReLU is a ReLU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from propagation_nets import CLASSES, images
from samp.methods.propagation import LRP, MWP, Deconvolution, DeepLIFT, GuidedBackprop

CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-10}  # float64; sums of some hundred terms


def _in_place(x: Tensor) -> Tensor:
    x = x * 1.0
    x *= x > 0
    return x


def _set(x: Tensor) -> Tensor:
    x = x.clone()
    x[x < 0] = 0
    return x


RELUS: dict[str, Callable[[Tensor], Tensor]] = {
    "product": lambda x: x * (x > 0),
    "product in place": _in_place,
    "product with floats": lambda x: x.gt(0).to(x.dtype) * x,
    "product with the opposite": lambda x: x * (1 - (x <= 0).double()),
    "detached": lambda x: x * (x.detach() > 0),
    "masked_fill": lambda x: x.masked_fill(x < 0, 0),
    "masked_fill of the opposite": lambda x: x.masked_fill(~(x > 0), 0.0),
    "set item": _set,
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "where with a tensor": lambda x: torch.where(x < 0, torch.zeros_like(x), x),
    "where as a method": lambda x: x.where(x > 0, torch.zeros((), dtype=x.dtype)),
}
OTHERS: dict[str, Callable[[Tensor], Tensor]] = {
    "leaky": lambda x: torch.where(x > 0, x, 0.1 * x),
    "elu": lambda x: torch.where(x > 0, x, x.clamp(max=0).expm1()),
    "band": lambda x: x * ((x > -0.2) & (x < 0.5)),
    "filled with one": lambda x: x.masked_fill(x < 0.1, 1.0),
    "gate of another": lambda x: x.flip(1) * (x > 0),
    "gate in a new shape": lambda x: x[..., None].expand(*x.shape, 2).sum(-1) * (x > 0)[..., None].squeeze(-1),
    "silu of a constant": lambda x: x * x.detach().sigmoid(),
    "attention gate": lambda x: x * (x > 0) + (x * 2).flip(1).masked_fill(x > 0.3, -1.0),
}


class Net(nn.Module):
    """Two layers with this activation."""

    def __init__(self, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 5, 3), nn.Linear(80, CLASSES)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.activation(self.b(self.activation(self.a(x)))).flatten(1))
        return out


def net(activation: Callable[[Tensor], Tensor]) -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(1)
        return Net(activation).double().eval()


def total(result: samp.Attribution) -> Tensor:
    assert isinstance(result.values, Tensor)
    return result.values.flatten(1).sum(1)


@pytest.mark.parametrize("activation", [*RELUS.values(), *OTHERS.values()], ids=[*RELUS, *OTHERS])
@pytest.mark.parametrize("baseline", ["black", "white", "gaussian"])
def test_deeplift_is_complete_where_masks_decide(activation: Callable[[Tensor], Tensor], baseline: str) -> None:
    model, x = net(activation), images()
    result = samp.explain(model, x, target=2, method=DeepLIFT(baseline))
    (start,) = samp.baselines.evaluate_baseline(baseline, [x])
    torch.testing.assert_close(total(result), (model(x) - model(start)).detach()[:, 2], **CLOSE)
    assert result.residual.abs().max() < 1e-10


@pytest.mark.parametrize("method", [DeepLIFT(), LRP(0.1), MWP(), GuidedBackprop(), Deconvolution()], ids=repr)
@pytest.mark.parametrize("activation", RELUS.values(), ids=RELUS)
def test_a_relu_made_by_a_mask_is_a_relu(method: Any, activation: Callable[[Tensor], Tensor]) -> None:
    x = images()
    found, plain = (samp.explain(net(one), x, target=1, method=method) for one in (activation, torch.relu))
    torch.testing.assert_close(found.values, plain.values, **CLOSE)


@pytest.mark.parametrize("method", [GuidedBackprop(), Deconvolution()], ids=repr)
@pytest.mark.parametrize(
    "activation",
    [
        lambda x: torch.maximum(x, torch.zeros_like(x)),
        lambda x: torch.max(x, torch.zeros(())),
        lambda x: nn.functional.threshold(x, 0, 0),
    ],
)
def test_the_larger_of_x_and_zero_is_a_rectifier(method: Any, activation: Callable[[Tensor], Tensor]) -> None:
    x = images()
    found, plain = (samp.explain(net(one), x, target=1, method=method) for one in (activation, torch.relu))
    torch.testing.assert_close(found.values, plain.values, **CLOSE)


@pytest.mark.parametrize(
    "activation",
    [
        lambda x: x - x.detach().mean(),
        lambda x: x * (x > x.mean()),
        lambda x: x.masked_fill(x < 0, -torch.inf).amax((2, 3), keepdim=True) + 0 * x,
        lambda x: x.gather(1, x.argsort(1)),
        lambda x: x[:, x.mean((0, 2, 3)).argsort()],
    ],
    ids=["mean", "other mask", "infinite", "gather", "index"],
)
def test_what_differs_from_the_baseline_without_a_gradient_is_refused(activation: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(NotImplementedError, match=r"^DeepLIFT .*: use .*'consensus' or 'ig'"):
        samp.explain(net(activation), images(), target=0, method=DeepLIFT("gaussian"))


def test_masks_that_are_the_same_for_image_and_baseline_are_constants() -> None:
    border = torch.zeros(4, 4, dtype=torch.bool)
    border[0] = True

    def activation(x: Tensor) -> Tensor:
        shown = (x == x) & ~border if x.shape[2] == 4 else x == x
        kept = torch.empty_like(x)
        kept[:] = x
        return torch.where(shown, kept, torch.zeros_like(x)).masked_fill(~shown, 3.0).relu()

    result = samp.explain(net(activation), images(), target=0, method=DeepLIFT())
    assert result.residual.abs().max() < 1e-10
    assert result.details["operations"]["by rule"] == {"relu": 2}


@pytest.mark.parametrize("value", [0.0, 0.7])
def test_lrp_counts_what_is_filled_in_as_absorbed(value: float) -> None:
    model, x = net(lambda x: x.masked_fill(x < 0, value)), images()
    result = samp.explain(model, x, target=1, method=LRP(0.1))
    absorbed = torch.tensor(result.details["absorbed"], dtype=x.dtype)
    torch.testing.assert_close(total(result) + absorbed, model(x).detach()[:, 1], **CLOSE)
    assert result.residual.abs().max() < 1e-10
