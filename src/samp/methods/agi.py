"""AGI: gradients gathered on the way to adversarial examples of other classes (Pan et al., IJCAI 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_counts, check_numbers, is_whole
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._classes import count_classes, explained_classes
from samp.methods._common import MethodInfo, ScoreName, check_score, make_attribution, with_score
from samp.methods._draws import add_rows
from samp.methods._value_range import Bounds, check_bounds, label_bounds, value_range
from samp.model_output import extract_scores
from samp.progress import open_bar


@dataclass(frozen=True)
class AGI:
    """Adversarial Gradient Integration: −∇f · move, summed over the moves towards each of several false classes.

    A move is ε · sign(∇p_j) with p_j the soft-max probability of the false class j, clipped to `bounds`; the moves
    towards j end when the model predicts j, or after `steps`. The settings and numbers are those of the authors' code
    (pd90506/AGI), which explains the class's probability; its paper takes 20 moves, its demonstration up to 50.

    - `step`: ε as a share of `bounds`; theirs is 0.05 of pixels from 0 to 1.
    - `classes`: how many false classes, evenly spaced over the outputs as theirs, or a tuple of class numbers. The
      explained class is left out.
    - `bounds`: theirs are 0 and 1, ours by default each sample's own smallest and largest element. A pair of a lowest
      and a highest value, each a number or a tensor, in the space the model is fed.
    - `restart`: True is the authors' code, where every move starts at the image again, so that there is no path and
      the values sum to nothing in particular. False walks on from where the last move ended, as the paper's integral
      over the curve of steepest ascent asks: the values then sum to Σ_j f(image) − f(adversarial example j), in the
      limit of small steps, and the result has that residual.
    - `score`: "probability" explains the class's soft-max, as theirs; "logit" the target as it is.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).eval()
    >>> result = samp.explain(model, torch.rand(2, 6), target=0, method=AGI(steps=3, bounds=(0, 1)))
    >>> result.values.shape, bool((result.gradients <= 2 * 2 * 3).all())
    (torch.Size([2, 6]), True)
    """

    steps: int = 20
    step: float = 0.05
    classes: int | tuple[int, ...] = 20
    bounds: Bounds = None
    restart: bool = True
    score: ScoreName = "probability"
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Pan et al., Explaining Deep Neural Network Models with Adversarial Gradient Integration, IJCAI 2021 "
        "(our bounds)",
        cost="up to 2 · steps gradients for each false class",
        complete="no; with restart=False in the limit of small steps, to the adversarial examples, summed",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(step=self.step)
        if not 0 < self.step < math.inf:
            raise ValueError(f"step is a share of the input's range above 0, not {self.step!r}.")
        several = isinstance(self.classes, Sequence) and not isinstance(self.classes, str)
        if not (several and all(is_whole(c) and c >= 0 for c in self.classes) and self.classes):  # type: ignore[union-attr]  # checked above
            check_counts(classes=self.classes)
        else:
            object.__setattr__(self, "classes", tuple(map(int, self.classes)))  # type: ignore[arg-type]  # checked above
        check_score(self.score)
        object.__setattr__(self, "bounds", check_bounds(self.bounds))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the sum over the false classes of every sample; raises ValueError for a model without classes."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        explained = explained_classes(problem)
        problem = with_score(problem, self.score, self, run)
        false = torch.tensor(self._false_classes(count_classes(problem, self)), device=problem.x.device)
        climb = Climb(problem, *value_range(self.bounds, problem, run.seed), self)
        each, done = len(false), 0
        total, change = torch.zeros_like(problem.x), torch.zeros_like(problem.x[:, :1])
        gradients = torch.zeros(problem.batch, 1, dtype=torch.long, device=problem.x.device)

        def work(first: int, last: int) -> tuple[Tensor, Tensor, Tensor]:
            rows = torch.arange(first, last, device=problem.x.device)
            samples, towards = rows // each, false[rows % each]
            skip = torch.zeros_like(rows, dtype=torch.bool) if explained is None else towards == explained[samples]
            return climb(samples, towards, skip)

        with open_bar(problem.batch * each, "false class", run.progress) as bar:
            for credit, risen, evaluations in batches.map_slices(problem.batch * each, work):
                for sums, rows in ((total, credit), (change, risen), (gradients, 2 * evaluations)):
                    add_rows(sums, rows, done, each)
                done += len(credit)
                bar.update(len(credit))
        label = replace(self, bounds=label_bounds(self.bounds))
        result = make_attribution(problem, total, label, run, change=None if self.restart else change[:, 0])
        return replace(result, gradients=gradients[:, 0])

    def _false_classes(self, count: int) -> list[int]:
        """Return the numbers of the classes to attack, among `count`."""
        if isinstance(self.classes, tuple):
            if max(self.classes) >= count:
                raise ValueError(f"class {max(self.classes)} is out of range: the model's output goes to {count - 1}.")
            return list(self.classes)
        return list(range(0, count, max(count // self.classes, 1)))[: self.classes]


@dataclass(frozen=True, eq=False)
class Climb:
    """The moves of rows (sample, false class) up the probability of the false class."""

    problem: Problem
    low: Tensor  # b 1, or b n
    high: Tensor
    method: AGI

    def __call__(self, samples: Tensor, towards: Tensor, skip: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return each row's credit (r n), the change of the score (r 1) and its evaluations (r 1)."""
        start = self.problem.x[samples]
        x, credit, change = start.clone(), torch.zeros_like(start), torch.zeros_like(start[:, :1])
        evaluations = torch.zeros(len(x), 1, dtype=torch.long, device=x.device)
        going = torch.where(~skip)[0]
        for number in range(int(self.method.steps)):
            if not len(going):
                break
            score, slope, uphill, arrived = self._slopes(x[going], samples[going], towards[going])
            evaluations[going] += 1
            if number == 0:
                change[going, 0] = score
            going, slope, uphill = going[~arrived], slope[~arrived], uphill[~arrived]
            origin = start[going] if self.method.restart else x[going]
            low, high = self.low[samples[going]], self.high[samples[going]]
            there = torch.minimum(torch.maximum(origin + self.method.step * (high - low) * uphill.sign(), low), high)
            credit[going] -= slope * (there - origin)
            x[going] = there
        attacked = torch.where(~skip)[0]
        if not self.method.restart and len(attacked):
            with torch.no_grad():
                end = self.problem.score(self.problem.output(x[attacked], samples[attacked]), samples[attacked])
            change[attacked, 0] -= end.to(change)
        return credit, change, evaluations

    def _slopes(self, x: Tensor, samples: Tensor, towards: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the score (r), its gradient (r n), that of the false class's probability (r n), and who arrived (r).

        A row has arrived where the model predicts its false class.
        """
        with torch.inference_mode(False), torch.enable_grad():
            leaf = x.detach().requires_grad_()
            output = self.problem.output(leaf, samples)
            score = self.problem.score(output, samples)
            classes = extract_scores(output)
            wide = classes.to(torch.promote_types(classes.dtype, torch.float32))
            probability = wide.softmax(1).gather(1, towards[:, None]).sum()
            (uphill,) = torch.autograd.grad(probability, leaf, retain_graph=True)
            (slope,) = torch.autograd.grad(score.sum(), leaf)
        self.problem.count_failures(score, samples)
        return score.detach().to(x.dtype), slope, uphill, classes.argmax(1) == towards


METHODS = {"agi": AGI()}
