"""What the model makes of each frame: its classes by probability."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from samp.batches import Batches
from samp.models import Classifier

SHOWN = 5
DIGITS = 5


@dataclass(frozen=True, eq=False)
class Likely:
    """How likely the model holds each class at each frame.

    >>> likely = Likely.of(torch.zeros(1, 2))
    >>> likely.chances.tolist(), likely.given
    ([[0.5, 0.5]], False)
    """

    chances: Tensor  # k n
    given: bool
    """Whether the model's outputs are probabilities themselves."""

    @classmethod
    def of(cls, outputs: Tensor) -> Likely:
        """Outputs (k n) as they are where they are probabilities, else their softmax."""
        given = bool((outputs >= 0).all() and ((outputs.sum(1) - 1).abs() < 1e-3).all())
        return cls(outputs if given else outputs.softmax(1), given)

    def top(self) -> list[list[tuple[int, float]]]:
        """For each frame its most likely classes as (index, probability), best first.

        >>> Likely(torch.tensor([[0.1, 0.7, 0.2]]), given=True).top()
        [[(1, 0.7), (2, 0.2), (0, 0.1)]]
        """
        best = self.chances.topk(min(SHOWN, self.chances.shape[1]))
        rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [[(index, round(chance, DIGITS)) for index, chance in zip(*row, strict=True)] for row in rows]


def outputs(points: Tensor, classifier: Classifier) -> Tensor:
    """k n: what the net makes of these points (k c h w), in float64 on the CPU."""
    home = next(classifier.net.parameters(), torch.empty(0))

    def work(first: int, last: int) -> Tensor:
        with torch.no_grad():
            return torch.as_tensor(classifier.net(points[first:last].to(home))).cpu().double()

    return torch.cat(list(Batches("auto", points[0].numel(), home.device).over(len(points), work)))
