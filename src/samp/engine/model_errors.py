"""Errors of a model, translated into terms of the caller's arguments.

Only certain cases are translated: the arguments do not fit the signature, or another dtype or a batch axis makes the
same call work. Any other error is the model's own and propagates unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from samp.targets import Model

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DTYPE_WORDS = ("dtype", "scalar type", "should be the same", "not implemented for")


def translate_error(
    error: Exception, model: Model, inputs: Sequence[Tensor], args: Sequence[object], given: Sequence[Tensor]
) -> Exception | None:
    """Return an error that explains this one in terms of the caller's arguments, or None if it is the model's own.

    >>> translate_error(TypeError("missing argument"), lambda x, y: x, [torch.ones(1, 2)], [], [torch.ones(1, 2)])
    TypeError('the model takes (x, y) but was given 1 input and 0 forward_args: pass the rest as forward_args.')
    """
    if isinstance(error, TypeError):
        return _arguments_error(model, inputs, args)
    about_dtype = any(word in str(error) for word in DTYPE_WORDS)
    return (_dtype_error(model, inputs, args) if about_dtype else None) or _batch_axis_error(model, args, given)


def _arguments_error(model: Model, inputs: Sequence[Tensor], args: Sequence[object]) -> TypeError | None:
    try:
        signature = inspect.signature(model.forward if isinstance(model, nn.Module) else model)
    except (TypeError, ValueError):  # some built-in callables have no signature
        return None
    try:
        signature.bind(*inputs, *args)
    except TypeError:
        several = len(inputs) > 1
        takes = f"({', '.join(signature.parameters)})"
        came = f"{len(inputs)} input{'s' * several} and {len(args)} forward_args"
        least = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in signature.parameters.values())
        if len(inputs) + len(args) < least:
            do = "pass the rest as forward_args."
        elif several:
            do = "a list or tuple holds several inputs; to explain several samples join them, as with torch.stack."
        else:
            do = "leave out what it does not take."
        return TypeError(f"the model takes {takes} but was given {came}: {do}")
    return None


def _dtype_error(model: Model, inputs: Sequence[Tensor], args: Sequence[object]) -> TypeError | None:
    came = ", ".join(sorted({str(x.dtype) for x in inputs}))
    for dtype in DTYPES:
        if any(x.dtype != dtype for x in inputs) and _works(model, [x.to(dtype) for x in inputs], args):
            return TypeError(
                f"the input has dtype {came}, which the model does not take: pass it as {dtype}, x.to({dtype}), or "
                "convert the model."
            )
    return None


def _batch_axis_error(model: Model, args: Sequence[object], given: Sequence[Tensor]) -> ValueError | None:
    """Return the error for one image (three axes) without a batch axis, if the model works with one; else None.

    A model that also works without is not to blame: a method refused it, or its gradient failed.
    """
    if len(given) != 1 or given[0].ndim != 3 or not _works(model, [given[0][None]], args, rows=1):
        return None
    if _works(model, [given[0]], args):
        return None
    return ValueError(
        f"the input has shape {tuple(given[0].shape)}, so axis 0 was taken for the batch, and the model fails; as one "
        "sample it works: give it its batch axis, x[None]."
    )


def _works(model: Model, inputs: Sequence[Tensor], args: Sequence[object], rows: int | None = None) -> bool:
    """Return whether this call works and, if `rows` is given, returns a tensor with that many rows."""
    try:
        with torch.no_grad():
            output = model(*(x.detach().clone() for x in inputs), *args)
    except Exception:  # whatever it is, the call does not work
        return False
    return rows is None or (isinstance(output, Tensor) and output.ndim > 0 and len(output) == rows)
