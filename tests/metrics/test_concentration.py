"""Concentration against brute force, and the values that its table promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import samp
from samp.metrics.concentration import concentration, gini, top_share, variance
from samp.metrics.maps import feature_values

FOUR = st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=4, max_size=4)
MEASURES: list[Callable[[Tensor], Tensor]] = [variance, gini, top_share]


def random(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gini_by_hand(values: list[float]) -> float:
    """Half the mean absolute difference of all pairs, relative to the mean."""
    sizes = [abs(value) for value in values]
    pairs = [abs(a - b) for a, b in product(sizes, sizes)]
    return sum(pairs) / (2 * len(sizes) * sum(sizes)) if any(sizes) else 0.0


@given(FOUR)
def test_all_three_are_those_of_the_oracle(values: list[float]) -> None:
    found = concentration(torch.tensor([values], dtype=torch.float64))
    mean = sum(values) / 4
    assert found.variance.item() == pytest.approx(sum((v - mean) ** 2 for v in values) / 4, abs=1e-12)
    assert found.gini.item() == pytest.approx(gini_by_hand(values), abs=1e-12)
    sizes = sorted((abs(v) for v in values), reverse=True)
    assert found.top_share.item() == pytest.approx(sizes[0] / sum(sizes) if any(sizes) else 0.25, abs=1e-12)


def test_the_example_of_definition_1() -> None:
    sharp, flat = variance(torch.tensor([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]], dtype=torch.float64)).tolist()
    assert sharp == pytest.approx(0.62 / 9)
    assert flat == pytest.approx(0.02 / 9)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1e-30])
@pytest.mark.parametrize("d", [1, 4, 25, 997])
def test_constant_maps_are_not_concentrated_at_all(value: float, d: int) -> None:
    found = concentration(torch.full((2, d), value))
    assert found.variance.tolist() == [0, 0]
    assert found.gini.tolist() == [0, 0]
    assert found.top_share.tolist() == pytest.approx([math.ceil(0.1 * d) / d] * 2)


@pytest.mark.parametrize("credit", [3.0, -3.0])
def test_one_feature_with_it_all_is_the_most_concentrated(credit: float) -> None:
    d = 50
    found = concentration(credit * torch.eye(d, dtype=torch.float64))
    assert found.variance.tolist() == pytest.approx([9 * (d - 1) / d**2] * d)
    assert found.gini.tolist() == pytest.approx([1 - 1 / d] * d)
    assert found.top_share.tolist() == [1] * d


def test_a_random_map_lies_between() -> None:
    uniform = torch.rand(1, 20_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = concentration(uniform)
    # of the uniform distribution: 1/12, 1/3, 1 − 0.9²; four standard deviations are below 0.01
    assert found.variance.item() == pytest.approx(1 / 12, abs=0.01)
    assert found.gini.item() == pytest.approx(1 / 3, abs=0.01)
    assert found.top_share.item() == pytest.approx(0.19, abs=0.01)


@given(FOUR, st.permutations(range(4)), st.floats(0.01, 100))
def test_order_does_not_matter_nor_does_scale_to_two_of_them(values: list[float], order: list[int], by: float) -> None:
    maps = torch.tensor([values], dtype=torch.float64)
    found, other = concentration(maps), concentration(-by * maps[:, order])
    assert other.variance.item() == pytest.approx(by**2 * found.variance.item(), rel=1e-9, abs=1e-12)
    assert other.gini.item() == pytest.approx(found.gini.item(), abs=1e-9)
    assert other.top_share.item() == pytest.approx(found.top_share.item(), abs=1e-9)


@given(FOUR, st.integers(0, 3), st.integers(0, 3), st.floats(0.01, 0.99))
def test_taking_from_the_larger_for_the_smaller_never_concentrates(
    values: list[float], one: int, other: int, part: float
) -> None:
    sizes = [abs(value) for value in values]
    assume(sizes[one] > sizes[other])
    moved = list(sizes)
    gap = part * (sizes[one] - sizes[other]) / 2
    moved[one], moved[other] = sizes[one] - gap, sizes[other] + gap
    for measure in MEASURES:
        before, after = measure(torch.tensor([sizes, moved], dtype=torch.float64)).tolist()
        assert after <= before + 1e-9


def test_top_share_counts_features_upwards() -> None:
    maps = torch.arange(1.0, 12)[None]  # 11 features: 10 % are 2 of them
    assert top_share(maps).item() == pytest.approx((11 + 10) / 66)
    assert top_share(maps, 1.0).item() == 1
    for share in (0.0, 1.1, math.nan):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            top_share(maps, share)


def test_channels_of_a_pixel_are_one_feature() -> None:
    images = random(1, 2, 3, 4, 5)
    for measure in MEASURES:
        assert torch.equal(measure(images), measure(images.sum(1)))
        assert torch.equal(measure(images.sum(1)), measure(images.sum(1).flatten(1)))
    assert feature_values(torch.ones(2, 3, 4, 5)).shape == (2, 20)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64])
def test_every_precision_is_computed_wide(dtype: torch.dtype) -> None:
    maps = (20 * random(2, 2, 256, 256)).round().to(dtype) + 100
    found, exact = concentration(maps), concentration(maps.double())
    for name in ("variance", "gini", "top_share"):
        value = getattr(found, name)
        assert value.dtype == torch.float64
        assert torch.equal(value, getattr(exact, name))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_variance_of_single_precision_leaves_its_range(scale: float) -> None:
    maps = random(3, 2, 50).float()
    torch.testing.assert_close(variance(scale * maps), scale**2 * variance(maps), rtol=1e-6, atol=0)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_shares_survive_extreme_scales(scale: float) -> None:
    maps = random(3, 1, 100)
    for measure in (gini, top_share):
        torch.testing.assert_close(measure(scale * maps), measure(maps))


def test_a_sample_does_not_depend_on_the_others() -> None:
    maps = random(4, 6, 9, 9) * torch.tensor([1.0, 1e-9, 1e9, 0.0, 1.0, -1.0], dtype=torch.float64).view(-1, 1, 1)
    for measure in MEASURES:
        alone = torch.cat([measure(one[None]) for one in maps])
        torch.testing.assert_close(measure(maps), alone, rtol=1e-12, atol=0)  # sums may be taken in another order


def test_an_attribution_is_judged_by_its_own_features() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    x = random(5, 2, 3, 4, 4).float()
    pixels = samp.explain(net, x, target=0, method="ig")
    # float32 sums over channels may be taken in another order
    torch.testing.assert_close(gini(pixels), gini(pixels.map), rtol=1e-5, atol=0)
    patches = samp.explain(net, x, target=0, method="ig", groups=samp.Patches(2))
    assert feature_values(patches).shape == (2, 4)
    torch.testing.assert_close(variance(patches), variance(patches.group_values))


def with_groups(mask: Tensor, counts: list[int]) -> samp.Attribution:
    """The result of a net on two samples in these groups, saying how many of them each sample has."""
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 2)).double().eval()
    result = samp.explain(net, random(5, 2, 6), target=0, method="ig", groups=mask)
    assert result.details["features"] == counts
    return result


def test_group_numbers_that_no_element_has_are_no_features() -> None:
    dense, gaps = torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([0, 0, 3, 3, 5, 5])
    torch.manual_seed(0)
    expected = concentration(with_groups(dense, [3]))
    torch.manual_seed(0)
    found = concentration(with_groups(gaps, [3]))
    torch.manual_seed(0)
    beside = concentration(with_groups(torch.stack([torch.arange(6), gaps]), [6, 3]))
    torch.manual_seed(0)
    single = concentration(with_groups(torch.arange(6), [6]))
    for name in ("variance", "gini", "top_share"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))
        torch.testing.assert_close(getattr(beside, name)[1], getattr(expected, name)[1])
        torch.testing.assert_close(getattr(beside, name)[0], getattr(single, name)[0])


def test_features_without_credit_are_features() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 2)).double().eval()
    x = torch.tensor([[1.0, 2.0, 0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    result = samp.explain(net, x, target=0, method="ig", groups=torch.arange(6))
    assert torch.equal(gini(result), gini(result.group_values))
    assert gini(result).item() > 0.6


def test_arrays_and_gradients_are_taken_as_they_are() -> None:
    maps = random(6, 2, 5, 5)
    assert torch.equal(gini(maps.numpy()), gini(maps))
    assert not gini(maps.clone().requires_grad_()).requires_grad


@pytest.mark.parametrize(
    ("maps", "sentence"),
    [
        (torch.tensor([[1.0, math.nan]]), "the map of sample 0 holds NaN or Inf"),
        (torch.ones(3), r"not \(3,\): add the batch axis"),
        (torch.ones(0, 3), r"not \(0, 3\)"),
    ],
)
def test_what_is_no_map_gets_a_sentence(maps: Tensor, sentence: str) -> None:
    for measure in MEASURES:
        with pytest.raises(ValueError, match=sentence):
            measure(maps)
    with pytest.raises(TypeError, match="not str"):
        gini("maps")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_and_cpu_agree() -> None:
    maps = random(7, 4, 3, 30, 40)
    on_gpu, on_cpu = concentration(maps.cuda()), concentration(maps)
    for name in ("variance", "gini", "top_share"):
        # float64, other summing order
        torch.testing.assert_close(getattr(on_gpu, name).cpu(), getattr(on_cpu, name), rtol=1e-12, atol=0)
