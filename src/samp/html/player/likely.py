"""What the model makes of each frame: the probability of each class, where its outputs give one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.devices import is_out_of_memory
from samp.engine.batches import Batches
from samp.html.player.film import GIVE
from samp.isolation import isolate, observe
from samp.models import Classifier
from samp.models.outputs import is_within_unit

SHOWN = 5
DIGITS = 5


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """The probability of each class at each frame.

    >>> (likely,) = ClassProbabilities.from_outputs([torch.tensor([[-1.0, -1.0]])])
    >>> likely.chances.tolist(), likely.given
    ([[0.5, 0.5]], False)
    """

    chances: Tensor  # k n, or k 0 where there are none
    given: bool
    """Whether they are the model's outputs themselves."""

    @classmethod
    def from_outputs(cls, walks: Sequence[Tensor]) -> list[ClassProbabilities]:
        """Return those of the outputs (k n) of each walk: the outputs if all lie from 0 to 1, else their softmax.

        A single output has none: its softmax would always be 1.
        """
        if walks[0].shape[1] < 2:
            return [cls(outputs[:, :0], given=True) for outputs in walks]
        given = is_within_unit(torch.cat(list(walks)))
        return [cls(outputs if given else outputs.softmax(1), given) for outputs in walks]

    @property
    def top_count(self) -> int:
        """How many classes are listed for each frame."""
        return min(SHOWN, self.chances.shape[1])

    def top(self) -> list[list[tuple[int, float]]]:
        """Return for each frame its most likely classes as (index, probability), best first.

        >>> ClassProbabilities(torch.tensor([[0.1, 0.7, 0.2]]), given=True).top()
        [[(1, 0.7), (2, 0.2), (0, 0.1)]]
        """
        best = self.chances.topk(self.top_count)
        rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [[(index, round(chance, DIGITS)) for index, chance in zip(*row, strict=True)] for row in rows]


def outputs(points: Tensor, classifier: Classifier) -> Tensor:
    """Return k n: the net's outputs for these points (k c h w), in float64 on the CPU.

    Raise ValueError if the classifier cannot run on them.
    """
    home = next(classifier.net.parameters(), torch.empty(0))

    def work(first: int, last: int) -> Tensor:
        made = observe(classifier.net, lambda: classifier.net(points[first:last].to(home, copy=True)))
        return torch.as_tensor(made).cpu().double()

    try:
        with torch.no_grad(), isolate(classifier.net, home.device, seed=0):
            made = torch.cat(list(Batches("auto", points[0].numel(), home.device).map_slices(len(points), work)))
    except (RuntimeError, ValueError, TypeError) as error:
        if is_out_of_memory(error):
            raise
        raise ValueError(f"{_error_text(classifier, points)} ({str(error).splitlines()[0]}): {GIVE}") from error
    if made.ndim != 2 or len(made) != len(points):
        raise ValueError(f"{_error_text(classifier, points)} (it gives {tuple(made.shape)} and not (k, n)): {GIVE}")
    return made


def _error_text(classifier: Classifier, points: Tensor) -> str:
    return f"{classifier.name} cannot classify the points of this result, {tuple(points.shape)}"
