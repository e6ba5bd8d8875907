"""Walks compiled on a CPU, as `samp.fast` compiles them on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from samp.engine.problem import Problem, keep_function
from samp.engine.walk import Step, walk
from samp.fast import walk as fast_walk
from samp.fast.compiled import raise_recompile_limit


def compile_walks(monkeypatch: pytest.MonkeyPatch, compiler: Callable[[Any], Any]) -> None:
    """Have every walk whose path can be compiled, and what reads its steps, compiled by this."""

    def take(self: Problem, scorer: Any, route: Any, path: Any, rule: Any, momentum: float) -> Iterator[Step]:
        if not hasattr(path, "compiled_form"):
            return walk(scorer, route, path, rule, momentum)
        return fast_walk.compiled_walk(scorer, route, path.compiled_form(), rule, momentum)

    monkeypatch.setattr(fast_walk, "compile_function", compiler)
    monkeypatch.setattr(Problem, "walk", take)
    monkeypatch.setattr(Problem, "compiling", lambda self: raise_recompile_limit())
    monkeypatch.setattr(
        Problem, "compiler", lambda self, path: compiler if hasattr(path, "compiled_form") else keep_function
    )
