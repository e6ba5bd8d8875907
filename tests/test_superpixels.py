"""Superpixels as features: each image's own, level maps, and credit that sums as with any other groups."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import samp
from laws import images, net
from samp.groups import bind, bind_levels
from samp.groups import superpixels as module

pytest.importorskip("skimage", reason="superpixels need: pip install 'samp[compare]'")


def quarters(*colours: float) -> torch.Tensor:
    """A 16 × 16 image whose quarters have these colours, 3 channels."""
    top, bottom = torch.tensor(colours[:2]), torch.tensor(colours[2:])
    rows = torch.cat([top.repeat_interleave(8).expand(8, 16), bottom.repeat_interleave(8).expand(8, 16)])
    return rows.expand(3, 16, 16).double()


def smooth(seed: int) -> torch.Tensor:
    """Clouds of colour, 3 × 16 × 16."""
    return torch.nn.functional.interpolate(images(seed, 1, 3, 5, 5), (16, 16), mode="bicubic")[0]


X = torch.stack([quarters(0, 1, 0.5, 0.2), quarters(0.9, 0.1, 0.1, 0.6), smooth(0)])
MODEL = net(2, features=768, classes=3)
METHODS = ["consensus", "coupled", "samp", "samp++", "ig", "idgi", "guidedig", "blurig", "spectralig", "ig2"]


def test_pieces_of_one_colour_are_found_in_each_image() -> None:
    ids = samp.Superpixels(4).ids(X)
    assert ids.shape == X.shape
    assert (ids == ids[:, :1]).all()  # channels together
    for image in ids[:2]:
        pieces = [image[0, rows, columns] for rows in (slice(8), slice(8, 16)) for columns in (slice(8), slice(8, 16))]
        assert all(piece.unique().numel() == 1 for piece in pieces)
        assert image.unique().numel() == 4


def test_normalised_images_have_the_same_superpixels() -> None:
    assert torch.equal(samp.Superpixels(9).ids(X), samp.Superpixels(9).ids((X - 0.45) / 0.22))


@pytest.mark.parametrize(
    "other", [samp.Superpixels(30), samp.Superpixels(9, compactness=0.01), samp.Superpixels(9, sigma=3)]
)
def test_every_argument_changes_the_result(other: samp.Superpixels) -> None:
    assert not torch.equal(samp.Superpixels(9).ids(X[2:]), other.ids(X[2:]))


def test_colour_and_place_weigh_as_in_scikit_image() -> None:
    """The labels are scikit-image's of the stretched image."""
    slic = module.import_segmentation().slic
    one = X[2].permute(1, 2, 0).numpy()
    stretched = (one - one.min()) / (one.max() - one.min())
    expected = slic(stretched, n_segments=9, compactness=3.0, sigma=1.0, start_label=0, channel_axis=-1)
    assert torch.equal(samp.Superpixels(9, 3.0, 1.0).ids(X[2:])[0, 1], torch.from_numpy(expected))


def test_grey_images_are_cut_like_grey_ones_in_colour() -> None:
    grey = smooth(3)[:1][None]
    ids = samp.Superpixels(9).ids(grey)
    assert torch.equal(ids, samp.Superpixels(9).ids(grey.expand(1, 3, 16, 16))[:, :1])
    assert not torch.equal(ids, samp.Superpixels(9).ids(0 * grey))  # squares, where there is nothing to see


def test_images_of_many_channels_are_cut_by_all_of_them() -> None:
    x = torch.cat([torch.zeros(4, 16, 16), quarters(0, 1, 0.5, 0.2)[:1]])[None]
    assert torch.equal(samp.Superpixels(4).ids(x)[0, 0], samp.Superpixels(4).ids(X)[0, 0])
    clouds = torch.cat([smooth(1), smooth(2)])[None]  # 6 channels
    ids, squares = (samp.Superpixels(9).ids(one)[0, 0] for one in (clouds, 0 * clouds))
    assert not torch.equal(ids, squares)
    within = sum(float(clouds[0, :, ids == i].var(1).sum() * (ids == i).sum()) for i in ids.unique())
    by_place = sum(float(clouds[0, :, squares == i].var(1).sum() * (squares == i).sum()) for i in squares.unique())
    assert within < by_place  # pieces are more alike inside than squares are


@pytest.mark.parametrize("method", METHODS)
def test_superpixels_are_the_features_of_every_walk(method: str) -> None:
    kind = samp.Superpixels(4)
    result = samp.explain(MODEL, X, target=1, groups=kind, method=method)
    ids = kind.ids(X)
    assert result.details["groups"] == "Superpixels(count=4, compactness=10.0, sigma=0.0)"
    assert result.details["features"] == [int(one.unique().numel()) for one in ids]
    for sample in range(3):
        for group in ids[sample].unique().tolist():
            inside = result.map[sample][ids[sample, 0] == group]
            torch.testing.assert_close(inside, inside[:1].expand_as(inside), rtol=1e-9, atol=1e-12)  # level
            torch.testing.assert_close(inside.sum(), result.group_values[sample, group], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["coupled", "samp++", "ig", "lime", "ablation"])
def test_superpixels_are_the_mask_of_their_ids(method: str) -> None:
    if method in ("lime", "ablation"):
        pytest.importorskip("captum")
    kind = samp.Superpixels(4)
    chosen: Any = samp.methods.resolve_method(method)
    if method in ("coupled", "samp++"):
        chosen = type(chosen)(baseline="zero")  # for a mask, which does not say that the input is an image
    level, mask = (samp.explain(MODEL, X, target=1, groups=g, method=chosen) for g in (kind, kind.ids(X)))
    torch.testing.assert_close(level.group_values, mask.group_values, rtol=0, atol=0)


def test_images_in_superpixels_start_from_the_blurred_image() -> None:
    assert "Blurred" in samp.explain(MODEL, X, groups=samp.Superpixels(4), method="coupled").method


def test_a_batch_is_explained_as_each_image_alone() -> None:
    together = samp.explain(MODEL, X, target=1, groups=samp.Superpixels(6), method="samp++")
    for i in range(3):
        alone = samp.explain(MODEL, X[i : i + 1], target=1, groups=samp.Superpixels(6), method="samp++")
        torch.testing.assert_close(together.values[i : i + 1], alone.values, rtol=1e-9, atol=1e-11)


def test_credit_accounts_for_the_change_of_the_score() -> None:
    assert (samp.explain(MODEL, X, groups=samp.Superpixels(6)).residual.abs() < 1e-9).all()


def test_an_image_that_falls_into_one_piece_is_warned_of() -> None:
    noise = images(0, 1, 3, 16, 16)
    with pytest.warns(UserWarning, match="found a single superpixel in image 0, not about 9: .* raise sigma or"):
        assert (samp.Superpixels(9).ids(noise) == 0).all()


def test_slic_runs_once_for_an_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = module.Superpixels.ids
    monkeypatch.setattr(module.Superpixels, "ids", lambda self, x: calls.append(len(x)) or original(self, x))
    samp.explain(MODEL, X, groups=samp.Superpixels(4), method="ig")
    assert calls == [3]


def test_superpixels_beside_another_input() -> None:
    vector = images(1, 3, 5)
    features = bind([samp.Superpixels(4), torch.tensor([0, 0, 1, 1, 1])], [X, vector])
    levels = bind_levels([samp.Superpixels(4), torch.tensor([0, 0, 1, 1, 1])], [X, vector])
    assert features.label == "Superpixels(count=4, compactness=10.0, sigma=0.0), mask of 2 groups"
    assert features.own_counts[:2] == [6, 6]
    assert levels is not None
    assert (levels.sizes[0, -5:] == 1).all()  # the vector's elements are by themselves


def test_metrics_take_superpixels() -> None:
    kind = samp.Superpixels(4)
    result = samp.explain(MODEL, X[:2], target=1, groups=kind, method="ig")
    found = [
        samp.metrics.sensitivity_n(MODEL, X[:2], result, sizes=[1, 2], subsets=20, target=1, groups=groups)
        for groups in (kind, kind.ids(X[:2]))
    ]
    torch.testing.assert_close(found[0].correlation, found[1].correlation)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: samp.Superpixels(0), "count is"),
        (lambda: samp.Superpixels(5, compactness=0), "compactness is above 0 and sigma at least 0"),
        (lambda: samp.Superpixels(5, sigma=-1), "compactness is above 0 and sigma at least 0"),
        (lambda: samp.explain(MODEL, images(0, 2, 768), groups=samp.Superpixels(5)), "needs images of shape b c h w"),
        (lambda: samp.explain(MODEL, images(0, 2, 16, 16, 3), groups=samp.Superpixels(5)), "looks like b h w c"),
    ],
)
def test_what_cannot_be_cut_gets_a_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def test_without_scikit_image_the_install_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(
        ImportError, match=r"superpixels are scikit-image's, which is not installed: pip install .*compare"
    ):
        samp.explain(MODEL, X, groups=samp.Superpixels(5))
