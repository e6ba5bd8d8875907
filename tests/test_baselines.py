"""Baselines: the paper's, the user's, and those that do not fit."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, differs, images, net, seeds
from samp import models
from samp.baselines import (
    Blurred,
    Colour,
    Constant,
    GaussianNoise,
    Uniform,
    black,
    evaluate_baseline,
    resolve_baseline,
    white,
)
from samp.models.zero_colour import name_zero
from samp.reflected_blur import blur_by_matrix, blur_by_shifts


def blurred_by_hand(x: Tensor, kernel: int, sigma: float) -> Tensor:
    """A plain double loop over one h w plane: weights sum to 1, places mirrored at the first and last pixel."""
    reach = kernel // 2
    weight = [math.exp(-(k**2) / (2 * sigma**2)) for k in range(-reach, reach + 1)]
    weight = [w / sum(weight) for w in weight]

    def mirrored(place: int, size: int) -> int:
        while not 0 <= place < size:
            place = -place if place < 0 else 2 * (size - 1) - place
        return place

    height, width = x.shape
    out = torch.zeros_like(x)
    for i in range(height):
        for j in range(width):
            for a, wa in enumerate(weight, -reach):
                for b, wb in enumerate(weight, -reach):
                    out[i, j] += wa * wb * x[mirrored(i + a, height), mirrored(j + b, width)]
    return out


@pytest.mark.parametrize(("kernel", "sigma", "size"), [(3, 1.0, (5, 4)), (11, 5.0, (7, 6)), (5, 0.3, (3, 9))])
def test_blur_equals_a_double_loop(kernel: int, sigma: float, size: tuple[int, int]) -> None:
    x = images(0, 1, 2, *size)
    expected = torch.stack([blurred_by_hand(plane, kernel, sigma) for plane in x[0]])
    torch.testing.assert_close(Blurred(kernel, sigma)(x)[0], expected, **CLOSE)


@given(seeds, st.integers(0, 20), st.tuples(st.integers(1, 12), st.integers(1, 12)), st.sampled_from([2, 3]))
def test_both_ways_to_blur_are_one(seed: int, reach: int, size: tuple[int, int], axis: int) -> None:
    """The one for GPUs and the one for CPUs; also where a kernel is wider than the image."""
    x = images(seed, 2, 3, *size)
    by_matrix, by_shifts = (blur(x, axis, 2 * reach + 1, 5.0) for blur in (blur_by_matrix, blur_by_shifts))
    torch.testing.assert_close(by_matrix, by_shifts, **CLOSE)


def test_a_blur_by_a_matrix_keeps_its_digits_and_outlives_its_caller() -> None:
    """Whatever is set around the call that first makes the matrix."""
    x = torch.rand(1, 1, 17, 17)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        made = blur_by_matrix(x, 2, 7, 1.7)
    assert made.dtype == torch.float32
    torch.testing.assert_close(made, blur_by_shifts(x, 2, 7, 1.7))
    blur_by_matrix(x.requires_grad_(), 2, 7, 1.7).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("sigma", [1e-160, 1e-320])
def test_a_blur_without_any_width_is_the_image(sigma: float) -> None:
    x = images(0, 1, 1, 5, 5)
    assert torch.equal(Blurred(3, sigma)(x), x)


def test_paper_blur_equals_scipys_with_the_same_reach() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    x = images(1, 2, 3, 28, 28)
    expected = ndimage.gaussian_filter(x.numpy(), 5.0, mode="mirror", axes=(2, 3), radius=5)
    torch.testing.assert_close(Blurred()(x), torch.from_numpy(expected), **CLOSE)


def test_blur_kernel_by_hand() -> None:
    """A point of light far from the border shows the kernel: (1, 2, 1)/4 where exp(−1/2σ²) = 1/2."""
    x = torch.zeros(1, 1, 7, 7, dtype=torch.float64)
    x[0, 0, 3, 3] = 16
    seen = Blurred(3, sigma=math.sqrt(1 / (2 * math.log(2))))(x)[0, 0, 2:5, 2:5]
    assert seen.flatten().tolist() == pytest.approx([1, 2, 1, 2, 4, 2, 1, 2, 1])


@given(seed=seeds, size=st.sampled_from([(1, 1), (1, 5), (2, 2), (5, 40), (33, 3)]), value=st.floats(-3, 3))
def test_blur_keeps_constants_and_bounds(seed: int, size: tuple[int, int], value: float) -> None:
    flat = torch.full((1, 1, *size), value, dtype=torch.float64)
    torch.testing.assert_close(Blurred()(flat), flat, **CLOSE)
    x = images(seed, 2, 1, *size)
    out = Blurred()(x)
    assert out.shape == x.shape
    assert out.min() >= x.min() - 1e-12
    assert out.max() <= x.max() + 1e-12


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((8, 8), (11, 5.0)),
        ((32, 32), (11, 5.0)),
        ((128, 20), (21, 5.0)),
        ((224, 224), (31, 5.0)),
        ((448, 300), (63, 10.0)),
    ],
)
def test_the_papers_blur_by_image_size(size: tuple[int, int], expected: tuple[int, float]) -> None:
    assert Blurred.for_image(*size) == Blurred(*expected)
    x = images(0, 1, 1, *size)
    torch.testing.assert_close(Blurred()(x), Blurred(*expected)(x), **CLOSE)


@pytest.mark.parametrize("shape", [(5, 3, 9, 9), (4, 1, 7, 13), (4, 3, 33, 31), (4, 2, 1, 6)])
def test_a_sample_is_blurred_alone_as_in_a_batch_to_the_bit(shape: tuple[int, ...]) -> None:
    x = images(0, *shape).float()
    assert torch.equal(Blurred()(x)[3:4], Blurred()(x[3:4]))
    assert Blurred()(x.half()).dtype == torch.float16


@pytest.mark.parametrize("kind", [Uniform(), GaussianNoise(), Uniform(-2, 5), GaussianNoise(1, 3)])
def test_noise_is_seeded_shared_by_the_batch_and_leaves_the_random_state_alone(kind: Any) -> None:
    x, before = images(0, 3, 4, 50), torch.get_rng_state()
    noise = kind(x, 1)
    assert torch.equal(noise, kind(x, 1))
    assert not torch.equal(noise, kind(x, 2))
    assert torch.equal(noise[0], noise[2])
    assert torch.equal(torch.get_rng_state(), before)
    if isinstance(kind, Uniform):
        assert kind.low <= noise.min() < noise.max() <= kind.high
    mean = (kind.low + kind.high) / 2 if isinstance(kind, Uniform) else kind.mean
    spread = (kind.high - kind.low) / math.sqrt(12) if isinstance(kind, Uniform) else kind.std
    assert float(noise[0].mean()) == pytest.approx(mean, abs=4 * spread / math.sqrt(200))  # 4 standard errors
    assert float(noise[0].std()) == pytest.approx(spread, rel=0.2)


X, MODEL = images(3, 2, 3, 4, 4), net(3, features=48)


@pytest.mark.parametrize(
    ("baseline", "same"),
    [
        ("black", torch.zeros_like(X)),
        (0, torch.zeros_like(X)),
        (0.25, torch.full_like(X, 0.25)),
        (torch.tensor(0.25), torch.full_like(X, 0.25)),
        ("white", torch.ones_like(X)),
        (white, torch.ones_like(X)),
        ("blurred", Blurred(11, 5.0)(X)),
        ("uniform", Uniform()(X, 4)),
        ("gaussian", GaussianNoise()(X, 4)),
        (X[:1] / 2, (X[:1] / 2).expand_as(X)),
        (X.mean((2, 3), keepdim=True)[:1], X.mean((2, 3), keepdim=True)[:1].expand_as(X)),
        ((X / 3).float(), (X / 3).float().double()),
        (lambda x: x / 2, X / 2),
        (lambda x, seed: x * seed, X * 4),
        (lambda x, share=0.5: x * share, X / 2),
        (lambda x, *, share=0.5: x * share, X / 2),
        (torch.zeros_like, torch.zeros_like(X)),
        ([0.25], torch.full_like(X, 0.25)),
    ],
)
def test_every_way_to_give_a_baseline(baseline: Any, same: Tensor) -> None:
    result = samp.explain(MODEL, X, method=samp.SAMP(3, baseline=baseline), seed=4)
    assert_same(result, samp.explain(MODEL, X, method=samp.SAMP(3, baseline=same), seed=4), **CLOSE)


def test_a_pair_is_deletion_then_insertion() -> None:
    result = samp.explain(MODEL, X, target=0, method=samp.SAMP(3, baseline=("black", "white")), keep_points=True)
    assert (result.tapes["to_baseline"][0].points[-1] == 0).all()
    assert (result.tapes["to_image"][0].points[0] == 1).all()
    assert "baseline=(Constant(value=0.0), Constant(value=1.0))" in result.method


def test_a_list_gives_each_input_its_own() -> None:
    inputs = (X, images(5, 2, 7))
    made = evaluate_baseline(["blurred", 1], inputs)
    torch.testing.assert_close(made[0], Blurred(11, 5.0)(X))
    assert (made[1] == 1).all()
    result = samp.explain(lambda a, b: MODEL(a) + b[:, :3], inputs, method=samp.SAMP(3, baseline=["blurred", 1]))
    assert "baseline=([Blurred(kernel=None, sigma=None), Constant(value=1.0)]" in result.method


@pytest.mark.parametrize(
    ("baseline", "error", "sentence"),
    [
        (
            X[0],
            ValueError,
            r"shape \(3, 4, 4\) but the input has \(2, 3, 4, 4\): add the batch axis, or pass baseline=0",
        ),
        (X[:, :2], ValueError, r"\(2, 2, 4, 4\) but the input has \(2, 3, 4, 4\): give it shape \(2, 3, 4, 4\)"),
        (X.expand(2, 2, 3, 4, 4), ValueError, "baseline has shape"),
        (X[:1].repeat(3, 1, 1, 1), ValueError, r"baseline has shape \(3, 3, 4, 4\) but the input has \(2, 3, 4, 4\)"),
        (lambda x: x[0], ValueError, r"gave \(3, 4, 4\) for an input of shape \(2, 3, 4, 4\): return a tensor of that"),
        (lambda x: 0.0, ValueError, "gave float for an input of shape"),
        (float("nan"), ValueError, r"baseline nan is not a finite number"),
        (X / 0, ValueError, r"baseline tensor of shape \(2, 3, 4, 4\) holds NaN or Inf"),
        (lambda x: x.index_fill(3, torch.tensor([1]), torch.nan), ValueError, "holds NaN or Inf"),
        ((0, 0, 0), ValueError, r"baseline has 3 entries: a tuple is \(deletion, insertion\); one per input goes in a"),
        ([0, 0], ValueError, "the list of baselines has 2 entries but the model takes 1 inputs"),
        ({"a": 1}, TypeError, "a baseline is a name, a number, a tensor or a callable, not dict"),
    ],
)
def test_baselines_that_do_not_fit_get_a_sentence(baseline: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        samp.explain(MODEL, X, method=samp.SAMP(baseline=baseline))
    assert "\n" not in str(caught.value)


def test_only_images_can_be_blurred() -> None:
    with pytest.raises(ValueError, match=r"only b c h w images can be blurred, but the input has shape \(2, 12\)"):
        samp.explain(net(0), images(0, 2, 12), method=samp.SAMP(baseline="blurred"))


@pytest.mark.parametrize(("kernel", "sigma"), [(4, 1.0), (0, 1.0), (-3, 1.0), (3, 0.0), (3, -1.0), (3, math.nan)])
def test_a_blur_has_an_odd_kernel_and_a_positive_sigma(kernel: int, sigma: float) -> None:
    with pytest.raises(ValueError, match=r"odd width of at least 1, not|needs a σ above 0, not"):
        Blurred(kernel, sigma)


def test_random_baselines_do_not_depend_on_the_other_samples() -> None:
    method = samp.SAMP(3, baseline=("uniform", "gaussian"))
    together = samp.explain(MODEL, X, target=1, method=method, seed=2)
    alone = samp.explain(MODEL, X[1:], target=1, method=method, seed=2)
    torch.testing.assert_close(together.values[1], alone.values[0], **CLOSE)
    assert differs(together, samp.explain(MODEL, X, target=1, method=method, seed=3))


def test_names_stand_for_callables() -> None:
    assert resolve_baseline("black") == black == Constant(0.0)
    assert repr(resolve_baseline(X)) == "tensor of shape (2, 3, 4, 4)"


def test_a_function_that_writes_into_what_it_is_given_spoils_neither_the_input_nor_the_map() -> None:
    def half(z: Tensor) -> Tensor:
        z[:, :, :2] = 0
        return z

    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Flatten(), nn.Linear(48, 2)).eval(), torch.rand(2, 3, 4, 4)
    before = x.clone()
    found = samp.explain(model, x, target=0, method=samp.IG(baseline=half))
    wanted = samp.explain(model, x, target=0, method=samp.IG(baseline=half(x.clone())))
    assert torch.equal(x, before)
    assert torch.equal(found.values, wanted.values)
    assert found.values.any()


def test_tensors_of_the_same_numbers_are_the_same_baseline() -> None:
    zeros = samp.IG(baseline=torch.zeros(1, 3))
    assert copy.deepcopy(zeros) == zeros
    assert len({zeros, copy.deepcopy(zeros)}) == 1
    assert zeros != samp.IG(baseline=torch.ones(1, 3))


# Names of colours: what a photo's black and white are in the model's space.


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("channels", ["rgb", "bgr", "grey"])
@pytest.mark.parametrize("name", ["black", "white"])
def test_a_colour_is_what_a_photo_of_it_becomes(name: str, channels: str, dtype: torch.dtype) -> None:
    fed = {"mean": 0.449, "std": 0.226} if channels == "grey" else dict(models.classifier.IMAGENET)
    fed |= {"size": 4, "channels": channels}
    classifier = models.Classifier(torch.nn.Flatten(), "flat", classes=(), **fed)
    photo = classifier.prepare(Image.new("RGB", (9, 9), name)).to(dtype)
    baseline = classifier.colour(name)
    assert torch.equal(baseline(torch.zeros_like(photo)), photo)
    assert eval(repr(baseline)) == baseline
    assert all(len(str(value)) < 12 for value in baseline.values)


def test_zero_and_black_are_both_0_in_the_models_space() -> None:
    assert resolve_baseline("zero") == resolve_baseline("black") == Constant(0.0) == samp.baselines.zero
    assert black is samp.baselines.zero


def test_what_is_no_colour_is_refused() -> None:
    classifier = models.Classifier(torch.nn.Flatten(), "flat", 4, 0.5, 0.5, ())
    with pytest.raises(ValueError, match="unknown colour 'pink': the known ones are black, white"):
        classifier.colour("pink")
    with pytest.raises(ValueError, match="black has 3 channels but the input has shape"):
        classifier.colour("black")(torch.zeros(1, 1, 4, 4))
    with pytest.raises(ValueError, match="a finite number for each channel"):
        Colour("none", (float("nan"),))


@pytest.mark.parametrize(
    ("mean", "name"),
    [
        (0.0, "black #000000"),
        (0.25, "dark grey #404040"),
        ((0.498, 0.498, 0.498), "mid-grey #7F7F7F"),
        (0.8, "light grey #CCCCCC"),
        (1.0, "white #FFFFFF"),
        ((0.9, 0.1, 0.1), "#E61A1A"),
    ],
)
def test_zero_is_called_by_its_colour(mean: Any, name: str) -> None:
    assert name_zero(models.Classifier(torch.nn.Flatten(), "flat", 4, mean, 0.5, ())) == name
