"""Protocols: every published constant, names that tell the truth, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import samp
from samp.baselines import Blurred, Constant
from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.fills import ChannelMeans, RemainingMean, RISEBlur
from samp.metrics.imputation import NoisyLinear
from samp.metrics.protocols import PROTOCOLS, Protocol, get_protocol

BLACK = Constant(0.0)
PAPER = {"unit": None, "score": "logit", "normalise": "image", "auc": "mean", "absolute": False, "fill": BLACK}
PUBLISHED: dict[str, dict[str, Any]] = {
    "mnist": {**PAPER, "step": 10, "start": Blurred(11, 5.0)},
    "cifar10": {**PAPER, "step": 10, "start": Blurred(11, 5.0)},
    "imagenet": {**PAPER, "step": 1792, "start": Blurred(31, 5.0)},
    "mnist-authors": {**PAPER, "step": 10, "start": RISEBlur(11, 5.0)},
    "cifar10-authors": {**PAPER, "step": 10, "start": RISEBlur(11, 5.0)},
    "imagenet-authors": {**PAPER, "step": 1792, "start": RISEBlur(31, 5.0)},
    "rise": {
        "step": 224,
        "fill": BLACK,
        "start": RISEBlur(11, 5.0),
        "unit": None,
        "score": "probability",
        "normalise": None,
        "auc": "trapezoid",
        "absolute": False,
    },
    "diffid": {
        "step": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "fill": RemainingMean(),
        "start": RemainingMean(),
        "unit": samp.Elements(),
        "score": "accuracy",
        "normalise": None,
        "auc": "mean",
        "absolute": True,
    },
}
PUBLISHED["road"] = {
    "step": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "fill": NoisyLinear(noise=0.01),
    "start": NoisyLinear(noise=0.01),
    "unit": None,
    "score": "accuracy",
    "normalise": None,
    "auc": "mean",
    "absolute": False,
}
PUBLISHED["diffid-signed"] = {**PUBLISHED["diffid"], "absolute": False}
PUBLISHED["diffid-channel-means"] = {**PUBLISHED["diffid"], "fill": ChannelMeans(), "start": ChannelMeans()}


def test_every_field_of_every_published_protocol() -> None:
    assert PROTOCOLS.keys() == PUBLISHED.keys()
    for name, fields in PUBLISHED.items():
        assert {field: getattr(PROTOCOLS[name], field) for field in fields} == fields
        assert PROTOCOLS[name].name == PROTOCOLS[name].label == name


def test_imagenet_by_an_oracle() -> None:
    """Kernel 31, division by the image's score, 1,792 pixels a step, a plain mean: one point at a time, in NumPy."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 16, 16), nn.Tanh(), nn.Flatten(), nn.Linear(2 * 14 * 14, 3)).double().eval()
    net[-1].bias.data += 5
    x, maps = torch.rand(1, 1, 224, 224).double(), torch.randn(1, 224, 224).double()
    weights = np.exp(-0.5 * (np.arange(-15, 16) / 5.0) ** 2)
    kernel = np.outer(weights, weights) / weights.sum() ** 2
    padded = np.pad(x[0, 0].numpy(), 15, mode="reflect")
    start = np.array([[(padded[i : i + 31, j : j + 31] * kernel).sum() for j in range(224)] for i in range(224)])
    order, image = np.argsort(-maps.numpy().ravel(), kind="stable"), x.numpy().ravel()
    series: dict[str, list[float]] = {"deletion": [], "insertion": []}
    for count in range(0, 224 * 224 + 1, 1792):
        changed = np.zeros(224 * 224, dtype=bool)
        changed[order[:count]] = True
        for name, point in (
            ("deletion", np.where(changed, 0, image)),
            ("insertion", np.where(changed, image, start.ravel())),
        ):
            with torch.no_grad():
                series[name].append(float(net(torch.tensor(point).view_as(x))[0, 1]))
    top = series["deletion"][0]
    curves = deletion_insertion(net, x, maps, 1, "imagenet")
    assert float(curves.deletion) == pytest.approx(np.mean(series["deletion"]) / top, abs=1e-10)
    assert float(curves.insertion) == pytest.approx(np.mean(series["insertion"]) / top, abs=1e-10)


def test_each_curve_is_normalised_by_its_own_ends() -> None:
    net = nn.Linear(2, 1, bias=False).double().eval()
    net.weight.data = torch.tensor([[1.0, 3.0]], dtype=torch.float64)
    chosen = Protocol(fill=0.0, start=0.5, normalise="change")
    curves = deletion_insertion(net, torch.ones(1, 2).double(), torch.tensor([[1.0, 2.0]]), 0, chosen)
    assert curves.deletion_curve[0].tolist() == [1.0, 0.25, 0.0]  # 4, 1, 0
    assert curves.insertion_curve[0].tolist() == [0.0, 0.75, 1.0]  # 2, 3.5, 4


def test_the_papers_protocol_is_scaled_to_sizes_it_does_not_have() -> None:
    for height, width in ((40, 40), (64, 48), (96, 96), (299, 299), (224, 200)):
        chosen = get_protocol(None, [(1, 3, height, width)])
        assert len(chosen.counts(height * width)) in (28, 29)
        assert chosen.start == Blurred.for_image(height, width)
        assert chosen.label.startswith("28 steps")
    maps, net = torch.rand(2, 1, 40, 40), nn.Sequential(nn.Flatten(), nn.Linear(1600, 2)).eval()
    scores = {float(deletion_insertion(net, torch.ones(1, 1, 40, 40), m[None], 0).insertion) for m in maps}
    assert len(scores) == 2


def test_a_changed_protocol_says_so() -> None:
    changed = replace(PROTOCOLS["rise"], score="logit", auc="mean")
    assert changed.label == "rise with score='logit', auc='mean'"
    assert Protocol(step=7).label == "own with step=7"
    assert Protocol().label == "own"
    assert repr(changed) == f"Protocol({changed.label})"
    assert "NoisyLinear" in replace(PROTOCOLS["imagenet"], fill=NoisyLinear()).label


def test_protocols_compare_hash_and_travel_even_with_tensors_in_them() -> None:
    def one(value: float = 0.0, mask: int = 0) -> Protocol:
        return Protocol(fill=torch.full((1, 3, 1, 1), value), unit=torch.tensor([0, mask]))

    assert one() == one()
    assert hash(one()) == hash(one())
    assert one() != one(1.0)
    assert one() != one(mask=1)
    assert len(repr(one())) < 300
    for chosen in (one(), *PROTOCOLS.values(), Protocol(fill=[0, "white"])):
        assert pickle.loads(pickle.dumps(chosen)) == copy.deepcopy(chosen) == chosen
        assert hash(chosen) is not None


def test_the_trapezoid_of_uneven_shares_is_the_area_under_the_line() -> None:
    line = torch.tensor([[10.0, 9.0, 0.0]])
    assert float(Protocol(step=(0.0, 0.1, 1.0), auc="trapezoid").area(line)) == pytest.approx(5.0)
    assert float(Protocol(step=(0.1, 0.3), auc="trapezoid").area(torch.tensor([[2.0, 4.0]]))) == pytest.approx(3.0)
    assert float(Protocol(step=1, auc="trapezoid").area(line)) == pytest.approx(7.0)  # evenly spaced, as RISE has it


def test_rises_blur_is_that_of_its_published_code() -> None:
    """Which filters a bright point in a window of the kernel's size by scipy, and convolves with what comes out."""
    ndimage = pytest.importorskip("scipy.ndimage", reason="needs scipy: pip install 'samp[metrics]'")
    window = np.zeros((11, 11))
    window[5, 5] = 1
    kernel = torch.tensor(ndimage.gaussian_filter(window, 5))
    x = torch.rand(2, 3, 20, 17, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = F.conv2d(x, kernel.expand(3, 1, 11, 11), padding=5, groups=3)
    torch.testing.assert_close(RISEBlur()(x), expected, rtol=1e-10, atol=1e-12)


def test_every_channel_of_every_image_has_a_mean_of_its_own() -> None:
    x = torch.arange(16.0).view(2, 2, 2, 2)
    assert ChannelMeans()(x)[:, :, 0, 0].tolist() == [[1.5, 5.5], [9.5, 13.5]]
    assert (ChannelMeans()(x) == ChannelMeans()(x)[:, :, :1, :1]).all()


@pytest.mark.parametrize("kernel", [10, 0])
def test_rises_blur_keeps_the_shape_or_is_refused(kernel: int) -> None:
    with pytest.raises(ValueError, match="odd width"):
        RISEBlur(kernel)
    with pytest.raises(ValueError, match="σ above 0"):
        RISEBlur(11, 0.0)
    x = torch.rand(2, 3, 9, 21).half()
    assert RISEBlur()(x).shape == x.shape
    assert RISEBlur()(x).dtype == torch.float16


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"fill": "blakc"}, ValueError, "black"),
    ({"fill": NoisyLinear}, TypeError, r"pass NoisyLinear\(\)"),
    ({"start": [object()]}, TypeError, "a baseline is"),
    ({"absolute": "yes"}, ValueError, "True or False"),
    ({"step": ("a",)}, ValueError, "rising shares"),
    ({"step": (0.5, float("nan"))}, ValueError, "rising shares"),
    ({"score": ["logit"]}, TypeError, "score"),
]


@pytest.mark.parametrize(("fields", "error", "words"), REFUSED)
def test_what_cannot_be_is_refused_when_made(fields: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Protocol(**fields)


def test_an_area_of_ones_own_must_be_one_a_sample() -> None:
    net, x = nn.Linear(2, 1).eval(), torch.rand(2, 2)
    with pytest.raises(ValueError, match="one area for each"):
        deletion_insertion(net, x, x, 0, Protocol(auc=lambda curve: curve.mean()))


def test_numbers_of_numpy_are_fills() -> None:
    assert Protocol(fill=np.float32(0.5)) == Protocol(fill=0.5)
