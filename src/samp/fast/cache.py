"""What is kept of a model from one fast explanation to the next: its copy, compiled, and its captured calls."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from samp.devices import release_memory
from samp.fast.compiled import raise_recompile_limit
from samp.fast.cuda_graphs import Capture, CapturedCall, CudaCapture, Sizes
from samp.fast.inputs import Feed
from samp.fast.model_copy import ModelCopy, Refresh, copy_model
from samp.fast.model_state import ModelSnapshot
from samp.targets import Model

Compile = Callable[[nn.Module], Model]
COMPILED = "compiled"
COMPILING_CALLS = 32  # calls, in which a net is compiled for what it is asked; to allow for it takes time


class FastModel:
    """A model's copy with the ways to call it; `failed` holds the ways that it does not bear, with the reasons."""

    def __init__(self, model: nn.Module, half: bool, device: torch.device) -> None:
        survey = ModelSnapshot(model)
        self.form, self.half, self.device = survey.form, half, device
        self.copy = copy_model(model, half)
        self.refresh = Refresh(self.copy, survey.tensors)
        self.plain = ModelCopy(self.copy, device.type, half)
        self.compiled: ModelCopy | None = None
        self.calls_seen = 0  # calls of the copy, when it was last looked at
        self.capture: Capture | None = None
        self.graphs: dict[tuple[Feed, int], CapturedCall] = {}
        self.sizes: dict[Feed, Sizes] = {}
        self.outputs: dict[Feed, torch.Size | None] = {}
        self.failed: dict[str, str] = {}
        self.trusted: set[str] = set()
        if device.type == "cuda":
            self.equip(torch.compile, CudaCapture(device))

    def equip(self, compile: Compile | None, capture: Capture | None) -> None:
        """Have calls compiled, and small ones captured."""
        self.compiled = (
            ModelCopy(_with_dynamic_rows(compile(self.copy)), self.device.type, self.half) if compile else None
        )
        self.capture = capture

    @property
    def fastest(self) -> ModelCopy:
        """The net compiled, unless it cannot be."""
        return self.plain if self.compiled is None or COMPILED in self.failed else self.compiled

    def size_for(self, feed: Feed, rows: int) -> int | None:
        """The size of the graph that a call of so many rows takes; None where it takes none."""
        if self.capture is None:
            return None
        return self.sizes.setdefault(feed, Sizes()).size_for(rows, getattr(self.capture, "has_room", lambda: True))

    def forget_graphs(self) -> None:
        """Give back the memory of all captured calls; they are captured anew when they are next asked for."""
        self.graphs.clear()
        self.sizes.clear()
        release_memory()

    def try_refresh(self, model: nn.Module, half: bool, device: torch.device) -> bool:
        """Copy the model's numbers; done unless more than these changed, or the copy has made a tensor of its own."""
        survey = ModelSnapshot(model)
        if (half, device.type, survey.form) != (self.half, self.device.type, self.form):  # where tensors lie is in it
            return False
        calls = self.plain.calls + (self.compiled.calls if self.compiled else 0)
        called, self.calls_seen = calls != self.calls_seen, calls
        return self.refresh(survey.tensors, called)


def _with_dynamic_rows(net: Model) -> Model:
    """A compiled net that is made for any number of rows at once: they leave the batch as they arrive.

    Torch counts kinds of nets by their code, so that a ninth `nn.Sequential` would not be compiled without a word.
    """
    calls = count()

    def call(*inputs: Any) -> Any:
        for given in inputs:
            if isinstance(given, Tensor) and given.ndim:
                torch._dynamo.maybe_mark_dynamic(given, 0)
        with raise_recompile_limit() if next(calls) < COMPILING_CALLS else nullcontext():
            return net(*inputs)

    return call


_CACHE: dict[int, FastModel] = {}
_MAKING = threading.RLock()  # or two threads would make, and compile, two copies of one model


def get_cached(model: nn.Module, half: bool, device: torch.device) -> FastModel | None:
    """The model made ready, from last time, with its numbers of now; None where more than these changed."""
    with _MAKING:
        known = _CACHE.get(id(model))
        return known if known is not None and known.try_refresh(model, half, device) else None


def forget_graphs(model: nn.Module) -> None:
    """Give back what captured calls of this model keep, if there are any."""
    if id(model) in _CACHE:
        _CACHE[id(model)].forget_graphs()


def get_or_prepare(model: nn.Module, half: bool, device: torch.device) -> FastModel:
    """The model made ready, from last time where nothing but its numbers changed.

    Nothing here keeps the model itself alive, and what is kept goes with it.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)).eval()
    >>> first = get_or_prepare(model, True, torch.device("cpu"))
    >>> get_or_prepare(model, True, torch.device("cpu")) is first
    True
    """
    with _MAKING:
        if (known := get_cached(model, half, device)) is not None:
            return known
        if id(model) not in _CACHE:
            weakref.finalize(model, _CACHE.pop, id(model), None)
        _CACHE[id(model)] = made = FastModel(model, half, device)
        return made
