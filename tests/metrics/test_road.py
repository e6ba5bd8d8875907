"""ROAD by a loop over its definition, and DiffID ranked with the sign."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from laws import images
from samp.metrics import PROTOCOLS, NoisyLinear, deletion_insertion

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def net() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(2, 6, 3), nn.Tanh(), nn.Flatten(), nn.Linear(6 * 64, 4)).double().eval()


def accuracies(model: nn.Module, image: Tensor, order: Tensor, counts: list[int], target: int) -> list[float]:
    """Whether the class is still predicted, with so many pixels, the first of this order (h·w), removed and imputed."""
    found = []
    for count in counts:
        missing = torch.zeros(100, dtype=torch.bool)
        missing[order[:count]] = True
        imputed = NoisyLinear(noise=0.01).impute(image[None], missing.view(1, 10, 10))
        found.append(float(model(imputed).argmax(1).item() == target))
    return found


def test_road_removes_the_most_and_the_least_relevant_first() -> None:
    model, x, maps = net(), images(0, 3, 2, 10, 10), images(1, 3, 10, 10) - 0.5
    target = model(x).argmax(1)
    curves = deletion_insertion(model, x, maps, target, "road")
    for i in range(3):
        falling, label = maps[i].flatten().argsort(descending=True), int(target[i])
        most_first = accuracies(model, x[i], falling, [round(share * 100) for share in SHARES], label)
        least_first = accuracies(model, x[i], falling.flip(0), [100 - round(share * 100) for share in SHARES], label)
        assert curves.deletion_curve[i].tolist() == most_first
        assert curves.insertion_curve[i].tolist() == least_first
        assert curves.difference[i].item() == pytest.approx((sum(least_first) - sum(most_first)) / 9)


def test_a_map_of_what_the_net_uses_beats_its_reverse() -> None:
    """Class 0 is a bright left half; the rest of the image is grey."""

    def brightness(x: Tensor) -> Tensor:
        left = x[:, 0, :, :5].mean((1, 2))
        return torch.stack([left, 0.5 - left], 1)

    image = torch.zeros(1, 1, 10, 10)
    image[..., :5] = 1
    used = image[:, 0] + 0.01 * torch.rand(1, 10, 10)
    assert deletion_insertion(brightness, image, used, 0, "road").difference.item() > 0
    assert deletion_insertion(brightness, image, -used, 0, "road").difference.item() < 0


def test_signed_diffid_ranks_negative_credit_last_and_is_else_the_published_one() -> None:
    model, x = net(), images(2, 4, 2, 10, 10)
    values = images(3, 4, 2, 10, 10) - 0.5
    signed = deletion_insertion(model, x, values, 1, "diffid-signed")
    by_hand = deletion_insertion(model, x, values, 1, replace(PROTOCOLS["diffid"], absolute=False))
    assert torch.equal(signed.deletion_curve, by_hand.deletion_curve)
    published = deletion_insertion(model, x, values.abs(), 1, "diffid")
    assert torch.equal(published.difference, deletion_insertion(model, x, values.abs(), 1, "diffid-signed").difference)
    assert signed.protocol.label == "diffid-signed"
