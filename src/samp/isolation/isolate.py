"""The user's code runs as if it were alone, and leaves no trace: not in the model's buffers, not in random states.

Torch's, NumPy's and Python's own generators are shared by a whole process, and a model by all threads that explain it.
What is ours never touches these generators: it draws from its own. Code of the user's (a model, a target function, a
baseline) may. So its first call, with and without gradients, is watched under one lock of the process. Where it leaves
no trace, as nearly all does, later calls are free, and threads run side by side. Where it leaves one, that is taken
back, and all is done again with every generator seeded; the lock is then kept until the explanation ends, and what
changed is put back before another may begin. So each explanation gives what it gives alone.

Limits: code that draws, or writes to a buffer, for the first time in a later call is not seen to draw (buffers are put
back all the same). And what other threads of the program draw from the shared generators while a model that draws is
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

_LOCK = threading.RLock()  # held by whoever watches a first call, or must be alone


@contextmanager
def isolate(model: Any, device: torch.device, seed: int, *, exclusive: bool = False) -> Iterator[Isolation]:
    """Within it, what `observe` calls is seeded and leaves no trace; of a model in training mode it warns.

    `exclusive` says beforehand that what is done here draws from the shared generators.

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
    """What `call` returns, which runs this code of the user's. It may be called again, so it must make its own inputs.

    Outside `isolate` it is called, and no more.
    """
    isolation = _CURRENT.get()
    return call() if isolation is None else isolation.observe(code, call)


def is_free(code: object) -> bool:
    """Whether `observe` calls this code once, and does nothing else."""
    isolation = _CURRENT.get()
    return isolation is None or isolation.is_free(code)


class _Restart(BaseException):
    """Whatever was begun is to be begun anew. No Exception, so that nothing on the way takes it for a failure."""


class Isolation:
    """One explanation, or one metric, and what it must leave as it was."""

    def __init__(self, model: Any, device: torch.device, seed: int) -> None:
        self.modules, self.device, self.seed = find_modules(model), device, seed
        self.free: set[tuple[int, bool]] = set()
        self.exclusive = False
        self.restarts = False
        self.model_state: ModelState | None = None
        self.suspected: RandomState | None = None
        self.until_end = ExitStack()

    def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, begun anew where code in it turns out to leave traces.

        To call that code once more would not do: hooks and modes that listen to a model would hear two calls.
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
                found = self._call_watched(call)
                if found:
                    self.free.add((id(code), torch.is_grad_enabled()))
                    return found[0]
            if self.restarts:
                raise _Restart
        return call()

    def _call_watched(self, call: Callable[[], Result]) -> tuple[Result] | None:
        """What a call returns, or None where it left a trace, which is taken back, or may have left one.

        Torch's generators may have been moved by another thread. So they are compared first, which costs nothing, and
        only where that looks bad the operations of this thread are looked at, in a second call.
        """
        state, before = self._model_state(), self.suspected or RandomState.now(self.device)
        watch = DrawWatch(before.generators) if self.suspected else None
        self.suspected = None
        try:
            with watch or nullcontext():
                found = call()
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
        return (found,)

    def become_exclusive(self) -> None:
        """Keep the lock until the end, and let the shared generators draw what the seed says."""
        self.until_end.enter_context(_LOCK)
        self._model_state()
        self.until_end.callback(RandomState.now(self.device).restore)
        seed_everything(self.device, self.seed)
        self.exclusive = True

    def _model_state(self) -> ModelState:
        """The model as it was found. Asked for under the lock: nobody is alone meanwhile, and might have changed it."""
        if self.model_state is None:
            self.model_state = ModelState(self.modules)
        return self.model_state

    def end(self) -> None:
        """Put back what is not as it was found, then let others go on."""
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


_CURRENT: ContextVar[Isolation | None] = ContextVar("isolation", default=None)


def _callers_line() -> int:
    """The stack level, counted from the caller of this, of the first frame outside samp and its context managers."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("samp", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
