"""The single deletion score: the definition by brute force, its ends, and what may not change it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CountingModel, images, net
from samp.metrics import sds
from samp.metrics.single_deletion import patch_drops

SIDE = 8
MODEL = net(0, 2 * SIDE * SIDE)


def cut_into_patches(values: Tensor, cells: int) -> list[Tensor]:
    """The parts of h w values, patch by patch."""
    size = values.shape[-1] // cells
    return [
        values[..., row * size : (row + 1) * size, column * size : (column + 1) * size]
        for row in range(cells)
        for column in range(cells)
    ]


@pytest.mark.parametrize("patches", [2, 4])
def test_equals_brute_force(patches: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    x, maps = images(0, 3, 2, SIDE, SIDE), images(1, 3, 2, SIDE, SIDE) - 0.5
    found = sds(MODEL, x, maps, 1, patches=patches, fill=0.25)
    for i in range(3):
        credit = [float(part.sum()) for part in cut_into_patches(maps[i], patches)]
        drops = []
        for number in range(patches**2):
            without = x[i : i + 1].clone()
            cut_into_patches(without[0], patches)[number].fill_(0.25)
            drops.append((MODEL(x[i : i + 1]) - MODEL(without))[0, 1].item())
        assert found.drops[i].tolist() == pytest.approx(drops, abs=1e-9)
        assert found.correlation[i].item() == pytest.approx(stats.spearmanr(credit, drops)[0], abs=1e-9)


def test_exact_credit_of_a_linear_net_is_perfect_and_its_reverse_the_worst() -> None:
    linear = nn.Sequential(nn.Flatten(), nn.Linear(2 * SIDE * SIDE, 3)).double().eval()
    x = images(2, 4, 2, SIDE, SIDE)
    exact = linear[1].weight[2].view(2, SIDE, SIDE) * x
    assert sds(linear, x, exact, 2).correlation.tolist() == pytest.approx([1.0] * 4)
    assert sds(linear, x, -exact, 2).correlation.tolist() == pytest.approx([-1.0] * 4)


def test_only_the_order_of_the_patches_counts() -> None:
    x, maps = images(3, 2, 2, SIDE, SIDE), images(4, 2, SIDE, SIDE)
    found = sds(MODEL, x, maps, 0).correlation
    shuffled = maps.unflatten(1, (4, 2)).unflatten(3, (4, 2)).flip(2, 4).flatten(3, 4).flatten(1, 2)
    for same in (3 * maps, shuffled, torch.stack([maps, torch.zeros_like(maps)], 1)):
        torch.testing.assert_close(sds(MODEL, x, same, 0).correlation, found)


def test_batch_size_and_neighbours_do_not_matter() -> None:
    x, maps = images(5, 3, 2, SIDE, SIDE), images(6, 3, SIDE, SIDE)
    found = sds(MODEL, x, maps, 1)
    for size in (1, 5):
        torch.testing.assert_close(sds(MODEL, x, maps, 1, batch_size=size).correlation, found.correlation)
    torch.testing.assert_close(sds(MODEL, x[1:2], maps[1:2], 1).correlation, found.correlation[1:2])


def test_it_takes_one_forward_for_each_patch_and_one_for_the_image() -> None:
    counted = CountingModel(MODEL)
    sds(counted, images(5, 2, 2, SIDE, SIDE), images(6, 2, SIDE, SIDE), 1)
    assert counted.rows == 2 * 17


def test_maps_share_the_drops() -> None:
    x, maps = images(5, 3, 2, SIDE, SIDE), images(6, 3, SIDE, SIDE)
    assert torch.equal(patch_drops(MODEL, x, 1).correlate(maps), sds(MODEL, x, maps, 1).correlation)


def test_nothing_to_rank_gives_no_number() -> None:
    x = images(5, 2, 2, SIDE, SIDE)
    assert sds(MODEL, x, torch.ones(2, SIDE, SIDE), 1).undefined_count == 2
    assert sds(lambda x: x.flatten(1)[:, :2] * 0, x, images(6, 2, SIDE, SIDE), 1).correlation.isnan().all()


def test_the_class_is_that_of_the_attribution() -> None:
    x = images(5, 2, 2, SIDE, SIDE)
    result = samp.explain(MODEL, x, target=1, method="ig")
    assert torch.equal(sds(MODEL, x, result).correlation, sds(MODEL, x, result.map, 1).correlation)
    assert sds(MODEL, x, result).details["patches"] == 4


def test_sides_that_four_does_not_divide_have_sixteen_patches_too() -> None:
    model = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16, 2)).eval()
    assert sds(model, torch.rand(1, 1, 10, 7), torch.rand(1, 10, 7), 0).drops.shape == (1, 16)


def test_what_does_not_fit_is_refused() -> None:
    x = images(5, 2, 2, SIDE, SIDE)
    with pytest.raises(ValueError, match="patches is a whole number of at least 2, not 1"):
        sds(MODEL, x, images(6, 2, SIDE, SIDE), 1, patches=1)
    with pytest.raises(ValueError, match=r"the maps have shape \(2, 4, 4\) but the images \(2, 8, 8\): enlarge"):
        sds(MODEL, x, images(6, 2, 4, 4), 1)
    with pytest.raises(ValueError, match=r"one b c h w image input.* shape \(2, 5\)"):
        sds(MODEL, torch.rand(2, 5), torch.rand(2, 5), 1)
