"""Consensus in use: every kind of input, its results, its settings and their errors."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from fast_nets import agree, whole
from fast_nets import images as photos
from fast_nets import net as small_net
from laws import CLOSE, assert_same, assert_same_sample, images, net
from samp import player
from samp.methods.consensus import QUALITIES, Consensus
from samp.models import Classifier
from samp.progress import Meter

__all__ = ["whole"]  # a fixture
PAIR = ("black", 0.7)
DRAFT = Consensus("draft", baseline=PAIR)


# ---- every kind of input ----


@pytest.mark.parametrize(
    "image",
    [
        torch.zeros(1, 3, 8, 8),
        torch.full((1, 3, 8, 8), 0.4),
        torch.zeros(1, 3, 8, 8).index_fill(2, torch.tensor(3), 1),
        torch.full((1, 3, 1, 1), 0.4),
    ],
)
@pytest.mark.parametrize("walks", [1, 2])
def test_an_image_that_is_blank_its_own_baseline_or_a_pixel_is_no_trouble(image: Tensor, walks: int) -> None:
    result = samp.explain(net(0, image.numel()).float(), image, target=0, method=Consensus(walks=walks))
    assert result.values.isfinite().all()
    assert (result.residual.abs() < 1e-5).all()
    assert result.resolution is None if walks == 1 else int(result.resolution) >= 1


def test_an_image_equal_to_both_baselines_earns_nothing_and_is_as_sharp_as_can_be() -> None:
    result = samp.explain(net(0, 192), torch.zeros(2, 3, 8, 8).double(), target=0, method=Consensus(baseline=0))
    assert (result.values == 0).all()
    assert result.steps["to_image"].tolist() == [0, 0]
    assert result.gradients.tolist() == [8, 8]
    assert result.resolution.tolist() == [1, 1]


@pytest.mark.parametrize("direction", ["to_image", "to_baseline", "both"])
def test_one_feature_earns_the_whole_change(direction: Any) -> None:
    x = torch.tensor([[0.8], [0.3]]).double()
    result = samp.explain(net(0, 1), x, target=0, method=Consensus(direction=direction, baseline=PAIR))
    torch.testing.assert_close(result.values[:, 0], sum(result.score_change.values()), **CLOSE)
    assert all(steps.tolist() == [1, 1] for steps in result.steps.values())


def test_patches_masks_and_masks_of_each_sample() -> None:
    x, model = images(0, 2, 3, 6, 6), net(0, 108)
    masks = torch.stack([torch.arange(36).view(6, 6) // 5, torch.arange(36).view(6, 6) // 12])[:, None].expand(
        2, 3, 6, 6
    )
    for groups in (samp.Patches(2), samp.Elements(), masks[0], masks):
        result = samp.explain(model, x, target=0, method=DRAFT, groups=groups)
        assert (result.residual.abs() < 1e-12).all()
        assert result.resolution is not None
        for i in range(2):
            own = groups[i] if isinstance(groups, Tensor) and groups.ndim == 4 else groups
            alone = samp.explain(model, x[i : i + 1], target=0, method=DRAFT, groups=own)
            torch.testing.assert_close(result.values[i], alone.values[0], **CLOSE)


def test_a_mask_of_pixels_is_pixels() -> None:
    x, model = images(0, 2, 3, 4, 4), net(0, 48)
    plain = samp.explain(model, x, target=0, method=DRAFT)
    masked = samp.explain(model, x, target=0, method=DRAFT, groups=torch.arange(16).view(4, 4))
    assert_same(plain, masked, **CLOSE)


def test_tokens_tables_and_two_inputs_state_no_resolution() -> None:
    by_token = torch.arange(5)[:, None].expand(5, 8)
    tokens = samp.explain(net(0, 40), images(0, 2, 5, 8), target=0, groups=by_token, method=Consensus())
    assert tokens.group_values.shape == (2, 5)
    table = samp.explain(net(0, 12), images(1, 3, 12), target=0, method=Consensus())
    model = net(0, 12)
    pair = samp.explain(
        lambda a, b: model(torch.cat([a, b], 1)), (images(2, 2, 4), images(3, 2, 8)), target=0, method=Consensus()
    )
    joint = samp.explain(model, torch.cat([images(2, 2, 4), images(3, 2, 8)], 1), target=0, method=Consensus())
    torch.testing.assert_close(torch.cat(pair.values, 1), joint.values, **CLOSE)
    for one in (tokens, table, pair):
        assert (one.residual.abs() < 1e-12).all()
        assert one.resolution is None


def test_columns_in_units_of_their_own_are_explained_alike() -> None:
    """Noise is a share of each column's way: a table in millimetres is that in kilometres."""
    x, unit = images(0, 3, 12), 10.0 ** torch.arange(-6, 6).double()
    model = net(0, 12)
    plain = samp.explain(model, x, target=0, method=Consensus(noise=0.2))
    scaled = samp.explain(lambda x: model(x / unit), x * unit, target=0, method=Consensus(noise=0.2))
    torch.testing.assert_close(scaled.values, plain.values, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_inputs_of_every_dtype_are_walked_in_float32_or_wider(dtype: torch.dtype) -> None:
    x, model = images(0, 2, 3, 6, 6).to(dtype), net(0, 108).to(dtype)
    result = samp.explain(model, x, target=0, method=Consensus())
    assert result.values.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert result.gradients.tolist() == [112, 112]


def test_a_number_added_to_the_score_changes_nothing_and_a_factor_multiplies_the_credit() -> None:
    x, model = images(0, 2, 3, 6, 6), net(0, 108)
    plain, raised, tripled = (
        samp.explain(score, x, target=0, method=Consensus())
        for score in (model, lambda x: model(x) + 5, lambda x: 3 * model(x))
    )
    torch.testing.assert_close(raised.values, plain.values, **CLOSE)
    torch.testing.assert_close(tripled.values, 3 * plain.values, **CLOSE)


# ---- what comes with it ----


@pytest.mark.parametrize("quality", ["draft", "standard", "fine"])
def test_gradients_are_as_many_as_the_quality_says(quality: Any) -> None:
    spent = {"draft": 36, "standard": 112, "fine": 480}[quality]
    result = samp.explain(net(0, 300), images(0, 2, 3, 10, 10), target=0, method=Consensus(quality))
    assert result.gradients.tolist() == [spent, spent]
    assert asdict(QUALITIES[quality])["walks"] * 2 * (asdict(QUALITIES[quality])["steps"] + 1) == spent


def test_explicit_settings_equal_the_qualitys_and_are_said() -> None:
    x, model = images(0, 2, 3, 6, 6), net(0, 108)
    fine = samp.explain(model, x, method=Consensus("fine"))
    assert_same(fine, samp.explain(model, x, method=Consensus("draft", **asdict(QUALITIES["fine"]))))
    said = samp.explain(model, x, method=Consensus("fine", noise=0.5, walks=2)).method
    assert said.startswith("Consensus(quality='fine', walks=2, steps=14, noise=0.5, softness=0.8,")
    assert "baseline=(Constant(value=0.0), Blurred(" in said


def test_a_failed_sample_is_named_and_the_others_are_there() -> None:
    def model(x: Tensor) -> Tensor:
        return (x**2).sum(1) + torch.where(x.sum(1) > 20, torch.nan, 0.0)

    x = torch.cat([images(0, 2, 4), torch.full((1, 4), 9.0).double()])
    with pytest.raises(samp.NonFiniteError, match="sample 2 at step 0 of its walk to_baseline") as caught:
        samp.explain(model, x, method=Consensus(baseline=0))
    others = samp.explain(model, x[:2], method=Consensus(baseline=0))
    for i in range(2):
        assert_same_sample(caught.value.result, i, others, i)
    assert caught.value.result.values[2].isnan().all()


@pytest.mark.parametrize("walks", [1, 3])
def test_a_score_that_fails_at_an_end_alone_is_a_failure(walks: int) -> None:
    """Noise hits no end: only the exact scores there see it."""

    def model(x: Tensor) -> Tensor:
        return x.sum(1) + torch.where((x == 0).all(1), torch.inf, 0.0)

    with pytest.raises(samp.NonFiniteError, match="sample 0 at step 0 of its walk to_image"):
        samp.explain(model, images(0, 1, 4), method=Consensus(walks=walks, direction="to_image", baseline=0))
    with pytest.raises(samp.NonFiniteError, match="sample 0 at step 4 of its walk to_baseline"):
        samp.explain(model, images(0, 1, 4), method=Consensus(walks=walks, direction="to_baseline", baseline=0))


def test_one_walk_that_fails_is_enough() -> None:
    """The ninth call of the model fails, which the second of three walks makes."""
    calls: list[int] = []

    def model(x: Tensor) -> Tensor:
        calls.append(len(x))
        return x.sum(1) + torch.where(torch.tensor(len(calls) == 9), torch.nan, 0.0)

    with pytest.raises(samp.NonFiniteError, match="sample 0 at step"):
        samp.explain(model, images(0, 1, 4), method=Consensus(walks=3, steps=2, baseline=0), batch_size=2)


def test_points_are_kept_of_the_first_walk() -> None:
    x, model = images(0, 2, 3, 4, 4), net(0, 48)
    many = samp.explain(model, x, target=0, method=Consensus(walks=3, steps=5, baseline=PAIR), keep_points=True)
    one = samp.explain(model, x, target=0, method=Consensus(walks=1, steps=5, baseline=PAIR), keep_points=True)
    for direction in ("to_baseline", "to_image"):
        assert torch.equal(many.scores[direction], one.scores[direction])
        assert torch.equal(many.order[direction], one.order[direction])
        for a, b in zip(many.tapes[direction], one.tapes[direction], strict=True):
            assert torch.equal(a.points, b.points)
            assert len(a.points) == 6
    assert torch.equal(many.tapes["to_image"][1].points[-1], x[1])


def test_results_are_saved_and_read_with_their_resolution_and_can_be_played(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 3)).eval()
    for walks in (1, 2):
        result = samp.explain(model, torch.rand(1, 3, 8, 8), target=1, method=Consensus(walks=walks), keep_points=True)
        again = samp.Attribution.load(result.save(tmp_path / "a.samp"))
        assert_same(result, again)
        assert again.resolution is None if walks == 1 else torch.equal(again.resolution, result.resolution)
    page = player.page(again, Classifier(model, "tiny", size=8, mean=0.5, std=0.5, classes=("a", "b", "c")))
    assert '"direction":"to_image"' in page.replace(" ", "")


@pytest.mark.parametrize("batch_size", [2, "auto"])
def test_the_bar_counts_images_and_the_gradients_of_all_walks(
    batch_size: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[int] = []
    record = Meter.record_step
    monkeypatch.setattr(Meter, "record_step", lambda self, g, a: (spent.append(g), record(self, g, a))[1])
    method = Consensus(walks=3, steps=4)
    result = samp.explain(net(0), images(0, 5, 12), method=method, progress=True, batch_size=batch_size)
    assert "5/5 images" in capsys.readouterr().err.split("\r")[-1]
    assert sum(spent) == int(result.gradients.sum()) == 5 * 3 * 2 * 5


class Cramped(nn.Module):
    """A net that runs out of memory above so many rows with gradients, from its nth call on."""

    def __init__(self, most: int, patience: int) -> None:
        super().__init__()
        self.inner, self.most, self.patience, self.failures = net(0), most, patience, 0
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        self.patience -= torch.is_grad_enabled()
        if torch.is_grad_enabled() and len(x) > self.most and self.patience < 0:
            self.failures += 1
            raise MemoryError
        return self.inner(x)


@pytest.mark.parametrize(("most", "patience"), [(2, 0), (6, 0), (10, 4)])
def test_running_out_of_memory_changes_nothing(most: int, patience: int, capsys: pytest.CaptureFixture[str]) -> None:
    x, model, method = images(0, 5, 12), Cramped(most, patience), Consensus(walks=3, steps=4)
    x[2, :8] = 0
    result = samp.explain(model, x, method=method, keep_points=True, progress=True)
    expected = samp.explain(model.inner, x, method=method, keep_points=True)
    assert model.failures > 0
    assert result.details["batch_size"] < 30
    assert_same(result, expected, **CLOSE)
    for direction, tapes in expected.tapes.items():
        for ours, theirs in zip(result.tapes[direction], tapes, strict=True):
            torch.testing.assert_close(ours.points, theirs.points, **CLOSE)
    assert re.search("5/5 images", capsys.readouterr().err.split("\r")[-1])


@pytest.mark.usefixtures("whole")
def test_fast_walks_agree_with_exact_ones() -> None:
    model, x = small_net(), photos()
    exact, quick = (samp.explain(model, x, method=Consensus(), speed=speed) for speed in ("exact", "fast"))
    assert quick.details["speed"].startswith("fast")
    agree(quick, exact)


# ---- settings ----


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"quality": "best"}, "unknown quality 'best': the known ones are draft, standard, fine"),
        ({"walks": 0}, "walks is a whole number of at least 1, not 0"),
        ({"steps": 2.5}, r"steps is a whole number of at least 1, not 2\.5"),
        ({"first_walk": -1}, "first_walk is a whole number of at least 0, not -1"),
        ({"noise": 0}, r"noise is a share above 0, or is None for the quality's, not 0\.$"),
        ({"noise": math.inf}, "noise is a share above 0"),
        ({"noise": math.nan}, "noise is a share above 0"),
        ({"softness": 1.1}, "softness lies from 0 to 1"),
        ({"softness": math.nan}, "softness lies from 0 to 1"),
        ({"momentum": 1}, "momentum lies from 0 to below 1"),
        ({"growth": -0.1}, "growth lies from 0 to 1"),
        ({"weight": 0}, "weight is a number above 0"),
        ({"direction": "up"}, "'up'"),
    ],
)
def test_settings_that_cannot_be_get_a_sentence(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Consensus(**asked)


@pytest.mark.parametrize("name", ["noise", "softness", "momentum", "growth", "weight"])
def test_a_setting_that_is_no_number_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is a number, or None for the quality's, not '0.1'\.$"):
        Consensus(**{name: "0.1"})  # type: ignore[arg-type]  # the point of the test
