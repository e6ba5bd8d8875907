"""Sensitivity-N: Ancona's over random subsets, and the paper's over images as β grows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, CountingModel, images, linear, net
from samp.engine.problem import make_problem
from samp.metrics.sensitivity_n import (
    BETAS,
    completeness_check,
    completeness_correlation,
    default_sizes,
    sensitivity_n,
)
from samp.metrics.subsets import Subsets

WEIGHTS = torch.tensor([3.0, -1.0, 2.0, 0.5], dtype=torch.float64)
PIXELS = net(0, 2 * 4 * 4)


def brute_force(f: Any, x: Tensor, values: Tensor, n: int, count: int, seed: int) -> list[float]:
    """One image, one subset at a time."""
    result = []
    for image, credit in zip(x, values, strict=True):
        sums, drops = [], []
        for number in range(count):
            some = Subsets.draw(make_problem(f, image[None]), torch.tensor([[n]]), range(number, number + 1), seed)
            hidden = some.membership(torch.tensor([0]), torch.tensor([0]))[0]
            sums.append(float(credit[hidden].sum()))
            drops.append(float(f(image[None]) - f((image * ~hidden)[None])))
        result.append(float(np.corrcoef(sums, drops)[0, 1]))
    return result


def test_equals_brute_force_on_four_features() -> None:
    x, values = images(0, 3, 4), images(1, 3, 4) - 0.5

    def f(x: Tensor) -> Tensor:
        return x[:, 0] * x[:, 1] + 2 * x[:, 2] - x[:, 3] ** 2

    found = sensitivity_n(f, x, values, sizes=[1, 2, 3], subsets=30, seed=4)
    for i, n in enumerate((1, 2, 3)):
        expected = torch.tensor(brute_force(f, x, values, n, 30, 4), dtype=torch.float64)
        torch.testing.assert_close(found.correlation[:, i], expected, **CLOSE)
    torch.testing.assert_close(found.mean, found.correlation.mean(0))


def test_exact_map_of_a_linear_model_is_perfect_and_its_reverse_the_worst() -> None:
    x = images(2, 3, 4)
    exact = WEIGHTS * x
    for values, end in ((exact, 1.0), (-exact, -1.0), (5 * exact, 1.0)):
        found = sensitivity_n(linear(WEIGHTS), x, values)
        assert found.sizes.tolist() == [1, 2, 3]
        torch.testing.assert_close(found.correlation, torch.full((3, 3), end, dtype=torch.float64), **CLOSE)
        assert found.undefined_count == 0


def test_random_map_scores_about_nothing() -> None:
    x = images(3, 40, 1, 8, 8)
    found = sensitivity_n(net(1, 64), x, images(4, 40, 8, 8), sizes=[8, 32], subsets=60)
    assert found.mean.abs().max() < 0.08  # 40 means of correlations that spread by 1/√60
    assert found.correlation.abs().max() < 0.6


def test_what_does_not_vary_is_nan_and_counted_without_a_warning() -> None:
    x = images(5, 2, 4)
    maps = torch.stack([torch.full((4,), 0.1, dtype=torch.float64), WEIGHTS * x[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant_map = sensitivity_n(linear(WEIGHTS), x, maps, sizes=[1, 3])
        constant_score = sensitivity_n(lambda x: x.sum(1) * 0 + 3, x, maps, sizes=[1, 3])
        everything = sensitivity_n(linear(WEIGHTS), x, WEIGHTS * x, sizes=[4])
    assert constant_map.correlation.isnan().tolist() == [[True, True], [False, False]]
    assert constant_map.undefined_count == 2
    torch.testing.assert_close(constant_map.mean, torch.ones(2, dtype=torch.float64))
    assert constant_score.undefined_count == 4
    assert constant_score.mean.isnan().all()
    assert everything.correlation.isnan().all()  # all features hidden: one subset
    assert "4 undefined" in repr(constant_score)


def test_result_does_not_depend_on_batch_size_or_neighbours() -> None:
    x, maps = images(6, 3, 2, 4, 4), images(7, 3, 4, 4)
    whole = sensitivity_n(PIXELS, x, maps, [0, 1, 2], subsets=20)
    for batch_size in (1, 7):
        again = sensitivity_n(PIXELS, x, maps, [0, 1, 2], subsets=20, batch_size=batch_size)
        torch.testing.assert_close(again.correlation, whole.correlation, **CLOSE)
    alone = sensitivity_n(PIXELS, x[1:2], maps[1:2], 1, subsets=20)
    torch.testing.assert_close(alone.correlation[0], whole.correlation[1], **CLOSE)


def test_groups_per_sample_do_not_depend_on_neighbours() -> None:
    x = images(8, 2, 6)
    masks = torch.tensor([[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 4]])
    model = net(2, 6)
    both = sensitivity_n(model, x, x, 0, groups=masks, sizes=[1, 2], subsets=15)
    for i in range(2):
        alone = sensitivity_n(model, x[i : i + 1], x[i : i + 1], 0, groups=masks[i : i + 1], sizes=[1, 2], subsets=15)
        torch.testing.assert_close(alone.correlation[0], both.correlation[i], **CLOSE)
    with pytest.raises(ValueError, match=r"the samples have from 3 to 5 features, so no range serves all: pass sizes"):
        sensitivity_n(model, x, x, 0, groups=masks)


def test_maps_may_come_in_any_dtype_and_layout() -> None:
    x, maps = images(6, 3, 2, 4, 4), images(7, 3, 2, 4, 4).float()
    expected = sensitivity_n(PIXELS, x, maps, 0, subsets=10).correlation
    for given in (maps.double(), maps.numpy(), maps.sum(1, keepdim=True).double(), maps.double().sum(1).flatten(1)):
        # float32 maps differ in their eighth digit once summed over channels
        torch.testing.assert_close(
            sensitivity_n(PIXELS, x, given, 0, subsets=10).correlation, expected, rtol=1e-5, atol=1e-6
        )
    found = samp.explain(PIXELS, x, target=0, method="ig")
    torch.testing.assert_close(
        sensitivity_n(PIXELS, x, found, 0, subsets=10).correlation,
        sensitivity_n(PIXELS, x, found.values, 0, subsets=10).correlation,
    )
    half = sensitivity_n(PIXELS.float(), x.bfloat16().float(), maps.bfloat16(), 0, subsets=10)
    PIXELS.double()
    assert not half.correlation.isnan().any()


def test_every_argument_changes_the_result() -> None:
    x, maps = images(9, 2, 2, 4, 4), images(10, 2, 2, 4, 4)
    arguments: dict[str, Any] = {"target": 0, "sizes": [2, 5], "subsets": 10}
    plain = sensitivity_n(PIXELS, x, maps, **arguments).correlation
    others: list[dict[str, Any]] = [
        {"target": 1}, {"sizes": [2, 6]}, {"subsets": 11}, {"fill": 1.0}, {"score": "probability"}, {"seed": 1},
        {"groups": samp.Elements()}, {"groups": samp.Patches(1), "fill": "blurred"},
    ]  # fmt: skip
    for other in others:
        assert not torch.allclose(sensitivity_n(PIXELS, x, maps, **{**arguments, **other}).correlation, plain), other
    scale = torch.tensor([1.0, -1.0], dtype=torch.float64)
    scaled = sensitivity_n(
        lambda x, s: PIXELS(x * s.view(-1, 1, 1, 1)), x, maps, **arguments, forward_args=samp.PerSample(scale)
    )
    assert not torch.allclose(scaled.correlation[1], plain[1])
    torch.testing.assert_close(scaled.correlation[0], plain[0], **CLOSE)


def test_costs_what_it_says_and_says_how_it_was_made() -> None:
    model = CountingModel(PIXELS)
    found = sensitivity_n(model, images(9, 2, 2, 4, 4), images(10, 2, 4, 4), 1, sizes=[1, 2, 3], subsets=10, seed=7)
    assert model.rows == 2 * found.details["forwards"] == 2 * 30
    assert model.rows_with_gradient == 0
    for name, value in {"target": [1, 1], "subsets": 10, "seed": 7, "score": "logit", "groups": "Pixels()"}.items():
        assert found.details[name] == value
    assert found.details["fill"] == "Constant(value=0.0)"


def test_defaults_are_those_published() -> None:
    """Ancona et al.: 100 random subsets of each size, from 1 to 80 % of the features, which turn black."""
    model = CountingModel(PIXELS)
    found = sensitivity_n(model, images(9, 1, 2, 4, 4) + 1, images(10, 1, 4, 4), 1)
    assert (found.details["subsets"], found.details["fill"]) == (100, "Constant(value=0.0)")
    assert (found.details["score"], found.details["correlation"]) == ("logit", "pearson")
    assert model.rows == 100 * len(found.sizes)
    assert found.sizes[-1] == 13  # of 16
    assert BETAS == (1, 2, 5, 10, 20, 50, 100, 200)


def test_default_sizes_run_from_one_to_four_fifths() -> None:
    for features, sizes in ((1, [1]), (2, [1, 2]), (4, [1, 2, 3]), (10, [1, 2, 3, 4, 5, 6, 7, 8])):
        assert default_sizes(make_problem(linear(torch.ones(1)), torch.rand(1, features))) == sizes
    large = default_sizes(make_problem(linear(torch.ones(1)), torch.rand(1, 3, 224, 224)))
    assert (len(large), large[0], large[-1]) == (15, 1, 40_141)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"subsets": 1}, "subsets is a whole number of at least 2, not 1"),
        ({"sizes": [0]}, "the size of a subset is a whole number of at least 1, not 0"),
        ({"sizes": [5]}, "a subset of 5 features is larger than a sample with 4"),
        ({"sizes": []}, "sizes is empty"),
        ({"score": "logits"}, "unknown score space 'logits': did you mean 'logit'"),
        ({"fill": "blakc"}, "unknown baseline 'blakc': did you mean 'black'"),
    ],
)
def test_bad_arguments_get_a_sentence(bad: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        sensitivity_n(linear(WEIGHTS), images(0, 1, 4), torch.ones(1, 4), **bad)


def test_one_size_alone_is_no_list() -> None:
    with pytest.raises(TypeError, match=r"sizes is a list of numbers, such as \[1, 2\], not 5"):
        sensitivity_n(linear(WEIGHTS), images(0, 1, 4), torch.ones(1, 4), sizes=5)  # type: ignore[arg-type]  # that is the point


# ---- the paper's, over images ----


def bent(x: Tensor) -> Tensor:
    """A score on which every plain credit misses something, differently for each image."""
    return (x.flatten(1) ** 3).sum(1) + x.flatten(1).prod(1)


def test_correlation_is_numpys_of_credit_and_change() -> None:
    x = images(0, 6, 1, 3, 3)
    result = samp.explain(PIXELS_OF_NINE, x, target=0, method=samp.SAMPPlusPlus(pixels_per_step=2))
    found = completeness_correlation(result)
    for direction, score in found.items():
        one = samp.explain(
            PIXELS_OF_NINE, x, target=0, method=samp.SAMPPlusPlus(pixels_per_step=2, direction=direction)
        )
        change = result.score_change[direction]
        assert score == pytest.approx(np.corrcoef(one.values.flatten(1).sum(1), change)[0, 1], abs=1e-9)
    halves = [
        samp.explain(PIXELS_OF_NINE, part, target=0, method=samp.SAMPPlusPlus(pixels_per_step=2)) for part in x.split(3)
    ]
    assert completeness_correlation(halves) == pytest.approx(found, abs=1e-12)


PIXELS_OF_NINE = net(3, 9)


def test_correlation_grows_with_beta_for_the_papers_credit() -> None:
    x = images(1, 8, 1, 3, 3)
    check = completeness_check(PIXELS_OF_NINE, x, betas=[1, 10, 300], method=samp.SAMP(pixels_per_step=9), target=0)
    for direction in ("to_baseline", "to_image"):
        first, middle, last = check.correlation[direction].tolist()
        assert first < middle < last
        assert last > 0.999
    assert check.betas == (1, 10, 300)
    assert "eta=0.1" in check.details["methods"][1]


def test_exact_credit_scores_one_by_construction_at_any_beta() -> None:
    x = images(2, 5, 4) + 0.2
    check = completeness_check(bent, x, betas=[1, 3], method=samp.SAMP(credit="shared"))
    plain = completeness_check(bent, x, betas=[1, 3], method=samp.SAMP())
    for direction in check.correlation:
        torch.testing.assert_close(check.correlation[direction], torch.ones(2, dtype=torch.float64), **CLOSE)
        assert (plain.correlation[direction] < 1 - 1e-6).all()
        torch.testing.assert_close(check.credit[direction], check.score_change[direction], **CLOSE)


def test_default_is_samp_plus_plus_and_other_settings_stay() -> None:
    x = images(3, 3, 4)
    check = completeness_check(PIXELS_OF_FOUR, x, betas=[4], target=1, seed=3)
    assert check.details["methods"][0].startswith("SAMPPlusPlus(pixels_per_step=1, eta=0.25, momentum=0.5")
    assert check.details["target"] == [1, 1, 1]
    assert check.details["seed"] == 3
    one = completeness_check(PIXELS_OF_FOUR, x, betas=[4], method=samp.IG(steps=5), target=1)
    assert list(one.correlation) == ["to_image"]
    assert "IG(steps=5" in one.details["methods"][0]


PIXELS_OF_FOUR = net(4, 4)


@pytest.mark.parametrize("betas", [(1, 4), iter([1, 4]), torch.tensor([1, 4]), np.array([1.0, 4.0])])
def test_betas_may_come_as_any_list(betas: Any) -> None:
    check = completeness_check(PIXELS_OF_FOUR, images(3, 3, 4), betas=betas, target=1)
    assert check.betas == (1, 4)
    assert [f"eta={eta}" in method for eta, method in zip((1.0, 0.25), check.details["methods"], strict=True)] == [
        True
    ] * 2


def test_equal_images_have_no_correlation() -> None:
    x = images(3, 1, 4).expand(3, 4)
    assert completeness_check(PIXELS_OF_FOUR, x, betas=[1], target=0).correlation["to_image"].isnan().all()


def test_bad_questions_of_completeness_get_a_sentence() -> None:
    x = images(0, 2, 1, 2, 2)
    for betas in ([], [0], [-1], [True], ["ten"], [float("nan")], [float("inf")], torch.ones(2, 2)):
        with pytest.raises(ValueError, match="betas are numbers above 0"):
            completeness_check(PIXELS_OF_FOUR, x, betas=betas)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="betas is a list of numbers"):
        completeness_check(PIXELS_OF_FOUR, x, betas=5)  # type: ignore[arg-type]  # that is the point
    for results in (torch.ones(2), [torch.ones(2)], 5):
        with pytest.raises(TypeError, match=r"the results are what samp.explain returned, not (Tensor|int)"):
            completeness_correlation(results)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match=r"RandomMap\(\) has no eta to change"):
        completeness_check(PIXELS_OF_FOUR, x, method="random")
    with pytest.raises(ValueError, match="needs at least 2 of them, but there is 1"):
        completeness_check(PIXELS_OF_FOUR, x[:1], betas=[1])
    with pytest.raises(ValueError, match="is not meant to sum to a change of the score"):
        completeness_correlation(samp.explain(PIXELS_OF_FOUR, x, method="random"))
    mixed = [samp.explain(PIXELS_OF_FOUR, x, method=method) for method in ("samp", "ig")]
    for none in (mixed, []):
        with pytest.raises(ValueError, match="walks in the same directions"):
            completeness_correlation(none)
