"""Which modules a model is made of, however it reaches them, and which of them are being trained."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp

X = torch.rand(3, 3, 4, 4, generator=torch.Generator().manual_seed(0))


def trained() -> nn.Sequential:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))


NET = trained()


class Wrapper(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


class CallableObject:
    def __init__(self, net: nn.Module) -> None:
        self.net = net

    def __call__(self, x: Tensor) -> Tensor:
        return self.net(x)


def by_global_name(x: Tensor) -> Tensor:
    return NET(x)


def by_default(x: Tensor, net: nn.Module = NET) -> Tensor:
    return net(x)


def by_another_function(x: Tensor) -> Tensor:
    return by_global_name(x)


def by_closure(net: nn.Module) -> Callable[[Tensor], Tensor]:
    return lambda x: net(x)


@pytest.mark.parametrize(
    "model",
    [
        by_closure(NET),
        by_global_name,
        by_another_function,
        by_default,
        partial(by_closure(NET)),
        partial(NET.forward),
        NET.forward,
        CallableObject(NET),
        Wrapper(NET),
    ],
    ids=[
        "closure",
        "global",
        "another function",
        "default",
        "partial",
        "method in a partial",
        "method",
        "object",
        "net",
    ],
)
def test_a_net_in_training_mode_is_found_warned_of_and_left_as_it_was_however_it_is_reached(model: Any) -> None:
    NET.train()
    before = {name: value.clone() for name, value in NET.state_dict().items()}
    with pytest.warns(UserWarning, match=r"training mode: .* \(in training mode: BatchNorm1d, Dropout\)"):
        one = samp.explain(model, X, target=0, method="ig", seed=1)
    with pytest.warns(UserWarning, match="training mode"):
        same, other = (samp.explain(model, X, target=0, method="ig", seed=seed) for seed in (1, 2))
    assert torch.equal(one.values, same.values)
    assert not torch.equal(one.values, other.values)
    assert all(torch.equal(value, before[name]) for name, value in NET.state_dict().items())


class OwnDropout(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x.flatten(1), 0.5, self.training)


@pytest.mark.parametrize(
    "model",
    [
        nn.DataParallel(trained().eval()),
        Wrapper(trained().eval()),
        nn.Sequential(nn.Flatten(), nn.Dropout(0.0), nn.Linear(48, 2), nn.ReLU()),
        nn.Sequential(nn.InstanceNorm2d(3), nn.BatchNorm2d(3, track_running_stats=False), nn.Flatten()),
        by_closure(nn.Sequential(nn.Flatten(), nn.Linear(48, 2))),
        torch.jit.script(nn.Sequential(nn.Flatten(), nn.Linear(48, 2))),
    ],
    ids=["DataParallel", "wrapper", "nothing to train", "no running statistics", "function", "script"],
)
def test_modules_that_answer_alike_in_both_modes_are_not_warned_of(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samp.explain(model, X, target=0, method="gradientxinput")


@pytest.mark.parametrize(
    "layer",
    [
        OwnDropout(),
        nn.Sequential(nn.InstanceNorm2d(3, track_running_stats=True), nn.Flatten()),
        nn.Sequential(nn.Flatten(), nn.RReLU()),
        nn.Sequential(nn.Flatten(), nn.utils.spectral_norm(nn.Linear(48, 2))),
        nn.Sequential(nn.Flatten(), nn.utils.parametrizations.spectral_norm(nn.Linear(48, 2))),
        nn.Sequential(nn.Flatten(1, 2), nn.Sequential(nn.LSTM(4, 3, 2, batch_first=True, dropout=0.5))),
    ],
    ids=["own dropout", "instance norm", "rrelu", "spectral norm", "parametrized", "lstm"],
)
def test_modules_that_answer_otherwise_in_training_mode_are_warned_of(layer: Any) -> None:
    def first(output: Any) -> Tensor:
        output = output[0] if isinstance(output, tuple) else output
        return output.flatten(1)[:, 0]

    with pytest.warns(UserWarning, match="training mode"):
        samp.explain(layer, X, target=first, method="gradientxinput")


def test_a_wrapper_in_training_mode_alone_does_not_hinder_fast_calls() -> None:
    model = Wrapper(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)).eval())
    assert samp.explain(model, X, method="ig", speed="fast").details["speed"].startswith("fast")
    model.net[1] = nn.Dropout(0.5)
    with pytest.warns(UserWarning, match="training mode"):
        assert "training mode" in samp.explain(model, X, method="ig", speed="fast").details["speed"]
