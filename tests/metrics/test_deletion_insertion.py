"""Deletion and Insertion: against ten-line oracles, at their best and worst, and on all that may be handed in."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.metrics.deletion_insertion import Curves, deletion_insertion
from samp.metrics.protocols import PROTOCOLS, Protocol

LINEAR = Protocol(step=1, fill=0.0, start=0.0)


def linear(weights: list[float]) -> nn.Module:
    net = nn.Linear(len(weights), 1, bias=False).double().eval()
    net.weight.data = torch.tensor([weights], dtype=torch.float64)
    return net


def small_net(seed: int = 0, channels: int = 3) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(channels, 6, 3, padding=1), nn.Tanh(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 4)
    ).eval()


@torch.no_grad()
def oracle(net: nn.Module, image: Tensor, pixel_map: Tensor, target: int, fill: Tensor, step: int, hide: bool) -> list:
    """One image, one point at a time, pixel by pixel."""
    height, width = pixel_map.shape
    order = sorted(range(height * width), key=lambda i: (-float(pixel_map.flatten()[i]), i))
    point = image.clone() if hide else fill.clone()
    scores = [float(net(point[None])[0, target])]
    for first in range(0, len(order), step):
        for place in order[first : first + step]:
            row, column = divmod(place, width)
            point[:, row, column] = (fill if hide else image)[:, row, column]
        scores.append(float(net(point[None])[0, target]))
    return scores


@pytest.mark.parametrize("step", [1, 3, 5, 99])
def test_curves_equal_a_loop_over_single_pixels(step: int) -> None:
    net, images, maps = small_net(), torch.rand(3, 3, 4, 5), torch.randn(3, 4, 5)
    chosen = Protocol(step=step, fill=0.25, start=samp.baselines.Blurred(3, 1.0))
    curves = deletion_insertion(net, images, maps, 2, chosen)
    start = samp.baselines.Blurred(3, 1.0)(images)
    for i in range(3):
        gone = torch.full_like(images[i], 0.25)
        down = oracle(net, images[i], maps[i], 2, gone, step, hide=True)
        up = oracle(net, images[i], maps[i], 2, start[i], step, hide=False)
        assert curves.deletion_curve[i].tolist() == pytest.approx(down, abs=1e-6)
        assert curves.insertion_curve[i].tolist() == pytest.approx(up, abs=1e-6)
        assert float(curves.deletion[i]) == pytest.approx(np.mean(down), abs=1e-6)
        assert float(curves.insertion[i]) == pytest.approx(np.mean(up), abs=1e-6)


def test_the_perfect_map_of_a_linear_model_is_best_and_the_reversed_one_worst() -> None:
    net, x = linear([4.0, -1.0, 2.0, 3.0]), torch.ones(1, 4, dtype=torch.float64)
    perfect = net.weight.detach()

    def judged(maps: Tensor) -> tuple[float, float]:
        curves = deletion_insertion(net, x, maps, 0, LINEAR)
        return float(curves.deletion), float(curves.insertion)

    best, worst, constant = judged(perfect), judged(-perfect), judged(torch.zeros(1, 4))
    assert best == pytest.approx((np.mean([8, 4, 1, -1, 0]), np.mean([0, 4, 7, 9, 8])))
    assert worst == pytest.approx((np.mean([8, 9, 7, 4, 0]), np.mean([0, -1, 1, 4, 8])))
    assert constant == pytest.approx((np.mean([8, 4, 5, 3, 0]), np.mean([0, 4, 3, 5, 8])))  # by index
    torch.manual_seed(0)
    for _ in range(20):
        deletion, insertion = judged(torch.randn(1, 4))
        assert best[0] <= deletion <= worst[0]
        assert worst[1] <= insertion <= best[1]


def test_a_constant_map_scores_the_same_whatever_the_constant_and_the_neighbours() -> None:
    net, images = small_net(), torch.rand(4, 3, 6, 6)
    zeros, ones, negative = (
        deletion_insertion(net, images, torch.full((4, 6, 6), value), 1, LINEAR) for value in (0.0, 1.0, -7.0)
    )
    assert torch.equal(zeros.deletion, ones.deletion)
    assert torch.equal(zeros.insertion, negative.insertion)
    alone = deletion_insertion(net, images[2:3], torch.zeros(1, 6, 6), 1, LINEAR)
    torch.testing.assert_close(alone.deletion, zeros.deletion[2:3])


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_batch_size_and_neighbours_do_not_matter(name: str) -> None:
    net, images, maps = small_net(), torch.rand(5, 3, 16, 16), torch.randn(5, 3, 16, 16)
    settings = {"target": [0, 1, 2, 3, 0], "protocol": name}
    whole = deletion_insertion(net, images, maps, **settings)  # type: ignore[arg-type]  # of several kinds
    for size in (1, 7, 1000):
        parts = deletion_insertion(net, images, maps, batch_size=size, **settings)  # type: ignore[arg-type]  # as above
        # convolutions of other batch shapes round differently; normalising by a small score enlarges that
        torch.testing.assert_close(parts.deletion, whole.deletion, atol=1e-4, rtol=1e-4, equal_nan=True)
        torch.testing.assert_close(parts.insertion, whole.insertion, atol=1e-4, rtol=1e-4, equal_nan=True)
    one = deletion_insertion(net, images[3:4], maps[3:4], 3, name)
    torch.testing.assert_close(one.insertion, whole.insertion[3:4], atol=1e-4, rtol=1e-4, equal_nan=True)


def test_the_papers_protocols_have_both_ends_and_they_are_exact() -> None:
    net, images = small_net(), torch.rand(2, 3, 30, 30)
    chosen = replace(PROTOCOLS["cifar10"], normalise=None)
    curves = deletion_insertion(net, images, torch.randn(2, 30, 30), 0, chosen, batch_size=1)
    with torch.no_grad():
        ends = [torch.cat([net(x[None])[:, 0] for x in points]) for points in (images, 0 * images)]
        blurred = torch.cat([net(x[None])[:, 0] for x in samp.baselines.Blurred(11, 5.0)(images)])
    assert curves.deletion_curve.shape == (2, 91)
    assert torch.equal(curves.shares, torch.arange(91).mul(10) / 900)
    assert torch.equal(curves.deletion_curve[:, 0], ends[0])
    assert torch.equal(curves.deletion_curve[:, -1], ends[1])
    assert torch.equal(curves.insertion_curve[:, 0], blurred)
    assert torch.equal(curves.insertion_curve[:, -1], ends[0])


def test_imagenet_has_29_points() -> None:
    net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    curves = deletion_insertion(net, torch.rand(1, 3, 224, 224), torch.rand(1, 224, 224), 0)
    assert curves.protocol is PROTOCOLS["imagenet"]
    assert curves.insertion_curve.shape == (1, 29)
    assert curves.details["forwards"] == 58


def test_rise_by_hand() -> None:
    """A 15×15 white image, the model's logits (mean, 0): 225 pixels are two steps, 224 and 1."""

    class Mean(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            mean = x.mean((1, 2, 3))
            return torch.stack([mean, torch.zeros_like(mean)], 1)

    image = torch.ones(1, 3, 15, 15)
    maps = -torch.arange(225.0).view(1, 15, 15)  # row by row, from the first pixel
    curves = deletion_insertion(Mean().eval(), image, maps, 0, "rise")

    def probability(mean: float) -> float:
        return 1 / (1 + math.exp(-mean))

    down = [probability(1.0), probability(1 / 225), probability(0.0)]
    assert curves.deletion_curve[0].tolist() == pytest.approx(down, abs=1e-6)
    assert float(curves.deletion) == pytest.approx((down[0] / 2 + down[1] + down[2] / 2) / 2, abs=1e-6)
    assert float(curves.insertion_curve[0, -1]) == pytest.approx(probability(1.0), abs=1e-6)


def test_rises_blur_is_the_one_of_its_code() -> None:
    """A point filtered inside the window, then a convolution padded with zeros, written with SciPy."""
    ndimage = pytest.importorskip("scipy.ndimage")
    window = np.zeros((11, 11))
    window[5, 5] = 1
    kernel = ndimage.gaussian_filter(window, 5)
    image = np.random.default_rng(0).random((20, 17))
    expected = ndimage.convolve(image, kernel, mode="constant")
    ours = PROTOCOLS["rise"].start(torch.tensor(image)[None, None])
    np.testing.assert_allclose(ours[0, 0].numpy(), expected, atol=1e-12)


def test_diffid_by_hand() -> None:
    """Ten scalars ranked by size; the class is right while their weighted sum is not below 0."""
    weights = torch.tensor([5.0, -1, 1, 1, 1, 1, 1, 1, 1, -6])

    class Sign(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            score = (x.flatten(1) * weights).sum(1)
            return torch.stack([score, torch.zeros_like(score)], 1)

    x = torch.ones(1, 1, 2, 5)
    curves = deletion_insertion(
        Sign().eval(), x, weights.view(1, 1, 2, 5), 0, replace(PROTOCOLS["diffid"], fill=0.0, start=0.0)
    )
    # by size: −6 (last), 5 (first), then the rest by index: −1, 1, 1, …
    order = [9, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    kept = [float(weights[order[:n]].sum() >= 0) for n in range(1, 10)]
    left = [float(weights[order[n:]].sum() >= 0) for n in range(1, 10)]
    assert curves.insertion_curve[0].tolist() == kept
    assert curves.deletion_curve[0].tolist() == left
    assert float(curves.difference) == pytest.approx(np.mean(kept) - np.mean(left))


def test_maps_may_come_from_anywhere() -> None:
    net, images = small_net(), torch.rand(2, 3, 8, 8)
    result = samp.explain(net, images, target=1, method="gradientxinput")
    chosen = replace(PROTOCOLS["cifar10"], step=4)
    expected = deletion_insertion(net, images, result, 1, chosen)
    values, pixel_map = result.values, result.map
    assert isinstance(values, Tensor)
    kinds: list[Any] = [values, values.numpy(), pixel_map.double(), pixel_map[:, None], pixel_map.numpy()]
    kinds += [list(pixel_map), result.group_values, pixel_map.requires_grad_()]
    for maps in kinds:
        curves = deletion_insertion(net, images, maps, 1, chosen)
        torch.testing.assert_close(curves.insertion, expected.insertion, equal_nan=True)


def test_small_integer_and_half_maps_are_ranked_as_they_are() -> None:
    net, images = small_net(), torch.rand(1, 3, 4, 4)
    order = torch.randperm(16).view(1, 4, 4)
    expected = deletion_insertion(net, images, order.float(), 0, LINEAR)
    for maps in (order, order.half(), order.bfloat16(), order.to(torch.uint8)):
        assert torch.equal(deletion_insertion(net, images, maps, 0, LINEAR).deletion, expected.deletion)


def test_a_score_that_is_not_positive_cannot_be_normalised_and_is_counted() -> None:
    net, x = linear([1.0, 1.0]), torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]], dtype=torch.float64)
    curves = deletion_insertion(net, x, torch.zeros(3, 2), 0, Protocol(normalise="image"))
    assert curves.unnormalised == 2
    assert curves.deletion.isnan().tolist() == [False, True, True]
    assert "2 left out" in repr(curves)
    assert deletion_insertion(net, x, torch.zeros(3, 2), 0, Protocol()).unnormalised == 0


def test_normalised_by_the_change_a_curve_goes_from_one_to_zero() -> None:
    net, images = small_net(), torch.rand(4, 3, 5, 5)
    curves = deletion_insertion(net, images, torch.rand(4, 5, 5), None, Protocol(normalise="change"))
    whole = ~curves.deletion.isnan()
    assert whole.any()
    assert torch.equal(curves.deletion_curve[whole][:, 0], torch.ones(int(whole.sum())))
    assert torch.equal(curves.deletion_curve[whole][:, -1], torch.zeros(int(whole.sum())))
    assert torch.equal(curves.insertion_curve[whole][:, 0], torch.zeros(int(whole.sum())))


def test_shares_are_normalised_by_ends_that_are_not_shown() -> None:
    net, images, maps = small_net(), torch.rand(2, 3, 4, 4), torch.rand(2, 4, 4)
    net[-1].bias.data += 5  # type: ignore[union-attr,operator]  # a linear layer: scores above 0
    fine = deletion_insertion(net, images, maps, 0, Protocol(step=4, normalise="image"))
    some = deletion_insertion(net, images, maps, 0, Protocol(step=(0.25, 0.75), normalise="image"))
    assert some.deletion_curve.shape == (2, 2)
    torch.testing.assert_close(some.deletion_curve, fine.deletion_curve[:, [1, 3]])
    torch.testing.assert_close(some.insertion_curve, fine.insertion_curve[:, [1, 3]])


def test_a_single_pixel_and_a_step_larger_than_the_image() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(3, 2)).eval()
    x = torch.rand(1, 3, 1, 1)
    for step in (1, 1792):
        curves = deletion_insertion(net, x, torch.rand(1, 1, 1), 0, Protocol(step=step))
        assert curves.deletion_curve.shape == (1, 2)
        with torch.no_grad():
            torch.testing.assert_close(curves.deletion_curve[0], torch.stack([net(x)[0, 0], net(0 * x)[0, 0]]))


def test_groups_of_any_kind_are_units() -> None:
    net, images, maps = small_net(), torch.rand(2, 3, 4, 4), torch.randn(2, 3, 4, 4)
    patches = deletion_insertion(net, images, maps, 0, Protocol(unit=samp.Patches(2)))
    mask = samp.Patches(2).ids((3, 4, 4))
    masks = deletion_insertion(net, images, maps, 0, Protocol(unit=mask))
    assert patches.deletion_curve.shape == (2, 5)
    torch.testing.assert_close(patches.deletion, masks.deletion)
    whole = deletion_insertion(net, images, maps.view(2, 3, 2, 2, 2, 2).sum((1, 3, 5)).flatten(1), 0, masks.protocol)
    torch.testing.assert_close(whole.insertion, masks.insertion)
    elements = deletion_insertion(net, images, maps, 0, Protocol(unit=samp.Elements()))
    assert elements.deletion_curve.shape == (2, 49)


def test_group_numbers_that_no_element_has_are_no_features() -> None:
    net, x = linear([1.0, 2.0, 4.0]), torch.ones(1, 3, dtype=torch.float64)
    mask = torch.tensor([0, 2, 2])
    curves = deletion_insertion(net, x, torch.tensor([[-1.0, -3.0, -3.0]]), 0, Protocol(unit=mask))
    assert curves.deletion_curve[0].tolist() == [7, 6, 0]


def test_a_map_of_elements_is_not_taken_for_one_of_groups() -> None:
    net, x = linear([1.0, 2.0, 4.0]), torch.ones(1, 3, dtype=torch.float64)
    mask = torch.tensor([2, 0, 0])  # three numbers for three elements: b n and b g are of one shape
    curves = deletion_insertion(net, x, torch.tensor([[3.0, 1.0, 1.0]]), 0, Protocol(unit=mask))
    assert curves.deletion_curve[0].tolist() == [7, 6, 0]  # group 2 has credit 3, group 0 has 2


def test_neither_numbering_nor_neighbours_matter_where_groups_are_a_samples_own() -> None:
    net, images, maps = small_net(), torch.rand(2, 3, 4, 4), torch.randn(2, 4, 4)
    quarters = samp.Patches(2).ids((3, 4, 4))
    plain, gaps = (deletion_insertion(net, images, maps, 0, Protocol(unit=mask)) for mask in (quarters, 3 * quarters))
    assert torch.equal(plain.deletion_curve, gaps.deletion_curve)
    assert plain.shares.tolist() == gaps.shares.tolist() == [0, 0.25, 0.5, 0.75, 1]
    own = torch.stack([quarters, samp.Pixels().ids((3, 4, 4))])  # 4 groups and 16
    shares = Protocol(unit=own, step=(0.25, 0.5, 1.0), normalise="change")
    both = deletion_insertion(net, images, maps, 0, shares)
    alone = deletion_insertion(net, images[:1], maps[:1], 0, replace(shares, unit=quarters))
    torch.testing.assert_close(both.deletion_curve[:1], alone.deletion_curve, equal_nan=True)
    with pytest.raises(ValueError, match=r"from 4 to 16 features.*tuple of shares"):
        deletion_insertion(net, images, maps, 0, Protocol(unit=own))


def test_an_attributions_own_class_is_judged() -> None:
    net, images = small_net(), torch.rand(3, 3, 6, 6)
    result = samp.explain(net, images, target=2, method="gradientxinput")
    judged = deletion_insertion(net, images, result, protocol=LINEAR)
    assert judged.details["target"] == [2, 2, 2] != net(images).argmax(1).tolist()
    assert torch.equal(judged.deletion, deletion_insertion(net, images, result, 2, LINEAR).deletion)
    function = samp.explain(net, images, target=lambda output: output.sum(1), method="gradientxinput")
    with pytest.raises(ValueError, match=r"which it does not hold: pass target"):
        deletion_insertion(net, images, function, protocol=LINEAR)


def test_scores_that_are_not_numbers_are_not_taken_for_what_cannot_be_normalised() -> None:
    x = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    with pytest.raises(ValueError, match=r"the model's score is NaN or Inf in samples \[1\] with features hidden"):
        deletion_insertion(lambda x: x.sum(1, keepdim=True).sqrt(), x, torch.ones(2, 2), 0, LINEAR)


def test_arrays_of_any_layout_are_read() -> None:
    net, images, maps = small_net(), torch.rand(2, 3, 4, 4), torch.randn(2, 4, 4)
    expected = deletion_insertion(net, images, maps, 0, LINEAR)
    flipped = np.ascontiguousarray(maps.numpy()[:, ::-1])[:, ::-1]
    frozen = maps.numpy().copy()
    frozen.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in (flipped, maps.numpy().astype(">f4"), frozen):
            assert torch.equal(deletion_insertion(net, images, array, 0, LINEAR).deletion, expected.deletion)


def test_several_inputs_and_forward_arguments() -> None:
    class Two(nn.Module):
        def forward(self, a: Tensor, b: Tensor, scale: Tensor) -> Tensor:
            return ((a.sum(1) + 2 * b.sum(1)) * scale)[:, None]

    a, b, scale = torch.ones(2, 2), torch.ones(2, 1), torch.tensor([1.0, 10.0])
    maps = (torch.tensor([[1.0, 0], [0, 1]]), torch.tensor([[2.0], [2.0]]))
    curves = deletion_insertion(Two().eval(), (a, b), maps, 0, LINEAR, forward_args=samp.PerSample(scale))
    assert curves.deletion_curve.tolist() == [[4, 2, 1, 0], [40, 20, 10, 0]]


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("step", 5),
        ("fill", 1.0),
        ("start", 1.0),
        ("unit", samp.Patches(2)),
        ("score", "probability"),
        ("score", "log-probability"),
        ("score", "accuracy"),
        ("score", lambda output: output**2),
        ("normalise", "image"),
        ("normalise", "change"),
        ("auc", "trapezoid"),
        ("auc", lambda curve: curve[:, 1]),
        ("absolute", True),
    ],
)
def test_every_field_of_a_protocol_matters(changed: str, value: Any) -> None:
    net, images, maps = small_net(), torch.rand(3, 3, 6, 6), torch.randn(3, 6, 6)
    plain = deletion_insertion(net, images, maps, 0, Protocol())
    other = deletion_insertion(net, images, maps, 0, replace(Protocol(), **{changed: value}))
    assert not torch.equal(plain.difference, other.difference)


def test_the_predicted_class_is_the_default_target() -> None:
    net, images, maps = small_net(), torch.rand(3, 3, 6, 6), torch.randn(3, 6, 6)
    classes = net(images).argmax(1)
    predicted, given = (deletion_insertion(net, images, maps, target, LINEAR) for target in (None, classes))
    assert torch.equal(predicted.deletion, given.deletion)
    assert predicted.details["target"] == classes.tolist()


def test_model_inputs_and_random_state_are_left_as_found() -> None:
    net, images, maps = small_net(), torch.rand(1, 3, 4, 4), torch.randn(1, 4, 4)
    before = (images.clone(), maps.clone(), torch.get_rng_state())
    with torch.inference_mode():
        deletion_insertion(net, images, maps, 0, Protocol(start="uniform"))
    assert torch.equal(images, before[0])
    assert torch.equal(maps, before[1])
    assert torch.equal(torch.get_rng_state(), before[2])
    assert all(parameter.grad is None for parameter in net.parameters())


def test_training_mode_is_warned_of_on_the_callers_line() -> None:
    with pytest.warns(UserWarning, match="training mode") as warned:
        deletion_insertion(
            nn.Sequential(nn.Dropout(0.1), small_net()), torch.rand(1, 3, 4, 4), torch.rand(1, 4, 4), 0, LINEAR
        )
    assert warned[0].filename == __file__


def test_the_seed_decides_random_fills() -> None:
    net, images, maps = small_net(), torch.rand(1, 3, 4, 4), torch.randn(1, 4, 4)
    scores = [deletion_insertion(net, images, maps, 0, Protocol(fill="uniform"), seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(scores[0].deletion, scores[1].deletion)
    assert not torch.equal(scores[0].deletion, scores[2].deletion)


def test_the_bar_counts_forwards(capsys: pytest.CaptureFixture[str]) -> None:
    deletion_insertion(linear([1.0, 2.0]), torch.ones(3, 2).double(), torch.ones(3, 2), 0, LINEAR, progress=True)
    assert "18/18" in capsys.readouterr().err


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"maps": torch.full((2, 4, 4), math.nan)}, ValueError, "map of sample 0 holds NaN"),
    ({"maps": torch.rand(2, 4, 4).index_fill(0, torch.tensor([1]), math.inf)}, ValueError, "map of sample 1"),
    ({"maps": torch.rand(2, 2, 2)}, ValueError, r"\(2, 2, 2\) but the input has \(2, 3, 4, 4\).*\(2, 4, 4\)"),
    ({"maps": torch.rand(3, 4, 4)}, ValueError, r"shape \(3, 4, 4\)"),
    ({"maps": "heat"}, TypeError, "a map is a tensor"),
    ({"maps": torch.rand(2, 4, 4).to(torch.complex64)}, TypeError, "complex"),
    ({"maps": (torch.rand(2, 4, 4), torch.rand(2, 4, 4))}, ValueError, "maps for 2 inputs"),
    ({"protocol": "imagnet"}, ValueError, "imagenet"),
    ({"protocol": 3}, TypeError, "a protocol is a name"),
    ({"target": 9}, ValueError, "out of range"),
    ({"batch_size": 0}, ValueError, "batch_size"),
    ({"protocol": Protocol(fill=torch.zeros(1, 3, 9, 9))}, ValueError, "baseline has shape"),
    ({"inputs": torch.rand(2, 3), "maps": torch.rand(2, 3), "protocol": None}, ValueError, "pass a Protocol"),
]


@pytest.mark.parametrize(("given", "error", "words"), BAD)
def test_bad_input_gets_a_sentence(given: dict[str, Any], error: type[Exception], words: str) -> None:
    usual = {"inputs": torch.rand(2, 3, 4, 4), "maps": torch.rand(2, 4, 4), "target": 0, "protocol": "cifar10"}
    with pytest.raises(error, match=words):
        deletion_insertion(small_net(), **{**usual, **given})


@pytest.mark.parametrize(
    "fields",
    [
        {"step": 0},
        {"step": 1.5},
        {"step": ()},
        {"step": (0.5, 0.1)},
        {"step": (0.5, 1.1)},
        {"score": "logits"},
        {"normalise": "max"},
        {"auc": "sum"},
    ],
)
def test_protocols_that_cannot_be_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"step is|step as|score space|normalise is|auc is"):
        Protocol(**fields)


def test_probabilities_of_a_single_output_are_refused() -> None:
    with pytest.raises(ValueError, match="several classes"):
        deletion_insertion(linear([1.0]), torch.ones(1, 1).double(), torch.ones(1, 1), 0, Protocol(score="probability"))


def test_samp_beats_a_random_map_on_a_real_net(data: Path) -> None:
    classifier = samp.models.squeezenet1_1(data / "models" / "squeezenet1_1_fp16.safetensors")
    x = torch.cat(
        [classifier.prepare(samp.images.read(samp.images.example_photo(name))) for name in ("coffee", "chelsea")]
    )
    scores: dict[str, Curves] = {
        method: deletion_insertion(classifier.net, x, samp.explain(classifier.net, x, method=method))
        for method in ("samp++", "random")
    }
    assert bool((scores["samp++"].deletion < scores["random"].deletion).all())
    assert bool((scores["samp++"].insertion > scores["random"].insertion).all())


@pytest.mark.parametrize("batch_size", [1, 3, "auto"])
def test_a_score_that_is_a_part_of_the_input_itself_is_kept_as_it_was(batch_size: Any) -> None:
    """The memory of points is used again by the next batch."""
    x, maps = torch.rand(2, 1, 4, 4), torch.rand(2, 4, 4)
    ask = partial(deletion_insertion, nn.Flatten().eval(), x, maps, protocol=Protocol(step=4))
    by_function, by_place = ask(lambda output: output[:, 5], batch_size=batch_size), ask(5)
    assert torch.equal(by_function.deletion_curve, by_place.deletion_curve)
    assert torch.equal(by_function.insertion_curve, by_place.insertion_curve)
