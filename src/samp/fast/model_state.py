"""One look at a whole model: its tensors, and all by which a copy of it is known to be out of date.

It is taken before every explanation, while the device waits. So a model is gone through once, and lines here that are
called for every module are written to be fast.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from samp.isolation.model_state import COMMON, modules_being_trained

_PLAIN = (int, float, str)
_ATOMS = frozenset((int, float, str, bool, type(None)))


class ModelSnapshot:
    """A model's tensors (parameters, buffers and plain ones, also in lists and the like), in an order that a copy
    shares, and its form: all else that its answers may well depend on. Settings are in it, who shares a tensor with
    whom, and whether there are hooks; what an object of the user's holds deep inside is not.

    >>> model = nn.Conv2d(1, 1, 3)
    >>> before = ModelSnapshot(model)
    >>> model.weight.data.add_(1.0).shape, ModelSnapshot(model).form == before.form
    (torch.Size([1, 1, 3, 3]), True)
    >>> model.stride = (2, 2)
    >>> ModelSnapshot(model).form == before.form
    False
    """

    def __init__(self, model: nn.Module) -> None:
        self.tensors: list[Tensor] = []
        self.form: list[object] = []
        self._places: dict[int, int] = {}  # of what was seen, by its id
        self._visit(model)

    def _visit(self, module: nn.Module) -> None:
        """A module, its tensors and settings, then its children."""
        self.form += (type(module), module.training, has_hooks(module))
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                self.form.append(name if tensor is not None else (name, None))
                if tensor is not None:
                    self._see(tensor)
        for name, value in vars(module).items():
            if name not in COMMON:
                self.form += (name, value if type(value) in _ATOMS else self._look(value))
        for name, child in module._modules.items():
            self.form.append(name)
            if child is not None and self._new(child):
                self._visit(child)

    def _see(self, tensor: Tensor) -> None:
        if self._new(tensor):
            self.tensors.append(tensor)
            self.form += (tensor.shape, tensor.dtype, tensor.device, tensor.stride())

    def _new(self, part: object) -> bool:
        """Whether this tensor or module was not seen before; its number is noted, to tell who shares it."""
        count = len(self._places)
        place = self._places.setdefault(id(part), count)
        self.form.append(place)
        return place == count

    def _look(self, value: Any) -> object:
        """A setting to compare by: numbers, words and arrays as they are, also in lists and the like, the numbers and
        words of an object such as a config, functions by which they are; all else may change freely, since nets keep
        notes of their last call. Tensors and modules found in it are seen to.
        """
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, tuple | list):
            return tuple([held if type(held) in _ATOMS else self._look(held) for held in value])
        if isinstance(value, set | frozenset):
            return frozenset(held for held in value if isinstance(held, _PLAIN))
        if isinstance(value, dict):
            return tuple([(self._look(key), self._look(held)) for key, held in value.items()])
        if isinstance(value, np.ndarray | np.generic):
            return value.shape, str(value.dtype), value.tobytes()
        if isinstance(value, Tensor):
            self._see(value)
            return Tensor
        if isinstance(value, nn.Module):
            if self._new(value):
                self._visit(value)
            return nn.Module
        if isinstance(value, partial):
            return tuple([self._look(part) for part in (value.func, value.args, value.keywords)])
        plain = {name: held for name, held in getattr(value, "__dict__", {}).items() if isinstance(held, _PLAIN)}
        return type(value), id(value) if callable(value) else 0, tuple(plain.items())


def has_hooks(module: nn.Module) -> bool:
    """Whether a hook of the user's is called with this module."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def reason_against(model: Any, inputs: tuple[Tensor, ...]) -> str:
    """Why this model cannot be called through a copy, or nothing.

    >>> reason_against(lambda x: x, (torch.rand(1, 2),))
    'the model is no nn.Module'
    >>> reason_against(nn.Dropout(0.5), (torch.rand(1, 2),))
    'the model is in training mode'
    """
    if not isinstance(model, nn.Module):
        return "the model is no nn.Module"
    if isinstance(model, torch.jit.ScriptModule):
        return "the model is a script"
    if modules_being_trained(list(model.modules())):
        return "the model is in training mode"
    if any(map(has_hooks, model.modules())):
        return "the model has hooks"
    if len({t.device for t in (*inputs, *ModelSnapshot(model).tensors)}) > 1:
        return "the model lies on several devices"
    return ""
