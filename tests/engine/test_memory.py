"""What a walk keeps in memory while the model is called: the model's own call should be most of it."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp


class Counting(nn.Module):
    """A linear net that counts, at its sixth call, the bytes of all tensors there are."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.calls, self.bytes, self.rows = nn.Linear(3 * 64 * 64, 2), 0, 0, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        if self.calls == 6:
            self.bytes, self.rows = alive(), len(x)
        out: Tensor = self.last(x.flatten(1)).tanh()
        return out


def alive() -> int:
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # asking modules what they are wakes old names
        tensors = [
            thing for thing in gc.get_objects() if type(thing) in (Tensor, nn.Parameter)
        ]  # a compiler's are none
    storages = [t.untyped_storage() for t in tensors if t.device.type == "cpu" and t.layout is torch.strided]
    return sum({s.data_ptr(): s.nbytes() for s in storages}.values())


@pytest.mark.parametrize(
    ("method", "most"),
    [
        ("samp++", 7.0),  # end, x and the one before, guide, credit; blurred a half, order a third
        (samp.SAMPPlusPlus(credit="trapezoid"), 8.0),  # the gradient, too
        ("coupled", 9.7),  # the way, a half of effects and its moves instead of the credit
        ("ig", 7.5),
    ],
)
def test_a_walk_keeps_few_tensors_of_the_size_of_its_points(method: Any, most: float) -> None:
    """In units of all points that the call is shown, of which the call's own copy is one."""
    model, x = Counting().eval(), torch.rand(8, 3, 64, 64)
    before = alive()
    samp.explain(model, x, target=0, method=method, batch_size=16 if method != "ig" else 8)
    assert (model.bytes - before) / (model.rows * 3 * 64 * 64 * 4) < most
