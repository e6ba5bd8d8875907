"""RISE against brute force, the random map as a floor, SmoothGrad against closed forms and Captum."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, images, linear, net
from samp import images as photos
from samp import models
from samp.methods.random_map import RandomMap
from samp.methods.rise import RISE, draw_masks
from samp.methods.smoothgrad import SmoothGrad

SMALL = RISE(masks=30, cells=3)
EVERY = [SMALL, RandomMap(), SmoothGrad(samples=20)]
CLASSIFIER = net(0, 54)  # of 2 × 3 × 9 pixels


def mask_by_hand(grid: Tensor, shift: tuple[int, int], height: int, width: int) -> Tensor:
    """Bilinear by its definition: the point at pixel i lies at (i + ½)·s/S − ½ on the grid, held at the border."""
    cells = len(grid)
    mask = torch.zeros(height, width, dtype=torch.float64)
    for i in range(height):
        for j in range(width):
            place = []
            for at, side in ((i + shift[0], height), (j + shift[1], width)):
                size = (cells + 1) * math.ceil(side / cells)
                place.append(min(max((at + 0.5) * cells / size - 0.5, 0), cells - 1))
            (u, v), (a, b) = place, (int(place[0]), int(place[1]))
            for y, wy in ((a, 1 - (u - a)), (min(a + 1, cells - 1), u - a)):
                for x, wx in ((b, 1 - (v - b)), (min(b + 1, cells - 1), v - b)):
                    mask[i, j] += wy * wx * grid[y, x]
    return mask


def masks_by_hand(method: RISE, height: int, width: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    grids = torch.rand(method.masks, method.cells, method.cells, generator=generator) < method.p
    down, right = (
        torch.randint(math.ceil(side / method.cells), (method.masks,), generator=generator) for side in (height, width)
    )
    return [mask_by_hand(grids[i].double(), (int(down[i]), int(right[i])), height, width) for i in range(method.masks)]


@pytest.mark.parametrize("method", [SMALL, RISE(11, 2, 0.3, "logit", 0.5)])
def test_rise_is_the_mean_of_masks_weighted_by_the_score_they_leave(method: RISE) -> None:
    x = images(1, 2, 2, 3, 9)
    fill = 0.5 if method.score == "logit" else 0.0
    oracle = torch.zeros(2, 3, 9, dtype=torch.float64)
    for mask in masks_by_hand(method, 3, 9, seed=5):
        output = CLASSIFIER(x * mask + fill * (1 - mask))
        score = output[:, 1] if method.score == "logit" else output.softmax(1)[:, 1]
        oracle += score[:, None, None].detach() * mask / (method.masks * method.p)
    found = samp.explain(CLASSIFIER, x, target=1, method=method, seed=5)
    torch.testing.assert_close(found.map, oracle, **CLOSE)
    assert found.details["forwards"] == method.masks


def test_masks_have_the_mean_p_and_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    method = RISE(masks=2000, cells=4, p=0.3)
    whole = torch.cat(list(draw_masks(method, 8, 8, 0, torch.zeros(1))))
    assert whole.shape == (2000, 8, 8)
    assert abs(float(whole.mean()) - 0.3) < 0.01  # 2,000 masks of 16 cells: a standard error of 0.003
    monkeypatch.setattr("samp.methods.rise.PIXELS_AT_ONCE", 7 * 64)
    blocks = list(draw_masks(method, 8, 8, 0, torch.zeros(1)))
    assert len(blocks[0]) == 7
    assert torch.equal(torch.cat(blocks), whole)


def test_rise_finds_the_pixel_that_matters() -> None:
    x = torch.ones(1, 1, 14, 14)
    found = samp.explain(lambda x: x[:, 0, 3, 10], x, target=0, method=RISE(masks=600, cells=7, score="logit"))
    assert int(found.map.argmax()) in {r * 14 + c for r in (2, 3, 4) for c in (9, 10, 11)}


@pytest.mark.parametrize("target", [lambda output: output[:, 0], None])
def test_rise_wants_a_class_for_a_probability(target: Any) -> None:
    model = CLASSIFIER if target else linear(torch.ones(54, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"pass method=RISE\(score='logit'\)"):
        samp.explain(model, images(1, 2, 2, 3, 9), target=target, method=SMALL)


def test_rise_explains_images_only() -> None:
    with pytest.raises(ValueError, match="RISE explains one b c h w image input"):
        samp.explain(net(), images(0, 2, 12), method=SMALL)


@pytest.mark.parametrize("method", EVERY)
def test_batch_size_and_neighbours_do_not_matter_and_the_seed_does(method: Any) -> None:
    x = images(1, 4, 2, 3, 9)
    whole = samp.explain(CLASSIFIER, x, target=[0, 1, 2, 0], method=method, batch_size=7)
    again = samp.explain(CLASSIFIER, x, target=[0, 1, 2, 0], method=method, batch_size=7)
    assert torch.equal(whole.map, again.map)
    for size in (1, "auto"):
        other = samp.explain(CLASSIFIER, x, target=[0, 1, 2, 0], method=method, batch_size=size)
        torch.testing.assert_close(other.map, whole.map, **CLOSE)
    alone = samp.explain(CLASSIFIER, x[2:3], target=2, method=method)
    torch.testing.assert_close(alone.map[0], whole.map[2], **CLOSE)
    assert not torch.allclose(samp.explain(CLASSIFIER, x[2:3], target=2, method=method, seed=1).map, alone.map)


@pytest.mark.parametrize("method", [SMALL, SmoothGrad(samples=20)])
def test_the_target_matters(method: Any) -> None:
    one, other = (samp.explain(CLASSIFIER, images(1, 1, 2, 3, 9), target=t, method=method).map for t in (0, 1))
    assert not torch.allclose(one, other)


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        (SMALL, {"masks": 31, "cells": 4, "p": 0.4, "score": "logit", "baseline": 1.0, "shift": False}),
        (SmoothGrad(samples=20), {"samples": 21, "noise": 0.2, "magnitude": True}),
    ],
)
def test_every_argument_changes_the_result(method: Any, changed: dict[str, Any]) -> None:
    from dataclasses import fields, replace

    assert {field.name for field in fields(method)} == set(changed)
    x = images(1, 1, 2, 3, 9)
    maps = samp.explain(CLASSIFIER, x, target=1, method=method).map
    for name, value in changed.items():
        other = replace(method, **{name: value})
        assert not torch.allclose(samp.explain(CLASSIFIER, x, target=1, method=other).map, maps), name
        assert repr(other) != repr(method)


@pytest.mark.parametrize(
    "wrong",
    [lambda: RISE(masks=0), lambda: RISE(p=0), lambda: RISE(score="odds"), lambda: SmoothGrad(noise=-1)],  # type: ignore[arg-type]  # meant
)
def test_settings_that_cannot_be_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="not"):
        wrong()


def test_random_numbers_are_shared_by_the_elements_of_a_group() -> None:
    x = images(0, 2, 3, 4, 4)
    found = samp.explain(net(0, 48), x, method=RandomMap(), groups=samp.Patches(2))
    assert found.group_values.shape == (2, 4)
    assert bool(((found.group_values > 0) & (found.group_values < 1)).all())
    torch.testing.assert_close(found.values[0, :, 0, 0] * 12, found.group_values[0, :1].expand(3), **CLOSE)
    assert not torch.allclose(found.group_values[0], found.group_values[1])


def test_smoothgrad_is_the_mean_gradient_at_noisy_points() -> None:
    x = images(3, 2, 6) * torch.tensor([[1.0], [3.0]])
    generator = torch.Generator().manual_seed(4)
    noise = torch.stack([torch.randn(6, generator=generator) for _ in range(5)]).double()
    sigma = 0.15 * (x.amax(1) - x.amin(1))
    oracle = torch.stack([(3 * (x + sigma[:, None] * one) ** 2) for one in noise]).mean(0)
    found = samp.explain(lambda x: (x**3).sum(1), x, method=SmoothGrad(samples=5), seed=4)
    torch.testing.assert_close(found.values, oracle, **CLOSE)
    assert found.gradients.tolist() == [5, 5]


def test_smoothgrad_agrees_with_captum_in_the_mean() -> None:
    attr = pytest.importorskip("captum.attr")
    x = images(3, 1, 12)
    torch.manual_seed(0)
    sigma = 0.15 * float(x.max() - x.min())
    tunnel = attr.NoiseTunnel(attr.Saliency(net()))
    peer = tunnel.attribute(x, nt_samples=4000, stdevs=sigma, target=1, abs=False, nt_samples_batch_size=1000)
    found = samp.explain(net(), x, target=1, method=SmoothGrad(samples=4000))
    # two means of 4,000 draws each
    torch.testing.assert_close(found.values, peer, rtol=0, atol=0.05 * float(peer.abs().max()))


def test_real_nets_run(data: Path) -> None:
    for name in ("mobilenet_v2", "squeezenet1_1"):
        classifier = getattr(models, name)(data / "models" / f"{name}_fp16.safetensors")
        x = classifier.prepare(photos.read(data / "photos" / "n02123394_283_Persian_cat.jpg"))
        for method in (RISE(masks=12), SmoothGrad(samples=3), RandomMap()):
            found = samp.explain(classifier.net, x, method=method)
            assert found.map.shape == (1, 224, 224)
            assert found.map.std() > 0
