"""Completeness as a ratio: the sum of a direction's credit over the change of the score, which Eq. 2 says is 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from samp.attribution import Direction
from samp_lab.claims_on_setups import SetupClaim
from samp_lab.measurements.paper_tables import CreditSums
from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import Estimate, bootstrap_estimate, claim_state, median_of
from samp_lab.store import Results

NEAR = 0.1  # of 1: within this we call a credit complete; the paper gives no number


def credit_ratio(results: Results, measurement: CreditSums, direction: Direction) -> Estimate:
    """Return the median over images of Σa / Δy with its interval; images whose score does not change are left out."""
    ratios = ratios_of(results, measurement, direction)
    return bootstrap_estimate(median_of(ratios), len(ratios))


def ratios_of(results: Results, measurement: CreditSums, direction: Direction) -> list[float]:
    """Return Σa / Δy of each image whose score changes."""
    credit, change = (results.numbers(measurement, f"{name} {direction}") for name in ("credit", "change"))
    return [a / b for a, b in zip(credit, change, strict=True) if a == a and b == b and b != 0]


def completeness_verdict(
    results: Results, measurement: CreditSums, direction: Direction, setup: Setup, words: str
) -> Verdict:
    """Return the verdict on Σa lying within 10 % of Δy, by the interval of the median ratio."""
    found = credit_ratio(results, measurement, direction)
    images = len(ratios_of(results, measurement, direction))
    state = claim_state(found, least=1 - NEAR, most=1 + NEAR)
    claim = f"Σa is within 10 % of Δy: {words}"
    measured = f"median of Σa/Δy {found.format('.3g')}"
    return SetupClaim(setup, "completeness", images).verdict(claim, "“ensures completeness”: 1", measured, state)


def texts_of(series: Mapping[int, Estimate], betas: Sequence[int]) -> tuple[str, ...]:
    """Return the ratio at each β as a text, "–" where it was not measured.

    >>> texts_of({1: Estimate(2.0, 1.5, 2.5)}, [1, 10])
    ('2 [1.5, 2.5]', '–')
    """
    return tuple(series[beta].format(".3g") if beta in series else "–" for beta in betas)
