"""Models that hide their operations from Python: TorchScript, compiled, exported and quantised ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from samp.engine.call_sizes import is_compiled
from samp.targets import Model

PROGRAMS = ("aten", "prims", "quantized")
"""The namespaces of operations in exported and quantised programs; models written in Python call others."""


def refuse_compiled(method: str, model: Model) -> None:
    """Raise NotImplementedError if the model, or one of its modules, was made by `torch.compile`.

    Under a mode, torch would compile it anew and leave the result in the user's compiled model.

    >>> refuse_compiled("LRP", nn.Linear(2, 1))
    """
    part = _describe_part(model, is_compiled)
    if part is not None:
        raise NotImplementedError(
            f"{method} needs to see every operation, but {part} is compiled by torch.compile, which hides them: "
            "use the model as it was before, or a method that needs only gradients, such as 'consensus' or 'ig'."
        )


def describe_hidden_part(model: Model | None) -> str:
    """Return words for the part of the model that hides operations: a TorchScript module if it has one.

    >>> describe_hidden_part(torch.jit.script(nn.Linear(2, 1)))
    'the model, which is TorchScript,'
    """
    part = _describe_part(model, is_script)
    return "the model" if part is None else f"{part}, which is TorchScript,"


def is_script(module: object) -> bool:
    """Return whether this is TorchScript: scripted, traced, frozen or loaded.

    >>> is_script(torch.jit.script(nn.Linear(2, 1))), is_script(nn.Linear(2, 1))
    (True, False)
    """
    return isinstance(module, torch.jit.ScriptModule | torch.jit.ScriptFunction)


def program_operation(function: Callable[..., Any]) -> str:
    """Return the full name of an operation of exported or quantised programs, and "" for any other function.

    >>> program_operation(torch.ops.aten.relu.default), program_operation(torch.relu)
    ('aten::relu', '')
    """
    if isinstance(function, torch._ops.OpOverload):
        name = function._schema.name
    elif isinstance(function, torch._ops.OpOverloadPacket):
        name = function._qualified_op_name
    else:
        return ""
    return name if name.partition("::")[0] in PROGRAMS else ""


def _describe_part(model: Model | None, is_one: Callable[[object], bool]) -> str | None:
    """Return words for the first of the model and its modules for which `is_one` holds, or None."""
    if is_one(model):
        return "the model"
    parts = model.named_modules() if isinstance(model, nn.Module) else ()
    return next((f"the model's module {name!r}" for name, part in parts if is_one(part)), None)
