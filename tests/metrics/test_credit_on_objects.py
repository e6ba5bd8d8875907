"""Credit on the object: AUROC, energy and precision by brute force, their ends, and what may not change them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from laws import images
from samp.annotations.boxes import Annotation, Box
from samp.metrics import auroc, energy, precision
from samp.metrics.accumulate import Running

MASK = torch.zeros(1, 6, 7, dtype=torch.bool)
MASK[:, 1:4, 2:6] = True
MEASURES: dict[str, Callable[..., Tensor]] = {
    "auroc": auroc,
    "precision": precision,
    "share": lambda *given: energy(*given).share,
    "lift": lambda *given: energy(*given).lift,
}


def coarse(seed: int, count: int = 5) -> Tensor:
    """Maps of both signs with many ties."""
    return (images(seed, count, 6, 7) * 8 - 4).round()


def random_masks(count: int = 5) -> Tensor:
    return images(9, count, 6, 7) > 0.6


def test_auroc_counts_pairs() -> None:
    maps, masks = coarse(0), random_masks()
    for value, heat, mask in zip(auroc(maps, masks), maps, masks, strict=True):
        pairs = [(a > b) + (a == b) / 2 for a, b in product(heat[mask].tolist(), heat[~mask].tolist())]
        assert value.item() == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


def test_auroc_is_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    maps, masks = images(1, 3, 60, 70).float(), images(2, 3, 60, 70) > 0.7
    for value, heat, mask in zip(auroc(maps, masks), maps, masks, strict=True):
        expected = metrics.roc_auc_score(mask.flatten().numpy(), heat.flatten().numpy())
        assert value.item() == pytest.approx(expected, abs=1e-12)


def test_energy_sums_what_is_positive() -> None:
    maps, masks = coarse(3), random_masks()
    found = energy(maps, masks)
    for i, (heat, mask) in enumerate(zip(maps, masks, strict=True)):
        inside = sum(max(v, 0.0) for v in heat[mask].tolist())
        share = inside / sum(max(v, 0.0) for v in heat.flatten().tolist())
        assert found.share[i].item() == pytest.approx(share, abs=1e-12)
        assert found.lift[i].item() == pytest.approx(share / (int(mask.sum()) / 42), abs=1e-12)


def test_precision_is_the_mean_over_all_orders_of_equal_credit() -> None:
    heat, mask = torch.tensor([[[3.0, 1.0, 1.0, 1.0, 0.0]]]), torch.tensor([[[False, True, False, True, True]]])
    # two of the three pixels of credit 1 join the first: the pairs (1, 2), (1, 3), (2, 3) hold 1, 2 and 1 of the object
    assert precision(heat, mask).item() == pytest.approx((1 + 2 + 1) / 3 / 3, abs=1e-12)


def test_precision_counts_the_highest_pixels() -> None:
    maps, masks = images(4, 4, 6, 7), random_masks(4)
    for value, heat, mask in zip(precision(maps, masks), maps, masks, strict=True):
        chosen = heat.flatten().argsort(descending=True)[: int(mask.sum())]
        assert value.item() == pytest.approx(mask.flatten()[chosen].double().mean().item(), abs=1e-12)


@pytest.mark.parametrize(("measure", "best", "worst"), [("auroc", 1, 0), ("precision", 1, 0), ("share", 1, 0)])
def test_perfect_and_worst_maps(measure: str, best: float, worst: float) -> None:
    inside = MASK.double() * (1 + images(5, 1, 6, 7))
    outside = (~MASK).double() * (1 + images(6, 1, 6, 7))
    assert MEASURES[measure](inside, MASK).tolist() == [best]
    assert MEASURES[measure](outside, MASK).tolist() == [worst]


def test_a_constant_map_knows_nothing() -> None:
    flat = torch.ones(1, 6, 7)
    share = MASK.double().mean().item()
    assert auroc(flat, MASK).tolist() == [0.5]
    assert precision(flat, MASK).item() == energy(flat, MASK).share.item() == pytest.approx(share)
    assert energy(flat, MASK).lift.item() == pytest.approx(1.0)


@pytest.mark.parametrize("measure", list(MEASURES))
def test_scale_channels_and_neighbours_do_not_matter(measure: str) -> None:
    maps, masks = coarse(7), random_masks()
    found = MEASURES[measure](maps, masks)
    torch.testing.assert_close(MEASURES[measure](maps * 1e30, masks), found)
    torch.testing.assert_close(MEASURES[measure](torch.stack([maps - 1, torch.ones_like(maps)], 1), masks), found)
    torch.testing.assert_close(MEASURES[measure](maps[2:3], masks[2:3]), found[2:3])
    torch.testing.assert_close(MEASURES[measure](maps.numpy(), masks.numpy()), found)


@pytest.mark.parametrize("measure", ["auroc", "precision"])
def test_only_the_order_counts(measure: str) -> None:
    maps, masks = coarse(8), random_masks()
    torch.testing.assert_close(MEASURES[measure](maps.exp(), masks), MEASURES[measure](maps, masks))


@pytest.mark.parametrize("measure", list(MEASURES))
def test_an_absent_object_gives_no_number(measure: str) -> None:
    nothing = MEASURES[measure](torch.cat([coarse(0, 1)] * 2), torch.cat([torch.zeros_like(MASK), MASK]))
    assert nothing.isnan().tolist() == [True, False]


def test_an_object_that_fills_the_picture_takes_any_map() -> None:
    heat, everything = coarse(0, 1), torch.ones_like(MASK)
    assert auroc(heat, everything).isnan().all()
    assert precision(heat, everything).isnan().all()
    assert energy(heat, everything).lift.tolist() == [1.0]


def test_without_positive_credit_there_is_no_energy() -> None:
    assert energy(-torch.ones(1, 6, 7), MASK).share.isnan().all()


@pytest.mark.parametrize("measure", list(MEASURES))
def test_boxes_of_the_label_are_the_object(measure: str) -> None:
    dog, cat = Box("dog", 2, 1, 6, 4), Box("cat", 0, 0, 1, 1)
    expected = MEASURES[measure](coarse(1, 1), MASK)
    assert torch.equal(MEASURES[measure](coarse(1, 1), [[dog]]), expected)
    assert torch.equal(MEASURES[measure](coarse(1, 1), [Annotation((dog, cat), (6, 7))], ["dog"]), expected)


@pytest.mark.parametrize("measure", list(MEASURES))
@pytest.mark.parametrize(
    ("maps", "truth", "message"),
    [
        (torch.rand(1, 5, 5), MASK, "mask of sample 0 is 6 × 7 but the map 5 × 5"),
        (torch.rand(2, 6, 7), MASK, "there are 2 maps but the truth of 1"),
        (torch.rand(6, 7), MASK, "give a single map a batch axis"),
        (torch.full((1, 6, 7), torch.nan), MASK, "holds NaN or Inf"),
    ],
)
def test_what_does_not_fit_is_refused(measure: str, maps: Tensor, truth: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MEASURES[measure](maps, truth)


def test_they_accumulate() -> None:
    metric = Running(energy)
    for seed in range(2):
        metric.update(coarse(seed), random_masks())
    expected = torch.cat([energy(coarse(seed), random_masks()).lift for seed in range(2)])
    assert float(metric.compute()["lift"].mean) == pytest.approx(float(expected.mean()))
