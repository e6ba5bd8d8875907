"""Watching walks: what a caller of `samp.explain(on_step=…)` is shown after each of their steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from samp.attribution import Direction
from samp.engine.problem import Problem
from samp.engine.record import Account
from samp.engine.walk import Step


@dataclass(frozen=True, eq=False, repr=False)
class WalkStep:
    """A step of a batch of walks, as `samp.explain(on_step=…)` shows it while it computes.

    A row is one direction of one walk of a sample. A row that has arrived is in no later step, and its credit is then
    final. Read what you want during the call, which computes it: when the walk goes on, so does the account of credit.

    >>> import samp
    >>> def show(step: samp.WalkStep) -> None:
    ...     for direction, score, progress in zip(step.directions, step.scores, step.progress):
    ...         print(step.number, direction, round(float(progress), 2))
    >>> result = samp.explain(torch.nn.Linear(4, 2).eval(), torch.ones(1, 4), method=samp.IG(steps=2), on_step=show)
    0 to_image 0.0
    1 to_image 0.5
    2 to_image 1.0
    """

    problem: Problem
    baselines: Mapping[Direction, Tensor]  # b n each
    entries: Tensor
    """r: the number of each row in the list of all walks, each in all directions, those of a sample adjacent."""
    entries_per_sample: int
    first_walk: int
    step: Step
    account: Account

    @property
    def number(self) -> int:
        """How many steps the walks have taken."""
        return self.step.number

    @property
    def samples(self) -> Tensor:
        """r: the sample of each row."""
        return self.entries // self.entries_per_sample

    @property
    def walks(self) -> Tensor:
        """r: the number of each row's walk, for methods that take several of a sample; 0 for others."""
        return self.first_walk + self.entries % self.entries_per_sample // len(self.baselines)

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        """r: the direction of each row."""
        names = list(self.baselines)
        return tuple(names[place] for place in self._places.tolist())

    @property
    def scores(self) -> Tensor:
        """r: the model's score at each row's point."""
        return self.step.value.flatten()

    @cached_property
    def progress(self) -> Tensor:
        """r: the share of its way that each row has gone, in L1 distance; 1 at its end, and where there was no way."""
        image, start = self.problem.x[self.samples], self._own_baselines
        to_image = torch.tensor([direction == "to_image" for direction in self.directions], device=image.device)
        left = (torch.where(to_image[:, None], image, start) - self._points).abs().sum(1)
        whole = (image - start).abs().sum(1)
        return torch.where(left > 0, 1 - left / whole, 1.0).clamp(min=0)

    def points(self) -> Tensor | tuple[Tensor, ...]:
        """Return the point of each row in the shape of the inputs (r *d), a tuple for several."""
        return self._shape(self._points)

    def credit(self) -> Tensor | tuple[Tensor, ...]:
        """Return the credit so far of each row's elements, in the shape of the inputs (r *d), a tuple for several.

        It is what the result would be if the walk ended here, so a credit that is complete sums to the score's change
        so far. That of concave credit takes a moment to compute.
        """
        values = self.account.credit_so_far()[self.step.rows]  # R dn
        values = values.view(len(self.entries), -1)
        levels = self.problem.levels
        if levels is not None:
            own = levels.select(self.samples)
            values = own.spread(own.pool(values) / own.sizes)
        return self._shape(values)

    @property
    def _points(self) -> Tensor:
        return self.step.x.view(len(self.entries), -1)

    @property
    def _places(self) -> Tensor:
        """r: the place of each row's direction among the baselines."""
        return self.entries % len(self.baselines)

    @property
    def _own_baselines(self) -> Tensor:
        """r n: the baseline of each row."""
        return torch.stack(list(self.baselines.values()))[self._places, self.samples]

    def _shape(self, values: Tensor) -> Tensor | tuple[Tensor, ...]:
        parts = self.problem.unflatten(values)
        return parts[0] if self.problem.one_input else parts


Watcher = Callable[[WalkStep], object]
