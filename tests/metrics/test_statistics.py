"""Summaries and paired comparisons against scipy, hand calculations and brute force."""

from __future__ import annotations

import itertools
import math
import re
import sys
from dataclasses import astuple
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laws import seeds
from samp.extras import install_command
from samp.metrics.statistics import Bootstrap, Summary, compare_pairs, holm, summarise, table

stats = pytest.importorskip("scipy.stats")
QUICK = Bootstrap(resamples=200)
NAN = math.nan


def same(a: Any, b: Any) -> bool:
    """Equal field by field, NaN to NaN."""
    return all(x == y or (x != x and y != y) for x, y in zip(astuple(a), astuple(b), strict=True))


# ---- one method ----


def test_a_summary_by_hand() -> None:
    found = summarise([1.0, NAN, 2.0, 6.0])
    assert (found.count, found.left_out, found.mean) == (3, 1, 3.0)
    assert found.sd == pytest.approx(math.sqrt((4 + 1 + 9) / 2))
    assert found.low < 3 < found.high
    assert "3.000 ± 2.646 (sd)" in str(found)
    assert str(found).endswith("over 3 samples; could not be measured: 1")
    assert "measured" not in str(summarise([1.0, 2.0], QUICK))


@pytest.mark.parametrize("as_given", [list, tuple, np.array, torch.tensor, lambda v: torch.tensor(v).double()])
def test_scores_may_come_as_anything(as_given: Any) -> None:
    assert summarise(as_given([0.5, 0.25, NAN, 1.0]), QUICK) == summarise([0.5, 0.25, NAN, 1.0], QUICK)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], (0, 0, NAN, NAN, NAN, NAN, 0.95)),
        ([NAN, NAN], (0, 2, NAN, NAN, NAN, NAN, 0.95)),
        ([0.3], (1, 0, 0.3, NAN, NAN, NAN, 0.95)),
        ([0.3, NAN], (1, 1, 0.3, NAN, NAN, NAN, 0.95)),
        ([0.1] * 7, (7, 0, 0.1, 0.0, 0.1, 0.1, 0.95)),
    ],
)
def test_few_or_equal_scores_have_defined_answers(scores: list[float], expected: tuple[Any, ...]) -> None:
    assert same(summarise(scores), Summary(*expected))


# ---- two methods ----


def brute_force_p(differences: list[float]) -> float:
    """Every sign given to every rank: how often the rank sum is at least as far from its middle."""
    moved = [d for d in differences if d]
    ranks = stats.rankdata(np.abs(moved))
    seen = abs(sum(r * math.copysign(1, d) for r, d in zip(ranks, moved, strict=True)))
    sums = [abs(sum(r * s for r, s in zip(ranks, signs, strict=True))) for signs in signs_of(len(moved))]
    return sum(total >= seen - 1e-9 for total in sums) / len(sums)


def signs_of(count: int) -> Any:
    return itertools.product((-1, 1), repeat=count)


@given(seed=seeds, count=st.integers(1, 9))
def test_exact_p_equals_brute_force(seed: int, count: int) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, count))
    found = compare_pairs(a, b, "higher", QUICK)
    assert found.exact
    assert found.p == pytest.approx(brute_force_p(list(a - b)), abs=1e-12)


def test_a_comparison_by_hand() -> None:
    """Differences 2, −1, 0, 3 and one NaN: ranks 2, 1, –, 3."""
    found = compare_pairs([3.0, 1.0, 5.0, 4.0, NAN], [1.0, 2.0, 5.0, 1.0, 1.0], "higher")
    assert (found.pairs, found.left_out, found.wins, found.losses) == (4, 1, 2, 1)
    assert found.difference == 1.0
    assert found.rank_biserial == pytest.approx((2 + 3 - 1) / 6)
    assert found.dz == pytest.approx(1 / math.sqrt((1 + 4 + 1 + 4) / 3))
    assert found.p == pytest.approx(4 / 8)  # rank sums of ±6 and ±4 out of ±6, ±4, ±2, 0, 0
    assert found.exact
    assert "a is better in 2 of 4 pairs, worse in 1" in str(found)
    assert str(found).endswith("could not be measured: 1")


def test_lower_is_better_turns_effects_and_wins_but_not_the_difference() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 20))
    higher, lower = compare_pairs(a, b, "higher", QUICK), compare_pairs(a, b, "lower", QUICK)
    assert (lower.wins, lower.losses) == (higher.losses, higher.wins)
    assert (lower.rank_biserial, lower.dz) == (-higher.rank_biserial, -higher.dz)
    assert (lower.difference, lower.low, lower.p) == (higher.difference, higher.low, higher.p)


@given(seed=seeds, count=st.integers(2, 80), steps=st.sampled_from([None, 4]))
def test_swapping_the_methods_turns_the_signs(seed: int, count: int, steps: int | None) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, count))
    if steps:  # many ties, and pairs that do not differ
        a, b = np.round(a * steps) / steps, np.round(b * steps) / steps
    one, other = compare_pairs(a, b, "higher", QUICK), compare_pairs(b, a, "higher", QUICK)
    assert one.p == pytest.approx(other.p, abs=1e-12)
    assert one.rank_biserial == pytest.approx(-other.rank_biserial, abs=1e-12)
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    assert one.wins == other.losses
    assert 0 < one.p <= 1
    assert -1 <= one.rank_biserial <= 1


@pytest.mark.parametrize("count", [50, 51, 200])
def test_p_is_scipys_and_exact_up_to_fifty_pairs(count: int) -> None:
    a, b = np.random.default_rng(count).normal(size=(2, count))
    found = compare_pairs(a + 0.2, b, "higher", QUICK)
    assert found.exact == (count <= 50)
    assert found.p == pytest.approx(stats.wilcoxon(a + 0.2, b).pvalue, rel=1e-9)


def test_ties_take_the_normal_approximation_corrected_for_them() -> None:
    """|d| = 1, 1, 2, 2 of which one negative: ranks 1.5, 1.5, 3.5, 3.5; two groups of two ties."""
    found = compare_pairs([1.0, -1.0, 2.0, 2.0], [0.0] * 4, "higher", QUICK)
    variance = 4 * 5 * 9 / 24 - 2 * (2**3 - 2) / 48
    z = (8.5 - 5) / math.sqrt(variance)
    assert not found.exact
    assert found.p == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-9)


def test_constructed_best_worst_and_nothing() -> None:
    low, high = np.arange(8.0), np.arange(8.0) + np.linspace(1, 2, 8)
    best, worst = compare_pairs(high, low, "higher", QUICK), compare_pairs(low, high, "higher", QUICK)
    assert (best.rank_biserial, worst.rank_biserial) == (1, -1)
    assert best.p == worst.p == 2 / 2**8
    nothing = compare_pairs(low, low, "higher", QUICK)
    assert (nothing.p, nothing.rank_biserial, nothing.difference) == (1, 0, 0)
    assert (nothing.low, nothing.high, nothing.wins, nothing.losses) == (0, 0, 0, 0)
    assert math.isnan(nothing.dz)


@pytest.mark.parametrize("gap", [0.1, -0.3])
def test_the_same_difference_everywhere_has_no_spread(gap: float) -> None:
    found = compare_pairs(np.full(6, gap), np.zeros(6), "higher", QUICK)
    assert math.isnan(found.dz)
    assert found.low == found.high == found.difference == gap
    assert found.rank_biserial == math.copysign(1, gap)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_differences_of_rounding_are_none(scale: float) -> None:
    a = scale * np.array([0.1 + 0.2, 0.3, 1.0, 2.0])
    b = scale * np.array([0.3, 0.1 + 0.2, 1.0, 2.0 * (1 + 9e-13)])
    found = compare_pairs(a, b, "higher", QUICK)
    assert (found.wins, found.losses, found.p, found.rank_biserial, found.difference) == (0, 0, 1, 0, 0)
    more = compare_pairs(a, scale * np.array([0.3, 0.3, 1.0, 2.0 * (1 + 4e-12)]), "higher", QUICK)
    assert (more.wins, more.losses) == (0, 1)


def test_what_is_small_beside_the_other_scores_alone_is_still_a_difference() -> None:
    assert compare_pairs([1e-17, 0.5], [0.0, 0.5], "higher", QUICK).wins == 0  # the last digit of the largest
    assert compare_pairs([1e-17, 0.0], [0.0, 0.0], "higher", QUICK).wins == 1  # all there is of these scores
    assert compare_pairs([2e-9, 1e6], [1e-9, 1e6], "higher", QUICK).wins == 1


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_no_effect_has_no_sign(better: Literal["higher", "lower"]) -> None:
    equal = compare_pairs([1.0, 2.0], [1.0, 2.0], better, QUICK)
    balanced = compare_pairs([1.0, -1.0], [0.0, 0.0], better, QUICK)
    for effect in (equal.rank_biserial, balanced.rank_biserial, balanced.dz):
        assert (effect, math.copysign(1, effect)) == (0, 1)


def test_no_pair_and_one_pair_have_defined_answers() -> None:
    none = compare_pairs([1.0, NAN], [NAN, 1.0], "higher")
    assert (none.pairs, none.left_out, none.wins) == (0, 2, 0)
    assert all(math.isnan(v) for v in (none.p, none.difference, none.low, none.high, none.rank_biserial, none.dz))
    one = compare_pairs([2.0], [1.0], "higher")
    assert (one.pairs, one.p, one.difference, one.rank_biserial) == (1, 1.0, 1.0, 1.0)
    assert math.isnan(one.low)
    assert math.isnan(one.dz)


def test_pairing_finds_what_two_intervals_hide() -> None:
    """Images differ by far more than methods do: each alone overlaps, image by image one is always better."""
    random = np.random.default_rng(0)
    b = random.normal(0, 5, 30)
    a = b + random.uniform(0.1, 0.5, 30)
    assert summarise(a, QUICK).low < summarise(b, QUICK).high
    assert compare_pairs(a, b, "higher", QUICK).p < 1e-6


# ---- many methods ----


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([]) == []
    found = holm([0.02, NAN, 0.01])
    assert found[::2] == pytest.approx([0.02, 0.02])
    assert math.isnan(found[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_equals_its_definition(ps: list[float]) -> None:
    """Step down from the smallest: p times how many are left, never below the one before, at most 1."""
    expected, running = dict.fromkeys(range(len(ps)), 0.0), 0.0
    for step, i in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        running = max(running, ps[i] * (len(ps) - step))
        expected[i] = min(running, 1)
    assert holm(ps) == pytest.approx([expected[i] for i in range(len(ps))])


def test_table_says_what_the_functions_say() -> None:
    random = np.random.default_rng(0)
    base = random.normal(size=30)
    scores = {"base": base, "near": base + random.normal(0, 0.1, 30), "far|ther": base + 1 + random.normal(0, 0.1, 30)}
    scores["near"][3] = NAN
    lines = table(scores, "lower", against="base").splitlines()
    assert lines[0] == ("| method | n | mean ± sd ↓ | 95 % interval | less base | rank-biserial | p (Wilcoxon, Holm) |")
    assert lines[1] == "|---|---|---|---|---|---|---|"
    assert lines[2].endswith("| – | – | – |")
    near, far = (compare_pairs(scores[name], base, "lower") for name in ("near", "far|ther"))
    assert lines[3].startswith(f"| near | 29 (1 left out) | {summarise(scores['near']).mean:.3f} ± ")
    assert lines[3].endswith(f"| {near.rank_biserial:+.2f} | {holm([near.p, far.p])[0]:.2g} |")
    assert lines[4].startswith("| far\\|ther | 30 |")
    assert lines[4].endswith(f"| -1.00 | {2 * far.p:.2g} |")
    assert f"| {far.difference:+.3f} [{far.low:+.3f}, {far.high:+.3f}] |" in lines[4]


def test_table_without_a_reference_needs_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert len(table({"a": [1.0, 2.0], "b": [NAN]}, "higher", bootstrap=QUICK).splitlines()) == 4
    with pytest.raises(ImportError, match=re.escape(install_command("metrics"))):
        compare_pairs([1.0, 2.0], [2.0, 4.0], "higher", QUICK)


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (lambda: compare_pairs([1.0], [1.0, 2.0], "higher"), "a has 1 scores but b 2"),
        (lambda: compare_pairs([1.0], [2.0], "best"), "better is 'higher' or 'lower', not 'best'"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: summarise([[1.0, 2.0]]), r"one number per sample, not of shape \(1, 2\)"),
        (lambda: summarise([1.0, math.inf]), "hold Inf"),
        (lambda: table({"a": [1.0]}, "higher", against="b"), "against is 'b', but the methods are a"),
        (
            lambda: table({"ig": [1.0], "samp": [1.0, 2.0]}, "higher", against="samp"),
            "ig has 1 scores but samp 2: give both for the same samples",
        ),
    ],
)
def test_what_does_not_fit_gets_a_sentence(do: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        do()


def test_methods_without_a_name_get_a_sentence() -> None:
    with pytest.raises(TypeError, match="methods are named by strings, not by 1"):
        table({1: [1.0, 2.0]}, "higher")  # type: ignore[dict-item]  # that is the point
