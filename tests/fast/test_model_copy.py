"""The copy that fast calls go through is never out of date, whatever the user changes between two explanations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from fast_nets import whole
from samp.fast import SPEEDS, cache

__all__ = ["whole"]  # a fixture


class Act:
    """A function with a number of its own."""

    gain = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return torch.sin(self.gain * x)


class Odd(nn.Module):
    """A net with settings in lists and dicts, a tensor that is no buffer, and two layers that may share a weight."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.scale, self.sizes = [1.0], {"gain": 1.0}
        self.table = torch.ones(12)
        self.listed, self.config = [{"b": (0, torch.ones(12))}], SimpleNamespace(gain=1.0)
        self.array, self.number, self.kinds = np.ones(1, dtype=np.float32), np.float32(1), {"plain"}
        self.hidden, self.act, self.part = [nn.LayerNorm(12)], Act(), partial(torch.mul, other=1.0)
        nn.init.normal_(self.hidden[0].bias)
        self.norm = nn.LayerNorm(12)
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)
        self.a, self.b, self.c = (nn.Linear(12, 12, bias=False) for _ in range(3))
        self.c.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        x = x * self.table * self.listed[0]["b"][1] * self.config.gain * float(self.array[0])
        x = self.norm(self.part(self.act(self.hidden[0](x)))) * float(self.number) * (-1 if "odd" in self.kinds else 1)
        out: Tensor = self.c(torch.tanh(self.b(self.a(x)))) * self.scale[0] * self.sizes["gain"]
        return out


def scale(net: Any) -> None:
    net.scale[0] = 10.0


def gain(net: Any) -> None:
    net.sizes["gain"] = -3.0


def table(net: Any) -> None:
    net.table[:6] = 0


def other_tie(net: Any) -> None:
    net.c.weight = net.b.weight


def listed(net: Any) -> None:
    net.listed[0]["b"][1].mul_(3.0)


def config(net: Any) -> None:
    net.config.gain = 5.0


def array(net: Any) -> None:
    net.array[0] = 7.0


def number(net: Any) -> None:
    net.number = np.float32(4)


def kinds(net: Any) -> None:
    net.kinds.add("odd")


def hidden(net: Any) -> None:
    net.hidden[0].bias.data.neg_()


def act(net: Any) -> None:
    net.act.gain = 3.0


def part(net: Any) -> None:
    net.part = partial(torch.mul, other=-2.0)


def order(net: Any) -> None:
    """The same names and shapes in another order: what is copied goes by neither."""
    weight = net.norm.weight
    del net.norm.weight
    net.norm.weight = weight
    weight.data.mul_(2.0)


def numbers(net: Any) -> None:
    net.b.weight.data.neg_()


CHANGES = [scale, gain, table, other_tie, listed, config, array, number, kinds, hidden, act, part, order, numbers]


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_between_two_explanations_is_seen(change: Callable[[Any], None]) -> None:
    net, x = Odd().eval(), torch.rand(2, 12)
    samp.explain(net, x, target=0, method="ig", speed="fast")
    before = samp.explain(net, x, target=0, method="ig").values
    change(net)
    exact, quick = (samp.explain(net, x, target=0, method="ig", speed=speed) for speed in SPEEDS)
    assert not torch.allclose(exact.values, before)
    assert quick.details["speed"].startswith("fast")
    torch.testing.assert_close(quick.values, exact.values, rtol=1e-4, atol=1e-6)


def test_a_copy_that_made_a_tensor_of_its_own_is_made_anew() -> None:
    class Lazy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            if not hasattr(self, "seen"):
                self.register_buffer("seen", torch.ones(1))
            out: Tensor = self.layer(x) * self.seen
            return out

    net, device = Lazy().eval(), torch.device("cpu")
    first = cache.get_or_prepare(net, False, device)
    first.plain(torch.rand(1, 4))
    assert cache.get_or_prepare(net, False, device) is not first


def test_a_hook_that_is_new_is_called() -> None:
    """A copy would leave it out."""
    net, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).eval(), torch.rand(2, 4)
    assert samp.explain(net, x, target=0, speed="fast").details["speed"].startswith("fast")
    heard: list[Tensor] = []
    hook = net[1].register_forward_hook(lambda module, given, output: heard.append(output))
    result = samp.explain(net, x, target=0, speed="fast")
    assert result.details["speed"] == "exact: the model has hooks"
    assert heard
    hook.remove()
    assert samp.explain(net, x, target=0, speed="fast").details["speed"].startswith("fast")


class Noting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.Linear(4, 2), torch.zeros(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.last = out = self.layer(x)
        return out.clone()


def test_a_net_that_notes_its_last_output_is_copied_once() -> None:
    net, device = Noting().eval(), torch.device("cpu")
    first = cache.get_or_prepare(net, False, device)
    first.plain(torch.rand(3, 4))
    net.layer.weight.data.fill_(2.0)
    assert cache.get_or_prepare(net, False, device) is first
    assert (first.plain(torch.ones(1, 4)) == 8 + net.layer.bias).all()


def test_a_net_that_notes_outputs_of_any_size_stays_fast() -> None:
    net = Noting().eval()
    for count in (5, 5, 2, 5):
        assert samp.explain(net, torch.rand(count, 4), target=0, speed="fast").details["speed"].startswith("fast")


def test_a_note_of_a_parameter_does_not_overwrite_it() -> None:
    class Noting(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            self.used = self.weight.detach()
            return super().forward(x)

    net, x = nn.Sequential(Noting(4, 2)).eval(), torch.rand(2, 4)
    for _ in range(2):
        samp.explain(net, x, target=0, method="ig", speed="fast")
    net(x)
    net.load_state_dict({"0.weight": torch.rand(2, 4), "0.bias": torch.zeros(2)}, assign=True)
    exact, quick = (samp.explain(net, x, target=0, method="ig", speed=speed) for speed in SPEEDS)
    torch.testing.assert_close(quick.values, exact.values, rtol=0.02, atol=1e-3)


def test_a_net_whose_copy_leaves_a_tensor_out_is_fast_all_the_same() -> None:
    class Forgetful(nn.Linear):
        def __init__(self) -> None:
            super().__init__(4, 2)
            self.note = torch.zeros(3)

        def __getstate__(self) -> dict[str, Any]:
            return {name: value for name, value in vars(self).items() if name != "note"}

    net = nn.Sequential(Forgetful()).eval()
    for _ in range(2):
        assert samp.explain(net, torch.rand(2, 4), target=0, speed="fast").details["speed"].startswith("fast")
