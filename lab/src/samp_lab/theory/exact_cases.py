"""The algebra of Prop. 1 and 2 and |Γ_s| in small cases, exactly: matrices are of fractions, paths are enumerated.

Nothing here depends on images. A quadratic form in d variables is known by its values at all e_i and e_i + e_j, so that
two forms which agree there are the same: agreement is a proof for that d and σ, and not a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from samp_lab.sections import Block, Paragraph, Verdict
from samp_lab.statistics import Estimate, claim_state
from samp_lab.theory.path_counts import count_paths, papers_count, path_count_table

Matrix = list[list[Fraction]]
Form = Callable[[Sequence[Fraction]], Fraction]
"""A quadratic form of a_1 … a_(d−1) and C."""
PATH_SIZES = range(2, 8)  # features
SIZES = range(2, 7)  # d
SIGMAS = (Fraction(1, 2), Fraction(1), Fraction(3))
WHERE = "exact, d = 2 … 6"
ABOUT = (
    "Small cases, computed exactly with whole numbers and fractions. Where s divides d, enumeration gives the paper's "
    "d!/(s!)^n paths. Where it does not (10 divides neither the 784 pixels of MNIST nor the 1,024 of CIFAR-10), Def. 2 "
    "has no path; with a last step of the r = d − (n−1)·s features that are left, there are d!/((s!)^(n−1)·r!). In the "
    "derivation of Eq. 7 the square of Σ_(k<d)(a_k − C/d) is written as a_d²; it is (a_d − C/d)², so that the error of "
    "Eq. 7 vanishes where the last credit is a mean one, not where it is 0. The two agree for C = 0, and nearly for "
    "large d."
)


# ---- the algebra of the propositions ----


def covariance(d: int, sigma: Fraction) -> Matrix:
    """Return Σ = σ(I − J/d), of d − 1 rows.

    >>> covariance(2, Fraction(1))
    [[Fraction(1, 2)]]
    """
    return [[sigma * ((i == j) - Fraction(1, d)) for j in range(d - 1)] for i in range(d - 1)]


def determinant(matrix: Matrix) -> Fraction:
    """Return the determinant, by elimination.

    >>> determinant([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(4)]])
    Fraction(-2, 1)
    """
    rows, found = [list(row) for row in matrix], Fraction(1)
    for place in range(len(rows)):
        pivot = next((i for i in range(place, len(rows)) if rows[i][place]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != place:
            rows[place], rows[pivot], found = rows[pivot], rows[place], -found
        found *= rows[place][place]
        for row in rows[place + 1 :]:
            factor = row[place] / rows[place][place]
            row[:] = [a - factor * b for a, b in zip(row, rows[place], strict=True)]
    return found


def product(a: Matrix, b: Matrix) -> Matrix:
    """Return the product of two matrices.

    >>> product([[Fraction(2)]], [[Fraction(3)]])
    [[Fraction(6, 1)]]
    """
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in zip(*b, strict=True)]
        for row in a
    ]


def papers_inverse(d: int, sigma: Fraction) -> Matrix:
    """Return (I + 11ᵀ)/σ, of d − 1 rows."""
    return [[((i == j) + Fraction(1)) / sigma for j in range(d - 1)] for i in range(d - 1)]


def equal_forms(first: Form, second: Form, variables: int) -> bool:
    """Return whether two quadratic forms are the same, by their values at all e_i and e_i + e_j.

    >>> equal_forms(lambda v: (v[0] + v[1]) ** 2, lambda v: v[0] ** 2 + v[1] ** 2, 2)
    False
    """
    units = [[Fraction(int(i == j)) for j in range(variables)] for i in range(variables)]
    sums = [[a + b for a, b in zip(one, other, strict=True)] for one, other in combinations(units, 2)]
    return all(first(point) == second(point) for point in (*units, *sums))


def _split(point: Sequence[Fraction]) -> tuple[Sequence[Fraction], Fraction, Fraction]:
    """Return a_1 … a_(d−1), C, and the last credit a_d = C − Σa."""
    return point[:-1], point[-1], point[-1] - sum(point[:-1])


def bridge_form(point: Sequence[Fraction]) -> Fraction:
    """Return Σ_(k≤d) a_k² − C²/d: −2σ times the exponent of P(a_1 … a_d) / P(u_d = C), from Ass. 1 alone.

    >>> bridge_form([Fraction(1), Fraction(2)])  # a = (1, 1), C = 2
    Fraction(0, 1)
    """
    credits, total, last = _split(point)
    return sum((one**2 for one in credits), last**2) - total**2 / len(point)


def gaussian_form(point: Sequence[Fraction]) -> Fraction:
    """Return σ‖ã − C/d‖² in the norm of Σ⁻¹ (Eq. 6)."""
    credits, total, _ = _split(point)
    away = [one - total / len(point) for one in credits]
    return sum((one**2 for one in away), sum(away, Fraction(0)) ** 2)


def distance_form(point: Sequence[Fraction]) -> Fraction:
    """Return D² = ‖ã − C/d‖², the exponent that Eq. 7 keeps."""
    credits, total, _ = _split(point)
    return sum(((one - total / len(point)) ** 2 for one in credits), Fraction(0))


def papers_error_form(point: Sequence[Fraction]) -> Fraction:
    """Return D² + a_d², as the remark on Eq. 7 has it."""
    return distance_form(point) + _split(point)[2] ** 2


def true_error_form(point: Sequence[Fraction]) -> Fraction:
    """Return D² + (a_d − C/d)²."""
    _, total, last = _split(point)
    return distance_form(point) + (last - total / len(point)) ** 2


def norm_of_difference(d: int, sigma: Fraction) -> Fraction:
    """Return (d−1)·max|Σ − σI|, the norm of the paper's remark.

    >>> norm_of_difference(4, Fraction(2))
    Fraction(3, 2)
    """
    matrix = covariance(d, sigma)
    return (d - 1) * max(abs(value - sigma * (i == j)) for i, row in enumerate(matrix) for j, value in enumerate(row))


# ---- the report ----


@dataclass(frozen=True)
class ExactCheck:
    """A statement of the paper, and how many of its cases are wrong."""

    part: str
    claim: str
    paper: str
    cases: int
    wrong: int
    remark: str = ""
    where: str = WHERE

    def verdict(self) -> Verdict:
        """Return the verdict: it holds if no case is wrong.

        >>> [ExactCheck("path-count", "c", "p", 5, wrong).verdict().state for wrong in (0, 1)]
        ['holds', 'fails']
        """
        ours = f"right in {self.cases - self.wrong} of {self.cases} cases" + (f"; {self.remark}" if self.remark else "")
        state = claim_state(Estimate(self.wrong, self.wrong, self.wrong), most=0.5)
        return Verdict(self.claim, self.paper, ours, state, self.where, self.part)


def exact_checks() -> list[ExactCheck]:
    """Return all checks, each over all sizes and, where it has one, all σ."""
    whole = [(d, s) for d in PATH_SIZES for s in range(1, d + 1) if d % s == 0]
    cases = [(d, sigma) for d in SIZES for sigma in SIGMAS]

    def wrong(right: Callable[[int, Fraction], bool]) -> int:
        return sum(not right(d, sigma) for d, sigma in cases)

    def same(first: Form, second: Form) -> int:
        return wrong(lambda d, _: equal_forms(first, second, d))

    count, part = len(cases), "proof-algebra"
    norms = ", ".join(str(norm_of_difference(d, Fraction(1))) for d in SIZES)
    miscounted = sum(count_paths(d, s) != papers_count(d, s) for d, s in whole)
    return [
        ExactCheck(
            "path-count",
            "the number of paths, where s divides d",
            "d!/(s!)^n",
            len(whole),
            miscounted,
            where="exact, d = 2 … 7",
        ),
        ExactCheck(part, "the determinant of Σ", "σ^(d−1)/d", count, wrong(_has_determinant)),
        ExactCheck(part, "the inverse of Σ", "(I + 11ᵀ)/σ", count, wrong(_has_inverse)),
        ExactCheck(
            part,
            "the density of Prop. 1 is that of Ass. 1, given the sum",
            "Eq. 6",
            count,
            same(bridge_form, gaussian_form),
        ),
        ExactCheck(
            "appendix-remarks",
            "Eq. 7 differs from Eq. 6 by the factor exp(a_d²/2σ)",
            "remark on Prop. 2",
            count,
            same(gaussian_form, papers_error_form),
            f"with exp((a_d − C/d)²/2σ) right in {count - same(gaussian_form, true_error_form)}",
        ),
        ExactCheck(
            "appendix-remarks",
            "the norm (d−1)·max|Σ − σI| is 1 for every d",
            "“always 1, not tending to 0”",
            count,
            wrong(lambda d, sigma: norm_of_difference(d, sigma) == 1),
            f"it is σ(d−1)/d, for σ = 1 {norms}, and tends to σ",
        ),
        ExactCheck(
            part,
            "that norm does not fall as d grows",
            "“not tending to 0”",
            count,
            wrong(lambda d, sigma: norm_of_difference(d + 1, sigma) >= norm_of_difference(d, sigma)),
        ),
    ]


def _has_determinant(d: int, sigma: Fraction) -> bool:
    return determinant(covariance(d, sigma)) == sigma ** (d - 1) / d


def _has_inverse(d: int, sigma: Fraction) -> bool:
    identity = [[Fraction(int(i == j)) for j in range(d - 1)] for i in range(d - 1)]
    return product(covariance(d, sigma), papers_inverse(d, sigma)) == identity


def exact_blocks() -> list[Block]:
    """Return the text on small cases, and a table of the number of paths."""
    return [Paragraph(ABOUT), path_count_table()]
