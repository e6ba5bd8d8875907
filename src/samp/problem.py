"""The question, checked once: which score of which model, for which inputs, in which features.

All checks of what the user handed in live here and in the modules it calls; behind this door nothing is checked
again. Inputs are flattened to `b n` and kept in float32 or wider; the model gets them back in their own shape,
dtype and memory format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from samp import __version__
from samp import groups as grouping
from samp.batches import Batches
from samp.isolation import is_free, observe
from samp.objectives import Function, Index, Objective, Target, objective, predicted
from samp.walk import Fuse, as_it_is

if TYPE_CHECKING:
    from samp.speed import Fast

Inputs = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, the samples to explain and the score to explain them by."""

    model: Callable[..., Any]
    inputs: tuple[Tensor, ...]
    one_input: bool
    objective: Objective | None
    features: grouping.Grouping
    forward_args: tuple[Any, ...]
    paper_settings: bool
    """One `b c h w` input in pixels: the case the paper's settings are for."""
    fast: Fast | None = None
    """How gradients are had fast, where exact ones are not asked for."""
    batches: Batches | None = None
    """How many rows a call of the model may have."""
    x: Tensor = field(init=False)  # b n

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.flatten(self.inputs))

    @property
    def batch(self) -> int:
        return len(self.x)

    def flatten(self, tensors: Sequence[Tensor]) -> Tensor:
        """Inputs, or what has their shape, as one tensor b n in the walk's dtype (float32 or wider); perhaps a view."""
        dtype = torch.float32
        for tensor in self.inputs:
            dtype = torch.promote_types(dtype, tensor.dtype)
        parts = [t.detach().reshape(len(t), -1).to(dtype) for t in tensors]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def unflatten(self, x: Tensor) -> tuple[Tensor, ...]:
        """The way back: r n to one tensor per input, each in its input's shape."""
        sizes = [math.prod(t.shape[1:]) for t in self.inputs]
        parts = torch.split(x, sizes, 1) if len(sizes) > 1 else [x]  # splitting into one would cost a copy backwards
        return tuple(part.reshape(len(x), *t.shape[1:]) for part, t in zip(parts, self.inputs, strict=True))

    def output(self, x: Tensor, samples: Tensor, give_away: bool = False) -> Any:
        """The model's output for points x (r n) of these samples (r).

        The model works on copies of its own, unless the points are given away: it may then change them in place.
        """

        def call() -> Any:
            copy = not give_away or not is_free(self.model)  # it may be called once more, with the same points
            parts = zip(self.unflatten(x), self.inputs, strict=True)
            inputs = [part.to(t.dtype, copy=copy, memory_format=_layout(t)) for part, t in parts]
            return self.model(*inputs, *self.arguments(samples))

        return observe(self.model, call)

    def arguments(self, samples: Tensor) -> list[Any]:
        """The model's further arguments for these samples."""
        return [_rows(arg, samples, self.batch) for arg in self.forward_args]

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Score (r) and its gradient (r n) at points x. Gradients of parameters are never computed."""
        return self.exactly(x, samples) if self.fast is None else self.fast.value_and_gradient(self, x, samples)

    @property
    def fuse(self) -> Fuse:
        """How the walk's own work is compiled: on a GPU, where gradients are fast, it would be a part to be seen."""
        if self.fast is None or self.fast.ready is None or not self.x.is_cuda:
            return as_it_is
        from samp.speed.fused import fused  # not needed otherwise

        return fused

    def fusing(self) -> AbstractContextManager[None]:
        """Where walks are walked: as `fuse` asks for."""
        if self.fuse is as_it_is:
            return nullcontext()
        from samp.speed.fused import many_kinds

        return many_kinds()

    def exactly(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Score and gradient by the model itself, in its own precision."""
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
        """One number per row of the output, by the objective."""
        if self.objective is None:
            raise RuntimeError("the target is not known yet: call settled() first.")
        return self.objective(output, samples)

    def settled(self, batches: Batches) -> Problem:
        """This problem with its target known: one forward pass for every sample if it is to be predicted.

        A function of the user's is tried on one sample alone, since walks will show it some samples and not all: one
        that carries data of the whole batch must fail here and not mix samples up later.
        """
        everyone = torch.arange(self.batch, device=self.x.device)

        def output(first: int, last: int) -> Any:
            return self.output(self.x[first:last], everyone[first:last])

        with torch.no_grad():
            if self.objective is None:
                classes = batches.over(self.batch, lambda first, last: predicted(output(first, last), last - first))
                return replace(self, objective=Index(torch.cat(list(classes))[:, None], (0,)), batches=batches)
            if isinstance(self.objective, Function):
                self.score(output(0, 1), everyone[:1])
        return replace(self, batches=batches)

    def describe(self) -> dict[str, object]:
        """What travels with every result: target, features, device, dtypes, versions."""
        return {
            "target": self.objective.index.squeeze(1).tolist()
            if isinstance(self.objective, Index)
            else repr(self.objective),
            "groups": self.features.label,
            "features": self.features.own_counts,
            "device": str(self.x.device),
            "dtype": ", ".join(sorted({str(t.dtype) for t in self.inputs})),
            "speed": "exact" if self.fast is None else self.fast.label,
            "versions": {"samp": __version__, "torch": torch.__version__},
        }


def pose(
    model: Callable[..., Any],
    inputs: Inputs,
    target: Target = None,
    groups: grouping.Groups | None = None,
    forward_args: Sequence[Any] = (),
) -> Problem:
    """The `Problem` of these arguments, or one sentence on what is wrong with them.

    >>> problem = pose(torch.nn.Linear(3, 2), torch.rand(4, 3), target=1)
    >>> problem.batch, problem.features.count
    (4, 3)
    """
    if not callable(model):
        raise TypeError(f"a model is a module or a function, not {type(model).__name__}.")
    one_input = not isinstance(inputs, tuple | list)
    tensors: tuple[Tensor, ...] = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    for number, tensor in enumerate(tensors):
        _check_input(tensor, "the input" if one_input else f"input {number}")
    sizes = {len(tensor) for tensor in tensors}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(f"inputs need one common batch size of at least 1, but have {sorted(sizes)}.")
    _check_device(model, tensors)
    tensors = tuple(map(_usable, tensors))
    batch, device = len(tensors[0]), tensors[0].device
    features = grouping.bind(groups, tensors)
    return Problem(
        model=model,
        inputs=tensors,
        one_input=one_input,
        objective=objective(target, batch, device),
        features=features,
        forward_args=tuple(map(_usable, _several(forward_args))),
        paper_settings=len(tensors) == 1 and tensors[0].ndim == 4 and features.label == repr(grouping.Pixels()),
    )


def _check_input(tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"{name} is {type(tensor).__name__}, not a torch tensor: convert it with torch.as_tensor first."
        )
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} has dtype {tensor.dtype}, which has no gradient: pass floats (for tokens, their embeddings)."
        )
    if tensor.ndim < 2:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: give it a batch axis and at least one feature axis.")
    if tensor.numel() == 0:
        raise ValueError(
            f"{name} is empty, with shape {tuple(tensor.shape)}: give at least one sample with one feature."
        )
    if not torch.isfinite(tensor).all():
        sample = int((~torch.isfinite(tensor)).flatten(1).any(1).nonzero()[0])
        raise ValueError(f"{name} holds NaN or Inf in sample {sample}: replace or leave out such values first.")


def _check_device(model: Any, tensors: Sequence[Tensor]) -> None:
    if {tensor.device for tensor in tensors} != {tensors[0].device}:
        raise ValueError("the inputs lie on different devices: move them to one.")
    if isinstance(model, nn.Module):
        homes = {parameter.device for parameter in model.parameters()}
        if homes and tensors[0].device not in homes:
            home = next(iter(homes))
            raise ValueError(
                f"the model is on {home} but the input on {tensors[0].device}: move one with .to({str(home)!r})."
            )


def _usable(arg: Any) -> Any:
    """An argument that autograd may save: tensors made under `torch.inference_mode` must be copied for that."""
    return arg.clone() if isinstance(arg, Tensor) and arg.is_inference() else arg


def _layout(tensor: Tensor) -> torch.memory_format:
    """The memory format to feed the model in: the user's own, since channels last is often faster."""
    last = tensor.ndim == 4 and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last else torch.contiguous_format


def _several(args: Any) -> Sequence[Any]:
    """Further arguments of the model: one alone, several, or none."""
    return () if args is None else args if isinstance(args, tuple | list) else (args,)


def _rows(arg: Any, samples: Tensor, batch: int) -> Any:
    """An extra argument for these samples: of tensors with one entry per sample, theirs; of other tensors a copy, which
    the model may change; all else goes as it is.
    """
    if not isinstance(arg, Tensor):
        return arg
    return arg[samples.to(arg.device)] if arg.ndim and len(arg) == batch else arg.clone()


def _no_gradient() -> ValueError:
    return ValueError(
        "the score does not depend on the input: no gradient reaches it. "
        "Look for .detach(), .data, argmax or numpy inside the model, or a frozen (no_grad) forward."
    )
