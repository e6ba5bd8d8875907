"""Cache of models prepared for fast calls: each with its copy, compiled, and its captured calls."""

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
COMPILING_CALLS = 32  # first calls of a net, in which it may compile; raising the limit takes time on every call


class FastModel:
    """A model's copy and the ways to call it; `failed` maps each way that does not work to the reason."""

    def __init__(self, model: nn.Module, half: bool, device: torch.device) -> None:
        survey = ModelSnapshot(model)
        self.form, self.half, self.device = survey.form, half, device
        self.copy = copy_model(model, half)
        self.refresh = Refresh(self.copy, survey.tensors)
        self.plain = ModelCopy(self.copy, device.type, half)
        self.compiled: ModelCopy | None = None
        self.calls_seen = 0  # calls of the copy up to the last refresh
        self.capture: Capture | None = None
        self.graphs: dict[tuple[Feed, int], CapturedCall] = {}
        self.sizes: dict[Feed, Sizes] = {}
        self.outputs: dict[Feed, torch.Size | None] = {}
        self.failed: dict[str, str] = {}
        self.trusted: set[str] = set()
        if device.type == "cuda":
            self.equip(torch.compile, CudaCapture(device))

    def equip(self, compile: Compile | None, capture: Capture | None) -> None:
        """Set how the copy is compiled and how calls are captured; None leaves that out."""
        self.compiled = (
            ModelCopy(_with_dynamic_rows(compile(self.copy)), self.device.type, self.half) if compile else None
        )
        self.capture = capture

    @property
    def fastest(self) -> ModelCopy:
        """The compiled copy, or the plain one if it cannot be compiled."""
        return self.plain if self.compiled is None or COMPILED in self.failed else self.compiled

    def size_for(self, feed: Feed, rows: int) -> int | None:
        """Return the size of the graph for a call with this many rows, or None if it is not captured."""
        if self.capture is None:
            return None
        return self.sizes.setdefault(feed, Sizes()).size_for(rows, getattr(self.capture, "has_room", lambda: True))

    def forget_graphs(self) -> None:
        """Release the memory of all captured calls; they are captured again when next needed."""
        self.graphs.clear()
        self.sizes.clear()
        release_memory()

    def try_refresh(self, model: nn.Module, half: bool, device: torch.device) -> bool:
        """Copy the model's values into the copy and return True.

        Return False if more than values changed, or if the copy has created a tensor of its own.
        """
        survey = ModelSnapshot(model)
        # the form includes the device of each tensor
        if (half, device.type, survey.form) != (self.half, self.device.type, self.form):
            return False
        calls = self.plain.calls + (self.compiled.calls if self.compiled else 0)
        called, self.calls_seen = calls != self.calls_seen, calls
        return self.refresh(survey.tensors, called)


def _with_dynamic_rows(net: Model) -> Model:
    """Return a compiled net with a dynamic number of rows, since rows leave the batch when their walk arrives.

    Torch counts recompilations per code object, so without a higher limit it would silently not compile a ninth
    `nn.Sequential`.
    """
    calls = count()

    def call(*inputs: Any) -> Any:
        for argument in inputs:
            if isinstance(argument, Tensor) and argument.ndim:
                torch._dynamo.maybe_mark_dynamic(argument, 0)
        with raise_recompile_limit() if next(calls) < COMPILING_CALLS else nullcontext():
            return net(*inputs)

    return call


_CACHE: dict[int, FastModel] = {}
_MAKING = threading.RLock()  # otherwise two threads could copy and compile one model twice


def get_cached(model: nn.Module, half: bool, device: torch.device) -> FastModel | None:
    """Return the cached model with its values refreshed, or None if there is none or more than values changed."""
    with _MAKING:
        known = _CACHE.get(id(model))
        return known if known is not None and known.try_refresh(model, half, device) else None


def forget_graphs(model: nn.Module) -> None:
    """Release the memory of this model's captured calls, if there are any."""
    if id(model) in _CACHE:
        _CACHE[id(model)].forget_graphs()


def get_or_prepare(model: nn.Module, half: bool, device: torch.device) -> FastModel:
    """Return the model prepared for fast calls, from the cache if nothing but its values changed.

    The cache does not keep the model alive, and drops its entry together with the model.

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
        _CACHE[id(model)] = prepared = FastModel(model, half, device)
        return prepared
