"""Four threads explain one net: each gets the map it would get alone, and the net keeps no hook."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.methods._feature_maps import hooks_of_this_thread
from samp.methods.cam import CAM, GradCAM, GradCAMPlusPlus

THREADS, CALLS = 4, 25


def shared() -> nn.Module:
    """A net whose last map comes by a module that is called twice: counting another thread's calls would miss it."""
    relu = nn.ReLU()
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        layers = nn.Conv2d(3, 6, 3), relu, nn.Conv2d(6, 8, 3), relu, nn.AdaptiveAvgPool2d(1), nn.Flatten()
        return nn.Sequential(*layers, nn.Linear(8, 4)).double().eval()


@pytest.mark.parametrize("method", [CAM(), GradCAM(), GradCAMPlusPlus()], ids=repr)
def test_maps_made_side_by_side_are_those_made_alone(method: Any) -> None:
    net = shared()
    generator = torch.Generator().manual_seed(2)
    photos = [torch.randn(1, 3, 12 + i, 12, generator=generator, dtype=torch.float64) for i in range(THREADS)]
    alone = [samp.explain(net, x, target=i, method=method).map for i, x in enumerate(photos)]
    together = threading.Barrier(THREADS)

    def explain(i: int) -> list[Tensor]:
        together.wait()
        return [samp.explain(net, photos[i], target=i, method=method).map for _ in range(CALLS)]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(explain, range(THREADS)))
    assert all(torch.equal(one, alone[i]) for i, maps in enumerate(found) for one in maps)
    assert not any(module._forward_hooks for module in net.modules())


def test_another_thread_runs_the_net_unheard_and_unchanged() -> None:
    net, x, heard = shared(), torch.ones(1, 3, 9, 9, dtype=torch.float64), []
    want = net(x)

    def replace(name: str, module: nn.Module, output: Tensor) -> Tensor:
        heard.append(name)
        return torch.zeros_like(output)

    with hooks_of_this_thread({"0": net[0]}, replace), ThreadPoolExecutor(1) as pool:  # type: ignore[index]  # Sequential
        assert torch.equal(pool.submit(net, x).result(), want)
        assert heard == []
        assert not torch.equal(net(x), want)
    assert heard == ["0"]
