"""Isolation of the user's code: it has no lasting effect on the model's buffers or on the shared random states.

Torch's, NumPy's and Python's default generators are shared by the whole process, and a model by all threads that
explain it. samp itself draws from its own generators only. The user's code (a model, a target function, a baseline) may
draw from the shared ones. So its first call, with and without gradients, is observed under a process-wide lock. Nearly
all code has no side effects; its later calls are then unobserved, and threads run in parallel. Where a side effect is
found, it is undone, and the work starts again with every generator seeded; the lock is then held until the explanation
ends, and the state is restored before another may begin. So each explanation has the result that it would have alone.

Limits: code that first draws, or first writes to a buffer, in a later call is not detected (buffers are restored
nevertheless). And what other threads of the program draw from the shared generators while a model that draws is
explained, they will draw again.
"""

from __future__ import annotations

import pickle
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from samp.isolation.draw_watch import DrawWatch
from samp.isolation.model_state import ModelState, find_modules, modules_being_trained

Result = TypeVar("Result")

_LOCK = threading.RLock()  # held to observe a first call, or for exclusive use of the generators


@contextmanager
def isolate(model: Any, device: torch.device, seed: int, *, exclusive: bool = False) -> Iterator[Isolation]:
    """Return a context in which calls through `observe` are seeded and have no lasting side effects.

    Warns if the model is in training mode. `exclusive` declares that the code draws from the shared generators.

    >>> before = torch.get_rng_state()
    >>> with isolate(torch.nn.Identity(), torch.device("cpu"), seed=1):
    ...     noise = observe(torch.rand, lambda: torch.rand(1))
    >>> torch.equal(noise, torch.rand(1, generator=torch.Generator().manual_seed(1)))
    True
    >>> torch.equal(torch.get_rng_state(), before)
    True
    """
    isolation = Isolation(model, device, seed)
    isolation.warn_of_training()
    token = _CURRENT.set(isolation)
    try:
        if exclusive:
            isolation.become_exclusive()
        yield isolation
    finally:
        _CURRENT.reset(token)
        isolation.end()


def observe(code: object, call: Callable[[], Result]) -> Result:
    """Return the result of `call`, which runs `code` of the user's.

    `call` may be called more than once, so it must make its own inputs. Outside `isolate` it is simply called.
    """
    isolation = _CURRENT.get()
    return call() if isolation is None else isolation.observe(code, call)


def is_free(code: object) -> bool:
    """Return whether `observe` calls this code exactly once, without checks."""
    isolation = _CURRENT.get()
    return isolation is None or isolation.is_free(code)


class _Restart(BaseException):
    """Starts the current work again. Not an Exception, so that no handler in between takes it for a failure."""


class Isolation:
    """The isolation of one explanation or metric, and the state to restore after it."""

    def __init__(self, model: Any, device: torch.device, seed: int) -> None:
        self.modules, self.device, self.seed = find_modules(model), device, seed
        self.free: set[tuple[int, bool]] = set()
        self.exclusive = False
        self.restarts = False
        self.model_state: ModelState | None = None
        self.suspected: RandomState | None = None
        self.until_end = ExitStack()

    def run(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, which is started again if code in it turns out to have side effects.

        Repeating only the call of that code would not do: hooks and modes on the model would count two calls.
        """
        self.restarts = True
        while True:
            try:
                return work()
            except _Restart:
                continue

    def is_free(self, code: object) -> bool:
        return self.exclusive or (id(code), torch.is_grad_enabled()) in self.free

    def observe(self, code: object, call: Callable[[], Result]) -> Result:
        while not self.is_free(code):
            with _LOCK:
                result = self._call_watched(call)
                if result:
                    self.free.add((id(code), torch.is_grad_enabled()))
                    return result[0]
            if self.restarts:
                raise _Restart
        return call()

    def _call_watched(self, call: Callable[[], Result]) -> tuple[Result] | None:
        """Return the result of a call in a tuple, or None if it had side effects (which are undone) or may have had.

        Another thread may have drawn from torch's generators. So their states are compared first, which is cheap, and
        only if they differ are the operations of this thread inspected, in a second call.
        """
        state, before = self._model_state(), self.suspected or RandomState.now(self.device)
        watch = DrawWatch(before.generators) if self.suspected else None
        self.suspected = None
        try:
            with watch or nullcontext():
                result = call()
        except BaseException:
            if before.has_changed():
                before.restore()
            raise
        drew = before.others_have_changed() or (watch is not None and watch.has_drawn)
        if drew or state.has_changed():
            before.restore()
            state.restore()
            self.become_exclusive()
            return None
        if watch is None and before.torch_has_changed():
            self.suspected = before
            return None
        return (result,)

    def become_exclusive(self) -> None:
        """Hold the lock until the end, and seed the shared generators."""
        self.until_end.enter_context(_LOCK)
        self._model_state()
        self.until_end.callback(RandomState.now(self.device).restore)
        seed_everything(self.device, self.seed)
        self.exclusive = True

    def _model_state(self) -> ModelState:
        """Return the model's initial state. Read under the lock, while no exclusive explanation can be changing it."""
        if self.model_state is None:
            self.model_state = ModelState(self.modules)
        return self.model_state

    def end(self) -> None:
        """Restore what has changed, then release the lock."""
        with self.until_end:
            state = self.model_state
            if state is None:
                return
            if state.has_changed():
                with _LOCK:
                    state.restore()
            self._warn_of_writes(state)

    def warn_of_training(self) -> None:
        if trained := modules_being_trained(self.modules):
            kinds = ", ".join(sorted({type(module).__name__ for module in trained}))
            warnings.warn(
                "the model is in training mode: dropout makes the walk random and batch statistics mix samples; "
                f"call model.eval() first (in training mode: {kinds}).",
                stacklevel=_callers_line(),
            )

    def _warn_of_writes(self, state: ModelState) -> None:
        if written := state.written_parameters():
            warnings.warn(
                f"{', '.join(written[:3])} of the model {'was' if len(written) == 1 else 'were'} written to while it "
                "was explained, by its forward or by another thread, and cannot be put back: only buffers are copied.",
                stacklevel=_callers_line(),
            )


@dataclass(frozen=True, eq=False)
class RandomState:
    """A snapshot of the shared random states.

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
        """Return the current states; of torch's, those of the CPU and of this device."""
        generators = shared_generators(device)
        states = [generator.get_state() for generator in generators]
        return cls(generators, states, np.random.get_state(legacy=False), random.getstate())

    def has_changed(self) -> bool:
        """Return whether any of the generators was drawn from since."""
        return self.torch_has_changed() or self.others_have_changed()

    def torch_has_changed(self) -> bool:
        """Return whether torch's generators were drawn from since."""
        pairs = zip(self.generators, self.torch_states, strict=True)
        return any(not torch.equal(generator.get_state(), state) for generator, state in pairs)

    def others_have_changed(self) -> bool:
        """Return whether NumPy's or Python's generator was drawn from since."""
        drawn = pickle.dumps(np.random.get_state(legacy=False)) != pickle.dumps(self.numpy_state)
        return drawn or random.getstate() != self.python_state

    def restore(self) -> None:
        """Set the shared generators back to these states."""
        for generator, state in zip(self.generators, self.torch_states, strict=True):
            generator.set_state(state)
        np.random.set_state(self.numpy_state)
        random.setstate(self.python_state)


def seed_everything(device: torch.device, seed: int) -> None:
    """Seed all shared generators, so that later draws depend on the seed alone.

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
    """Return the generators that torch's functions draw from by default: the CPU's and, on CUDA, this device's.

    >>> shared_generators(torch.device("cpu")) == [torch.default_generator]
    True
    """
    generators = [torch.default_generator]
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        generators.append(torch.cuda.default_generators[index])
    return generators


_CURRENT: ContextVar[Isolation | None] = ContextVar("isolation", default=None)


def _callers_line() -> int:
    """Return the stack level, from this function's caller, of the first frame outside samp and contextlib."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("samp", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
