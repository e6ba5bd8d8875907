"""Models that hide their operations from Python: TorchScript, compiled, exported and quantised ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

PROGRAMS = ("aten", "prims", "quantized")
"""Where exported and quantised programs take their operations from; models in Python ask for them by other names."""


def refuse_compiled(method: str, model: Any) -> None:
    """Raise NotImplementedError for a model that is, or holds, what `torch.compile` made.

    Under a mode torch would compile it anew, and leave that in the user's compiled model.

    >>> refuse_compiled("LRP", nn.Linear(2, 1))
    """
    part = _name_part(model, is_compiled)
    if part is not None:
        raise NotImplementedError(
            f"{method} needs to see every operation, but {part} is compiled by torch.compile, which hides them: "
            "use the model as it was before, or a method that needs only gradients, such as 'coupled' or 'ig'."
        )


def hidden_part(model: Any) -> str:
    """Words for the part of the model that hides operations, as far as it can be told by looking at it.

    >>> hidden_part(torch.jit.script(nn.Linear(2, 1)))
    'the model, which is TorchScript,'
    """
    part = _name_part(model, is_script)
    return "the model" if part is None else f"{part}, which is TorchScript,"


def is_script(module: Any) -> bool:
    """Whether this is TorchScript: scripted, traced, frozen or loaded.

    >>> is_script(torch.jit.script(nn.Linear(2, 1))), is_script(nn.Linear(2, 1))
    (True, False)
    """
    return isinstance(module, torch.jit.ScriptModule | torch.jit.ScriptFunction)


def program_operation(function: Any) -> str:
    """The full name of an operation that exported and quantised programs are made of; empty for any other.

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


def is_compiled(model: Any) -> bool:
    """Whether `torch.compile` made this.

    >>> is_compiled(nn.Linear(2, 1)), is_compiled(torch.compile(nn.Linear(2, 1)))
    (False, True)
    """
    # asked without importing torch._dynamo, which takes seconds
    return (
        type(model).__module__.startswith("torch._dynamo")
        or hasattr(model, "_torchdynamo_orig_callable")
        or getattr(model, "_compiled_call_impl", None) is not None
    )


def _name_part(model: Any, is_one: Any) -> str | None:
    if is_one(model):
        return "the model"
    parts = model.named_modules() if isinstance(model, nn.Module) else ()
    return next((f"the model's module {name!r}" for name, part in parts if is_one(part)), None)
