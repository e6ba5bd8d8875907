"""XRAI against brute force on segments drawn by hand, and against the authors' implementation where installed."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import samp
from laws import CLOSE, images, linear, net
from samp import images as photos
from samp import models
from samp.methods.xrai import XRAI, grow_regions, segments

pytest.importorskip("skimage")

SMALL = XRAI(steps=4, side=32, min_size=5, dilation=1, min_added=2)


def grown_by_hand(attribution: Any, masks: Any, least: int, area: float) -> Any:
    """The published loop: every step looks at every mask again."""
    covered, values = np.zeros_like(masks[0]), np.full(attribution.shape, np.nan)
    while covered.mean() <= area:
        gains = {}
        for i, mask in enumerate(masks):
            new = mask & ~covered
            if new.sum() >= least:
                gains[i] = attribution[new].mean()
        if not gains:
            break
        best = max(gains, key=lambda i: gains[i])
        values[masks[best] & ~covered] = gains[best]
        covered |= masks[best]
    values[~covered] = attribution[~covered].mean() if not covered.all() else 0
    return values


@pytest.mark.parametrize("area", [0.3, 1.0])
@pytest.mark.parametrize("least", [1, 6])
@pytest.mark.parametrize("seed", range(4))
def test_regions_grow_by_the_densest_segment(seed: int, least: int, area: float) -> None:
    random = np.random.default_rng(seed)
    attribution, masks = random.normal(size=(8, 9)), np.zeros((12, 8, 9), bool)
    for mask in masks:
        top, left = random.integers(0, 6, 2)
        mask[top : top + random.integers(1, 5), left : left + random.integers(1, 6)] = True
    found = grow_regions(attribution, masks, XRAI(min_added=least, area=area))
    np.testing.assert_allclose(found, grown_by_hand(attribution, masks, least, area), rtol=1e-9)
    assert np.isclose(found.sum(), attribution.sum())  # whatever the regions, they share out all of the attribution


def test_values_are_grown_from_the_mean_of_two_integrated_gradients() -> None:
    model, x = net(0, 3 * 16 * 16), images(1, 2, 3, 16, 16)
    found = samp.explain(model, x, target=1, method=SMALL)
    for i in range(2):
        ig = [samp.IG(steps=4, baseline=float(end)) for end in (x[i].min(), x[i].max())]
        both = torch.stack([samp.explain(model, x[i : i + 1], target=1, method=method).values[0] for method in ig])
        masks = segments(SMALL, x[i].permute(1, 2, 0).numpy())
        oracle = grown_by_hand(both.mean(0).amax(0).numpy(), list(masks), SMALL.min_added, 1.0)
        np.testing.assert_allclose(found.map[i].numpy(), oracle, rtol=1e-9)
    assert found.gradients.tolist() == [10, 10]


def test_segments_cover_the_image_and_follow_its_edges() -> None:
    image = np.zeros((32, 32, 3))
    image[8:20, 10:24] = 1.0
    plain = segments(XRAI(dilation=0, sigma=0.1, scales=(50.0,), side=32), image)
    assert len(plain) == 2
    assert (plain.sum(0) == 1).all()
    assert any((mask == (image[:, :, 0] == 1)).all() for mask in plain)
    wide = segments(XRAI(dilation=2, sigma=0.1, scales=(50.0,), side=32), image)
    assert wide[1].sum() > plain[1].sum()


def test_an_image_of_one_colour_is_one_region() -> None:
    x = torch.full((1, 1, 16, 16), 0.5, dtype=torch.float64)
    weight = torch.rand(256, dtype=torch.float64)
    found = samp.explain(linear(weight), x, method=replace(SMALL, baselines=(0.0,)))
    torch.testing.assert_close(found.map, (weight * 0.5).mean().expand(1, 16, 16), **CLOSE)


@pytest.mark.parametrize(("min_size", "size"), [(150, (48, 40)), (20, (224, 224))])
def test_equals_the_authors_implementation(min_size: int, size: tuple[int, int], monkeypatch: Any) -> None:
    peer = pytest.importorskip("saliency.core.xrai")
    monkeypatch.setattr(peer, "_FELZENSZWALB_MIN_SEGMENT_SIZE", min_size)
    smooth = torch.nn.functional.interpolate(images(2, 1, 3, 7, 7), size, mode="bicubic")
    image, attribution = smooth[0].permute(1, 2, 0).numpy(), images(3, *size, 3).numpy() - 0.5
    method = XRAI(min_size=min_size)
    theirs = peer.XRAI().GetMask(image, None, base_attribution=attribution)
    ours = grow_regions(attribution.max(2), segments(method, image), method)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert len(np.unique(theirs.round(9))) > 3


@pytest.mark.parametrize("name", ["squeezenet1_1", "efficientnet_lite0"])
def test_equals_the_authors_implementation_on_a_real_net(data: Path, name: str) -> None:
    peer = pytest.importorskip("saliency.core.xrai")
    if name == "squeezenet1_1":
        classifier = models.squeezenet1_1(data / "models" / "squeezenet1_1_fp16.safetensors")
    else:
        pytest.importorskip("efficientnet_lite_pytorch")
        classifier = models.efficientnet_lite0()
    x = classifier.prepare(photos.read(data / "photos" / "n02123394_283_Persian_cat.jpg"))
    method = XRAI(steps=3, min_size=150)  # the size in the authors' code
    found = samp.explain(classifier.net, x, target=283, method=method)
    ends = [samp.IG(steps=3, baseline=float(end)) for end in (x.min(), x.max())]
    ig = torch.stack([samp.explain(classifier.net, x, target=283, method=one).values[0] for one in ends]).mean(0)
    image, base = (t.permute(1, 2, 0).double().numpy() for t in (x[0], ig))
    theirs = peer.XRAI().GetMask(image, None, base_attribution=base)
    np.testing.assert_allclose(found.map[0].numpy(), theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())


def test_batch_size_and_neighbours_do_not_matter_and_the_target_does() -> None:
    model, x = net(0, 3 * 16 * 16), images(1, 3, 3, 16, 16)
    whole = samp.explain(model, x, target=[0, 1, 2], method=SMALL, batch_size=1)
    torch.testing.assert_close(samp.explain(model, x, target=[0, 1, 2], method=SMALL).map, whole.map, **CLOSE)
    torch.testing.assert_close(samp.explain(model, x[1:2], target=1, method=SMALL).map[0], whole.map[1], **CLOSE)
    assert not torch.allclose(samp.explain(model, x[1:2], target=0, method=SMALL).map[0], whole.map[1])
    assert samp.explain(model, x, method=SMALL).details["target"] == model(x).argmax(1).tolist()


def test_every_argument_changes_the_result() -> None:
    changed = {"steps": 5, "scales": (400,), "sigma": 0.3, "min_size": 30, "dilation": 2, "min_added": 40}
    changed |= {"area": 0.3, "side": 24, "baselines": (0.0, 1.0, 2.0), "score": "probability"}
    assert {field.name for field in fields(XRAI)} == set(changed)
    model, x = net(0, 3 * 16 * 16), images(1, 1, 3, 16, 16)
    method = replace(SMALL, scales=(1, 50))
    before = samp.explain(model, x, target=1, method=method).map
    for name, value in changed.items():
        other = replace(method, **{name: value})  # type: ignore[arg-type]  # one of each kind
        assert not torch.allclose(samp.explain(model, x, target=1, method=other).map, before), name


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"area": 0.0}, {"dilation": -1}, {"scales": ()}])
def test_settings_that_cannot_be_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        XRAI(**wrong)


def test_only_images_are_explained() -> None:
    with pytest.raises(ValueError, match="XRAI explains one b c h w image input"):
        samp.explain(net(), images(0, 2, 12), method=SMALL)
