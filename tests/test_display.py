"""How results show themselves: small, escaped, without errors, and nothing wrong in it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import samp

LARGEST = 300_000  # bytes
EVIL = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


def linear(*shape: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * shape[0], 3)).eval()


def explain(count: int, *shape: int, **options: object) -> samp.Attribution:
    return samp.explain(linear(*shape), torch.rand(count, *shape), method="gradientxinput", **options)  # type: ignore[arg-type]  # whatever a test gives


@pytest.mark.parametrize(
    ("count", "shape"), [(1, (3, 224, 224)), (8, (3, 224, 224)), (100, (3, 64, 64)), (2, (3, 900, 1300))]
)
def test_html_is_below_300_kb_whatever_the_result(count: int, shape: tuple[int, ...]) -> None:
    html = explain(count, *shape)._repr_html_()
    assert "Not drawn" not in html
    assert len(html) < LARGEST


def test_evil_names_are_escaped() -> None:
    result = explain(1, 3, 8, 8).with_names(classes=[EVIL] * 3)
    table = samp.explain(nn.Linear(2, 2).eval(), torch.rand(1, 2), method="ig").with_names(columns=[EVIL, "b"])
    for html in (result._repr_html_(), table._repr_html_()):
        assert "<script" not in html
        assert "onerror=alert(1)>" not in html
        assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    "damage", [{"details": {}}, {"details": {"target": [1, 2, 3]}}, {"scores": {"to_image": torch.zeros(0)}}]
)
def test_a_damaged_result_is_shown_as_text_and_raises_nothing(damage: dict[str, object]) -> None:
    result = replace(samp.explain(linear(3), torch.rand(1, 3, 8, 8), method="ig"), **damage)
    assert result._repr_html_()
    result._repr_png_()


def test_what_cannot_be_drawn_says_why() -> None:
    html = replace(explain(1, 3, 8, 8), gradients=None)._repr_html_()
    assert html.startswith("<pre>")
    assert "Not drawn (TypeError" in html


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_every_dtype_is_shown(dtype: torch.dtype) -> None:
    values = torch.rand(1, 3, 8, 8).to(dtype)
    result = replace(explain(1, 3, 8, 8), values=values, group_values=values.sum(1).flatten(1))
    assert "Not drawn" not in result._repr_html_()
    assert result.to_numpy().shape == (1, 8, 8)
    assert result.to_pil().size == (8, 8)


def test_a_map_of_zeros_says_so_and_its_picture_is_white() -> None:
    result = replace(explain(1, 3, 8, 8), values=torch.zeros(1, 3, 8, 8))
    assert "The map is zero everywhere." in result._repr_html_()
    assert np.asarray(result.to_pil()).min() == 255


def test_credit_that_is_not_finite_is_not_drawn_as_a_colour() -> None:
    html = replace(explain(1, 3, 8, 8), values=torch.full((1, 3, 8, 8), torch.nan))._repr_html_()
    assert "is not drawn" in html
    assert "<img" not in html


def test_the_scale_is_stated_with_its_number() -> None:
    values = torch.zeros(1, 1, 2, 2)
    values[0, 0, 0] = torch.tensor([3.0, -3.0])
    html = replace(explain(1, 1, 2, 2), values=values)._repr_html_()
    assert "orange for, blue against, white 0" in html
    assert "Full colours at ±3." in html


def test_a_method_without_residual_says_so() -> None:
    html = samp.explain(linear(3), torch.rand(1, 3, 8, 8), method="gradient")._repr_html_()
    assert "not meant to sum to the score" in html


def test_the_preview_is_small_and_a_copy() -> None:
    x = torch.rand(100, 3, 600, 600)
    result = samp.explain(linear(3), x, method="gradientxinput")
    assert result.preview is not None
    (kept,) = result.preview.inputs
    assert kept is not None
    assert kept.shape == (8, 3, 200, 200)
    y = torch.rand(1, 3, 8, 8)
    shown = samp.explain(linear(3), y, method="gradientxinput")._repr_html_
    before = shown()
    y.zero_()
    assert shown() == before


def test_a_saved_result_holds_no_photo(tmp_path: Path) -> None:
    result = samp.explain(linear(3), torch.rand(1, 3, 8, 8), method="ig")
    loaded = samp.Attribution.load(result.save(tmp_path / "a.samp"))
    assert loaded.preview is None
    assert loaded._repr_html_().count("<img") == 1  # the map
    with pytest.raises(ValueError, match="keeps no photo of sample 0"):
        loaded.overlay()
    assert loaded.overlay(Image.new("RGB", (8, 8))).size == (336, 336)


def test_an_overlay_refuses_a_photo_of_another_shape() -> None:
    with pytest.raises(ValueError, match="another shape"):
        explain(1, 3, 8, 8).overlay(Image.new("RGB", (16, 8)))


def test_a_classifier_gives_names_and_the_photos_own_colours() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 2)).eval()
    tiny = samp.models.Classifier(net, "tiny", 8, (0.1, 0.2, 0.3), 0.25, ("cup", "cat"), channels="bgr")
    photo = Image.new("RGB", (8, 8), (200, 100, 50))
    result = samp.explain(tiny, photo, target=1, method="ig")
    assert result.preview is not None
    kept = result.preview.inputs[0]
    assert kept is not None
    assert (kept[0, :, 0, 0] * 255).round().tolist() == [200, 100, 50]
    assert "Why cat (1)?" in result._repr_html_()


def test_top_are_the_features_of_the_largest_credit_with_their_places() -> None:
    values = torch.tensor([[[[0.0, -4.0], [3.0, 1.0]]]])
    result = replace(explain(1, 1, 2, 2), values=values, group_values=values.flatten(1))
    assert result.top(2) == [
        {"row": 0, "column": 1, "credit": -4.0, "share": 0.5},
        {"row": 1, "column": 0, "credit": 3.0, "share": 0.375},
    ]
    with pytest.raises(IndexError, match="no sample 1"):
        result.top(1, sample=1)


def test_top_of_patches_and_of_several_inputs() -> None:
    patches = explain(1, 3, 8, 8, groups=samp.Patches(4)).top(4)
    assert {(one["row"], one["column"]) for one in patches} == {(0, 0), (0, 4), (4, 0), (4, 4)}

    class Two(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.stack([a.sum(1) + 2 * b.flatten(1).sum(1), a.sum(1)], 1)

    result = samp.explain(Two().eval(), (torch.ones(1, 2), torch.ones(1, 1, 2, 2)), target=0, method="gradientxinput")
    assert {(one["input"], one.get("index"), one.get("row")) for one in result.top(6)} == {
        (0, 0, None),
        (0, 1, None),
        (1, None, 0),
        (1, None, 1),
    }
    assert "input 0, index 0" in result._repr_html_()


def test_the_png_is_a_picture_of_the_same() -> None:
    png = explain(1, 3, 8, 8)._repr_png_()
    assert png is not None
    assert Image.open(io.BytesIO(png)).width == 720


def test_tables_of_pandas_hold_the_numbers() -> None:
    pytest.importorskip("pandas")
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    compared = samp.compare(net, torch.rand(2, 3, 4, 4), ["ig", "random"], protocol="rise")
    frame = compared.to_pandas()
    assert frame.loc["ig", "gradients"] == 51
    curves = compared["ig"].curves
    assert curves.to_pandas()["deletion"].tolist() == pytest.approx(curves.deletion.tolist())


def test_without_pandas_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    curves = samp.metrics.deletion_insertion(net, torch.rand(1, 3, 4, 4), torch.rand(1, 4, 4), protocol="rise")
    with pytest.raises(ImportError, match="pip install pandas"):
        curves.to_pandas()
