"""Cells of Table 7, Table 8 and Fig. Sensitivity-N, on nets small enough to say by hand what must come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import samp
from samp.methods.rise import RISE
from samp.metrics import Annotation, Box
from samp.metrics.mu_fidelity import mu_fidelity
from samp.models import Classifier
from samp_lab.datasets import Entry
from samp_lab.datasets.detection import VOC_CLASSES
from samp_lab.measurements.paper_tables import FIDELITY_SETTINGS, CreditSums, Fidelity, MethodSeconds
from samp_lab.measurements.pointing import Pair, Pointing, imagenet_classes_by_label, rise_maps, shrinkage
from samp_lab.setups import Setup, parse_setup
from samp_lab.tables.table7 import TABLE7
from samp_lab.workspace import ExperimentOptions, ImagePart, Workspace

SIZE = 100
ZEBRA, CATS = 340, range(281, 286)
BED = Setup("coco", "fake", "imagenet")


class Corners(nn.Module):
    """1,000 logits: zebra and cat 281 are the brightness of the upper left corner, cat 283 twice the lower right's."""

    def forward(self, x: Tensor) -> Tensor:
        first, last = (
            x[:, :, : SIZE // 2, : SIZE // 2].mean((1, 2, 3)),
            x[:, :, SIZE // 2 :, SIZE // 2 :].mean((1, 2, 3)),
        )
        logits = x.new_zeros(len(x), 1000)
        return logits.index_add(1, torch.tensor([ZEBRA, 281, 283]), torch.stack([first, first, 2 * last], 1))


class Counting(nn.Module):
    """A linear net that counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 3)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        out: Tensor = self.linear(x.flatten(1))
        return out


def a_part(net: nn.Module, x: Tensor, entries: Sequence[Entry] = (), margin: float | None = 1.0) -> ImagePart:
    classifier = Classifier(net.eval(), "fake", x.shape[-1], 0.0, 1.0, (), margin=margin)
    with torch.no_grad():
        target = net(x).argmax(1)
    return ImagePart(net, classifier, x, target, tuple(entries), seed=0, other_net=lambda name: (net, x))


def a_photo(boxes: Sequence[Box] | Callable[[], Annotation], size: tuple[int, int] = (SIZE, SIZE)) -> Entry:
    make = boxes if callable(boxes) else lambda: Annotation(tuple(boxes), size)
    return Entry("photo", None, lambda: Image.new("RGB", size[::-1]), make)


def play(*photos: Entry, margin: float | None = 1.0, **settings: Any) -> list[Any]:
    part = a_part(Corners(), torch.ones(len(photos), 3, SIZE, SIZE), photos, margin)
    return list(Pointing(BED, "gradientxinput", **settings).measure(part).numbers["game"])


def test_classes_of_a_photo_share_the_masks_of_rise_and_get_the_same_maps() -> None:
    class Counted(Corners):
        rows = 0

        def forward(self, x: Tensor) -> Tensor:
            self.rows += len(x)
            return super().forward(x)

    net, method = Counted(), RISE(masks=40, cells=4)
    x = torch.rand(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    part, whole = a_part(net, x), Annotation((), (SIZE, SIZE))
    pairs = [Pair(photo, "any", target, whole, whole) for photo, target in ((0, ZEBRA), (0, 283), (1, 283))]
    net.rows = 0
    shared = rise_maps(part, pairs, method)
    assert net.rows == 2 * 40  # three maps of two photos
    for pair, ours in zip(pairs, shared, strict=True):
        alone = samp.explain(net, x[pair.photo][None], target=pair.target, method=method, seed=part.seed).map[0]
        torch.testing.assert_close(ours, alone, rtol=1e-4, atol=1e-7)


def test_a_map_hits_the_object_it_lies_on_and_misses_another() -> None:
    upper_left, lower_right = (0, 0, 50, 50), (50, 50, 100, 100)
    games = play(a_photo([Box("zebra", *upper_left)]), a_photo([Box("zebra", *lower_right)]))
    assert games == [[["zebra", True, False]], [["zebra", False, False]]]


def test_an_object_is_explained_as_the_likeliest_class_it_stands_for() -> None:
    assert play(a_photo([Box("cat", 50, 50, 100, 100)])) == [[["cat", True, False]]]  # 283, not 281
    assert play(a_photo([Box("cat", 0, 0, 20, 20)])) == [[["cat", False, False]]]


def test_classes_that_imagenet_does_not_have_are_not_played() -> None:
    assert play(a_photo([Box("person", 0, 0, 50, 50)]), a_photo([])) == [[], []]


def test_every_class_of_a_photo_has_a_map_of_its_own() -> None:
    (game,) = play(a_photo([Box("cat", 50, 50, 100, 100), Box("zebra", 50, 50, 100, 100), Box("person", 0, 0, 9, 9)]))
    assert game == [["cat", True, False], ["zebra", False, False]]


def test_difficult_in_the_sense_of_the_pointing_game_is_of_the_whole_photo() -> None:
    both = [Box("zebra", 0, 0, 20, 20), Box("person", 0, 80, 20, 100)]
    assert play(a_photo(both)) == [[["zebra", True, True]]]
    assert play(a_photo(both), margin=0.5) == [[]]  # nothing of the zebra is in the cut


def test_a_class_with_objects_marked_difficult_alone_is_not_played() -> None:
    alone, beside = [Box("zebra", 0, 0, 50, 50, difficult=True)], [Box("zebra", 60, 60, 90, 90)]
    assert play(a_photo(alone), a_photo([*alone, *beside])) == [[], [["zebra", True, False]]]


@pytest.mark.parametrize(("left", "hit"), [(9, True), (12, False)])
def test_the_tolerance_is_a_share_of_the_photos_longer_side(left: int, hit: bool) -> None:
    # 3 % of 300 pixels are 9, which are 3 of the picture; the map points at pixel (0, 0), the box begins at left / 3
    (game,) = play(a_photo([Box("zebra", left, 0, 60, 30)], size=(300, 300)))
    assert game == [["zebra", hit, False]]


def test_the_tolerance_is_the_published_one_on_photos_of_voc() -> None:
    assert Pointing(BED, "rise").tolerance * 500 == 15
    assert shrinkage((333, 500), (224, 224), 0.875) == 224 / (0.875 * 333)
    assert shrinkage((200, 800), (100, 100), None) == pytest.approx((0.5 * 0.125) ** 0.5)


def test_boxes_that_cannot_be_read_do_not_lose_the_other_photos() -> None:
    def broken() -> Annotation:
        raise ValueError("line 1 holds 3 numbers")

    games = play(a_photo(broken), a_photo([Box("zebra", 0, 0, 50, 50)]))
    assert games == [None, [["zebra", True, False]]]


def test_photos_without_boxes_and_nets_of_other_classes_get_a_sentence() -> None:
    part = a_part(Corners(), torch.ones(1, 3, SIZE, SIZE), [Entry("7", None, lambda: Image.new("L", (4, 4)))])
    with pytest.raises(ValueError, match="7 comes without boxes"):
        Pointing(BED, "ig").measure(part)
    small = nn.Sequential(nn.Flatten(), nn.Linear(48, 10))
    with pytest.raises(ValueError, match=r"1,000 classes, but the output of this one is \(1, 10\)"):
        Pointing(BED, "ig").measure(a_part(small, torch.ones(1, 3, 4, 4), [a_photo([])]))


def test_pairs_share_the_seconds_of_their_part() -> None:
    photos = [
        a_photo([Box("zebra", 0, 0, 9, 9), Box("cat", 0, 0, 9, 9)]),
        a_photo([]),
        a_photo([Box("cat", 0, 0, 9, 9)]),
    ]
    measured = Pointing(BED, "gradientxinput").measure(a_part(Corners(), torch.ones(3, 3, SIZE, SIZE), photos))
    first, none, last = measured.timing["seconds"]
    assert none == 0
    assert first == pytest.approx(2 * last)


def test_every_class_of_voc_but_person_stands_for_classes_of_imagenet() -> None:
    known = imagenet_classes_by_label()
    assert set(VOC_CLASSES) - set(known) == {"person"}
    assert known["tvmonitor"] == known["tv"]
    assert known["sofa"] == known["couch"]
    assert known["cat"] == tuple(CATS)
    assert all(0 <= index < 1000 for indices in known.values() for index in indices)


def test_the_exact_map_of_a_linear_net_has_full_fidelity_and_a_constant_one_none() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(256, 3))
    x = torch.cat([torch.rand(2, 1, 16, 16), torch.zeros(1, 1, 16, 16)])  # 4 × 4 cells
    found = Fidelity(parse_setup("mnist"), "gradientxinput").measure(a_part(net, x)).numbers
    assert [len(column) for column in found.values()] == [3, 3]
    assert min(found["bhatt"][:2]) > 0.9999
    assert min(found["cells"][:2]) > 0.999
    assert found["bhatt"][2] is None
    assert found["cells"][2] is None


def test_a_constant_map_has_no_fidelity_on_28_pixels() -> None:
    """On the 9 × 9 grid its cells' sizes were its credit, and larger cells change the score more."""
    torch.manual_seed(0)
    x = torch.rand(4, 1, 28, 28)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 1)).eval()
    nn.init.uniform_(net[1].weight, 0.5, 1.0)
    constant = torch.full((4, 28, 28), 0.1)
    target = torch.zeros(4, dtype=torch.long)
    unequal = mu_fidelity(net, x, constant, target).correlation
    assert unequal.min() > 0.3
    assert mu_fidelity(net, x, constant, target, **FIDELITY_SETTINGS["cells"]).correlation.isnan().all()


def test_seconds_are_of_one_image_at_a_time_after_one_that_does_not_count() -> None:
    net = Counting()
    part = a_part(net, torch.rand(3, 1, 4, 4))
    net.calls = 0
    samp.explain(net, part.x[:1], target=0, method="ig")
    once, net.calls = net.calls, 0
    measured = MethodSeconds(parse_setup("mnist"), "ig").measure(part)
    assert net.calls == 4 * once
    assert measured.numbers == {"gradients": [51] * 3, "forwards": [0] * 3}
    assert len(measured.timing["seconds"]) == 3
    assert min(measured.timing["seconds"]) > 0


def test_forwards_without_gradient_are_counted_apart() -> None:
    part = a_part(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), torch.rand(2, 1, 8, 8))
    assert MethodSeconds(parse_setup("mnist"), RISE(masks=20, cells=3)).measure(part).numbers == {
        "gradients": [0, 0],
        "forwards": [20, 20],
    }


def test_sums_are_those_of_the_maps_and_changes_those_of_the_score() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    part = a_part(net, torch.rand(4, 1, 4, 4))
    method = samp.SAMP(eta=0.1, direction="to_image", baseline="black")
    found = CreditSums(parse_setup("mnist"), method).measure(part).numbers
    maps = samp.explain(net, part.x, target=part.target, method=method).map
    with torch.no_grad():
        change = (net(part.x) - net(torch.zeros_like(part.x))).gather(1, part.target[:, None])[:, 0]
    assert set(found) == {"credit to_image", "change to_image", "gradients"}
    assert torch.allclose(torch.tensor(found["credit to_image"]), maps.sum((1, 2)), atol=1e-5)
    assert torch.allclose(torch.tensor(found["change to_image"]), change, atol=1e-5)


def test_credit_that_is_not_meant_to_sum_to_anything_is_refused() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    with pytest.raises(ValueError, match="take a path method"):
        CreditSums(parse_setup("mnist"), "gradcam").measure(a_part(net, torch.rand(2, 1, 4, 4)))


def test_the_genuine_photos_of_voc_are_played_by_the_classes_they_show(data: Path) -> None:
    voc = parse_setup("voc/squeezenet1_1")
    lab = Workspace(ExperimentOptions(data=data, part=8))
    entries = lab.prepare_images(voc, None).entries
    (part,) = (make() for _, make in lab.parts(voc, None))
    measured = Pointing(voc, "gradcam").measure(part)
    games = dict(zip((entry.id for entry in entries), measured.numbers["game"], strict=True))
    shown = {name: [label for label, _, _ in game] for name, game in games.items()}
    assert shown["000001.jpg"] == ["dog"]  # and a person
    assert shown["000002.jpg"] == ["train"]
    assert shown["000007.jpg"] == ["car"]
    assert games["000007.jpg"] == [["car", True, False]]  # the car fills most of the photo
    assert shown["000004.jpg"] == ["car"]


def test_the_pointing_game_plays_on_all_photos_unless_limited(data: Path) -> None:
    setup = parse_setup("coco/resnet50")
    (most,) = {measurement.most for measurement in TABLE7.measurements([setup])}
    assert len(Workspace(ExperimentOptions(data=data)).images("coco", most)) == 254
    assert len(Workspace(ExperimentOptions(data=data, limit=100)).images("coco", most)) == 100
