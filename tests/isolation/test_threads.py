"""Many threads on one net: each map is the one that the method gives alone, and shared random states stay."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.methods.captum_adapters import LIME, Shapley
from samp.methods.guided_ig import GuidedIG
from samp.methods.ig2 import IG2
from samp.methods.rise import RISE
from samp.methods.xrai import XRAI

THREADS = 4
SMALL: dict[str, Any] = {
    "rise": RISE(masks=40, cells=3),
    "guidedig": GuidedIG(steps=10),
    "ig2": IG2(steps=10),
    "xrai": XRAI(steps=5, side=32, min_added=1),
    "shapley": Shapley(samples=2),
    "lime": LIME(samples=40, superpixels=9),
}
FOR_TRANSFORMERS = ("attentionrollout", "attentionrelevance", "attnlrp", "libragrad")
X = torch.rand(2, 3, 12, 12, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def small_net(*last: nn.Module) -> nn.Sequential:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers, *last, nn.Linear(4, 5))


class Attention(nn.Module):
    """Patches as tokens, and one layer of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm, self.last = nn.Conv2d(3, 8, 4, 4), nn.LayerNorm(8), nn.Linear(8, 5)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        normed = self.norm(tokens)
        logits: Tensor = self.last((tokens + self.attention(normed, normed, normed, need_weights=False)[0]).mean(1))
        return logits


def attention_net() -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return Attention().eval()


def shared_states() -> list[Any]:
    numpy_state = np.random.get_state()
    return [torch.get_rng_state().tolist(), numpy_state[1].tolist(), numpy_state[2:], random.getstate()]


def maps(net: Any, **how: Any) -> list[Tensor]:
    """What eight calls at four seeds give, four at a time."""
    with ThreadPoolExecutor(THREADS) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = [pool.submit(samp.explain, net, X, seed=number % THREADS, **how) for number in range(2 * THREADS)]
        return [call.result().map for call in calls]


def alone(net: Any, **how: Any) -> list[Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 2 * [samp.explain(net, X, seed=seed, **how).map for seed in range(THREADS)]


def assert_equal(found: list[Tensor], expected: list[Tensor]) -> None:
    assert [torch.equal(*pair) for pair in zip(found, expected, strict=True)] == [True] * len(expected)


@pytest.mark.parametrize("method", sorted(samp.methods.names()))
def test_threads_get_the_maps_that_a_method_gives_alone_and_move_no_random_state(method: str) -> None:
    if method in ("shapley", "lime", "occlusion", "ablation"):
        pytest.importorskip("captum")
    if method in ("lime", "xrai"):
        pytest.importorskip("skimage")
    asked = SMALL.get(method, method)
    net = attention_net() if method in FOR_TRANSFORMERS else small_net().eval()
    before = shared_states()
    expected = alone(net, method=asked)
    assert_equal(maps(net, method=asked), expected)
    assert shared_states() == before


@pytest.mark.parametrize("method", ["coupled", "ig", "smoothgrad", "rise"])
def test_threads_on_a_net_that_draws_and_writes_get_the_maps_that_it_gives_alone(method: str) -> None:
    net = small_net(nn.Dropout(0.5), nn.BatchNorm1d(4)).train()
    numbers = {name: value.clone() for name, value in net.state_dict().items()}
    before = shared_states()
    expected = alone(net, method=SMALL.get(method, method))
    assert not torch.equal(expected[0], expected[1])
    assert_equal(maps(net, method=SMALL.get(method, method)), expected)
    assert shared_states() == before
    assert all(torch.equal(value, numbers[name]) for name, value in net.state_dict().items())


def test_threads_that_draw_do_not_disturb_threads_that_do_not() -> None:
    still, drawing = small_net().eval(), small_net(nn.Dropout(0.5)).train()
    expected = alone(still, method="samp++"), alone(drawing, method="ig")
    with ThreadPoolExecutor(2) as pool:
        both = pool.submit(maps, still, method="samp++"), pool.submit(maps, drawing, method="ig")
        assert_equal(both[0].result(), expected[0])
        assert_equal(both[1].result(), expected[1])


def test_metrics_of_threads_are_those_that_are_found_alone() -> None:
    net = small_net(nn.Dropout(0.5)).train()
    heat = X.mean(1)

    def deletion(seed: int) -> Tensor:
        return samp.metrics.deletion_insertion(net, X, heat, 0, "rise", seed=seed).deletion

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [deletion(seed) for seed in range(THREADS)]
        with ThreadPoolExecutor(THREADS) as pool:
            assert_equal(list(pool.map(deletion, range(THREADS))), expected)


def test_fast_stays_fast_in_threads_and_gives_what_it_gives_alone() -> None:
    net = small_net().eval()
    expected = samp.explain(net, X, method="samp++", speed="fast")
    with ThreadPoolExecutor(THREADS) as pool:
        calls = [pool.submit(samp.explain, net, X, method="samp++", speed="fast") for _ in range(4 * THREADS)]
        found = [call.result() for call in calls]
    later = samp.explain(net, X, method="samp++", speed="fast")
    assert {one.details["speed"] for one in [*found, later]} == {expected.details["speed"]}
    assert "fast" in expected.details["speed"]
    assert_equal([one.map for one in found], [expected.map] * len(found))


def test_threads_that_are_first_share_one_copy_of_a_net() -> None:
    net = small_net().eval()
    with ThreadPoolExecutor(THREADS) as pool:
        calls = [pool.submit(samp.explain, net, X, method="ig", speed="fast") for _ in range(THREADS)]
        assert len({call.result().details["speed"] for call in calls}) == 1
