"""What all path methods have in common: their settings checked, their baselines made, their walks followed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Protocol

from torch import Tensor

from samp.attribution import DIRECTIONS, Attribution, Direction
from samp.baselines import Blurred, black, evaluate_baseline, label_baseline, resolve_baseline
from samp.engine import credit as credits
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.problem import Problem
from samp.engine.step_rules import MaxL1, Unlimited
from samp.engine.walk import Path, StepRule
from samp.lookup import look_up
from samp.methods._checks import check_numbers


class WalkingMethod(Protocol):
    """Settings of every method that walks between baselines and the image."""

    @property
    def direction(self) -> str: ...
    @property
    def baseline(self) -> Any: ...


class PathMethod(WalkingMethod, Protocol):
    """The settings that every path method has."""

    @property
    def eta(self) -> float | None: ...
    @property
    def credit(self) -> str | Credit: ...


def walk_along(path: Path, method: PathMethod, momentum: float, problem: Problem, run: RunOptions) -> Attribution:
    """Follow this path in every direction the method asks for; the result names the method with its baselines."""
    baselines, label = make_baselines(method, problem, run)
    plan = WalkPlan(
        path=path,
        rule=step_rule(method.eta),
        momentum=momentum,
        credit=credits.resolve_credit(method.credit),
        baselines=baselines,
        label=label,
    )
    return run_walks(problem, plan, run)


def make_baselines(method: WalkingMethod, problem: Problem, run: RunOptions) -> tuple[dict[Direction, Tensor], str]:
    """Where the baseline of each direction lies (b n), and the method's repr with its baselines named."""
    pair = baseline_pair(method.baseline, problem)
    chosen = directions(method.direction)
    if any(isinstance(resolve_baseline(one), Blurred) for d in chosen for one in _as_list(pair[d])):
        problem.check_layout()  # a blur goes along axes 2 and 3
    shown = [label_baseline(pair[d]) for d in chosen]
    named_method = replace(method, baseline=tuple(shown) if len(shown) > 1 else shown[0])  # type: ignore[type-var]  # every method is a dataclass
    return {d: problem.flatten(evaluate_baseline(pair[d], problem.inputs, run.seed)) for d in chosen}, repr(
        named_method
    )


def _as_list(baseline: Any) -> list[Any]:
    """The baselines of all inputs."""
    return list(baseline) if isinstance(baseline, list) else [baseline]


def directions(direction: str) -> tuple[Direction, ...]:
    """The directions to walk.

    >>> directions("both")
    ('to_baseline', 'to_image')
    """
    return look_up(direction, {"both": DIRECTIONS, **{d: (d,) for d in DIRECTIONS}}, "direction")


def step_rule(eta: float | None) -> StepRule:
    """The infinitesimal constraint of this ratio, or none."""
    return Unlimited() if eta is None else MaxL1(eta)


def check_path_settings(eta: float | None, credit: str | Credit, direction: str) -> None:
    """What every path method asks of its settings."""
    check_numbers(eta=1 if eta is None else eta)
    if eta is not None and not 0 < eta < math.inf:
        raise ValueError(f"eta is a ratio above 0, or None for no constraint, not {eta}.")
    directions(direction)
    credits.resolve_credit(credit)


def baseline_pair(baseline: Any, problem: Problem) -> dict[Direction, Any]:
    """The baseline of each direction: as given (one for both, or a tuple of two), else the paper's where it applies."""
    if baseline is None:
        image = problem.inputs[0]
        pair = (black, Blurred.for_image(*image.shape[2:])) if problem.paper_settings else (black, black)
    else:
        pair = baseline if isinstance(baseline, tuple) else (baseline, baseline)
    if len(pair) != 2:
        raise ValueError(
            f"baseline has {len(pair)} entries: a tuple is (deletion, insertion); one per input goes in a list."
        )
    return dict(zip(DIRECTIONS, pair, strict=True))
