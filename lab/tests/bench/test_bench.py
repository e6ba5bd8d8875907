"""The benchmarks run and count right; how fast they are is not tested."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import torch
from torch import nn

from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.protocols import PROTOCOLS
from samp_lab.bench import methods as bench
from samp_lab.bench import metrics
from samp_lab.bench.overhead import GradientCallRecorder

pytest.importorskip("captum", reason="needs the extra compare")
pytest.importorskip("skimage", reason="needs the extra compare")


def small() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)]
    return nn.Sequential(*layers).eval(), torch.rand(2, 3, 32, 32)


def test_methods_are_timed_counted_and_set_beside_their_peers() -> None:
    model, x = small()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Captum's own
        rows = {row.name: row for row in bench.compare(["ig", "gradcam", "deeplift", "lime"], model, x, 1)}
    assert rows["ig"].gradients == 51
    assert rows["ig"].forwards == 0
    assert rows["gradcam"].peer == "–"
    assert rows["lime"].forwards == 1000
    assert "(Captum)" in rows["deeplift"].peer
    table = bench.table(list(rows.values()), x.device)
    assert table.splitlines()[2].startswith("| ig |")
    assert "torch" in table.splitlines()[-1]


def test_a_peer_that_fails_is_shown_as_failing() -> None:
    model, x = small()
    assert bench._peer("lrp", nn.Sequential(model, nn.ZeroPad1d(1)), x, 1) == "TypeError (Captum)"


def test_peers_that_take_one_image_at_a_time_are_shown_two() -> None:
    pytest.importorskip("saliency.core")
    model, x = small()
    assert "2 of 3 images" in bench._peer("blurig", model, torch.cat([x, x[:1]]), 1)


def test_a_batch_is_set_against_its_images_one_by_one() -> None:
    table = bench.one_by_one(["ig"], *small(), 1).splitlines()
    assert table[2].startswith("| ig | 2 |")


def test_adapters_are_set_against_captum_in_pairs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Captum's own
        table = bench.adapters(*small(), 1, repeats=1).splitlines()
    assert [line.split("|")[1].strip() for line in table[2:6]] == ["shapley", "lime", "occlusion", "ablation"]


def test_only_calls_that_ask_for_a_gradient_are_watched() -> None:
    watched = GradientCallRecorder(nn.Identity())
    with torch.no_grad():
        watched(torch.zeros(3, 1))
    watched(torch.zeros(2, 1))
    assert watched.calls == [2]


def test_the_resnet_has_the_shape_of_resnet_50() -> None:
    assert bench.random_resnet("cpu")(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)


def test_metrics_are_set_against_bare_calls_and_a_loop_that_agrees() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 2, 3, 16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    x = torch.rand(2, 3, 224, 224)
    rows = {row.name: row for row in metrics.measure(model, x, 7, repeats=1)}
    assert rows["samp"].forwards == rows["bare calls of 7"].forwards == rows["plain loop"].forwards == 2 * 58
    assert all(row.rate > 0 for row in rows.values())
    assert "| plain loop | 116 |" in metrics.table(list(rows.values()), x.device)
    maps = torch.rand(2, 224, 224)
    curves = deletion_insertion(model, x, maps, 0, replace(PROTOCOLS["imagenet"], normalise=None))
    both = torch.stack([curves.deletion_curve, curves.insertion_curve], 2).flatten()  # the loop takes turns
    assert metrics._loop(model, x, maps) == pytest.approx(both.tolist(), abs=1e-5)
