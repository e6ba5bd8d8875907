"""GridPG and DiFull: scores by hand, a perfect and a worst map, and a net that cannot see other cells."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.metrics import Grids, SeparateCells, difull, explain_maps_by, grid_pointing, make_grids
from samp.metrics.grid_pointing import cell_shares, join_cells, split_cells

CLASSES = 5


def random(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Net(nn.Module):
    """A small CNN with a batch norm that takes any size, with one ReLU module called twice."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.act = nn.Conv2d(8, 6, 3, padding=1), nn.ReLU()
        self.pool, self.last = nn.AdaptiveAvgPool2d(1), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.second(self.act(self.norm(self.first(x)))))
        return self.last(self.pool(x).flatten(1))


class Colours(nn.Module):
    """Each channel is a class, and what one sees of a colour is its mean: every pixel counts where it is."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


def colour_photos(count: int = 12, side: int = 4) -> tuple[Tensor, Tensor]:
    """Photos of CLASSES channels, each of one colour, of falling strength."""
    labels = torch.arange(count) % CLASSES
    strength = torch.linspace(3, 1, count).view(-1, 1, 1, 1)
    return strength * nn.functional.one_hot(labels, CLASSES)[:, :, None, None].expand(-1, -1, side, side), labels


def shares_by_hand(maps: Tensor, cells: int) -> list[list[float]]:
    found = []
    for map_ in maps.double():
        h, w = map_.shape[0] // cells, map_.shape[1] // cells
        parts = [map_[r * h : r * h + h, c * w : c * w + w] for r in range(cells) for c in range(cells)]
        sums = [sum(max(float(v), 0) for v in part.flatten()) for part in parts]
        found.append([one / sum(sums) for one in sums])
    return found


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_shares_are_those_counted_by_hand(cells: int) -> None:
    maps = random(0, 3, 6, 12)
    assert cell_shares(maps, cells).tolist() == [pytest.approx(row) for row in shares_by_hand(maps, cells)]


def test_shares_know_no_scale_and_no_negative_credit() -> None:
    maps = random(1, 2, 8, 8).double()
    for other in (1e-200 * maps, 1e200 * maps, maps.clamp(min=0)):
        torch.testing.assert_close(cell_shares(other, 2), cell_shares(maps, 2))
    assert cell_shares(-torch.ones(1, 4, 4), 2).isnan().all()
    assert cell_shares(torch.zeros(1, 4, 4), 2).isnan().all()
    with pytest.raises(ValueError, match="not made of 3 × 3 equal cells"):
        cell_shares(torch.ones(1, 4, 4), 3)


def test_cells_are_joined_as_they_were_split() -> None:
    pictures = random(2, 2, 3, 6, 9)
    assert torch.equal(join_cells(split_cells(pictures, 3)), pictures)
    assert torch.equal(split_cells(pictures, 3)[:, 5], pictures[:, :, 2:4, 6:9])


def test_grids_show_the_most_confident_photos_of_different_classes_whole() -> None:
    photos, labels = colour_photos()
    grids = make_grids(Colours(), photos, labels, count=2)
    assert grids.images.shape == (2, CLASSES, 8, 8)
    assert sorted(grids.photos[0].tolist()) == [0, 1, 2, 3]  # the strongest colours
    assert sorted(grids.photos[1].tolist()) == [4, 5, 6, 7]
    assert torch.equal(split_cells(grids.images, 2), photos[grids.photos])
    assert torch.equal(grids.classes, labels[grids.photos])
    assert all(len(set(row)) == 4 for row in make_grids(Colours(), photos).classes.tolist())
    other = make_grids(Colours(), photos, labels, count=2, seed=1)
    assert not torch.equal(other.photos, grids.photos)
    assert torch.equal(other.photos.sort(1).values, grids.photos.sort(1).values)


def test_photos_that_are_not_recognised_are_left_out() -> None:
    photos, labels = colour_photos()
    wrong = labels.clone()
    wrong[0] = (labels[0] + 1) % CLASSES
    assert 0 not in make_grids(Colours(), photos, wrong).photos
    # the probability of strength 1 is e / (e + 4) = 0.40, that of 3 is 0.83
    assert make_grids(Colours(), photos, labels, confidence=0.5).photos.max() < 10
    with pytest.raises(ValueError, match=r"0 of 1 grids of 2 × 2 could be filled: 0 of 12 photos, of 0 classes"):
        make_grids(Colours(), photos, labels, confidence=0.9)
    with pytest.raises(ValueError, match=r"3 of 4 grids .* 12 of 12 photos, of 5 classes, .* fewer or smaller grids"):
        make_grids(Colours(), photos, labels, count=4)


def test_what_makes_no_grid_gets_a_sentence() -> None:
    photos, labels = colour_photos()
    with pytest.raises(ValueError, match="cells is a whole number of at least 2, not 1"):
        make_grids(Colours(), photos, cells=1)
    with pytest.raises(ValueError, match="confidence is a probability from 0 to 1, not 2"):
        make_grids(Colours(), photos, confidence=2)
    with pytest.raises(ValueError, match="there are 3 targets for 12 samples"):
        make_grids(Colours(), photos, labels[:3])
    with pytest.raises(TypeError, match=r"made by samp\.metrics\.make_grids, not Tensor"):
        grid_pointing(Colours(), photos, explain_maps_by("ig"))  # type: ignore[arg-type]  # no grids


def test_a_perfect_a_chance_and_the_worst_map() -> None:
    photos, labels = colour_photos()
    model, grids = Colours(), make_grids(Colours(), photos, labels, count=2)

    def perfect(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        return images[torch.arange(len(images)), target]

    def worst(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        return images.sum(1) - 2 * perfect(model, images, target, seed)

    def flat(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        return torch.ones(len(images), *images.shape[2:])

    assert grid_pointing(model, grids, perfect).share.tolist() == [[1.0] * 4] * 2
    assert grid_pointing(model, grids, worst).share.tolist() == [[0.0] * 4] * 2
    chance = grid_pointing(model, grids, flat)
    assert chance.share.tolist() == [[0.25] * 4] * 2
    assert repr(chance) == "GridPointing(0.2500, by chance 0.2500; GridPG, 2 grids)"
    nothing = grid_pointing(model, grids, lambda model, images, target, seed: -images.sum(1))
    assert nothing.undefined_count == 8
    assert grid_pointing(model, grids, explain_maps_by("gradientxinput")).mean == 1


def net_and_grids() -> tuple[Net, Grids]:
    model = Net().eval()
    photos = random(7, 80, 3, 10, 10) + 2 * random(8, 80, 3, 1, 1)
    with torch.no_grad():
        model.last.bias -= model(photos).mean(0)  # so that every class is predicted
    return model, make_grids(model, photos, count=2)


def test_the_score_is_that_of_the_maps_one_by_one() -> None:
    model, grids = net_and_grids()
    found = grid_pointing(model, grids, explain_maps_by("ig"), seed=4)
    for cell in range(4):
        maps = samp.explain(model, grids.images, target=grids.classes[:, cell], method="ig", seed=4).map
        by_hand = [row[cell] for row in shares_by_hand(maps, 2)]
        assert found.share[:, cell].tolist() == pytest.approx(by_hand, rel=1e-6)
    assert found.details["target"] == grids.classes.tolist()


def test_separate_cells_see_only_themselves() -> None:
    model, grids = net_and_grids()
    apart = SeparateCells(model, 2)
    scores = apart(grids.images).view(2, 4, CLASSES)
    photos = split_cells(grids.images, 2)
    for cell in range(4):
        torch.testing.assert_close(scores[:, cell], model(photos[:, cell]))
    changed = grids.images.clone()
    changed[:, :, :10, :10] += 5  # the first cell alone
    again = apart(changed).view(2, 4, CLASSES)
    assert torch.equal(again[:, 1:], scores[:, 1:])
    assert not torch.equal(again[:, 0], scores[:, 0])


@pytest.mark.parametrize("method", ["gradient", "ig", "samp++", "coupled", "guidedbackprop", "smoothgrad"])
def test_what_has_no_gradient_gets_no_credit(method: str) -> None:
    model, grids = net_and_grids()
    assert difull(model, grids, explain_maps_by(method)).share.tolist() == [[1.0] * 4] * 2
    assert grid_pointing(model, grids, explain_maps_by(method)).mean < 0.9


def test_maps_that_ignore_the_cells_are_found_out() -> None:
    model, grids = net_and_grids()
    for method in ("sobel", "random"):
        found = difull(model, grids, explain_maps_by(method))
        assert found.mean == pytest.approx(0.25, abs=0.03)
    # a map that reaches over the border of its cell loses what lies beyond
    blurred = difull(
        model,
        grids,
        lambda model, images, target, seed: nn.functional.avg_pool2d(
            explain_maps_by("saliency")(model, images, target, seed), 5, 1, 2
        ),
    )
    assert 0.5 < blurred.mean < 0.95


def test_gradcam_weighs_the_features_of_all_cells() -> None:
    """As published: the weights come from the one cell, and are applied to the features of all."""
    model, grids = net_and_grids()
    found = difull(model, grids, explain_maps_by("gradcam"))
    photos = split_cells(grids.images, 2)
    with torch.no_grad():
        features = [model.act(model.second(model.act(model.norm(model.first(photos[:, c]))))) for c in range(4)]
    grid_features = join_cells(torch.stack(features, 1))  # b k 20 20
    for cell in range(4):
        weights = model.last.weight[grids.classes[:, cell]]  # behind an average pool, up to a factor
        maps = (weights[:, :, None, None] * grid_features).sum(1).relu()
        expected = cell_shares(maps, 2)[:, cell]
        torch.testing.assert_close(found.share[:, cell], expected, rtol=1e-4, atol=1e-5)
    assert found.mean < 1
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_and_cpu_agree() -> None:
    model, grids = net_and_grids()
    on_cpu = [game(model, grids, explain_maps_by("ig")).share for game in (grid_pointing, difull)]
    on_gpu = [game(model.cuda(), grids.to("cuda"), explain_maps_by("ig")).share for game in (grid_pointing, difull)]
    for a, b in zip(on_cpu, on_gpu, strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-3, atol=1e-3)
