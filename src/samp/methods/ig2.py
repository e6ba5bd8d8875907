"""IG2: gradients along the path of a gradient descent to a counterfactual (Zhuo and Ge, 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp import credit as credits
from samp.attribution import Attribution
from samp.baselines import black, make
from samp.batches import Batches
from samp.credit import Credit
from samp.follow import Plan, Run, follow
from samp.methods.checks import check_numbers
from samp.methods.path_settings import labelled, wrapped
from samp.methods.result import About
from samp.objectives import Function
from samp.problem import Problem
from samp.step_rules import Unlimited
from samp.walk import Route, Step


@dataclass(frozen=True)
class IG2:
    """Integrated gradients along a descent: from the image to where the model takes it for the reference.

    The path is x ← x − step · d / ‖d‖ with d the gradient of ‖output(x) − output(reference)‖²; the credit is the
    gradient of the explained score before each move, times the move. Our reading differs from the published one thus:

    - The authors compare the activations of a late layer, and average over several references, which are images of
      other classes. We compare whole outputs, and take one `reference`: a name, number, tensor or callable, as a
      baseline. With no images of other classes at hand it is black by default; give a tensor of such an image.
    - Their 201 steps of L2 length 256 are for 224-pixel RGB images from 0 to 255. `step` is that as a root mean square
      over elements and a share of the range: 256 / √150528 / 255. The range is each sample's own, from its smallest
      element to its largest, and the descent is clipped to it (theirs to 0…255).

    The sum comes to f(image) − f(counterfactual) with many small steps only: a descent makes for where the score bends,
    and at the published length circles there (on SqueezeNet the sum was 238 for a change of 27).
    To keep no points the descent is done twice, once to find its end, at 3 · `steps` gradients a sample.

    >>> import torch, samp
    >>> x = torch.rand(2, 6)
    >>> result = samp.explain(torch.nn.Linear(6, 1).eval(), x, method=IG2(steps=5))
    >>> result.gradients.tolist(), bool((result.residual.abs() < 1e-5).all())
    ([15, 15], True)
    """

    steps: int = 201
    step: float = 0.0026
    reference: Any = black
    credit: str | Credit = "left"
    about: ClassVar[About] = About(
        paper="Zhuo and Ge, IG2: Integrated Gradient on Iterative Gradient Path, TPAMI 2024 (our reading)",
        cost="3 · steps gradients",
        complete="in the limit of many small steps, to the counterfactual",
    )

    def __post_init__(self) -> None:
        if not (isinstance(self.steps, Integral) and self.steps >= 1):
            raise ValueError(f"steps is a whole number of at least 1, not {self.steps!r}.")
        check_numbers(step=self.step)
        if not 0 < self.step < math.inf:
            raise ValueError(f"step is a share of the input's range above 0, not {self.step!r}.")
        credits.named(self.credit)
        object.__setattr__(self, "reference", wrapped(self.reference))

    def attribute(self, problem: Problem, run: Run) -> Attribution:
        """Descend to the counterfactual of every sample, then walk the same way again for the credit."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.settled(batches)
        reference = problem.flatten(make(self.reference, problem.inputs, run.seed))
        descent = Descent(int(self.steps), float(self.step), _distance(problem, reference, batches))
        everyone = torch.arange(problem.batch, device=problem.x.device)

        def counterfactuals(first: int, last: int) -> Tensor:
            return descent.end(problem.x[first:last], everyone[first:last])

        plan = Plan(
            path=descent,
            rule=Unlimited(),
            momentum=0.0,
            credit=credits.named(self.credit),
            baselines={"to_baseline": torch.cat(list(batches.over(problem.batch, counterfactuals)))},
            label=repr(replace(self, reference=labelled(self.reference))),
        )
        result = follow(problem, plan, run)
        again = result.steps["to_baseline"].clamp(max=self.steps - 1)  # the last move needs no slope: its end is known
        return replace(result, gradients=result.gradients + self.steps + again)


@dataclass(frozen=True, eq=False)
class Descent:
    """`steps` moves of one length down the score of `towards`, within each row's own range of values at the start."""

    may_pause: ClassVar[bool] = False
    steps: int
    step: float
    towards: Problem

    def end(self, x: Tensor, samples: Tensor) -> Tensor:
        """Where the descent from x ends."""
        start = x
        for _ in range(self.steps):
            x = self.move(x, samples, start)
        return x

    def move(self, x: Tensor, samples: Tensor, start: Tensor) -> Tensor:
        """The next point; x itself where there is no slope, or none that is a number."""
        low, high = start.aminmax(dim=1, keepdim=True)
        _, slope = self.towards.value_and_gradient(x, samples)
        steepest = slope.abs().amax(1, keepdim=True)
        slope = slope / torch.where(steepest > 0, steepest, 1)  # first by the steepest: squares of 1e-25 are 0
        length = slope.square().mean(1, keepdim=True).sqrt()
        move = self.step * (high - low) * slope / torch.where(length > 0, length, 1)
        return torch.minimum(torch.maximum(x - move.nan_to_num(0, 0, 0), low), high)

    def propose(self, step: Step, route: Route) -> Tensor:
        """The next point of the descent; from where it cannot go on, and at last, the end."""
        if step.number + 1 >= self.steps:
            return route.end
        there = self.move(step.x, route.sample, route.start)
        stands = (there == step.x).all(1, keepdim=True)
        return torch.where(stands, route.end, there)

    def least_steps(self, route: Route) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return self.steps


def _distance(problem: Problem, reference: Tensor, batches: Batches) -> Problem:
    """The same model and samples, scored by the mean squared difference of the output to that of the reference."""
    everyone = torch.arange(problem.batch, device=problem.x.device)

    def output(first: int, last: int) -> Tensor:
        made = problem.output(reference[first:last], everyone[first:last])
        if not isinstance(made, Tensor):
            raise TypeError(f"IG2 compares outputs that are tensors, but the model returns {type(made).__name__}.")
        return made.reshape(last - first, -1)

    with torch.no_grad():
        outputs = torch.cat(list(batches.over(problem.batch, output)))

    def distance(here: Tensor, samples: Tensor) -> Tensor:
        return (here.reshape(len(samples), -1) - outputs[samples]).square().mean(1)

    return replace(problem, objective=Function(distance, takes_samples=True))


METHODS = {"ig2": IG2()}
