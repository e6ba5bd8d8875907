"""Channels last: what looks like b h w c is asked about, never read as b c h w in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE
from samp import metrics, plots
from samp.groups import looks_channels_last
from samp.metrics import ChannelMeans, Protocol, deletion_insertion

torch.manual_seed(0)
NET = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 10 * 14, 5)).eval().double()
IMAGES = torch.rand(2, 3, 12, 16, dtype=torch.float64)
LAST = IMAGES.permute(0, 2, 3, 1).contiguous()  # b h w c
STEPS = Protocol(step=48)
MEANS = Protocol(step=48, fill=ChannelMeans(), unit=samp.Elements())


def from_last(x: Tensor) -> Any:
    return NET(x.permute(0, 3, 1, 2))


@pytest.mark.parametrize(
    "shape",
    [(2, 3, 224, 224), (2, 3, 100, 3), (2, 1, 40, 1), (2, 7, 64, 3), (2, 512, 3, 3), (2, 512, 1, 1), (2, 9, 7, 1)],
)
def test_b_c_h_w_beyond_doubt_is_taken_as_it_is(shape: tuple[int, ...]) -> None:
    result = samp.explain(lambda x: x.flatten(1).sum(1), torch.ones(shape), method="ig")
    assert result.map.shape == (shape[0], *shape[2:])
    assert result.group_values.shape[1] == shape[2] * shape[3]


QUESTIONS: list[Callable[[], Any]] = [
    lambda: samp.explain(from_last, LAST),
    lambda: samp.explain(from_last, LAST, method="rise"),
    lambda: samp.explain(from_last, LAST, groups=samp.Patches(4)),
    lambda: samp.explain(from_last, LAST, groups=samp.Elements(), method="occlusion"),
    lambda: samp.explain(from_last, LAST, groups=samp.Elements(), method="ig-blurred"),
    lambda: samp.compare(from_last, LAST, ["ig"], 0),
    lambda: deletion_insertion(from_last, LAST, LAST, 0, STEPS),
    lambda: deletion_insertion(from_last, LAST, LAST, 0, MEANS),
    lambda: metrics.sensitivity_n(from_last, LAST, LAST, 0),
    lambda: metrics.mu_fidelity(from_last, LAST, LAST, 0),
    lambda: samp.quantus.explain(from_last, LAST.numpy(), [0, 0]),
    lambda: samp.captum.SAMP(from_last).attribute(LAST),
]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_an_input_with_channels_last_is_asked_about(number: int) -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 12, 16, 3\), which looks like b h w c.*permute.*groups="):
        QUESTIONS[number]()


def test_what_the_message_says_gives_the_map_of_the_same_net() -> None:
    expected = samp.explain(NET, IMAGES, target=1)
    found = samp.explain(lambda x: from_last(x.permute(0, 2, 3, 1)), LAST.permute(0, 3, 1, 2), target=1)
    assert found.map.shape == (2, 12, 16)
    torch.testing.assert_close(found.map, expected.map, **CLOSE)


def test_elements_and_masks_need_no_layout() -> None:
    elements = samp.explain(from_last, LAST, target=1, method="ig", groups=samp.Elements())
    expected = samp.explain(NET, IMAGES, target=1, method="ig", groups=samp.Elements())
    torch.testing.assert_close(elements.values.permute(0, 3, 1, 2), expected.values, **CLOSE)
    with pytest.raises(ValueError, match=r"the maps have shape .* looks like b h w c.*maps.sum\(-1\)"):
        _ = elements.map
    pixels = torch.arange(12 * 16).view(12, 16, 1)
    masked = samp.explain(from_last, LAST, target=1, method="ig", groups=pixels)
    torch.testing.assert_close(masked.group_values.view(2, 12, 16), expected.map, **CLOSE)


def test_who_says_pixels_is_believed_by_methods_and_metrics() -> None:
    electrodes = torch.rand(2, 16, 10, 1)  # 16 channels of 10 moments each
    net = nn.Sequential(nn.Flatten(), nn.Linear(160, 3)).eval()
    result = samp.explain(net, electrodes, groups=samp.Pixels())
    assert result.map.shape == (2, 10, 1)
    compared = samp.compare(net, electrodes, ["ig", "rise"], groups=samp.Pixels())
    assert compared["rise"].attribution.map.shape == (2, 10, 1)
    assert compared["ig"].curves.deletion.shape == (2,)


@pytest.mark.parametrize(
    "ask", [metrics.concentration, metrics.gini, lambda m: metrics.pointing_game(m, m > 0), plots.grey_map]
)
@pytest.mark.parametrize("kind", [torch.as_tensor, np.asarray])
def test_maps_with_channels_last_are_asked_about(ask: Callable[[Any], Any], kind: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"the maps have shape \(2, 12, 16, 3\), which looks like b h w c"):
        ask(kind(LAST))


def test_the_rule_in_one_place() -> None:
    assert looks_channels_last((1, 8, 8, 3))
    assert looks_channels_last((1, 28, 28, 1))
    assert not looks_channels_last((1, 28, 28, 2))
    assert not looks_channels_last((28, 28, 3))
