"""Further arguments of the model (`forward_args`): those with one entry per sample, and those that all samples share.

The model is called with some of the samples at a time, so an argument with one entry per sample has to be split with
them, and any other must not be. The length of a tensor cannot decide which it is: a table of 3 rows would be split in
every batch of 3 samples, and in no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class PerSample:
    """An argument of the model with one entry per sample along axis 0; each call gets the entries of its samples.

    Takes a tensor, or anything that `torch.as_tensor` accepts. Raises TypeError for anything else, and ValueError for a
    tensor without axes.

    >>> import samp
    >>> model = lambda x, factor: x.sum(1) * factor
    >>> factor = samp.PerSample([1.0, 2.0])
    >>> samp.explain(model, torch.ones(2, 3), method="ig", forward_args=factor).values.sum(1)
    tensor([3., 6.])
    """

    values: Tensor

    def __post_init__(self) -> None:
        try:
            values = torch.as_tensor(self.values)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(
                f"PerSample holds a tensor with one entry per sample, not {type(self.values).__name__}."
            ) from error
        if values.ndim == 0:
            raise ValueError("PerSample holds a tensor with one entry per sample, but this one has no axis.")
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"PerSample(tensor of shape {tuple(self.values.shape)})"


@dataclass(frozen=True, eq=False, repr=False)
class ForAll:
    """An argument of the model that is passed whole to every call, whatever its length.

    Only a tensor as long as the batch has to be marked: `samp.explain` refuses to guess whether to split it.

    >>> import samp
    >>> model = lambda x, weight: x @ weight
    >>> weight = samp.ForAll(torch.tensor([1.0, 2.0]))
    >>> samp.explain(model, torch.ones(2, 2), method="ig", forward_args=weight).values.tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """

    value: Any

    def __repr__(self) -> str:
        content = f"tensor of shape {tuple(self.value.shape)}" if isinstance(self.value, Tensor) else repr(self.value)
        return f"ForAll({content})"


Argument = PerSample | ForAll


def read_arguments(given: Any, batch: int) -> tuple[Argument, ...]:
    """Return the model's further arguments, each as `PerSample` or `ForAll`; `given` is one argument, several, or None.

    Raises ValueError where a bare tensor or array is as long as the batch, or a `PerSample` is not, and TypeError for
    a mapping.

    >>> read_arguments((PerSample(torch.zeros(2, 5)), torch.zeros(3), "name"), batch=2)
    (PerSample(tensor of shape (2, 5)), ForAll(tensor of shape (3,)), ForAll('name'))
    """
    if isinstance(given, Mapping):
        raise TypeError(
            "forward_args is a mapping, but they go to the model by position: pass a tuple, ({…},) if the model takes "
            "the mapping itself, or bind keywords first: functools.partial(model, mask=…)."
        )
    several = () if given is None else given if isinstance(given, tuple | list) else (given,)
    return tuple(_as_argument(arg, batch, f"forward_args[{number}]") for number, arg in enumerate(several))


def per_sample_tensors(given: Sequence[Any], batch: int) -> tuple[Any, ...]:
    """Return the arguments marked by Captum's rule: axis 0 of every tensor is the batch.

    Raises ValueError for a tensor of another length.

    >>> per_sample_tensors((torch.zeros(2), 7), batch=2)
    (PerSample(tensor of shape (2,)), 7)
    """
    for number, arg in enumerate(given):
        if isinstance(arg, Tensor) and arg.ndim and len(arg) != batch:
            raise ValueError(
                f"additional_forward_args[{number}] has shape {tuple(arg.shape)} but there are {batch} samples: Captum "
                "takes axis 0 of a tensor for the batch. If all samples share it, pass samp.ForAll(tensor)."
            )
    return tuple(PerSample(arg) if isinstance(arg, Tensor) and arg.ndim else arg for arg in given)


def argument_for(arg: Argument, samples: Tensor) -> Any:
    """Return the argument for these samples: their entries, or all; tensors are copied, as the model may write."""
    if isinstance(arg, PerSample):
        return arg.values[samples.to(arg.values.device)]
    return arg.value.clone() if isinstance(arg.value, Tensor) else arg.value


def _as_argument(arg: Any, batch: int, name: str) -> Argument:
    if isinstance(arg, PerSample):
        if len(arg.values) != batch:
            raise ValueError(
                f"{name} is {arg!r} but there are {batch} samples: give it one entry for each along axis 0."
            )
        return PerSample(_copy_if_inference(arg.values))
    if isinstance(arg, ForAll):
        return ForAll(_copy_if_inference(arg.value))
    if isinstance(arg, Tensor | np.ndarray) and not getattr(arg, "is_nested", False) and arg.ndim and len(arg) == batch:
        raise ValueError(
            f"{name} has shape {tuple(arg.shape)} and there are {batch} samples: it could be one entry per sample or "
            "something that all of them share. Say which: samp.PerSample(…) or samp.ForAll(…)."
        )
    return ForAll(_copy_if_inference(arg))


def _copy_if_inference(arg: Any) -> Any:
    """Return the argument; a tensor made under `torch.inference_mode` is copied, since autograd cannot save it."""
    return arg.clone() if isinstance(arg, Tensor) and arg.is_inference() else arg
