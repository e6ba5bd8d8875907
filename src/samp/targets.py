"""Targets: the score of each sample that is explained, computed from the model's output.

Scores are used as the model returns them (logits for the usual classifier): no softmax is added
(docs/paper.md#scores).
"""

from __future__ import annotations

import inspect
import operator
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from samp.checks import check_real
from samp.isolation import observe
from samp.model_output import extract_scores

Model = Callable[..., Any]
"""An nn.Module, or any function of the inputs."""
ClassIndex = int | Tensor | Sequence[int] | Sequence[tuple[int, ...]] | tuple[int, ...]
"""A class number or a tuple index for every sample, or a list or tensor with one for each."""


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


Target = ClassIndex | Margin | Callable[..., Tensor] | None


@dataclass(frozen=True, eq=False)
class TargetIndex:
    """Takes one entry of each sample's output as its score.

    `most` holds the largest index along each axis, so that the range check does not wait for the device.
    """

    index: Tensor  # b × (axes of the output without the batch)
    most: tuple[int, ...]

    def __call__(self, output: Any, samples: Tensor) -> Tensor:
        scores = _check_batched(output, len(samples))
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
        logits = _check_batched(output, len(samples))
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


Objective = TargetIndex | TargetMargin | TargetFunction | TargetProbability


def resolve_target(target: Target, batch: int, device: torch.device | str = "cpu") -> Objective | None:
    """Return the objective of `target`, checked against the number of samples, or None for None (the predicted class).

    An int or tuple applies to every sample; a list or tensor holds one entry per sample. A callable gets the outputs of
    *some* of the samples (walks end at different steps), so one that holds data of each sample takes a second
    argument, `samples`, and indexes by it. Raises TypeError or ValueError for what is not a target, and ValueError for
    a `Margin` of a class against itself.

    >>> resolve_target([3, 7], batch=2), resolve_target(Margin([3, 7], against=1), batch=2)
    (output at [3, 7], output at [3, 7] − output at [1, 1])
    >>> resolve_target((1, 2), batch=2)(torch.arange(18.0).view(2, 3, 3), torch.arange(2)).tolist()
    [5.0, 14.0]
    """
    if target is None:
        return None
    if isinstance(target, type):
        raise TypeError(f"the target is the class {target.__name__}: pass a class number or a function output -> b.")
    if isinstance(target, Margin):
        return _resolve_margin(target, batch, device)
    if callable(target):
        return TargetFunction(target, _count_positional(target) > 1)
    return _resolve_index(_as_index(target, batch), device)


def explained_target(described: Any) -> Target:
    """Return the target of a result from what its details hold of it; None if that was a function of the output.

    >>> explained_target([3, [1, 2]]), explained_target({"of": [3], "against": [1]}), explained_target("f(output)")
    ([3, (1, 2)], Margin(of=[3], against=[1]), None)
    """
    if isinstance(described, dict):
        return Margin(*(_as_entries(described[side]) for side in ("of", "against")))
    return _as_entries(described) if isinstance(described, list) else None


def _as_entries(described: list[Any]) -> list[Any]:
    """Return one index per sample: JSON has lists where a target has tuples."""
    return [tuple(one) if isinstance(one, list) else one for one in described]


def _resolve_margin(margin: Margin, batch: int, device: torch.device | str) -> TargetMargin:
    of, against = (_as_index(side, batch) for side in (margin.of, margin.against))
    same = (of == against).all(1) if of.shape == against.shape else torch.zeros(batch, dtype=torch.bool)
    if same.any():
        sample = int(same.nonzero()[0])
        raise ValueError(
            f"a margin is of one class against another, but in sample {sample} both are "
            f"{of[sample].squeeze(0).tolist()}: give two classes."
        )
    return TargetMargin(_resolve_index(of, device), _resolve_index(against, device))


def _resolve_index(index: Tensor, device: torch.device | str) -> TargetIndex:
    """Return the objective at these indices (b k); raises ValueError for a negative one."""
    if (index < 0).any():
        raise ValueError(f"target {int(index.min())} is out of range: classes count from 0.")
    return TargetIndex(index.to(device), tuple(index.amax(0).tolist()))


def predict_classes(output: Any, samples: int) -> Tensor:
    """Return the class with the largest score of each sample (b), or 0 if there is one score per sample.

    Raises ValueError for an output of more than two axes or without classes.

    >>> predict_classes(torch.tensor([[0.1, 0.9], [2.0, 1.0]]), samples=2).tolist()
    [1, 0]
    """
    scores = _check_batched(output, samples)
    if scores.ndim > 2:
        raise ValueError(
            f"the model's output has shape {tuple(scores.shape)}, which has no single predicted class: "
            "pass target=(class, row, column) or a callable output -> b."
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


def _check_batched(output: Any, samples: int) -> Tensor:
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


def _as_index(target: Any, batch: int) -> Tensor:
    """Return the indices (b × k) on the CPU, where checking them does not wait for the device."""
    if isinstance(target, Tensor):
        check_real(target, "the target")
        index = target.detach().cpu()
        index = index.reshape(1).expand(batch) if index.numel() == 1 else index
    else:
        index = _targets_to_tensor(target, batch)
    if len(index) != batch:
        raise ValueError(f"there are {len(index)} targets for {batch} samples: give one for all or one for each.")
    if index.dtype == torch.bool or index.is_floating_point():
        raise TypeError(f"targets are class numbers, but these have dtype {index.dtype}: cast them with .long().")
    return index.reshape(batch, -1).long()


def _targets_to_tensor(target: Any, batch: int) -> Tensor:
    """Return a list of targets, one per sample, as a tensor; a tuple or a single number applies to all samples."""
    try:
        for_all = isinstance(target, tuple) or not isinstance(target, Iterable)
        return torch.tensor([_as_integers(one) for one in ([target] * batch if for_all else target)])
    except (TypeError, ValueError):
        raise TypeError(
            "a target is a class number, a tuple of numbers, a list or tensor with one of these per sample, "
            f"or a callable output -> b, not {reprlib.repr(target)}."
        ) from None


def _as_integers(entry: Any) -> Any:
    if isinstance(entry, bool):
        raise TypeError("True is no class number")
    return [operator.index(i) for i in entry] if isinstance(entry, tuple | list) else operator.index(entry)


def _count_positional(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some built-in callables have no signature
        return 1
    needed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in needed and p.default is p.empty for p in parameters)
