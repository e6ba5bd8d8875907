"""The interface of methods (`Method`, `MethodInfo`), and the `Attribution` of those that do not walk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import torch
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.engine.record import sum_rows
from samp.targets import TargetIndex, TargetMargin, TargetProbability

ScoreName = Literal["logit", "probability"]
"""Which score of a class a method explains: the model's output, or its soft-max."""


@dataclass(frozen=True)
class MethodInfo:
    """A method's row in the table of methods (`samp methods`): its source, cost and guarantees."""

    paper: str
    cost: str
    complete: str
    implementation: str = "ours"
    licence: str = "Apache-2.0"
    version: int = 1
    """Raised whenever the method's numbers change for the same settings: stored results of another are stale."""


class Method(Protocol):
    """Explains a problem; its fields are its settings, and its repr shows them."""

    about: ClassVar[MethodInfo]

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution: ...


def make_attribution(
    problem: Problem,
    values: Tensor,
    method: object,
    run: RunOptions,
    *,
    gradients: int = 0,
    forwards: int = 0,
    change: Tensor | None = None,
) -> Attribution:
    """Return the `Attribution` of these values (b n, or any shape with as many elements).

    `gradients` and `forwards` are model evaluations spent on each sample. `change` is f(image) − f(baseline) (b) for
    methods whose credit should sum to it: it gives them a residual, under the direction "to_image".

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(torch.nn.Linear(3, 1).eval(), torch.ones(2, 3), target=0)
    >>> make_attribution(problem, torch.zeros(2, 3), "nothing", RunOptions(), forwards=1).residual
    tensor([nan, nan])
    """
    flat = values.reshape(problem.batch, -1).to(problem.x.dtype)
    parts = problem.unflatten(problem.level_patches(flat))
    changes: dict[Direction, Tensor] = {} if change is None else {"to_image": change.to(flat)}
    credit = sum_rows(flat)
    return Attribution(
        values=parts[0] if problem.one_input else parts,
        group_values=problem.features.pool(flat).clone(),  # elements pool to `values` itself
        scores={},
        order={},
        steps={},
        score_change=changes,
        residual_by_direction={d: (c - credit).to(flat) for d, c in changes.items()},
        blind={},
        gradients=torch.full((problem.batch,), gradients, device=flat.device),
        method=repr(method),
        details={**problem.describe(), "seed": run.seed, "forwards": forwards},
    )


def check_score(score: object) -> None:
    """Raise ValueError unless this is the name of a score."""
    if score not in ("probability", "logit"):
        raise ValueError(f"score is 'probability' or 'logit', not {score!r}.")


def with_score(problem: Problem, score: ScoreName, method: object, run: RunOptions) -> Problem:
    """Return the problem with its target known and scored as the method wants it.

    Raises ValueError if the probability of a target is wanted that is no class.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(torch.nn.Linear(3, 2).eval(), torch.ones(2, 3), target=1)
    >>> with_score(problem, "probability", "a method", RunOptions()).objective
    probability of output at [1, 1]
    """
    problem = problem.with_target(Batches(run.batch_size, problem.x.shape[1], problem.x.device))
    if score == "logit":
        return problem
    name = type(method).__name__
    if not isinstance(problem.objective, TargetIndex | TargetMargin):
        raise ValueError(
            f"{name} explains the soft-max probability of a class, but this target is no class: pass "
            f"method={name}(score='logit') to take the score as it is."
        )
    return replace(problem, objective=TargetProbability(problem.objective, name))


def spread_over_channels(problem: Problem, maps: Tensor) -> Tensor:
    """Return maps (b h w) divided equally among the channels (b c h w), so that `map` sums to them again."""
    (image,) = problem.inputs
    return (maps / image.shape[1])[:, None].expand(-1, image.shape[1], -1, -1)


def require_image(problem: Problem, method: object) -> Tensor:
    """Return the one b c h w input that image methods need; raise ValueError if there is none."""
    if len(problem.inputs) != 1 or problem.inputs[0].ndim != 4:
        shapes = ", ".join(str(tuple(x.shape)) for x in problem.inputs)
        raise ValueError(
            f"{type(method).__name__} explains one b c h w image input, not {shapes}: use a path method such as "
            "'consensus' or 'ig'."
        )
    problem.check_layout()
    return problem.inputs[0]
