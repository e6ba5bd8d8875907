"""The plain gradient: equal to autograd's by hand and to Captum's Saliency; with and without its sign."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, assert_same, images, net
from samp.methods.gradient import Gradient


def by_hand(model: Any, x: Tensor, target: int) -> Tensor:
    """One backward pass for each sample alone."""
    rows = []
    for one in x:
        leaf = one[None].clone().requires_grad_()
        model(leaf)[0, target].backward(inputs=[leaf])
        rows.append(leaf.grad)
    return torch.cat(rows)


@pytest.mark.parametrize("batch_size", ["auto", 1, 2])
def test_the_gradient_is_autograds_for_every_batch_size(batch_size: Any) -> None:
    model, x = net(0, features=48), images(0, 5, 3, 4, 4)
    result = samp.explain(model, x, target=1, method="gradient", batch_size=batch_size)
    torch.testing.assert_close(result.values, by_hand(model, x, 1), **CLOSE)
    assert bool((result.values < 0).any())
    assert result.gradients.tolist() == [1] * 5
    assert result.residual.isnan().all()


def test_saliency_is_its_absolute_value() -> None:
    model, x = net(1, features=48), images(1, 3, 3, 4, 4)
    signed, absolute = (samp.explain(model, x, target=0, method=name) for name in ("gradient", "saliency"))
    assert torch.equal(absolute.values, signed.values.abs())
    torch.testing.assert_close(absolute.map, signed.values.abs().sum(1), **CLOSE)


def test_both_are_captums_saliency() -> None:
    attr = pytest.importorskip("captum.attr", reason="needs the extra compare")
    model, x = net(2, features=48), images(2, 3, 3, 4, 4)
    for method, absolute in ((Gradient(), False), (Gradient(magnitude=True), True)):
        peer = attr.Saliency(model).attribute(x.clone().requires_grad_(), target=2, abs=absolute)
        torch.testing.assert_close(samp.explain(model, x, target=2, method=method).values, peer.detach(), **CLOSE)


def test_gradient_times_input_is_the_gradient_times_the_input() -> None:
    model, x = net(3, features=48), images(3, 2, 3, 4, 4)
    plain, product = (samp.explain(model, x, target=0, method=name).values for name in ("gradient", "gradientxinput"))
    torch.testing.assert_close(plain * x, product, **CLOSE)


def test_a_gradient_that_is_no_number_is_an_error() -> None:
    with pytest.raises(samp.NonFiniteError):
        samp.explain(lambda z: z.sqrt().sum(1), torch.zeros(1, 3), method="gradient")


def test_idgi_is_ig_with_its_credit() -> None:
    model, x = net(4, features=48), images(4, 2, 3, 4, 4)
    named, built = (samp.explain(model, x, target=0, method=m) for m in ("idgi", samp.IG(credit="idgi")))
    assert_same(named, built)
    assert named.method.startswith("IDGI(steps=50")
    assert named.residual.abs().max() < 1e-12
