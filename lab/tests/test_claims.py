"""One rule decides whether a claim holds, stays open or fails: every table and figure goes by it."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samp_lab
from samp.metrics.statistics import summarise
from samp_lab.figures.verification import SMALL, small_drop_state
from samp_lab.sections import State
from samp_lab.statistics import (
    SIGNIFICANCE,
    Difference,
    Estimate,
    bootstrap_estimate,
    claim_state,
    compare_groups,
    compare_paired,
    correct_family,
    neutral_state,
    ratio,
    sign_state,
    state_of_all,
)

NAN = math.nan
REAL = st.floats(-10, 10)


def estimate(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high)


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.3, 0.4, "holds"),
        (0.1, 0.3, "open"),
        (0.1, 0.7, "open"),
        (0.4, 0.7, "open"),
        (0.0, 0.1, "fails"),
        (0.6, 0.9, "fails"),
        (0.2, 0.4, "open"),  # the bound itself is neither within nor beyond
        (0.1, 0.2, "open"),
        (0.5, 0.6, "open"),
        (NAN, NAN, "open"),
    ],
)
def test_the_whole_interval_lies_within_the_bounds_or_beyond_one(low: float, high: float, state: State) -> None:
    assert claim_state(estimate(low, high), least=0.2, most=0.5) == state


@pytest.mark.parametrize(("p", "state"), [(0.0, "holds"), (0.049, "holds"), (SIGNIFICANCE, "open"), (NAN, "open")])
def test_a_test_that_is_not_significant_leaves_any_claim_open(p: float, state: State) -> None:
    assert claim_state(estimate(1, 3), least=0, p=p) == state
    assert sign_state(estimate(1, 3), +1, p) == Difference(2, 1, 3, p).state(+1) == state
    assert (Difference(2, 1, 3, p).state(-1) == "fails") == (state == "holds")


@given(REAL, REAL, REAL)
def test_a_claim_and_its_opposite_never_hold_together(a: float, b: float, bound: float) -> None:
    found = estimate(min(a, b), max(a, b))
    above, below = claim_state(found, least=bound), claim_state(found, most=bound)
    assert (above, below) in (("holds", "fails"), ("fails", "holds"), ("open", "open"))


@given(REAL, REAL)
def test_a_sign_is_a_claim_about_zero(a: float, b: float) -> None:
    found = estimate(min(a, b), max(a, b))
    assert found.state(+1) == sign_state(found, +1) == claim_state(found, least=0)
    assert found.state(-1) == claim_state(found, most=0)


def test_a_mean_is_open_while_its_interval_includes_the_bound() -> None:
    sure = summarise([0.5, 0.6, 0.7, 0.6] * 5)
    assert [claim_state(sure, least=bound) for bound in (0.2, 0.6, 0.9)] == ["holds", "open", "fails"]
    assert claim_state(summarise([0.5, 0.6, 0.7, 0.6]), least=0.2) == "missing"  # four images decide nothing


def test_a_small_drop_lies_between_none_and_a_quarter() -> None:
    found = []
    for few in ([0.1, 0.12, 0.11], [0.5, 0.6, 0.7], [0.1, 0.4], [-0.2, -0.1, -0.15], [-0.1, 0.1]):
        drops = summarise(few * 10)
        found.append(small_drop_state(drops))
        assert found[-1] == claim_state(drops, least=0, most=SMALL)
    assert found == ["holds", "fails", "open", "fails", "open"]


def test_a_paired_difference_needs_interval_and_test() -> None:
    more, less = [float(i) + 1 for i in range(24)], [float(i) for i in range(24)]
    assert [compare_paired(more, less).state(sign) for sign in (1, -1)] == ["holds", "fails"]
    unsure = [value + (3.0 if i % 2 else -2.9) for i, value in enumerate(less)]
    assert compare_paired(unsure, less).state(1) == "open"


@pytest.mark.parametrize(("images", "state"), [(19, "missing"), (20, "holds")])
def test_nothing_is_judged_from_fewer_than_twenty_images(images: int, state: State) -> None:
    values = [float(image % 5) for image in range(images)]
    pairs = compare_paired([value + 1 + value / 10 for value in values], values)
    groups = compare_groups([value + 9 for value in values], [*values, *values])  # the smaller group counts
    mean = bootstrap_estimate(lambda weights: weights @ np.asarray(values) / weights.sum(1), images)
    times = ratio([value + 2 for value in values], [1.0] * images)
    assert [one.state(1) for one in (pairs, groups, mean, times)] == [state] * 4
    assert claim_state(summarise(values), least=0) == state
    assert (str(pairs) == "19 images, too few to judge") == (images == 19)
    assert neutral_state(compare_paired(values, values)) == state  # no difference at all


def test_pairs_without_a_number_are_no_images() -> None:
    values = [float(image) for image in range(25)]
    unknown = [NAN] * 6 + values[6:]
    assert compare_paired([value + 1 for value in unknown], values).state(1) == "missing"


def test_a_family_has_holms_p() -> None:
    family = [Difference(2, 1, 3, p) for p in (0.02, 0.04, 0.001)]
    corrected = correct_family(family)
    assert [one.p for one in corrected] == pytest.approx([0.04, 0.04, 0.003])
    assert [one.state(1) for one in corrected] == ["holds", "holds", "holds"]
    assert [one.p for one in correct_family(family[:2])] == pytest.approx([0.04, 0.04])
    assert [one.state(1) for one in correct_family([family[0]] * 3)] == ["open"] * 3  # 3 · 0.02
    assert str(corrected[2]) == "+2.000 [+1.000, +3.000], Holm's p = 0.003"
    assert correct_family([]) == []


@pytest.mark.parametrize(
    ("low", "high", "p", "state"),
    [(0.1, 0.3, 0.05, "holds"), (0.1, 0.3, 0.049, "fails"), (-0.3, -0.1, 0.01, "fails"), (-0.1, 0.3, 0.01, "open")],
)
def test_no_significant_change_holds_until_test_and_interval_show_one(
    low: float, high: float, p: float, state: State
) -> None:
    assert neutral_state(Difference((low + high) / 2, low, high, p)) == state


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "open"], "open"),
        (["open", "fails", "missing"], "fails"),
        (["open", "missing"], "missing"),
    ],
)
def test_several_claims_hold_if_all_do_and_fail_if_one_does(states: list[State], state: State) -> None:
    assert state_of_all(states) == state


# Claims without an interval: the largest value of all images, a value near enough, the method of the best mean; counts
# of judges, and two intervals that must not touch (claims.py); the colours of a page are those of states.
WITHOUT_INTERVAL = {
    "figures/counting.py",
    "figures/sweep.py",
    "leaderboard/claims.py",
    "leaderboard/page.py",
    "method_ranking.py",
}


def test_the_rule_is_written_once() -> None:
    """No other module decides on a state by itself, that is, has one as a branch of an `if` or after `return`."""
    folder = Path(samp_lab.__file__).parent
    deciding = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            branches = (node.body, node.orelse) if isinstance(node, ast.IfExp) else ()
            values = (node.value,) if isinstance(node, ast.Return) else branches
            if any(isinstance(value, ast.Constant) and value.value in ("holds", "open", "fails") for value in values):
                deciding.add(path.relative_to(folder).as_posix())
    assert deciding == {"statistics.py"} | WITHOUT_INTERVAL
