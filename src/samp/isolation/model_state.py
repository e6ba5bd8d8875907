"""The state of a model that a forward may change: its modules, their buffers and their parameters.

`find_modules` finds the modules, even if the model is a function; `modules_being_trained` selects those that behave
differently in training mode; `ModelState` is a snapshot of buffers that can be restored.
"""

from __future__ import annotations

import dis
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

COMMON = frozenset(vars(nn.Module()))  # attributes of every module
MOST_ENTRIES = 100  # of a list, tuple, set or dict that is searched: longer ones are data
MOST_PARTS = 20_000  # searched in all
_ATOMS = frozenset((int, float, str, bool, type(None)))
_HOLDERS = (nn.Module, dict, set, partial, MethodType, FunctionType)
_LIBRARIES = ("torch", "numpy", "builtins")  # their functions hold no model of the user's


def find_modules(model: Any) -> list[nn.Module]:
    """Return all modules that a call of the model may reach: a module with its descendants, or those a function uses.

    Searches the children and attributes of modules, short lists, tuples, sets and dicts, the contents of
    `functools.partial` and bound methods, the attributes of callable objects, and the closure, the defaults and the
    global names of functions, and of the functions these name. A module reached by other means (as
    `other_module.net`, through a registry, from C++) is not found.

    >>> inner = nn.Linear(2, 1)
    >>> find_modules(lambda x: inner(x)) == find_modules(partial(inner.forward)) == [inner]
    True
    """
    modules, parts, seen = [], [model], dict[int, Any]()  # `seen` keeps its parts alive: ids are reused
    while parts and len(seen) < MOST_PARTS:
        part = parts.pop()
        if id(part) not in seen:
            seen[id(part)] = part
            modules += [part] if isinstance(part, nn.Module) else []
            parts.extend(_parts(part))
    return modules


def _parts(part: Any) -> Iterable[Any]:
    """Return the objects that this part of a model holds and may call."""
    if isinstance(part, torch.jit.ScriptModule):
        return list(part.children())
    if isinstance(part, nn.Module):
        own = [value for name, value in vars(part).items() if name not in COMMON and _may_hold(value)]
        return [*part._modules.values(), *own]
    if isinstance(part, list | tuple | set | frozenset):
        return part if len(part) <= MOST_ENTRIES else ()
    if isinstance(part, dict):
        return list(part.values()) if len(part) <= MOST_ENTRIES else ()
    if isinstance(part, partial):
        return part.func, part.args, part.keywords
    if isinstance(part, MethodType):
        return part.__self__, part.__func__
    if isinstance(part, FunctionType):
        return list(_parts_of_function(part))
    if callable(part) and not isinstance(part, type) and type(part).__module__.partition(".")[0] not in _LIBRARIES:
        return [*getattr(part, "__dict__", {}).values(), type(part).__call__]
    return ()


def _may_hold(value: Any) -> bool:
    """Return whether an attribute of a module may hold a module: most are numbers, or tuples of numbers."""
    if isinstance(value, tuple | list):
        return len(value) <= MOST_ENTRIES and not all(type(entry) in _ATOMS for entry in value)
    return isinstance(value, _HOLDERS)


def _parts_of_function(function: FunctionType) -> Iterator[Any]:
    if (function.__module__ or "").partition(".")[0] in _LIBRARIES:
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield function.__defaults__
    yield function.__kwdefaults__
    for name in _global_names(function.__code__):
        yield function.__globals__.get(name)


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> frozenset[str]:
    """Return the global names that this code reads, including those read by functions defined in it."""
    names = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return frozenset(names.union(*(_global_names(inner) for inner in code.co_consts if isinstance(inner, CodeType))))


def modules_being_trained(modules: Sequence[nn.Module]) -> list[nn.Module]:
    """Return the modules in training mode whose output differs from that in evaluation mode.

    - BatchNorm and InstanceNorm with running statistics; dropout of p > 0, also in nn.RNN, LSTM, GRU and
      MultiheadAttention; RReLU.
    - Any other module whose class, or a hook of it, reads `.training` in its own code (not in that of functions it
      calls) or, for a script, in its graph. Containers and wrappers do not; their children are checked themselves.

    >>> modules_being_trained([nn.Sequential(nn.Dropout(0.0)), nn.DataParallel(nn.Linear(1, 1))])
    []
    >>> modules_being_trained([nn.Dropout(0.5), nn.BatchNorm1d(3).eval()])
    [Dropout(p=0.5, inplace=False)]
    """
    # a frozen script has no such attribute
    return [module for module in modules if getattr(module, "training", False) and _depends_on_mode(module)]


def _depends_on_mode(module: nn.Module) -> bool:
    for kind, depends in _KNOWN.items():
        if isinstance(module, kind):
            return depends(module)
    if isinstance(module, torch.jit.ScriptModule):
        return 'name="training"' in str(getattr(module, "graph", ""))
    hooks = (*module._forward_pre_hooks.values(), *module._forward_hooks.values(), vars(module).get("forward"))
    return _reads_mode(type(module)) or any(_code_reads_mode(_code(hook)) for hook in hooks)


_KNOWN: dict[type[nn.Module], Callable[[Any], bool]] = {
    nn.modules.batchnorm._NormBase: lambda norm: norm.running_mean is not None,
    nn.modules.dropout._DropoutNd: lambda dropout: dropout.p > 0,
    nn.RNNBase: lambda rnn: rnn.dropout > 0 and rnn.num_layers > 1,
    nn.MultiheadAttention: lambda attention: attention.dropout > 0,
    nn.RReLU: lambda relu: relu.lower < relu.upper,
    nn.TransformerEncoder: lambda _: False,  # these read their mode only to choose between equivalent implementations
    nn.TransformerEncoderLayer: lambda _: False,
    torch.fx.GraphModule: lambda _: False,  # its mode was fixed by tracing; its modules are checked themselves
}
_READS: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def _reads_mode(kind: type) -> bool:
    """Return whether a class of modules, or one of its bases, reads `.training`."""
    if kind not in _READS:
        classes = [one for one in kind.__mro__ if issubclass(one, nn.Module) and one is not nn.Module]
        held = [getattr(one, "fget", one) for part in classes for one in vars(part).values()]
        _READS[kind] = any(_code_reads_mode(_code(one)) for one in held if not isinstance(one, nn.Module | type))
    return _READS[kind]


def _code(held: Any) -> CodeType | None:
    """Return the Python code that a call of this function, method or object runs, or None if there is none."""
    function = getattr(held, "__func__", held)
    if callable(function) and not isinstance(function, FunctionType):
        function = type(function).__call__
    return function.__code__ if isinstance(function, FunctionType) else None


def _code_reads_mode(code: CodeType | None) -> bool:
    if code is None:
        return False
    if any(one.opname.startswith("LOAD_ATTR") and one.argval == "training" for one in dis.get_instructions(code)):
        return True
    return any(_code_reads_mode(inner) for inner in code.co_consts if isinstance(inner, CodeType))


@dataclass(frozen=True, eq=False)
class _BufferSlot:
    """A buffer, with its module and its name there."""

    module: nn.Module
    name: str
    buffer: Tensor

    @property
    def is_replaced(self) -> bool:
        return getattr(self.module, self.name, None) is not self.buffer


class ModelState:
    """A snapshot of the buffers of some modules, and of how often their parameters were written to.

    Buffers are compared by value, since a write through `.data` is not counted by torch. If a buffer changed, the plain
    attributes (numbers, strings) of its module are restored as well, since they may describe the buffer. New buffers,
    tensors that are not buffers, and other attributes stay as the forward left them.

    >>> norm = nn.BatchNorm1d(2)
    >>> before = ModelState([norm])
    >>> _ = norm(torch.rand(3, 2))
    >>> before.has_changed()
    True
    >>> before.restore()
    >>> before.has_changed(), int(norm.num_batches_tracked)
    (False, 0)
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self._slots = [
            _BufferSlot(module, name, buffer)
            for module in modules
            for name, buffer in module._buffers.items()
            if buffer is not None and _is_plain(buffer)
        ]
        self._attributes = {id(slot.module): _plain_attributes(slot.module) for slot in self._slots}
        self._bytes = self._read_bytes()
        self._parameters = [
            (module, name, parameter, _write_count(parameter))
            for module in modules
            for name, parameter in module._parameters.items()
            if parameter is not None
        ]

    def has_changed(self) -> bool:
        """Return whether a buffer has other values, or was replaced by another tensor."""
        if any(slot.is_replaced for slot in self._slots):
            return True
        now = self._read_bytes()
        return any(not torch.equal(before, now[device]) for device, before in self._bytes.items())

    def restore(self) -> None:
        """Restore the values of every buffer that changed, and the buffer itself where another tensor replaced it."""
        places: dict[torch.device, int] = defaultdict(int)
        for slot in self._slots:
            now = _bytes(slot.buffer)
            place, device = places[now.device], now.device
            places[device] += len(now)
            before = self._bytes[device][place : place + len(now)]
            written = not torch.equal(before, now)
            if written:
                with torch.no_grad():
                    slot.buffer.copy_(before.view(slot.buffer.dtype).view(slot.buffer.shape))
            if slot.is_replaced:
                setattr(slot.module, slot.name, slot.buffer)
            elif not written:
                continue
            vars(slot.module).update(self._attributes[id(slot.module)])

    def written_parameters(self) -> list[str]:
        """Return the parameters that were written to, as "class.name"; writes through `.data` are not detected."""
        written = [entry[:2] for entry in self._parameters if _write_count(entry[2]) != entry[3]]
        return [f"{type(module).__name__}.{name}" for module, name in written]

    def _read_bytes(self) -> dict[torch.device, Tensor]:
        """Return the bytes of all buffers, one tensor per device, so that a comparison waits for each device once."""
        by_device: dict[torch.device, list[Tensor]] = defaultdict(list)
        for slot in self._slots:
            by_device[slot.buffer.device].append(_bytes(slot.buffer))
        return {device: torch.cat(parts) for device, parts in by_device.items()}


def _bytes(buffer: Tensor) -> Tensor:
    return buffer.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


def _is_plain(buffer: Tensor) -> bool:
    """Return whether the buffer is dense in memory, so that it can be copied and restored."""
    odd = is_lazy(buffer) or buffer.is_quantized or buffer.is_meta or is_traceable_wrapper_subclass(buffer)
    return not odd and buffer.layout is torch.strided


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    if isinstance(module, torch.jit.ScriptModule):
        return {}
    return {name: value for name, value in vars(module).items() if name not in COMMON and type(value) in _ATOMS}


def _write_count(parameter: Tensor) -> int:
    """Return how often the parameter was written to, as far as torch counts."""
    return 0 if parameter.is_inference() else parameter._version
