"""Objectives: what targets become once they are checked, functions of the model's output and of the samples' indices.

Walks end at different steps, so an objective gets the output of *some* of the samples, with their indices (r), and
returns one score for each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from samp.checks import check_real
from samp.isolation import observe
from samp.model_output import extract_scores

Model = Callable[..., Any]
"""An nn.Module, or any function of the inputs."""


@dataclass(frozen=True, eq=False)
class TargetIndex:
    """Takes one entry of each sample's output as its score.

    `most` holds the largest index along each axis, so that the range check does not wait for the device.
    """

    index: Tensor  # b × (axes of the output without the batch)
    most: tuple[int, ...]

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        scores = check_batched(output, len(samples))
        scores = scores[:, None] if scores.ndim == 1 else scores
        self._check(tuple(scores.shape[1:]))
        rows = torch.arange(len(scores), device=scores.device)
        return scores[(rows, *self.index[samples].unbind(1))]  # r

    def _check(self, sizes: tuple[int, ...]) -> None:
        if len(sizes) != len(self.most):
            wanted = "a class number" if len(sizes) == 1 else "a tuple such as (class, row, column)"
            need = f"{len(sizes)} number{'s' * (len(sizes) != 1)}"
            raise ValueError(
                f"a sample's output has shape {sizes}, so a target needs {need}, but it has {len(self.most)}: pass "
                f"{wanted}, a list (not a tuple) with one for each sample, or a callable output -> b."
            )
        if any(number >= size for number, size in zip(self.most, sizes, strict=True)):
            last = tuple(size - 1 for size in sizes)
            largest, reach = (self.most[0], last[0]) if len(last) == 1 else (self.most, last)
            raise ValueError(f"target {largest} is out of range: the model's output goes from 0 to {reach}.")

    def describe(self) -> list[Any]:
        """Return each sample's index as it stands in a result: a number, or a list for an output of several axes."""
        entries: list[Any] = self.index.squeeze(1).tolist()
        return entries

    def __repr__(self) -> str:
        return f"output at {self.describe()}"


@dataclass(frozen=True, eq=False)
class TargetMargin:
    """Takes the difference of two entries of each sample's output as its score."""

    of: TargetIndex
    against: TargetIndex

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        return self.of(output, samples) - self.against(output, samples)  # r

    def describe(self) -> dict[str, list[Any]]:
        """Return both sides as they stand in a result."""
        return {"of": self.of.describe(), "against": self.against.describe()}

    def __repr__(self) -> str:
        return f"{self.of} − {self.against}"


@dataclass(frozen=True, eq=False)
class TargetFunction:
    """Computes each sample's score by a function of the output, and of the samples' indices if it takes them."""

    function: Callable[..., Tensor]
    takes_samples: bool

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        given = (output, samples) if self.takes_samples else (output,)
        score = observe(self.function, lambda: self.function(*given))
        if not isinstance(score, Tensor) or score.shape != samples.shape:
            came = f"shape {tuple(score.shape)}" if isinstance(score, Tensor) else type(score).__name__
            raise ValueError(
                f"the target function gave {came} for {len(samples)} samples: return one score for each, shape (b,); "
                "if it uses data of each sample, let it take a second argument, samples, and pick by it."
            )
        return score

    def describe(self) -> str:
        """Return the name of the function: a result does not hold the function itself."""
        return repr(self)

    def __repr__(self) -> str:
        return f"{getattr(self.function, '__qualname__', self.function)}(output)"


@dataclass(frozen=True, eq=False)
class TargetProbability:
    """Takes the soft-max probability of a class as its score, or the difference of two classes' probabilities.

    `method` is the name of the method that asked for it, for errors.
    """

    of: TargetIndex | TargetMargin
    method: str

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        logits = check_batched(output, len(samples))
        if logits.ndim < 2 or logits.shape[1] < 2:
            raise ValueError(
                f"the model's output has shape {tuple(logits.shape)}, which has no soft-max over classes: pass "
                f"method={self.method}(score='logit') to take the score as it is."
            )
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return self.of(wide.softmax(1), samples)  # r

    def describe(self) -> Any:
        """Return the classes as they stand in a result."""
        return self.of.describe()

    def __repr__(self) -> str:
        return f"probability of {self.of}"


@dataclass(frozen=True, eq=False)
class TargetByName:
    """Computes each sample's score as a target of `samp.targets` says, whose repr stands in results."""

    target: object
    score: Callable[[Any, Tensor], Tensor]

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        return self.score(output, samples)  # r

    def describe(self) -> str:
        """Return the target as it stands in a result."""
        return repr(self.target)

    def __repr__(self) -> str:
        return repr(self.target)


@dataclass(frozen=True, eq=False)
class TargetFromPrediction:
    """An objective that is known once the model was called with the samples themselves, such as the pixels it predicts.

    `Problem.with_target` calls `read` with the output of each sample, then `settle` with what it returned for all.
    """

    target: object
    read: Callable[[Any, Tensor], Tensor]
    """From the output and the samples' indices to what is kept of it, one row per sample."""
    settle: Callable[[Tensor], TargetByName]

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        raise RuntimeError(f"{self.target!r} needs the model's prediction first: call with_target().")

    def describe(self) -> str:
        """Return the target as it stands in a result."""
        return repr(self.target)

    def __repr__(self) -> str:
        return repr(self.target)


Objective = TargetIndex | TargetMargin | TargetFunction | TargetProbability | TargetByName | TargetFromPrediction


def predict_classes(output: Any, samples: int) -> Tensor:
    """Return the class with the largest score of each sample (b), or 0 if there is one score per sample.

    Raises ValueError for an output of more than two axes or without classes.

    >>> predict_classes(torch.tensor([[0.1, 0.9], [2.0, 1.0]]), samples=2).tolist()
    [1, 0]
    """
    scores = check_batched(output, samples)
    if scores.ndim > 2:
        raise ValueError(
            f"the model's output has shape {tuple(scores.shape)}, which has no single predicted class: "
            "pass target=(class, row, column), a target by name such as samp.targets.Segmentation or "
            "samp.targets.Detection, or a callable output -> b."
        )
    if not scores.numel():
        raise ValueError(f"the model's output has shape {tuple(scores.shape)}: there is no class to predict.")
    return scores.argmax(1) if scores.ndim == 2 else scores.new_zeros(samples, dtype=torch.long)


def is_plain(tensor: Tensor) -> bool:
    """Return whether the tensor is real and dense, in a dtype that torch computes in, as nearly always.

    If it is not, `samp.checks.check_real` raises the error that says what to do.

    >>> is_plain(torch.ones(2)), is_plain(torch.eye(2).to_sparse()), is_plain(torch.ones(1, dtype=torch.complex64))
    (True, False, False)
    """
    odd = tensor.is_nested or tensor.is_quantized or tensor.is_meta or tensor.is_complex()
    return not odd and tensor.layout == torch.strided and (tensor.element_size() > 1 or not tensor.is_floating_point())


def check_batched(output: Any, samples: int) -> Tensor:
    """Return the scores in the output; raises TypeError or ValueError unless they have one entry per sample."""
    scores = extract_scores(output)
    if not is_plain(scores):
        check_real(scores, "the model's output")
    if scores.ndim == 0 or len(scores) != samples:
        raise ValueError(
            f"the model gave shape {tuple(scores.shape)} for {samples} samples: axis 0 must be the batch, "
            "or pass a target function output -> b."
        )
    return scores
