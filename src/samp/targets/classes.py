"""Targets that are classes: one class, or the margin of one against another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets._outputs import find_tensor
from samp.targets.indices import ClassIndex, as_index, resolve_index
from samp.targets.objectives import TargetByName, TargetIndex, TargetMargin, check_batched
from samp.targets.per_sample import check_choice

ClassScore = Literal["logit", "probability", "log_probability"]


@dataclass(frozen=True, eq=False)
class Class:
    """A target: the score of a class, as the model returns it, or as its soft-max or the logarithm of that.

    `Class(3)` is what `target=3` is; `of` is a class number or a tuple index, or a list or tensor with one per sample.
    The soft-max is taken over axis 1. Raises ValueError for another score, and for an output without several classes.

    >>> import samp
    >>> net, x = torch.nn.Linear(4, 3).eval(), torch.rand(2, 4)
    >>> result = samp.explain(net, x, target=samp.targets.Class(1, score="probability"), method=samp.IG(steps=256))
    >>> change = net(x).softmax(1)[:, 1] - net(torch.zeros(2, 4)).softmax(1)[:, 1]
    >>> torch.allclose(result.group_values.sum(1), change, atol=1e-4), result.details["target"]
    (True, "Class(of=1, score='probability')")
    """

    of: ClassIndex
    score: ClassScore = "logit"

    def __post_init__(self) -> None:
        check_choice("score", self.score, ("logit", "probability", "log_probability"))

    def resolve(self, batch: int, device: torch.device | str) -> TargetIndex | TargetByName:
        """Return the objective of these classes; raise TypeError or ValueError if they do not fit the batch."""
        index = resolve_index(as_index(self.of, batch), device)
        return index if self.score == "logit" else TargetByName(self, partial(self._score, index))

    def _score(self, index: TargetIndex, output: Any, samples: Tensor) -> Tensor:
        logits = check_batched(find_tensor(output, "Class", "b × classes"), len(samples))
        if logits.ndim < 2 or logits.shape[1] < 2:
            raise ValueError(
                f"the model's output has shape {tuple(logits.shape)}, which has no soft-max over classes: "
                "take score='logit'."
            )
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return index(wide.softmax(1) if self.score == "probability" else wide.log_softmax(1), samples)  # r


@dataclass(frozen=True, eq=False)
class Margin:
    """A target: by how much the score of one class is above that of another, so why `of` rather than `against`.

    Its credit is positive for what speaks more for `of` than for `against`; what speaks for both alike gets nothing.
    `samp.explain` raises ValueError if both are the same.

    >>> import samp
    >>> net, x = torch.nn.Linear(4, 3).eval(), torch.rand(2, 4)
    >>> result = samp.explain(net, x, target=Margin(0, against=2), method="ig")
    >>> change = ((net.weight[0] - net.weight[2]) * x).sum(1)
    >>> torch.allclose(result.group_values.sum(1), change, atol=1e-5), result.details["target"]
    (True, {'of': [0, 0], 'against': [2, 2]})
    """

    of: ClassIndex
    against: ClassIndex

    def resolve(self, batch: int, device: torch.device | str) -> TargetMargin:
        """Return the objective of this margin; raise ValueError for a class against itself."""
        of, against = (as_index(side, batch) for side in (self.of, self.against))
        same = (of == against).all(1) if of.shape == against.shape else torch.zeros(batch, dtype=torch.bool)
        if same.any():
            sample = int(same.nonzero()[0])
            raise ValueError(
                f"a margin is of one class against another, but in sample {sample} both are "
                f"{of[sample].squeeze(0).tolist()}: give two classes."
            )
        return TargetMargin(resolve_index(of, device), resolve_index(against, device))
