"""Detects draws of one thread from the random generators that the process shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class DrawWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Records in `has_drawn` whether this thread draws from these generators or torch's default ones; ignores others.

    Torch runs compiled code operation by operation under a dispatch mode, so its draws are detected as well.

    >>> with DrawWatch([torch.default_generator]) as watch:
    ...     _ = torch.rand(1, generator=torch.Generator())
    >>> watch.has_drawn
    False
    >>> with DrawWatch([torch.default_generator]) as watch:
    ...     _ = torch.nn.functional.dropout(torch.ones(3))
    >>> watch.has_drawn
    True
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # untyped too
        self.generators, self.has_drawn = generators, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.has_drawn |= self._is_shared(given.get("generator"))
        return func(*args, **given)

    def _is_shared(self, generator: torch.Generator | None) -> bool:
        """Return whether the generator is a shared one, by its state: torch passes another object for the same one."""
        if generator is None:
            return True
        same = [one for one in self.generators if one.device == generator.device]
        return any(torch.equal(one.get_state(), generator.get_state()) for one in same)
