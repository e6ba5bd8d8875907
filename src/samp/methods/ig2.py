"""IG2: gradients along the path of a gradient descent to a counterfactual (Zhuo and Ge, 2024)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from samp.attribution import Attribution
from samp.baselines import InputBaselines, TensorBaseline, black, evaluate_baseline, label_baseline, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine import credit as credits
from samp.engine.batches import Batches
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.paths import Unlimited
from samp.engine.problem import Problem
from samp.engine.walk import Route, Step
from samp.errors import NonFiniteError
from samp.methods._common import MethodInfo
from samp.methods._layer_model import problem_at_layer
from samp.methods._value_range import Bounds, check_bounds, label_bounds, value_range
from samp.model_output import extract_scores
from samp.targets import TargetFunction


@dataclass(frozen=True)
class IG2:
    """Integrated gradients along a descent: from the image to where the model takes it for a reference.

    The path is x ← x − step · d / ‖d‖ with d the gradient of ‖h(x) − h(reference)‖² and h the activations of a late
    layer; the credit is the gradient of the explained score before each move, times the move, averaged over references.
    `layer`, `steps`, `credit` and the average are as published (JoeZhuo-ZY/IG2). What cannot be known from the model
    alone has defaults of our own:

    - `reference`: theirs are several images of other classes, ours by default one black image: a name, number, tensor
      or callable, as a baseline, or a tuple of such: `reference=tuple(others.split(1))` for images b c h w.
    - `bounds`: their pixels are clipped to 0 … 255, ours by default to each sample's own smallest and largest element.
      A pair of a lowest and a highest value, each a number or a tensor: for inputs from 0 to 1, `bounds=(0, 1)`.
    - `step`: the length of a move, as a root mean square over elements and a share of `bounds`. Theirs is an L2 length
      of 256, at 299 × 299 RGB pixels from 0 to 255: 0.0019. For n elements theirs is 256 / 255 / √n.
    - `layer`: a module or its name, whose output is compared. `None` is theirs, what enters the last linear layer, if
      the model ends in one, else its output; the model itself, or "", is its output. `result.method` names it.

    The values sum to f(image) − f(counterfactual) with many small steps only: a descent leads to where the score bends,
    and at the published length circles there. To store no points the descent runs twice, first to find its end, at
    3 · `steps` gradients for each reference. For several references there is no single walk: the result has no scores
    and steps.

    >>> import torch, samp
    >>> x, others = torch.rand(2, 6), torch.rand(3, 6)
    >>> method = IG2(steps=5, reference=tuple(others.split(1)), bounds=(0, 1))
    >>> result = samp.explain(torch.nn.Linear(6, 1).eval(), x, method=method)
    >>> result.gradients.tolist(), bool((result.residual.abs() < 1e-5).all())
    ([45, 45], True)
    """

    steps: int = 201
    step: float = 0.0019
    reference: InputBaselines | tuple[InputBaselines, ...] = black
    layer: str | nn.Module | None = None
    bounds: Bounds = None
    credit: str | Credit = "left"
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Zhuo and Ge, IG2: Integrated Gradient on Iterative Gradient Path, TPAMI 2024 (our reference and bounds)",
        cost="3 · steps gradients for each reference",
        complete="in the limit of many small steps, to the counterfactual",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(step=self.step)
        if not 0 < self.step < math.inf:
            raise ValueError(f"step is a share of the input's range above 0, not {self.step!r}.")
        if isinstance(self.reference, tuple) and not self.reference:
            raise ValueError("reference is an empty tuple: give at least one reference.")
        if not (isinstance(self.layer, str | nn.Module) or self.layer is None):
            raise TypeError(f"layer is a module, its name, or None, not {type(self.layer).__name__}.")
        credits.resolve_credit(self.credit)
        object.__setattr__(self, "reference", wrap_tensors(self.reference))
        object.__setattr__(self, "bounds", check_bounds(self.bounds))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the credit of every sample's descents, averaged over the references.

        Raises NonFiniteError with the result if a score was not finite for some reference.
        """
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        inner, layer = problem_at_layer(problem, self.layer)
        low, high = value_range(self.bounds, problem, run.seed)
        results: list[Attribution] = []
        failure: NonFiniteError | None = None
        for reference in self._references():
            towards = _distance_problem(inner, _make_reference(reference, problem, run.seed), batches)
            descent = DescentPath(int(self.steps), float(self.step), low, high, towards)
            try:
                results.append(self._walk(problem, descent, self._label(layer), run))
            except NonFiniteError as error:
                failure = failure or error
                results.append(error.result)
        result = results[0] if len(results) == 1 else _average(results)
        if failure:
            raise NonFiniteError(str(failure), result)
        return result

    def _references(self) -> tuple[InputBaselines, ...]:
        return self.reference if isinstance(self.reference, tuple) else (self.reference,)

    def _label(self, layer: str) -> str:
        """Return the method's repr for results: references and bounds by their kind, and the layer that was taken."""
        labels = tuple(map(label_baseline, self._references()))
        reference = labels if isinstance(self.reference, tuple) else labels[0]
        return repr(replace(self, reference=reference, layer=layer, bounds=label_bounds(self.bounds)))

    def _walk(self, problem: Problem, descent: DescentPath, label: str, run: RunOptions) -> Attribution:
        """Return the credit of one descent: find its end, then walk it."""
        samples = torch.arange(problem.batch, device=problem.x.device)
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)

        def counterfactuals(first: int, last: int) -> Tensor:
            return descent.end(problem.x[first:last], samples[first:last])

        plan = WalkPlan(
            path=descent,
            rule=Unlimited(),
            momentum=0.0,
            credit=credits.resolve_credit(self.credit),
            baselines={"to_baseline": torch.cat(list(batches.map_slices(problem.batch, counterfactuals)))},
            label=label,
        )
        result = run_walks(problem, plan, run)
        repeated = result.steps["to_baseline"].clamp(
            max=self.steps - 1
        )  # the last move needs no slope: its end is known
        return replace(result, gradients=result.gradients + self.steps + repeated)


@dataclass(frozen=True, eq=False)
class DescentPath:
    """A path of `steps` moves of one length down the score of `towards`, within the range from `low` to `high`."""

    needs_start: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = False
    may_pause: ClassVar[bool] = False
    steps: int
    step: float
    low: Tensor  # b 1, or b n
    high: Tensor
    towards: Problem

    def end(self, x: Tensor, samples: Tensor) -> Tensor:
        """Return the end of the descent from x (r n)."""
        for _ in range(self.steps):
            x = self.move(x, samples)
        return x

    def move(self, x: Tensor, samples: Tensor) -> Tensor:
        """Return the next point (r n); x itself where the slope is zero or not finite."""
        low, high = self.low[samples], self.high[samples]
        _, slope = self.towards.value_and_gradient(x, samples)
        steepest = slope.abs().amax(1, keepdim=True)
        slope = slope / torch.where(steepest > 0, steepest, 1)  # first by the steepest: squares of 1e-25 are 0
        length = slope.square().mean(1, keepdim=True).sqrt()
        move = self.step * (high - low) * slope / torch.where(length > 0, length, 1)
        return torch.minimum(torch.maximum(x - move.nan_to_num(0, 0, 0), low), high)

    def propose(self, step: Step, route: Route) -> Tensor:
        """Return the next point of the descent; at its last step, and where it cannot continue, its end."""
        if step.number + 1 >= self.steps:
            return route.end
        there = self.move(step.x, route.sample)
        stands = (there == step.x).all(1, keepdim=True)
        return torch.where(stands, route.end, there)

    def least_steps(self, route: Route) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return self.steps


def _make_reference(reference: InputBaselines, problem: Problem, seed: int) -> Tensor:
    """Return the reference of every sample (b n); raise ValueError if there are not one or as many as samples."""
    if isinstance(reference, TensorBaseline) and problem.one_input:
        given, wanted = tuple(reference.tensor.shape), tuple(problem.inputs[0].shape)
        if given[1:] == wanted[1:] and given[0] not in (1, wanted[0]):
            raise ValueError(
                f"reference has {given[0]} entries for {wanted[0]} samples: give one for all or one for each; for "
                "several references of every sample, pass reference=tuple(images.split(1))."
            )
    return problem.flatten(evaluate_baseline(reference, problem.inputs, seed))


def _distance_problem(problem: Problem, reference: Tensor, batches: Batches) -> Problem:
    """Return the problem with another score: the mean squared difference of the output to that of the reference."""
    all_samples = torch.arange(problem.batch, device=problem.x.device)

    def output(first: int, last: int) -> Tensor:
        result = problem.output(reference[first:last], all_samples[first:last])
        try:
            return extract_scores(result).reshape(last - first, -1)
        except TypeError as error:
            raise TypeError(
                f"IG2 compares outputs that are tensors, but the model returns {type(result).__name__}: name a layer "
                "to compare instead by layer=…"
            ) from error

    with torch.no_grad():
        outputs = torch.cat(list(batches.map_slices(problem.batch, output)))

    def distance(here: Any, samples: Tensor) -> Tensor:
        return (extract_scores(here).reshape(len(samples), -1) - outputs[samples]).square().mean(1)

    return replace(problem, objective=TargetFunction(distance, takes_samples=True))


def _average(walks: Sequence[Attribution]) -> Attribution:
    """Return the mean of results of the same samples and direction: credit and score changes, but no walk."""

    def mean(tensors: Iterable[Tensor]) -> Tensor:
        return torch.stack(list(tensors)).mean(0)

    first = walks[0]
    values = (
        mean(cast(Tensor, walk.values) for walk in walks)
        if isinstance(first.values, Tensor)
        else tuple(map(mean, zip(*(walk.values for walk in walks), strict=True)))
    )
    return replace(
        first,
        values=values,
        group_values=mean(walk.group_values for walk in walks),
        score_change={d: mean(walk.score_change[d] for walk in walks) for d in first.score_change},
        residual_by_direction={
            d: mean(walk.residual_by_direction[d] for walk in walks) for d in first.residual_by_direction
        },
        gradients=torch.stack([walk.gradients for walk in walks]).sum(0),
        scores={},
        order={},
        steps={},
        blind={},
        tapes={},
    )


METHODS = {"ig2": IG2()}
