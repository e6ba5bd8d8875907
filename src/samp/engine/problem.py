"""The problem to explain: a model, its inputs, the score of each sample, and the features that earn credit for it.

`make_problem` checks the caller's arguments, in the modules it calls; the rest of the engine relies on that and does
not check them again. Inputs are flattened to `b n` and kept in float32 or wider; the model receives them in their
original shape, dtype and memory format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from samp import __version__
from samp import groups as grouping
from samp.engine.call_sizes import CallSizes
from samp.engine.forward_args import Argument, argument_for, read_arguments
from samp.engine.inputs import Inputs, ModelInputs, read_inputs
from samp.engine.model_errors import translate_error
from samp.engine.walk import Path, Route, Scorer, Step, StepRule, walk
from samp.isolation import is_free, observe
from samp.targets import (
    Model,
    Objective,
    Target,
    TargetByName,
    TargetFromPrediction,
    TargetFunction,
    TargetIndex,
    is_plain,
    predict_classes,
    resolve_target,
)

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


class Compiler(Protocol):
    """Returns a function equivalent to the given one, possibly compiled."""

    def __call__(self, function: Function) -> Function: ...


def keep_function(function: Function) -> Function:
    """Return the function itself: nothing is compiled."""
    return function


class Accelerator(Protocol):
    """The interface of `samp.fast`: faster gradients of a problem, and compiled walks and small functions."""

    @property
    def label(self) -> str: ...
    def value_and_gradient(self, problem: Problem, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]: ...
    def walk(self, scorer: Scorer, route: Route, path: Path, rule: StepRule, momentum: float) -> Iterator[Step]: ...
    def compiler(self, path: Path) -> Compiler: ...
    def compiles_walks_of(self, path: Path) -> bool: ...
    def compiling(self) -> AbstractContextManager[None]: ...


class RowLimit(Protocol):
    """The largest number of rows in a call of the model, and slices within it (`samp.engine.batches.Batches`)."""

    size: int

    def map_slices(self, count: int, work: Callable[[int, int], Result], waves: int = 1) -> Iterator[Result]: ...


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, the samples to explain, and the score that is explained."""

    model: Model
    inputs: tuple[Tensor, ...]
    one_input: bool
    objective: Objective | None
    features: grouping.Grouping
    forward_args: tuple[Argument, ...]
    paper_settings: bool
    """One `b c h w` input in pixels: the case the paper's settings are for."""
    levels: grouping.Segments | None = None
    """The elements over which the credit of `Patches` or `Superpixels` is spread evenly; None if there are none."""
    fast: Accelerator | None = None
    """Computes gradients and walks faster; None for exact ones."""
    batches: RowLimit | None = None
    """The largest number of rows in a call of the model; set by `with_target`."""
    sizes: CallSizes | None = None
    """The numbers of rows that calls for gradients and predictions are filled up to; None where any number will do."""
    failures: Tensor = None  # type: ignore[assignment]  # made below; shared by the problems that `replace` makes of this one
    """b: how many of each sample's scores were NaN or Inf, among those passed to `count_failures`."""
    x: Tensor = field(init=False)  # b n

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.flatten(self.inputs))
        if self.failures is None:
            object.__setattr__(self, "failures", torch.zeros(self.batch, dtype=torch.int32, device=self.x.device))

    @property
    def batch(self) -> int:
        return len(self.x)

    @property
    def is_image(self) -> bool:
        """Whether there is one `b c h w` input in pixels, patches or superpixels: other groups do not say so."""
        return self.paper_settings or (len(self.inputs) == 1 and self.levels is not None)

    def flatten(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return tensors in the inputs' shapes as one b n in the walk's dtype (float32 or wider), possibly a view."""
        dtype = torch.float32
        for tensor in self.inputs:
            dtype = torch.promote_types(dtype, tensor.dtype)
        parts = [t.detach().reshape(len(t), -1).to(dtype) for t in tensors]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def unflatten(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return points (r n) as one tensor per input, each in its input's shape: the inverse of `flatten`."""
        sizes = [math.prod(t.shape[1:]) for t in self.inputs]
        parts = torch.split(x, sizes, 1) if len(sizes) > 1 else [x]  # the backward of a split into one is a copy
        return tuple(part.reshape(len(x), *t.shape[1:]) for part, t in zip(parts, self.inputs, strict=True))

    def level_patches(self, values: Tensor) -> Tensor:
        """Return credit (b n) with that of each patch spread evenly over its pixels; channels keep their shares."""
        return values if self.levels is None else self.levels.spread(self.levels.pool(values) / self.levels.sizes)

    def output(self, x: Tensor, samples: Tensor, give_away: bool = False) -> Any:
        """Return the model's output for points x (r n) of these samples (r).

        The model gets copies, unless `give_away` allows it to change the points in place.
        """

        def call() -> Any:
            copy = not give_away or not is_free(self.model)  # it may be called again with the same points
            parts = zip(self.unflatten(x), self.inputs, strict=True)
            inputs = [part.to(t.dtype, copy=copy, memory_format=_layout(t)) for part, t in parts]
            return self._call(inputs, self.arguments(samples))

        return observe(self.model, call)

    def _call(self, inputs: Sequence[Tensor], args: Sequence[Any]) -> Any:
        """Return the model's output; an error caused by the caller's arguments is raised in terms of these."""
        try:
            return self.model(*inputs, *args)
        except (TypeError, RuntimeError, ValueError, IndexError) as error:
            clearer = translate_error(error, self.model, inputs, args, self.inputs)
            if clearer is None:
                raise
            raise clearer from error

    def arguments(self, samples: Tensor) -> list[Any]:
        """Return the model's further arguments for these samples."""
        return [argument_for(arg, samples) for arg in self.forward_args]

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return the score (r) and its gradient (r n) at points x; gradients of parameters are never computed."""
        rows = len(x)
        if self.sizes:
            x, samples = self.sizes.fill_up(x, samples)
        value, gradient = (
            self.exact_value_and_gradient(x, samples)
            if self.fast is None
            else self.fast.value_and_gradient(self, x, samples)
        )
        return (value, gradient) if len(x) == rows else (value[:rows], gradient[:rows])

    def walk(self, scorer: Scorer, route: Route, path: Path, rule: StepRule, momentum: float) -> Iterator[Step]:
        """Yield the Steps of `samp.engine.walk.walk`, or of the compiled walk that replaces it."""
        return (walk if self.fast is None else self.fast.walk)(scorer, route, path, rule, momentum)

    def compiles_walks_of(self, path: Path) -> bool:
        """Return whether walks along this path are compiled."""
        return self.fast is not None and self.fast.compiles_walks_of(path)

    def compiler(self, path: Path) -> Compiler:
        """Return what compiles the small functions that work on the Steps of such a path."""
        return keep_function if self.fast is None else self.fast.compiler(path)

    def compiling(self) -> AbstractContextManager[None]:
        """Return the context manager to walk in."""
        return nullcontext() if self.fast is None else self.fast.compiling()

    def exact_value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return the score (r) and its gradient (r n) by the model itself, in its own precision.

        Raises ValueError if the score does not depend on the input.
        """
        with torch.inference_mode(False), torch.enable_grad():
            leaf = x.detach().requires_grad_()
            score = self.score(self.output(leaf, samples), samples)
            if not score.requires_grad:
                raise _no_gradient()
            (gradient,) = torch.autograd.grad(score.sum(), leaf, allow_unused=True)
        if gradient is None:
            raise _no_gradient()
        return score.detach().to(x.dtype), gradient

    def score(self, output: Any, samples: Tensor) -> Tensor:
        """Return the score of each row of the output (r); raises RuntimeError before the target is known."""
        if self.objective is None:
            raise RuntimeError("the target is not known yet: call with_target() first.")
        return self.objective(output, samples)

    def count_failures(self, score: Tensor, samples: Tensor) -> Tensor:
        """Return the scores (r) unchanged; counts those that are NaN or Inf, without waiting for the device."""
        self.failures.index_add_(0, samples, (~score.detach().isfinite()).to(self.failures))
        return score

    def gradient(self, x: Tensor, samples: Tensor) -> Tensor:
        """Return the gradient (r n) of the score at points x; counts scores that are NaN or Inf."""
        score, gradient = self.value_and_gradient(x, samples)
        self.count_failures(score, samples)
        return gradient

    def forget_failures(self) -> Problem:
        """Reset the count of scores that were NaN or Inf, and return this problem."""
        self.failures.zero_()
        return self

    def with_target(self, batches: RowLimit) -> Problem:
        """Return this problem with its target known; to predict classes takes one forward pass per sample.

        A target function is tried on a single sample, since walks call it with some of the samples: one that holds data
        of the whole batch must fail here, rather than mix up samples later.
        """
        everyone = torch.arange(self.batch, device=self.x.device)

        def output(first: int, last: int) -> Any:
            return self.output(self.x[first:last], everyone[first:last])

        def predict(first: int, last: int) -> Tensor:
            x, samples = self.x[first:last], everyone[first:last]
            if self.sizes:
                x, samples = self.sizes.fill_up(x, samples)
            return self._predict(self.output(x, samples), first, last, len(x))

        with torch.no_grad():
            if self.objective is None:
                classes = batches.map_slices(self.batch, predict)
                return replace(self, objective=TargetIndex(torch.cat(list(classes))[:, None], (0,)), batches=batches)
            if isinstance(self.objective, TargetFromPrediction):
                read = self.objective.read
                found = batches.map_slices(
                    self.batch, lambda first, last: read(output(first, last), everyone[first:last])
                )
                return replace(self, objective=self.objective.settle(torch.cat(list(found))), batches=batches)
            if isinstance(self.objective, TargetFunction):
                self._try_on_one(output, batches)
            elif isinstance(self.objective, TargetByName):  # its errors then tell the output of one sample
                self.score(output(0, 1), everyone[:1])
        return replace(self, batches=batches)

    def _predict(self, output: Any, first: int, last: int, rows: int) -> Tensor:
        """Return the classes of these samples, the first of the output's rows; counts scores of NaN or Inf."""
        classes = predict_classes(output, rows)
        places = torch.arange(last - first, device=self.x.device)
        scores = TargetIndex(classes[:, None], (0,))(output, torch.arange(rows, device=self.x.device))
        self.count_failures(scores[: len(places)], first + places)
        return classes[: len(places)]

    def _try_on_one(self, output: Callable[[int, int], Any], batches: RowLimit) -> None:
        """Raise the error of the target function for a single sample; a ValueError if it works for all together."""
        everyone = torch.arange(self.batch, device=self.x.device)
        first = output(0, 1)
        try:
            self.score(first, everyone[:1])
        except Exception as error:
            if self.batch == 1 or not self._scores_all(list(batches.map_slices(self.batch, output))):
                raise
            raise ValueError(
                f"the target function works for all {self.batch} samples together but not for one alone, so it holds "
                "data of each sample, and walks show it some at a time: let it take a second argument, samples, and "
                "pick by it, as in lambda output, samples: output[range(len(samples)), labels[samples]]."
            ) from error

    def _scores_all(self, outputs: list[Any]) -> bool:
        """Return whether the target function works with the outputs of all samples at once."""
        try:
            self.score(torch.cat(outputs), torch.arange(self.batch, device=self.x.device))
        except Exception:  # whatever it is, the function does not work
            return False
        return True

    def check_layout(self) -> None:
        """Raise ValueError if an input looks like b h w c, unless the groups are `Pixels()`, which declares b c h w."""
        for tensor in self.inputs:
            grouping.check_input_layout(tensor.shape, declared=repr(grouping.Pixels()) in self.features.label)

    def describe(self) -> dict[str, object]:
        """Return the details stored with every result: target, features, device, dtypes, versions."""
        return {
            "target": repr(None) if self.objective is None else self.objective.describe(),
            "groups": self.features.label,
            "features": self.features.own_counts,
            "device": str(self.x.device),
            "dtype": ", ".join(sorted({str(t.dtype) for t in self.inputs})),
            "speed": "exact" if self.fast is None else self.fast.label,
            **({"forward_args": [repr(arg) for arg in self.forward_args]} if self.forward_args else {}),
            "versions": {"samp": __version__, "torch": torch.__version__},
        }


def make_problem(
    model: Model,
    inputs: Inputs,
    target: Target = None,
    groups: grouping.Groups | None = None,
    forward_args: Any = (),
) -> Problem:
    """Check these arguments and return their `Problem`; raises TypeError or ValueError for what cannot be explained.

    >>> problem = make_problem(torch.nn.Linear(3, 2), torch.rand(4, 3), target=1)
    >>> problem.batch, problem.features.count
    (4, 3)
    """
    ready = _is_ready(model, inputs)
    read = ModelInputs(model, (inputs,), one_input=True) if ready else read_inputs(model, inputs)  # type: ignore[arg-type]  # a tensor
    tensors = read.tensors
    batch, device = len(tensors[0]), tensors[0].device
    kinds = grouping.find_superpixels(groups, tensors) if groups is not None else None
    features = grouping.bind(kinds, tensors)
    needs_args = not isinstance(forward_args, tuple) or len(forward_args) > 0
    return Problem(
        model=read.model,
        inputs=tensors,
        one_input=read.one_input,
        objective=resolve_target(target, batch, device),
        features=features,
        forward_args=read_arguments(forward_args, batch) if needs_args else (),
        paper_settings=len(tensors) == 1 and tensors[0].ndim == 4 and features.label == repr(grouping.Pixels()),
        levels=grouping.bind_levels(kinds, tensors),
    )


def _is_ready(model: Any, inputs: Any) -> bool:
    """Return whether these are a module and one valid tensor, the common case, which `read_inputs` would not change."""
    if not isinstance(model, nn.Module) or not isinstance(inputs, Tensor) or not is_plain(inputs):
        return False
    fits = inputs.is_floating_point() and inputs.ndim >= 2 and inputs.numel() > 0 and not inputs.is_inference()
    homes = {parameter.device for parameter in model.parameters()}
    return fits and inputs.device in (homes or {inputs.device}) and bool(torch.isfinite(inputs).all())


def _layout(tensor: Tensor) -> torch.memory_format:
    """Return the memory format for the model's inputs: the caller's, since channels last is often faster."""
    last = tensor.ndim == 4 and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last else torch.contiguous_format


def _no_gradient() -> ValueError:
    return ValueError(
        "the score does not depend on the input: no gradient reaches it. "
        "Look for .detach(), .data, argmax or numpy inside the model, or a frozen (no_grad) forward."
    )
