"""The number of paths and the proof's algebra, exactly: small cases by hand, and that a wrong statement is found."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import factorial

import pytest

from samp_lab.theory.exact_cases import (
    PATH_SIZES,
    ExactCheck,
    bridge_form,
    covariance,
    determinant,
    equal_forms,
    exact_blocks,
    exact_checks,
    gaussian_form,
    norm_of_difference,
    papers_error_form,
    papers_inverse,
    product,
    true_error_form,
)
from samp_lab.theory.path_counts import count_paths, general_count, papers_count, paths

ONE = Fraction(1)


def test_paths_of_one_feature_a_step_are_permutations() -> None:
    assert {tuple(step[0] for step in path) for path in paths(4, 1)} == set(permutations(range(4)))


def test_every_path_moves_every_feature_once() -> None:
    for path in paths(5, 2):
        assert sorted(feature for step in path for feature in step) == list(range(5))
        assert [len(step) for step in path] == [2, 2, 1]


def test_the_general_formula_counts_all_paths_and_the_papers_those_of_equal_steps() -> None:
    for d in PATH_SIZES:
        for s in range(1, d + 1):
            assert count_paths(d, s) == general_count(d, s)
            assert (count_paths(d, s) == papers_count(d, s)) == (d % s == 0)
    assert count_paths(6, 3) == factorial(6) // 36 == 20


def test_determinants_by_hand_and_of_matrices_that_need_an_exchange() -> None:
    rows = [[0, 2, 1], [1, 0, 3], [4, 5, 0]]
    assert determinant([[Fraction(x) for x in row] for row in rows]) == 29
    assert determinant([[ONE, ONE], [ONE, ONE]]) == 0
    assert determinant(covariance(3, Fraction(2))) == Fraction(4, 3)


def test_the_inverse_by_hand() -> None:
    third = Fraction(1, 3)
    assert covariance(3, ONE) == [[2 * third, -third], [-third, 2 * third]]
    assert papers_inverse(3, ONE) == [[2, 1], [1, 2]]
    assert product(covariance(3, ONE), papers_inverse(3, ONE)) == [[1, 0], [0, 1]]


def test_forms_at_a_point_by_hand() -> None:
    point = [Fraction(1), Fraction(2), Fraction(9)]  # a = (1, 2, 6), C = 9, mean 3
    assert bridge_form(point) == 1 + 4 + 36 - 27
    assert gaussian_form(point) == 4 + 1 + 9
    assert papers_error_form(point) == 4 + 1 + 36
    assert true_error_form(point) == 4 + 1 + 9


def test_equal_forms_are_told_from_forms_that_agree_at_the_axes_alone() -> None:
    assert equal_forms(lambda v: (v[0] + v[1]) ** 2, lambda v: v[0] ** 2 + 2 * v[0] * v[1] + v[1] ** 2, 2)
    assert not equal_forms(lambda v: v[0] ** 2 + v[0] * v[1], lambda v: v[0] ** 2, 2)


def test_the_papers_norm_is_one_for_no_sigma_of_one() -> None:
    assert [norm_of_difference(d, ONE) for d in (2, 3, 4)] == [Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)]
    assert norm_of_difference(3, Fraction(3, 2)) == 1


def test_what_holds_and_what_fails_exactly() -> None:
    states = {check.claim: check.verdict().state for check in exact_checks()}
    assert states == {
        "the number of paths, where s divides d": "holds",
        "the determinant of Σ": "holds",
        "the inverse of Σ": "holds",
        "the density of Prop. 1 is that of Ass. 1, given the sum": "holds",
        "Eq. 7 differs from Eq. 6 by the factor exp(a_d²/2σ)": "fails",
        "the norm (d−1)·max|Σ − σI| is 1 for every d": "fails",
        "that norm does not fall as d grows": "holds",
    }
    assert {check.part for check in exact_checks()} == {"path-count", "proof-algebra", "appendix-remarks"}
    (factor,) = [check for check in exact_checks() if check.claim.startswith("Eq. 7")]
    assert factor.remark == "with exp((a_d − C/d)²/2σ) right in 15"


@pytest.mark.parametrize(("wrong", "state"), [(0, "holds"), (1, "fails"), (5, "fails")])
def test_one_wrong_case_is_enough_to_fail(wrong: int, state: str) -> None:
    assert ExactCheck("path-count", "claim", "paper", 5, wrong).verdict().state == state


def test_the_table_says_where_the_formula_does_not_apply() -> None:
    grid = exact_blocks()[1]
    rows = {row[0]: row[1:] for row in grid.rows}  # type: ignore[union-attr]  # the second block is the table
    assert rows["d = 6, s = 3"] == ("20", "20", "20")
    assert rows["d = 5, s = 3"] == ("10", "10/3 (s does not divide d)", "10")
