"""Shared by all path methods: they check their settings, make their baselines and run their walks here."""

from __future__ import annotations

import math
from typing import Protocol

from samp.attribution import Attribution
from samp.baselines import BaselineSetting
from samp.checks import check_numbers
from samp.engine import credit as credits
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions, WalkPlan, directions, make_baselines, repr_with, run_walks
from samp.engine.paths import MaxL1, Unlimited
from samp.engine.problem import Problem
from samp.engine.walk import Path, StepRule


class WalkingMethod(Protocol):
    """The settings of every method that walks between baselines and the image."""

    @property
    def direction(self) -> str: ...
    @property
    def baseline(self) -> BaselineSetting: ...


class PathMethod(WalkingMethod, Protocol):
    """The settings that every path method has."""

    @property
    def eta(self) -> float | None: ...
    @property
    def credit(self) -> str | Credit: ...


def walk_along(path: Path, method: PathMethod, momentum: float, problem: Problem, run: RunOptions) -> Attribution:
    """Walk this path in every direction of the method; the result is labelled with the method and its baselines."""
    baselines, labels = make_baselines(method.baseline, method.direction, problem, run.seed)
    plan = WalkPlan(
        path=path,
        rule=step_rule(method.eta),
        momentum=momentum,
        credit=credits.resolve_credit(method.credit),
        baselines=baselines,
        label=repr_with(method, baseline=labels),
    )
    return run_walks(problem, plan, run)


def step_rule(eta: float | None) -> StepRule:
    """Return the infinitesimal constraint (Eq. 9) of this ratio, or no constraint for None."""
    return Unlimited() if eta is None else MaxL1(eta)


def check_path_settings(eta: float | None, credit: str | Credit, direction: str) -> None:
    """Raise ValueError or TypeError unless these settings are valid."""
    check_numbers(eta=1 if eta is None else eta)
    if eta is not None and not 0 < eta < math.inf:
        raise ValueError(f"eta is a ratio above 0, or None for no constraint, not {eta}.")
    directions(direction)
    credits.resolve_credit(credit)
