"""Cells of the paper's figures against hand calculation, brute force and tapes of the walk itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import samp
from samp.annotations.boxes import Annotation, Box
from samp.models import Classifier
from samp_lab.datasets.generated import MIXED, PLAIN, coloured_shapes, mixed_shapes, mosaics_of
from samp_lab.datasets.images import Entry, Images
from samp_lab.measurements.class_maps import ClassBlocks, MosaicShares, block_classes, share_inside
from samp_lab.measurements.paper_figures import (
    Confidence,
    CountingCredit,
    MapSimilarity,
    WalkScores,
    even_scores,
    mean_correlation,
    scatter,
)
from samp_lab.nets.blue_counter import BLUE, blue_counter
from samp_lab.setups import parse_setup
from samp_lab.statistics import compare_groups, compare_paired
from samp_lab.workspace import ExperimentOptions, ImagePart, Workspace

DIGITS = parse_setup("digits/mnist-slim")


def part_of(net: nn.Module, x: Tensor, entries: Sequence[Entry] = (), classes: tuple[str, ...] = ()) -> ImagePart:
    classifier = Classifier(net.eval(), "small", x.shape[-1], 0.0, 1.0, classes)
    return ImagePart(net.eval(), classifier, x, net(x).argmax(1), tuple(entries), 0, lambda _: (net, x))


def digits(count: int = 3) -> ImagePart:
    _, make = next(iter(Workspace(ExperimentOptions(limit=count)).parts(DIGITS, None)))
    part = make()
    assert isinstance(part, ImagePart)
    return part


def test_the_walks_arrivals_rebuild_the_points_that_its_tape_has() -> None:
    part, cell = digits(), WalkScores(DIGITS)
    arrival = cell.measure(part).arrays["arrival"]
    result = samp.explain(part.net, part.x, method=cell.method, keep_points=True)
    for image, tape in enumerate(result.tapes["to_image"]):
        steps = int(result.steps["to_image"][image])
        for step, point in zip(tape.steps.tolist(), tape.points, strict=True):
            here = arrival[image] <= step / steps + 1e-6
            torch.testing.assert_close(torch.where(here, part.x[image].cpu(), 0.0), point)


def test_even_scores_are_straight_lines_between_the_scores_of_the_steps() -> None:
    part = digits()
    result = samp.explain(part.net, part.x, method=WalkScores(DIGITS).method)
    for row, scores, steps in zip(
        even_scores(result), result.scores["to_image"], result.steps["to_image"].tolist(), strict=True
    ):
        known = scores[: steps + 1].double().numpy()
        expected = np.interp(np.linspace(0, 1, 101), np.linspace(0, 1, steps + 1), known)
        np.testing.assert_allclose(row.numpy(), expected, rtol=1e-12)


def test_rise_and_drop_of_a_walk_are_those_of_its_scores() -> None:
    part = digits()
    found = WalkScores(DIGITS).measure(part)
    result = samp.explain(part.net, part.x, method=WalkScores(DIGITS).method)
    for image, steps in enumerate(result.steps["to_image"].tolist()):
        scores = result.scores["to_image"][image, : steps + 1].double().numpy()
        rise, quarter = scores.max() - scores[0], np.interp(0.25 * steps, range(steps + 1), scores)
        assert found.numbers["early"][image] == pytest.approx((quarter - scores[0]) / rise, rel=1e-6)
        assert found.numbers["drop"][image] == pytest.approx((scores.max() - scores[-1]) / rise, rel=1e-6)


def test_a_black_image_walks_nowhere_and_has_no_rise() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    found = WalkScores(DIGITS).measure(part_of(net, torch.zeros(1, 1, 4, 4)))
    assert found.numbers["early"] == [None] == found.numbers["drop"]


def test_mean_correlation_is_that_of_all_pairs() -> None:
    maps = torch.randn(2, 4, 5, 6, generator=torch.Generator().manual_seed(0))
    for image, found in enumerate(mean_correlation(maps).tolist()):
        table = np.corrcoef(maps[image].flatten(1).double().numpy())
        assert found == pytest.approx(table[np.triu_indices(4, 1)].mean())


def test_a_method_is_wholly_like_itself() -> None:
    found = MapSimilarity(DIGITS, (samp.SAMP(), samp.SAMP())).measure(digits(2))
    assert found.numbers["correlation"] == pytest.approx([1, 1], abs=1e-6)
    assert found.arrays["maps"].shape == (2, 2, 28, 28)


def test_scatter_is_the_distance_from_the_centre_wherever_that_is() -> None:
    two, moved = torch.zeros(2, 9, 9).unbind(0)
    two[1, 1], two[1, 5] = 1, 1  # 2 pixels from their centre
    moved[6, 3], moved[6, 7] = 1, 1
    expected = 2 / np.sqrt((81 - 1 + 81 - 1) / 12)
    assert scatter(torch.stack([two, moved, -two])).tolist()[:2] == pytest.approx([expected] * 2)
    assert scatter(-two[None]).isnan().all()  # no credit is positive


def test_confidence_is_the_soft_max_of_the_class_explained() -> None:
    part = digits(2)
    found = Confidence(DIGITS).measure(part)
    assert found.numbers["confidence"] == pytest.approx(part.net(part.x).softmax(1).amax(1).tolist(), rel=1e-5)


@pytest.mark.parametrize("method", ["ig", samp.SAMP(baseline="black"), samp.SAMPPlusPlus(eta=0.02, baseline="black")])
def test_from_black_all_blue_pixels_get_one_credit_and_others_none(method: str | samp.SAMP) -> None:
    x = torch.cat([blue_counter().prepare(entry.picture()) for entry in coloured_shapes().entries[:4]])
    result = CountingCredit(parse_setup("counting"), method).measure(part_of(blue_counter().net, x))
    assert result.numbers["spread"] == pytest.approx([0] * 4, abs=1e-4)
    assert result.numbers["elsewhere"] == pytest.approx([0] * 4, abs=1e-6)
    walks = 1 if method == "ig" else 2
    sums = result.arrays["map"].sum((1, 2))
    torch.testing.assert_close(sums, walks * torch.tensor(result.numbers["blue"]).float(), rtol=1e-4, atol=0)


def test_shapes_count_as_their_blue_pixels_alone() -> None:
    for images, colours in ((coloured_shapes(), PLAIN), (mixed_shapes(), MIXED)):
        for entry in images.entries[:10]:
            found = {colour: count for count, colour in entry.picture().getcolors() or ()}
            assert set(found) <= {BLUE, *colours}
            count = float(blue_counter().net(blue_counter().prepare(entry.picture())))
            assert count == pytest.approx(found[BLUE], rel=1e-6)


def numbered(label: int) -> Entry:
    return Entry(f"{label}", label, lambda: Image.new("L", (4, 4), 20 * label + 5))


def test_the_boxes_of_a_mosaic_hold_the_digits_they_name() -> None:
    ten = Images("ten", [numbered(label) for label in range(10)], tuple("0123456789"), free=True)
    for entry in mosaics_of(ten).entries[:20]:
        picture, note = entry.picture(), entry.annotation
        assert note is not None
        assert picture.size == (8, 8)
        for box in note.boxes:
            assert picture.crop(tuple(map(int, box.edges))).getextrema() == (20 * int(box.label) + 5,) * 2
    assert [e.id for e in mosaics_of(ten)] == [e.id for e in mosaics_of(ten)]
    assert mosaics_of(ten).free


def test_mosaics_of_unknown_digits_are_refused() -> None:
    unknown = Images("none", [Entry("a", None, lambda: Image.new("L", (4, 4)))])
    with pytest.raises(ValueError, match="a has no label"):
        _ = mosaics_of(unknown)[0].annotation


class Quarters(nn.Module):
    """Class k is the brightness of quarter k."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.avg_pool2d(x.sum(1, keepdim=True), x.shape[-1] // 2).flatten(1)


def test_credit_of_a_net_that_looks_at_one_quarter_lies_in_it() -> None:
    boxes = tuple(Box(str(k), k % 2 * 4, k // 2 * 4, k % 2 * 4 + 4, k // 2 * 4 + 4) for k in range(4))
    entry = Entry("a", None, lambda: Image.new("L", (8, 8)), lambda: Annotation(boxes, (8, 8)))
    part = part_of(Quarters(), torch.rand(1, 1, 8, 8) + 0.1, [entry], tuple("0123"))
    method = samp.SAMP(baseline="black")
    assert MosaicShares(parse_setup("mosaic"), method).measure(part).numbers["inside"] == [1.0]
    ink = MosaicShares(parse_setup("mosaic"), method).measure(part).numbers["ink"][0]
    assert ink == pytest.approx(0.25, abs=1e-6)  # a mean over all four quarters


def test_share_inside_counts_positive_credit_only() -> None:
    maps, masks = torch.tensor([[[[2.0, -9.0], [1.0, 1.0]]]]), torch.tensor([[[[True, True], [False, False]]]])
    assert share_inside(maps, masks).item() == 0.5


def test_blocks_compare_the_own_class_with_the_others_of_the_block() -> None:
    x = torch.full((4, 1, 8, 8), 0.2)
    for image in range(4):
        x[image, :, image // 2 * 4 : image // 2 * 4 + 4, image % 2 * 4 : image % 2 * 4 + 4] = 0.8
    entries = [Entry(str(label), label, lambda: Image.new("L", (8, 8))) for label in range(4)]
    found = ClassBlocks(parse_setup("cub"), samp.SAMP(baseline="black")).measure(
        part_of(Quarters(), x, entries, tuple("0123"))
    )
    assert found.numbers["own"] == pytest.approx([1.6] * 4, rel=1e-5)  # both directions
    assert found.numbers["other"] == pytest.approx([0.4] * 4, rel=1e-5)
    assert found.numbers["own_net"] == pytest.approx(found.numbers["own"])  # no credit is negative here
    assert found.arrays["maps"][:, 4].isnan().all()  # a block of four


def test_blocks_leave_out_other_images_of_the_same_class() -> None:
    assert block_classes(torch.arange(12)).tolist()[7] == [5, 6, 7, 8, 9]
    entries = [Entry(str(number), 1, lambda: Image.new("L", (8, 8))) for number in range(2)]
    part = part_of(Quarters(), torch.rand(2, 1, 8, 8), entries, tuple("0123"))
    found = ClassBlocks(parse_setup("cub"), samp.SAMP(baseline="black")).measure(part)
    assert found.numbers["other"] == [None, None]


def test_images_without_boxes_or_labels_get_a_sentence() -> None:
    part = part_of(Quarters(), torch.rand(1, 1, 8, 8), [Entry("a.png", None, lambda: Image.new("L", (8, 8)))])
    with pytest.raises(ValueError, match=r"a\.png has no boxes"):
        MosaicShares(parse_setup("mosaic")).measure(part)
    with pytest.raises(ValueError, match=r"a\.png has no label"):
        ClassBlocks(parse_setup("cub")).measure(part)


def test_two_groups_are_compared_as_scipy_does_and_either_way_round() -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(0)
    a, b = draw.normal(2, 1, 30).tolist(), draw.normal(0, 1, 25).tolist()
    there, back = compare_groups(a, b), compare_groups(b, a)
    assert there.p == pytest.approx(stats.mannwhitneyu(a, b).pvalue)
    assert there.value == pytest.approx(-back.value)
    assert there.low < there.value < there.high
    expected = stats.bootstrap((a, b), lambda x, y: np.mean(x) - np.mean(y), method="percentile", rng=1, batch=100)
    ends = (expected.confidence_interval.low, expected.confidence_interval.high)
    assert (there.low, there.high) == pytest.approx(ends, abs=0.03)  # both are random draws of 9,999
    assert [there.state(1), back.state(1), compare_groups(a, a).state(1)] == ["holds", "fails", "open"]
    alone = compare_groups([1.0], b)
    assert (alone.state(1), str(alone)) == ("missing", "1 images, too few to judge")


def test_two_equal_columns_differ_by_nothing() -> None:
    assert compare_paired([1.0, 2.0, 3.0] * 7, [1.0, 2.0, 3.0] * 7).state(1) == "open"
