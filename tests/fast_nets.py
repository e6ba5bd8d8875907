"""A small net for fast calls, and stand-ins for what a GPU has: compiling, capturing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.fast import cache, gradients

Equip = Callable[..., None]
EVEN = samp.SAMP(pixels_per_step=30)  # no step rule: all rows arrive together


def net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, 2), nn.Softplus()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(72, 5)).eval()


def images(count: int = 3, seed: int = 1) -> Tensor:
    return torch.rand(count, 3, 10, 10, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Copies in float32, so that fast is exact to rounding and a broken law stands out; nothing kept between tests."""
    monkeypatch.setattr(gradients, "is_half_faster", lambda device: False)
    yield
    cache._CACHE.clear()


@pytest.fixture
def equip(monkeypatch: pytest.MonkeyPatch) -> Equip:
    """Have nets compiled and calls captured, as on a GPU, by stand-ins that run on a CPU."""

    def ready(compile: Any = None, capture: Any = None) -> None:
        plain = cache.FastModel.__init__

        def init(self: cache.FastModel, *args: Any) -> None:
            plain(self, *args)
            self.equip(compile, capture)

        monkeypatch.setattr(cache.FastModel, "__init__", init)

    return ready


def eagerly(model: nn.Module) -> Callable[..., Any]:
    return torch.compile(model, backend="aot_eager")


def agree(a: samp.Attribution, b: samp.Attribution) -> None:
    torch.testing.assert_close(a.values, b.values, rtol=1e-4, atol=1e-6)  # float32, other kernels' summing order
    assert torch.equal(a.gradients, b.gradients)
