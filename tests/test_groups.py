"""Groups: pooling and spreading against loops, masks of every shape, and what is said of masks that do not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import samp
from laws import CLOSE, assert_same, images, linear, net, seeds
from samp.groups import Elements, Patches, Pixels, Segments, bind

X = images(0, 2, 3, 4, 6)


@given(seed=seeds, rows=st.integers(1, 3), per_sample=st.booleans(), count=st.integers(1, 9))
def test_pool_spread_and_any_equal_loops(seed: int, rows: int, per_sample: bool, count: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(count, (rows if per_sample else 1, 7), generator=generator)  # groups may be empty
    x = torch.randn(rows, 7, generator=generator, dtype=torch.float64)
    x = torch.where(torch.rand(rows, 7, generator=generator) < 0.4, 0.0, x)
    groups = Segments.of(ids, "")
    size = int(ids.max()) + 1
    assert groups.count == size
    of = ids.expand(rows, -1).tolist()
    pooled = [[sum(float(x[r, i]) for i in range(7) if of[r][i] == g) for g in range(size)] for r in range(rows)]
    touched = [[any(x[r, i] != 0 for i in range(7) if of[r][i] == g) for g in range(size)] for r in range(rows)]
    torch.testing.assert_close(groups.pool(x), torch.tensor(pooled, dtype=torch.float64), **CLOSE)
    assert groups.any(x != 0).tolist() == touched
    values = torch.randn(rows, size, generator=generator)
    assert groups.spread(values).tolist() == [[float(values[r, g]) for g in of[r]] for r in range(rows)]


@pytest.mark.parametrize("seed", range(3))
def test_pixels_and_elements_are_special_cases_of_masks(seed: int) -> None:
    model = net(seed, features=72)
    for kind in (Pixels(), Elements(), Patches(1)):
        method = samp.SAMPPlusPlus(3, baseline=0.2)
        by_mask = samp.explain(model, X, groups=kind.ids(X.shape[1:]), method=method)
        assert_same(samp.explain(model, X, groups=kind, method=method), by_mask, **CLOSE)


@pytest.mark.parametrize(("size", "count"), [(1, 24), (2, 6), (3, 4), (4, 2), (5, 2), (10, 1)])
def test_patches_cover_the_image_also_where_they_do_not_divide_it(size: int, count: int) -> None:
    ids = Patches(size).ids((3, 4, 6))
    assert ids.unique().tolist() == list(range(count))
    columns = -(-6 // size)
    for y in range(4):
        for x in range(6):
            assert (ids[:, y, x] == (y // size) * columns + x // size).all()


MASK = torch.arange(24).view(4, 6) // 5


@pytest.mark.parametrize(
    "mask",
    [
        MASK.expand(3, 4, 6),
        MASK[None],
        MASK[None, None],
        MASK.expand(2, 1, 4, 6),
        MASK.expand(2, 3, 4, 6),
        MASK.to(torch.uint8),
        MASK.to(torch.int32),
        MASK.to(torch.uint16),
        [MASK],
        (MASK,),
    ],
)
def test_a_mask_may_have_any_shape_that_stretches_to_the_input(mask: Any) -> None:
    model = net(0, features=72)
    expected = samp.explain(model, X, groups=MASK, method=samp.SAMP(2))
    assert_same(samp.explain(model, X, groups=mask, method=samp.SAMP(2)), expected, **CLOSE)
    assert expected.group_values.shape == (2, 5)
    assert expected.details["groups"] == "mask of 5 groups"


def test_tokens_and_columns_move_together() -> None:
    """t e embeddings with one group per token: a (t, 1) mask."""
    weight = torch.arange(8.0, dtype=torch.float64)
    x = torch.ones(2, 4, 2, dtype=torch.float64)
    tokens = torch.arange(4)[:, None]
    result = samp.explain(linear(weight), x, groups=tokens, method=samp.SAMP(1, direction="to_image"), keep_points=True)
    assert result.group_values.tolist() == [[1, 5, 9, 13]] * 2
    assert result.order["to_image"].tolist() == [[4, 3, 2, 1]] * 2
    assert result.tapes["to_image"][0].points[1].tolist() == [[0, 0], [0, 0], [0, 0], [1, 1]]
    whole = samp.explain(linear(weight), x, groups=torch.tensor(0), method=samp.SAMP(1, direction="to_image"))
    assert whole.order["to_image"].tolist() == [[1]] * 2


def test_each_sample_may_have_groups_of_its_own() -> None:
    model, x = net(1), images(1, 3, 12)
    masks = torch.stack([torch.arange(12) // 4, torch.arange(12) % 4, torch.zeros(12).long()])
    x[0, :8] = 0  # arrives early
    together = samp.explain(model, x, groups=masks, method=samp.SAMP(1))
    for i in range(3):
        alone = samp.explain(model, x[i : i + 1], groups=masks[i], method=samp.SAMP(1))
        width = alone.group_values.shape[1]
        torch.testing.assert_close(together.values[i], alone.values[0], **CLOSE)
        assert together.order["to_image"][i].tolist() == alone.order["to_image"][0].tolist() + [-1] * (4 - width)


def test_one_number_in_the_masks_of_two_inputs_is_one_feature() -> None:
    weight = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0], dtype=torch.float64)
    x, y = torch.ones(1, 3, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)
    masks = [torch.tensor([0, 1, 2]), torch.tensor([0, 3])]
    result = samp.explain(
        lambda x, y: (torch.cat([x, y], 1) * weight).sum(1), (x, y), groups=masks, method=samp.SAMP(1), keep_points=True
    )
    assert result.group_values.tolist() == [[18, 4, 8, 32]]  # both directions
    points = result.tapes["to_image"][0].points
    assert (points[0][2].tolist(), points[1][2].tolist()) == ([1, 0, 0], [1, 1])


def test_kinds_beside_a_mask_are_features_of_their_own() -> None:
    inputs = (images(0, 2, 3), images(1, 2, 1, 2, 2))
    for groups in ([torch.tensor([0, 0, 1]), Pixels()], [torch.tensor([0, 0, 1]), Elements()]):
        features = bind(groups, inputs)
        assert features.count == 2 + 4
        assert features.ids.tolist() == [[0, 0, 1, 2, 3, 4, 5]]
    assert bind([Elements(), torch.arange(4).view(2, 2)], inputs).ids.tolist() == [[4, 5, 6, 0, 1, 2, 3]]
    assert bind(None, inputs).ids.tolist() == [list(range(7))]
    assert bind(Elements(), inputs).label == "Elements(), Elements()"


def test_groups_that_no_element_belongs_to_get_nothing() -> None:
    model, x = net(1), images(1, 2, 12)
    sparse = torch.arange(12) // 4 * 3  # 0, 3, 6
    result = samp.explain(model, x, groups=sparse, method=samp.SAMP(1))
    dense = samp.explain(model, x, groups=torch.arange(12) // 4, method=samp.SAMP(1))
    torch.testing.assert_close(result.values, dense.values, **CLOSE)
    assert not result.group_values[:, [1, 2, 4, 5]].any()
    assert (result.order["to_image"][:, [1, 2, 4, 5]] == -1).all()


@pytest.mark.parametrize("groups", [None, Elements(), Patches(3), torch.arange(24).view(4, 6) // 5])
def test_group_values_sum_the_values_of_their_elements(groups: Any) -> None:
    result = samp.explain(net(0, features=72), X, groups=groups)
    torch.testing.assert_close(result.group_values.sum(1), result.values.flatten(1).sum(1), **CLOSE)


@pytest.mark.parametrize(
    ("groups", "error", "sentence"),
    [
        (torch.zeros(4, 5).long(), ValueError, r"has shape \(4, 5\) but the input has \(2, 3, 4, 6\): give it shape"),
        (torch.zeros(3, 3, 4, 6).long(), ValueError, r"has shape \(3, 3, 4, 6\) but the input has \(2, 3, 4, 6\)"),
        (torch.zeros(1, 2, 3, 4, 6).long(), ValueError, "the group mask has shape"),
        (torch.zeros(0, 6).long(), ValueError, "the group mask has shape"),
        (MASK - 1, ValueError, "a group mask numbers its groups from 0, but this one holds -1"),
        (MASK * 20, ValueError, "mask holds the number 80 but a sample has only 72 elements: renumber the groups with"),
        (MASK.float(), TypeError, r"a group mask holds integers, .* not torch.float32: cast it with \.long\(\)"),
        (MASK > 0, TypeError, "a group mask holds integers, .* not torch.bool"),
        ([MASK, MASK], ValueError, "groups has 2 entries but the model takes 1 inputs: give one for each"),
        (MASK.numpy(), TypeError, "groups are .* not ndarray: turn a mask into a tensor with torch.as_tensor"),
        ("pixels", TypeError, r"groups are samp.Pixels\(\), .* not pixels"),
        (Pixels, TypeError, "groups are .* not <class 'samp.groups.kinds.Pixels'>"),
    ],
)
def test_groups_that_do_not_fit_get_a_sentence(groups: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        samp.explain(net(0, features=72), X, groups=groups)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, -2, 2.5, "2", None])
def test_a_patch_has_a_whole_size(size: Any) -> None:
    with pytest.raises(ValueError, match="the size of a patch is a whole number of at least 1, not"):
        Patches(size)


@pytest.mark.parametrize("kind", [Pixels(), Patches(2)])
def test_pixels_and_patches_need_images(kind: Any) -> None:
    with pytest.raises(
        ValueError, match=r"needs images of shape b c h w, but a sample has shape \(12,\): pass Elements"
    ):
        samp.explain(net(0), images(0, 2, 12), groups=kind)


def test_a_part_is_of_the_groups_that_a_sample_has() -> None:
    masks = torch.tensor([[0, 0, 3, 3], [0, 1, 2, 3]])
    assert bind(masks, [torch.rand(2, 4)]).share(2).tolist() == [[1], [2]]  # the first has no 1 and no 2


# Patches: maps are level in them, and an image in patches has the paper's baselines.


@pytest.mark.parametrize("method", ["coupled", "samp++", "ig", "gradcam", "saliency", "random", "deeplift"])
@pytest.mark.parametrize("size", [2, 3, 5, 99])
def test_maps_are_level_within_a_patch_and_keep_its_credit(method: str, size: int) -> None:
    conv = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten())
    model = torch.nn.Sequential(conv, torch.nn.Linear(144, 3)).eval()
    x = torch.rand(2, 2, 6, 8, generator=torch.Generator().manual_seed(0))
    level = samp.explain(model, x, target=1, groups=Patches(size), method=method)
    mask = samp.explain(model, x, target=1, groups=Patches(size).ids((2, 6, 8)), method=_like(level, method))
    torch.testing.assert_close(level.group_values, mask.group_values, rtol=0, atol=0)
    torch.testing.assert_close(level.residual, mask.residual, rtol=0, atol=0, equal_nan=True)
    ids = Patches(size).ids((2, 6, 8))
    for group in range(int(ids.max()) + 1):
        inside = level.map[:, ids[0] == group]
        assert (inside == inside[:, :1]).all()
        torch.testing.assert_close(inside.sum(1), level.group_values[:, group], rtol=1e-5, atol=1e-6)  # float32
    torch.testing.assert_close(level.values.sum((2, 3)), mask.values.sum((2, 3)), rtol=1e-5, atol=1e-6)


def _like(level: samp.Attribution, method: str) -> Any:
    """The method with the baselines of this result, which other groups would not have by default."""
    chosen = samp.methods.resolve_method(method)
    return replace(chosen, baseline=("zero", "blurred")) if "Blurred" in level.method else chosen


def test_a_mask_keeps_the_credit_of_each_element() -> None:
    ids = Patches(2).ids((1, 4, 4))
    result = samp.explain(net(0, 16), images(0, 1, 1, 4, 4), target=0, groups=ids, method="ig")
    assert result.map[0, :2, :2].unique().numel() == 4
    assert "baseline=Constant(value=0.0)" in result.method


def test_of_several_inputs_only_those_in_patches_are_level() -> None:
    image, vector = images(0, 2, 1, 4, 4), images(1, 2, 3)

    def model(a: Tensor, b: Tensor) -> Tensor:
        return net(0, 16)(a) * net(1, 3)(b)

    groups = [Patches(2), torch.tensor([0, 0, 1])]
    values = samp.explain(model, (image, vector), target=0, groups=groups, method="ig").values
    assert values[0][0, 0, :2, :2].unique().numel() == 1
    assert values[1][0].unique().numel() == 3


@pytest.mark.parametrize("method", ["samp", "samp++", "coupled"])
def test_an_image_in_patches_starts_from_the_blurred_image_as_in_pixels(method: str) -> None:
    x = images(0, 1, 1, 8, 8)
    pixels, patches = (samp.explain(net(0, 64), x, groups=groups, method=method) for groups in (None, Patches(2)))
    assert "baseline=(Constant(value=0.0), Blurred(kernel=11, sigma=5.0))" in patches.method
    torch.testing.assert_close(patches.score_change["to_image"], pixels.score_change["to_image"])
    given = replace(samp.methods.resolve_method(method), baseline="white")
    assert "Blurred" not in samp.explain(net(0, 64), x, groups=Patches(2), method=given).method
