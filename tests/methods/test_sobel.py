"""Sobel's edges: against SciPy's filter, and without a look at the model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import samp
from samp.methods.sobel import edge_strength


def random(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_edges_are_those_of_scipy() -> None:
    ndimage = pytest.importorskip("scipy.ndimage", reason="needs the extra metrics")
    image = random(0, 3, 9, 7).double()
    both = [[ndimage.sobel(channel, axis, mode="nearest") / 8 for axis in (0, 1)] for channel in image.numpy()]
    strength = [(x**2 + y**2) ** 0.5 for x, y in both]
    expected = torch.from_numpy(sum(strength) / 3)
    torch.testing.assert_close(edge_strength(image[None])[0], expected)
    net = nn.Sequential(nn.Flatten(), nn.Linear(189, 2)).double().eval()
    torch.testing.assert_close(samp.explain(net, image[None], method="sobel").map[0], expected)


def test_no_edge_no_credit_and_a_shift_changes_nothing() -> None:
    assert edge_strength(torch.full((1, 3, 5, 5), 7.0)).abs().max() == 0
    images = random(1, 2, 3, 8, 8)
    torch.testing.assert_close(edge_strength(images + 3), edge_strength(images), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(edge_strength(-2 * images), 2 * edge_strength(images))
    torch.testing.assert_close(edge_strength(images.flip(3)), edge_strength(images).flip(2))
    torch.testing.assert_close(edge_strength(images.transpose(2, 3)), edge_strength(images).transpose(1, 2))


def test_the_model_makes_no_difference_but_its_errors_do() -> None:
    images = random(2, 2, 3, 6, 6)
    nets = [nn.Sequential(nn.Flatten(), nn.Linear(108, 4)).eval() for _ in range(2)]
    first, second = (samp.explain(net, images, target=1, method="sobel") for net in nets)
    assert torch.equal(first.map, second.map)
    assert first.gradients.tolist() == [0, 0]
    with pytest.raises(ValueError, match="target 9 is out of range"):
        samp.explain(nets[0], images, target=9, method="sobel")
    with pytest.raises(ValueError, match="Sobel explains one b c h w image input"):
        samp.explain(nn.Linear(5, 2).eval(), torch.rand(2, 5), method="sobel")
