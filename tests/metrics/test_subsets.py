"""Random subsets: exactly as large as asked, the same everywhere, fairly drawn, and summed without rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from laws import images, linear
from samp.engine.problem import Problem, make_problem
from samp.groups import Groups
from samp.metrics import subsets
from samp.metrics.masked_forward import ScoringOptions, open_scorer
from samp.metrics.subsets import Subsets, check_sizes, credit_and_scores, own_counts, sizes_for_share

GAPS = torch.tensor([[0, 0, 2, 5, 5, 2], [0, 1, 2, 3, 4, 5]])  # 3 of 6 numbers used, then all


def problem(features: int = 6, batch: int = 2, groups: Groups | None = None) -> Problem:
    return make_problem(linear(torch.ones(1)), images(0, batch, features), None, groups)


def memberships(given: Problem, sizes: list[int], numbers: range = range(50), seed: int = 0) -> Tensor:
    """b k s g"""
    some = Subsets.draw(given, torch.tensor(sizes).expand(given.batch, -1), numbers, seed)
    rows = torch.arange(given.batch * some.points)
    flat = some.membership(rows // some.points, rows % some.points)
    return flat.view(given.batch, len(numbers), len(sizes), -1)


def test_every_subset_has_exactly_its_size() -> None:
    assert (memberships(problem(), [1, 3, 6]).sum(-1) == torch.tensor([1, 3, 6])).all()


def test_all_samples_get_the_same_and_subsets_of_one_number_contain_one_another() -> None:
    drawn = memberships(problem(), [1, 2, 5])
    assert torch.equal(drawn[0], drawn[1])
    assert (drawn[:, :, 0] <= drawn[:, :, 1]).all()
    assert (drawn[:, :, 1] <= drawn[:, :, 2]).all()


def test_seed_and_number_decide_and_nothing_else() -> None:
    drawn = memberships(problem(40), [7])
    torch.manual_seed(5)
    assert torch.equal(drawn, memberships(problem(40), [7]))
    assert torch.equal(drawn[:, 20:30], memberships(problem(40), [7], range(20, 30)))
    assert not torch.equal(drawn, memberships(problem(40), [7], seed=1))
    assert not torch.equal(drawn[:, 0], drawn[:, 1])
    memberships(problem(40), [7], seed=-3)  # as torch's seeds may be


def test_features_are_chosen_equally_often_and_pairs_too() -> None:
    drawn = memberships(problem(5), [2], range(4000))[0, :, 0].double()
    pairs = drawn.T @ drawn / len(drawn)
    expected = torch.full((5, 5), 2 / 5 * 1 / 4, dtype=torch.float64) + torch.eye(5) * (2 / 5 - 1 / 10)
    # 4,000 draws of probability up to 0.4 deviate by 0.0077 once in three times
    torch.testing.assert_close(pairs, expected, rtol=0, atol=0.03)


def test_numbers_without_elements_are_never_chosen_and_do_not_count() -> None:
    given = problem(groups=GAPS)
    assert own_counts(given).tolist() == [3, 6]
    assert sizes_for_share(given, 0.5).tolist() == [2, 3]
    drawn = memberships(given, [1, 3])
    assert (drawn.sum(-1) == torch.tensor([1, 3])).all()
    assert not drawn[0][..., [1, 3, 4]].any()
    shared = problem(groups=GAPS[0])
    assert own_counts(shared).tolist() == [3, 3]
    assert torch.equal(memberships(shared, [1, 3])[0], drawn[0])


def test_a_sample_keeps_its_subsets_where_neighbours_have_more_features() -> None:
    few = torch.tensor([[0, 0, 2, 1, 1, 2]])
    alone = memberships(problem(batch=1, groups=few), [2])
    beside = memberships(problem(groups=torch.cat([few, torch.arange(6)[None]])), [2])
    assert torch.equal(alone[0], beside[0][..., :3])
    assert not beside[0][..., 3:].any()


def score_subsets(
    values: Tensor, x: Tensor, sizes: list[int], count: int = 20, **settings: Any
) -> tuple[Tensor, Tensor]:
    weights = torch.arange(1.0, x[0].numel() + 1, dtype=x.dtype)
    groups = settings.pop("groups", None)
    with open_scorer(linear(weights), x, None, groups, "logit", ScoringOptions(**settings)) as scorer:
        return credit_and_scores(scorer, scorer.make_masker(0.0), values, torch.tensor(sizes).expand(len(x), -1), count)


def test_credit_and_scores_are_those_of_the_same_subsets() -> None:
    x = images(1, 2, 4)
    values = images(2, 2, 4) - 0.5
    credit, scores = score_subsets(values, x, [1, 3])
    drawn = memberships(make_problem(linear(torch.ones(4)), x), [1, 3], range(20)).transpose(1, 2)  # b s k g
    by_hand = (values[:, None, None] * drawn).sum(-1)
    unit = values.abs().amax(1)[:, None, None] / 2.0**59
    torch.testing.assert_close(credit * unit, by_hand, rtol=1e-12, atol=1e-12)
    left = (x[:, None, None] * ~drawn * torch.arange(1.0, 5)).sum(-1)
    torch.testing.assert_close(scores, left, rtol=1e-12, atol=1e-12)


def test_equal_sums_are_equal_in_any_order() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floats, and would decide ranks."""
    values = torch.tensor([[0.1, 0.2, 0.3] * 4], dtype=torch.float64)
    credit, _ = score_subsets(values, images(0, 1, 12), [12, 3], 200)
    assert len(credit[0, 0].unique()) == 1
    assert len(credit[0, 1].unique()) == 10  # the ways to take three of three kinds


@pytest.mark.parametrize("groups", [None, torch.tensor([0, 0, 1, 3, 3, 4])])
def test_nothing_depends_on_chunks(groups: Tensor | None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = images(3, 3, 6)
    values = images(4, 3, 6 if groups is None else 5)
    whole = score_subsets(values, x, [1, 2], groups=groups)
    monkeypatch.setattr(subsets, "PLACES_AT_ONCE", 7)
    for batch_size in (1, 4):
        parts = score_subsets(values, x, [1, 2], groups=groups, batch_size=batch_size)
        assert torch.equal(whole[0], parts[0])
        torch.testing.assert_close(whole[1], parts[1], rtol=1e-12, atol=0)


def test_memory_stays_bounded_for_hundreds_of_subsets_of_a_large_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of 50,176 pixels are held for 83 subsets at a time, 16 MiB."""
    drawn: list[int] = []
    draw = Subsets.draw.__func__  # type: ignore[attr-defined]  # the function behind the class method

    def watched(cls: type[Subsets], *args: Any) -> Subsets:
        some: Subsets = draw(cls, *args)
        drawn.append(some.places.numel() * some.places.element_size())
        return some

    monkeypatch.setattr(Subsets, "draw", classmethod(watched))
    with open_scorer(
        lambda x: x.flatten(1)[:, :1], torch.rand(1, 1, 224, 224), 0, None, "logit", ScoringOptions()
    ) as scorer:
        credit_and_scores(scorer, scorer.make_masker(0.0), torch.rand(1, 50_176), torch.tensor([[10_000]]), 90)
    assert len(drawn) == 2
    assert max(drawn) <= 2**24


@pytest.mark.parametrize("sizes", [[1, 3], (1, 3), iter([1, 3]), torch.tensor([1, 3]), np.array([1, 3])])
def test_sizes_may_come_as_any_list(sizes: Any) -> None:
    assert check_sizes(problem(), sizes).tolist() == [[1, 3], [1, 3]]


@pytest.mark.parametrize(
    ("sizes", "error", "sentence"),
    [
        ([1, 4], ValueError, "a subset of 4 features is larger than a sample with 3"),
        ([0], ValueError, "the size of a subset is a whole number of at least 1, not 0"),
        ([], ValueError, "sizes is empty"),
        (5, TypeError, r"sizes is a list of numbers, such as \[1, 2\], not 5"),
        (torch.tensor(5), TypeError, "sizes is a list of numbers"),
        ("12", TypeError, "sizes is a list of numbers"),
    ],
)
def test_bad_sizes_get_a_sentence(sizes: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        check_sizes(problem(groups=GAPS), sizes)
