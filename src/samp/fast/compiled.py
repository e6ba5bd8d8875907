"""Compiled functions for the walk's own work between two gradients: one pass over memory instead of ten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

import torch

from samp.devices import is_out_of_memory
from samp.engine.problem import Function

MOST_VARIANTS = 64  # paths, rules and sizes that a function is compiled for; torch's own limit is 8
_LIMIT = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
_COMPILED: dict[Callable[..., Any], CompiledFunction] = {}


def raise_recompile_limit() -> AbstractContextManager[None]:
    """Return a context for calls of compiled functions, without which torch stops compiling after a few kinds of walk.

    Enter it once around a whole walk: entering takes as long as calling a compiled function.
    """
    patch: AbstractContextManager[None] = torch._dynamo.config.patch({_LIMIT: MOST_VARIANTS})
    return patch


def compile_function(function: Function) -> Function:
    """Return the compiled function: specialised to the sizes of its first call, later dynamic in the number of rows.

    If compiling fails, it calls the original function from then on.

    >>> compile_function(round) is compile_function(round)
    True
    """
    if function not in _COMPILED:
        _COMPILED[function] = CompiledFunction(function, torch.compile)
    return cast(Function, _COMPILED[function])


class CompiledFunction:
    """A function that is compiled on its first call, or called as it is if compiling fails.

    >>> def refuse(function):
    ...     raise RuntimeError("no compiler here")
    >>> CompiledFunction(abs, refuse)(-1)
    1
    """

    def __init__(self, function: Callable[..., Any], compile: Callable[..., Any]) -> None:
        self.function, self.compile = function, compile
        self.call: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        try:
            self.call = self.call or self.compile(self.function)
            return self.call(*args)
        except Exception as error:  # what a compiler may raise cannot be listed
            if self.call is self.function or is_out_of_memory(error):
                raise
            result = self.function(*args)  # if this fails as well, the compiler is not the cause
            self.call = self.function
            return result
