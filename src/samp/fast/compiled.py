"""The walk's own work between two gradients, compiled: one pass over memory where torch by itself makes ten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

import torch

from samp.devices import is_out_of_memory
from samp.engine.problem import Function

MOST_KINDS = 64  # of paths, rules and sizes that a function is compiled for; torch itself would stop at 8
_LIMIT = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
_COMPILED: dict[Callable[..., Any], CompiledFunction] = {}


def raise_recompile_limit() -> AbstractContextManager[None]:
    """Return the context for calls of compiled functions: torch would else give up compiling after a few kinds of walk.

    Around a whole walk, since to enter it takes as long as to call a compiled function.
    """
    patch: AbstractContextManager[None] = torch._dynamo.config.patch({_LIMIT: MOST_KINDS})
    return patch


def compile_function(function: Function) -> Function:
    """This function compiled: for the sizes it first meets, then for any number of rows. As it was, for good, where it
    cannot be.

    >>> compile_function(round) is compile_function(round)
    True
    """
    if function not in _COMPILED:
        _COMPILED[function] = CompiledFunction(function, torch.compile)
    return cast(Function, _COMPILED[function])


class CompiledFunction:
    """A function that is compiled when first called.

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
            found = self.function(*args)  # where this fails as well, it is not the compiler's fault
            self.call = self.function
            return found
