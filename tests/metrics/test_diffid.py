"""DiffID: the published fill against an oracle, its best and worst case, and how it differs from channel means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from laws import images, net
from samp.metrics import ChannelMeans, NoisyLinear, Protocol, RemainingMean, deletion_insertion
from samp.metrics.infidelity import Noise
from samp.metrics.protocols import PROTOCOLS

RATIOS = [i / 10 for i in range(1, 10)]
X = 2 * images(0, 6, 3, 4, 5) - 1  # 60 elements: every ratio is a whole number of them
MAPS = torch.randn(6, 3, 4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


class FirstIsBright(nn.Module):
    """Class 0 as long as the first element is above 1/2."""

    def forward(self, x: Tensor) -> Tensor:
        bright = x.flatten(1)[:, 0] - 0.5
        return torch.stack([bright, -bright], 1)


def published_diffid(model: nn.Module, image: Tensor, credit: Tensor, label: int) -> tuple[float, float]:
    """Deletion and insertion of one image: the elements of largest, or of smallest size become the mean of the rest."""
    flat, size = image.numpy().ravel(), credit.abs().numpy().ravel()
    means = []
    for order in (np.argsort(-size), np.argsort(size)):
        right = []
        for ratio in RATIOS:
            gone = order[: round(len(flat) * ratio)]
            point = flat.copy()
            point[gone] = np.delete(flat, gone).mean()
            right.append(int(model(torch.tensor(point).view(1, *image.shape)).argmax()) == label)
        means.append(float(np.mean(right)))
    return means[0], means[1]


@pytest.mark.parametrize("label", [0, 1, 2])
def test_diffid_equals_the_published_metric(label: int) -> None:
    model = net(2, features=60)
    curves = deletion_insertion(model, X, MAPS, label, "diffid")
    expected = [published_diffid(model, x, credit, label) for x, credit in zip(X, MAPS, strict=True)]
    assert curves.deletion.tolist() == pytest.approx([deletion for deletion, _ in expected])
    assert curves.insertion.tolist() == pytest.approx([insertion for _, insertion in expected])
    assert curves.difference.tolist() == pytest.approx([insertion - deletion for deletion, insertion in expected])
    assert len(set(curves.deletion_curve.flatten().tolist())) == 2  # right here and wrong there, or nothing is tested


def test_a_perfect_and_a_worst_map() -> None:
    x = torch.zeros(1, 1, 2, 5)
    x[..., 0, 0] = 1
    first, last = torch.arange(10, 0, -1).float().view(1, 1, 2, 5), torch.arange(10).float().view(1, 1, 2, 5)
    best, worst = (deletion_insertion(FirstIsBright().eval(), x, maps, 0, "diffid") for maps in (first, last))
    assert (best.deletion.item(), best.insertion.item(), best.difference.item()) == (0.0, 1.0, 1.0)
    assert (worst.deletion.item(), worst.insertion.item(), worst.difference.item()) == (1.0, 0.0, -1.0)


def test_size_decides_and_not_sign() -> None:
    model = net(2, features=60)
    curves, mirrored = (deletion_insertion(model, X, maps, 0, "diffid") for maps in (MAPS, -MAPS))
    assert torch.equal(curves.deletion_curve, mirrored.deletion_curve)


def test_the_two_fills_are_named_and_differ() -> None:
    """A red image shows red where its channels' means fill it, and grey where one mean over all channels does."""
    red = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1).expand(1, 3, 4, 4)

    def redness(x: Tensor) -> Tensor:
        return (x[:, 0] - x[:, 1]).mean((1, 2))[:, None]

    maps = -torch.arange(48.0).view(1, 3, 4, 4) - 1
    deletion_curves = {}
    for name in ("diffid", "diffid-channel-means"):
        curves = deletion_insertion(redness, red, maps, 0, replace(PROTOCOLS[name], score="logit"))
        assert curves.protocol.label.startswith(f"{name} with score=")
        deletion_curves[name] = curves.deletion_curve[0]
    assert torch.allclose(deletion_curves["diffid-channel-means"], torch.ones(9))
    assert (deletion_curves["diffid"][4:] < 0.99).all()


def test_remaining_mean_fills_by_hand_and_leaves_what_shows() -> None:
    x = torch.tensor([[1.0, 3.0, 8.0], [1.0, 3.0, 8.0], [1.0, 3.0, 8.0]])
    missing = torch.tensor([[True, False, False], [False, False, False], [True, True, True]])
    expected = [[5.5, 3.0, 8.0], [1.0, 3.0, 8.0], [4.0, 4.0, 4.0]]  # of nothing that shows: the mean of all
    assert RemainingMean().fill_elements(x, missing).tolist() == expected


def test_remaining_mean_serves_every_metric_that_hides_features() -> None:
    model, fill = net(2, features=60), RemainingMean()
    whole = deletion_insertion(model, X, MAPS, 0, Protocol(step=(0.0, 0.5, 1.0), fill=fill, start=fill))
    pixels = deletion_insertion(model, X, MAPS.sum(1), 0, Protocol(step=5, fill=fill, start=fill))
    assert whole.deletion_curve.isfinite().all()
    assert pixels.deletion_curve.shape == (6, 5)
    assert samp.metrics.mu_fidelity(model, X, MAPS.sum(1), 0, fill=fill, subsets=8).correlation.shape == (6,)
    with pytest.raises(ValueError, match="is made of what is not hidden"):
        Noise(fill=fill)
    assert NoisyLinear() != fill
    assert ChannelMeans() != fill
