"""A number of the output, or how near it is to a value: the target of regression nets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets._outputs import find_tensor
from samp.targets.indices import ClassIndex, as_index, resolve_index
from samp.targets.objectives import TargetByName, TargetIndex
from samp.targets.per_sample import check_choice, one_per_sample, read_numbers


@dataclass(frozen=True, eq=False)
class Regression:
    """A target: the number y of the output at `index`; with a value `to`, how near it is, −|y − to| or −(y − to)².

    What brings y nearer to the value has positive credit, and the score is at most 0. `index` and `to` are one for all
    samples or a list with one for each; outputs have shape b, b 1 or b k, or larger with tuples as indices.

    >>> import samp
    >>> net, x = torch.nn.Linear(4, 1).eval(), torch.rand(2, 4)
    >>> near = samp.explain(net, x, target=Regression(to=[5, 6]), method="ig")
    >>> change = (net(0 * x) - torch.tensor([[5.0], [6.0]])).abs() - (net(x) - torch.tensor([[5.0], [6.0]])).abs()
    >>> torch.allclose(near.values.sum(1), change[:, 0], atol=1e-5), near.details["target"]
    (True, "Regression(index=0, to=(5.0, 6.0), distance='absolute')")
    """

    index: ClassIndex = 0
    to: float | Sequence[float] | Tensor | None = None
    distance: Literal["absolute", "squared"] = "absolute"

    def __post_init__(self) -> None:
        check_choice("distance", self.distance, ("absolute", "squared"))
        if self.to is not None:
            object.__setattr__(self, "to", read_numbers("the value of a regression", self.to))

    def resolve(self, batch: int, device: torch.device | str) -> TargetByName:
        """Return the objective; raise TypeError or ValueError if index or value do not fit the batch."""
        index = resolve_index(as_index(self.index, batch), device)
        to = None
        if self.to is not None:
            to = one_per_sample("the value of a regression", self.to, batch, device)  # type: ignore[arg-type]  # read above
        return TargetByName(self, partial(self._score, index, to))

    def _score(self, index: TargetIndex, to: Tensor | None, output: Any, samples: Tensor) -> Tensor:
        number = index(find_tensor(output, "Regression", "b, b 1 or b k"), samples)  # r
        if to is None:
            return number
        difference = number - to[samples].to(number.dtype)
        return -difference.abs() if self.distance == "absolute" else -difference.square()
