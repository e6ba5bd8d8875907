"""Nets that several tests share, at the top of a file or as parameters, are the same before and after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def shared_nets_stay_as_they_are(request: pytest.FixtureRequest) -> Iterator[None]:
    parameters = getattr(request.node, "callspec", None)
    values = [*vars(request.module).values(), *(parameters.params.values() if parameters else ())]
    nets = [value for value in values if isinstance(value, nn.Module)]
    before = [(weights(net), flags(net)) for net in nets]
    yield
    for net, (old_weights, old_flags) in zip(nets, before, strict=True):
        assert flags(net) == old_flags, "this test changes a net that others share: make one of its own"
        torch.testing.assert_close(weights(net), old_weights, rtol=0, atol=0, equal_nan=True)


def weights(net: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def flags(net: nn.Module) -> list[tuple[object, ...]]:
    """Modes and hooks of its modules, and which of its parameters take gradients."""
    modules = [(name, m.training, len(m._forward_hooks), len(m._forward_pre_hooks)) for name, m in net.named_modules()]
    return [*modules, *((name, p.requires_grad, p.dtype) for name, p in net.named_parameters())]
