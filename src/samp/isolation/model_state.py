"""What a model's forward may write to: its buffers, kept to be put back, and its parameters, which are watched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from samp.isolation.model_modules import COMMON

_ATOMS = (int, float, str, bool, type(None))


@dataclass(frozen=True, eq=False)
class _BufferSlot:
    """A buffer at its place in a module."""

    module: nn.Module
    name: str
    buffer: Tensor

    @property
    def is_replaced(self) -> bool:
        return getattr(self.module, self.name, None) is not self.buffer


class ModelState:
    """The buffers of some modules at one moment, and whether their parameters were written to since.

    Numbers are compared, since a write through `.data` leaves no mark on a tensor. Of a module whose buffer changed its
    plain attributes (numbers, words) are put back as well, since they may say what the buffer holds. Buffers that are
    new, tensors that are no buffers, and what else a module keeps for itself stay as the forward left them.

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
        self._held = [
            _BufferSlot(module, name, buffer)
            for module in modules
            for name, buffer in module._buffers.items()
            if buffer is not None and _is_plain(buffer)
        ]
        self._notes = {id(held.module): _plain_attributes(held.module) for held in self._held}
        self._bytes = self._read_bytes()
        self._parameters = [
            (module, name, parameter, _write_count(parameter))
            for module in modules
            for name, parameter in module._parameters.items()
            if parameter is not None
        ]

    def has_changed(self) -> bool:
        """Whether a buffer holds other numbers, or is another tensor."""
        if any(held.is_replaced for held in self._held):
            return True
        now = self._read_bytes()
        return any(not torch.equal(before, now[device]) for device, before in self._bytes.items())

    def restore(self) -> None:
        """Give every buffer that changed its numbers back, and its place where another tensor has taken it."""
        places: dict[torch.device, int] = defaultdict(int)
        for held in self._held:
            now = _bytes(held.buffer)
            place, device = places[now.device], now.device
            places[device] += len(now)
            before = self._bytes[device][place : place + len(now)]
            written = not torch.equal(before, now)
            if written:
                with torch.no_grad():
                    held.buffer.copy_(before.view(held.buffer.dtype).view(held.buffer.shape))
            if held.is_replaced:
                setattr(held.module, held.name, held.buffer)
            elif not written:
                continue
            vars(held.module).update(self._notes[id(held.module)])

    def written_parameters(self) -> list[str]:
        """The parameters that were written to, by class and name; a write through `.data` is not seen."""
        written = [entry[:2] for entry in self._parameters if _write_count(entry[2]) != entry[3]]
        return [f"{type(module).__name__}.{name}" for module, name in written]

    def _read_bytes(self) -> dict[torch.device, Tensor]:
        """The bytes of all buffers, one tensor per device: to compare these waits for a device once."""
        by_device: dict[torch.device, list[Tensor]] = defaultdict(list)
        for held in self._held:
            by_device[held.buffer.device].append(_bytes(held.buffer))
        return {device: torch.cat(parts) for device, parts in by_device.items()}


def _bytes(buffer: Tensor) -> Tensor:
    return buffer.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


def _is_plain(buffer: Tensor) -> bool:
    """Whether its numbers lie in memory one after the other, where they can be read and put back."""
    odd = is_lazy(buffer) or buffer.is_quantized or buffer.is_meta or is_traceable_wrapper_subclass(buffer)
    return not odd and buffer.layout is torch.strided


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    if isinstance(module, torch.jit.ScriptModule):
        return {}
    return {name: value for name, value in vars(module).items() if name not in COMMON and type(value) in _ATOMS}


def _write_count(parameter: Tensor) -> int:
    """How often it was written to, as far as torch counts."""
    return 0 if parameter.is_inference() else parameter._version
