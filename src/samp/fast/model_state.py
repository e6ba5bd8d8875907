"""Snapshot of a model: its tensors, and everything that shows whether a copy of it is out of date.

It is taken before every explanation, while the device waits. A model is therefore traversed once, and code that runs
for every module is written for speed.
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
    """A model's tensors and its form: everything else that its output may depend on.

    `tensors` holds parameters, buffers and plain tensors, also those in lists and other containers, in an order that a
    copy shares. `form` holds settings, which modules share a tensor, and whether there are hooks, but not what objects
    of the user hold deep inside.

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
        self._numbers: dict[int, int] = {}  # id of each tensor and module to the order in which it was visited
        self._visit(model)

    def _visit(self, module: nn.Module) -> None:
        """Record a module's tensors and settings, then its children."""
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
        """Return whether this tensor or module is new; its number goes into the form, to record what is shared."""
        count = len(self._numbers)
        number = self._numbers.setdefault(id(part), count)
        self.form.append(number)
        return number == count

    def _look(self, value: Any) -> object:
        """Return a setting in a form that can be compared, and record the tensors and modules in it.

        Numbers, strings and arrays are compared by value, also in containers; objects such as a config by the numbers
        and strings they hold; functions by identity. Anything else may change, since nets keep state of their last
        call.
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
    """Return whether the user has registered a hook on this module."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def reason_against(model: Any, inputs: tuple[Tensor, ...]) -> str:
    """Return why this model cannot be called through a copy, or "" if it can.

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
