"""The random states that a whole process shares: torch's on the CPU and on one device, NumPy's and Python's."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True, eq=False)
class RandomState:
    """The shared states at one moment.

    >>> before = RandomState.now(torch.device("cpu"))
    >>> _ = torch.rand(1)
    >>> before.torch_has_changed()
    True
    >>> before.restore()
    >>> before.has_changed()
    False
    """

    generators: Sequence[torch.Generator]
    torch_states: Sequence[Tensor]
    numpy_state: Any
    python_state: tuple[Any, ...]

    @classmethod
    def now(cls, device: torch.device) -> RandomState:
        """The states as they are, of torch those of the CPU and of this device."""
        generators = shared_generators(device)
        states = [generator.get_state() for generator in generators]
        return cls(generators, states, np.random.get_state(legacy=False), random.getstate())

    def has_changed(self) -> bool:
        """Whether somebody drew from any of them since."""
        return self.torch_has_changed() or self.others_have_changed()

    def torch_has_changed(self) -> bool:
        """Whether somebody drew from torch's generators since."""
        pairs = zip(self.generators, self.torch_states, strict=True)
        return any(not torch.equal(generator.get_state(), state) for generator, state in pairs)

    def others_have_changed(self) -> bool:
        """Whether somebody drew from NumPy's or Python's generator since."""
        drawn = pickle.dumps(np.random.get_state(legacy=False)) != pickle.dumps(self.numpy_state)
        return drawn or random.getstate() != self.python_state

    def restore(self) -> None:
        """Make the shared states what they were."""
        for generator, state in zip(self.generators, self.torch_states, strict=True):
            generator.set_state(state)
        np.random.set_state(self.numpy_state)
        random.setstate(self.python_state)


def seed_everything(device: torch.device, seed: int) -> None:
    """Seed all the shared generators: what is drawn from now on depends on the seed alone.

    >>> before = RandomState.now(torch.device("cpu"))
    >>> seed_everything(torch.device("cpu"), 3)
    >>> first = torch.rand(1), np.random.rand(), random.random()
    >>> seed_everything(torch.device("cpu"), 3)
    >>> first == (torch.rand(1), np.random.rand(), random.random())
    True
    >>> before.restore()
    """
    for generator in shared_generators(device):
        generator.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def shared_generators(device: torch.device) -> list[torch.Generator]:
    """The generators that torch's functions draw from by default: the CPU's and, where it is another, this device's.

    >>> shared_generators(torch.device("cpu")) == [torch.default_generator]
    True
    """
    generators = [torch.default_generator]
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        generators.append(torch.cuda.default_generators[index])
    return generators


class DrawWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Notices whether this thread, and no other, draws from these generators or those that torch takes by default.

    Torch runs compiled code operation by operation under such a mode, so its draws are seen as well.

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
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.generators, self.has_drawn = generators, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.has_drawn |= self._is_shared(given.get("generator"))
        return func(*args, **given)

    def _is_shared(self, generator: torch.Generator | None) -> bool:
        """By its state: torch hands over another object for the same generator."""
        if generator is None:
            return True
        same = [one for one in self.generators if one.device == generator.device]
        return any(torch.equal(one.get_state(), generator.get_state()) for one in same)
