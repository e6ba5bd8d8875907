"""A copy of the user's net for fast calls: channels last, bfloat16 where autocast would have it, and nothing to train.

The user's own net is never changed. The copy holds numbers of its own, which are copied anew before every explanation,
so that it is not out of date; its addresses stay, so that captured calls stay valid. Settings are compared, and where
one changed another copy is made; what an object of the user's holds deep inside is not looked at.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

HALF = torch.bfloat16
_PRODUCTS = (nn.Linear, nn.modules.conv._ConvNd)
_PLAIN = (int, float, str)
_COMMON = frozenset(vars(nn.Module()))  # what every module has, and no setting of its own


class Precise(nn.Module):
    """A layer that works in float32 under autocast too: scores would else have three digits."""

    def __init__(self, layer: nn.Module, device_type: str) -> None:
        super().__init__()
        self.layer, self.device_type = layer, device_type

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(self.device_type, enabled=False):
            out: Tensor = self.layer(x.float())
        return out


class Lowered:
    """The copy, called under autocast where it is in half precision; `sizes` are those of its last output."""

    def __init__(self, net: Callable[..., Any], device_type: str, half: bool) -> None:
        self.net, self.device_type, self.half = net, device_type, half
        self.sizes: torch.Size | None = None

    def __call__(self, *inputs: Any) -> Any:
        # the cache would hold copies of numbers that a captured call must read anew
        with torch.autocast(self.device_type, HALF, enabled=self.half, cache_enabled=False):
            output = self.net(*inputs)
        self.sizes = output.shape[1:] if isinstance(output, Tensor) else None
        return output


def lowered(model: nn.Module, half: bool) -> nn.Module:
    """A copy in channels last, and with `half` in bfloat16 but for its last layer; it asks for no gradient of its own.

    >>> net = lowered(nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8, 2)), half=True)
    >>> [str(p.dtype) for p in net.parameters()]
    ['torch.bfloat16', 'torch.bfloat16', 'torch.float32', 'torch.float32']
    """
    products = {name: module for name, module in model.named_modules() if name and isinstance(module, _PRODUCTS)}
    last = next(reversed(products), None)
    kept = {id(p) for p in products[last].parameters()} if last else set()
    halved = {id(p) for m in products.values() for p in m.parameters(recurse=False)} - kept if half else kept - kept
    memo: dict[int, Any] = {}
    for tensor in tensors(model):
        own = _own(tensor, halved)
        memo[id(tensor)] = nn.Parameter(own, requires_grad=False) if isinstance(tensor, nn.Parameter) else own
    net = copy.deepcopy(model, memo)
    if half and last is not None:
        device_type = next(model.parameters()).device.type
        net.set_submodule(last, Precise(net.get_submodule(last), device_type))
    return net.eval()


def _own(tensor: Tensor, halved: set[int]) -> Tensor:
    layout = torch.channels_last if tensor.ndim == 4 else torch.preserve_format
    dtype = HALF if id(tensor) in halved and tensor.dtype == torch.float32 else tensor.dtype
    return tensor.detach().to(dtype, copy=True, memory_format=layout)


def tensors(model: nn.Module) -> Iterator[Tensor]:
    """Parameters, buffers and plain tensors, in an order that a copy shares."""
    seen: set[int] = set()
    for module in model.modules():  # parameters() would go through them twice, and slowly
        for tensor in _slots(module):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor


def _slots(module: nn.Module) -> list[Tensor]:
    """The tensors that a module holds itself: parameters, buffers, and plain attributes, also in lists and the like."""
    own = [value for name, value in vars(module).items() if name not in _COMMON]
    return [t for held in (module._parameters, module._buffers, own) for t in _within(held)]


def _within(held: object) -> list[Tensor]:
    if isinstance(held, Tensor):
        return [held]
    if isinstance(held, list | tuple):
        return [tensor for value in held for tensor in _within(value)]
    return [tensor for value in held.values() for tensor in _within(value)] if isinstance(held, dict) else []


@torch.no_grad()
def refresh(net: nn.Module, model: nn.Module) -> None:
    """Copy the model's numbers into the net's, in place; all at once, since one by one would take milliseconds.

    >>> model = nn.Linear(2, 1)
    >>> net = lowered(model, half=False)
    >>> model.weight.data.fill_(3.0)
    tensor([[3., 3.]])
    >>> refresh(net, model)
    >>> net.weight.tolist()
    [[3.0, 3.0]]
    """
    own, theirs = list(tensors(net)), list(tensors(model))
    if len(own) != len(theirs):  # a net may make a buffer when it is first called
        raise ValueError(f"the copy holds {len(own)} tensors and the model {len(theirs)}: copy it anew.")
    alike: dict[object, list[tuple[Tensor, Tensor]]] = {}
    for pair in zip(own, theirs, strict=True):
        looks = (pair[0].dtype, pair[1].dtype, pair[0].stride() == pair[1].stride())
        alike.setdefault(looks, []).append(pair)
    for pairs in alike.values():  # of one kind, or a GPU would take them one by one after all
        torch._foreach_copy_([mine for mine, _ in pairs], [given for _, given in pairs])


def form(model: nn.Module) -> list[object]:
    """All of a model but its numbers, to be compared: modules, their plain settings, and what their tensors look like.

    >>> model = nn.Conv2d(1, 1, 3)
    >>> before = form(model)
    >>> model.weight.data.add_(1.0).shape, form(model) == before
    (torch.Size([1, 1, 3, 3]), True)
    >>> model.stride = (2, 2)
    >>> form(model) == before
    False
    """
    place = {id(tensor): number for number, tensor in enumerate(tensors(model))}
    looks: list[object] = [(t.shape, t.dtype, t.device, t.stride()) for t in tensors(model)]
    for name, module in model.named_modules():
        looks += [name, type(module), module.training]
        looks += [place[id(tensor)] for tensor in _slots(module)]  # who shares a tensor with whom
        looks += [_look(value) for setting, value in vars(module).items() if setting not in _COMMON]
    return looks


def _look(value: object) -> object:
    """A setting to compare by: numbers, words and arrays as they are, also in lists and the like, the numbers and words
    of an object such as a config, functions by which they are; all else may change freely, since nets keep notes of
    their last call.
    """
    if isinstance(value, tuple | list):
        return tuple(map(_look, value))
    if isinstance(value, dict):
        return tuple((_look(key), _look(held)) for key, held in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, _PLAIN) or callable(value):
        return value if isinstance(value, _PLAIN) else id(value)
    plain = {name: held for name, held in getattr(value, "__dict__", {}).items() if isinstance(held, _PLAIN)}
    return type(value), tuple(plain.items())


def reason_against(model: Any, inputs: tuple[Tensor, ...]) -> str:
    """Why this model cannot be called through a copy, or nothing.

    >>> reason_against(lambda x: x, (torch.rand(1, 2),))
    'the model is no nn.Module'
    >>> reason_against(nn.Linear(2, 1), (torch.rand(1, 2),))
    'the model is in training mode'
    """
    if not isinstance(model, nn.Module):
        return "the model is no nn.Module"
    if isinstance(model, torch.jit.ScriptModule):
        return "the model is a script"
    if any(module.training for module in model.modules()):
        return "the model is in training mode"
    if any(_hooks(module) for module in model.modules()):
        return "the model has hooks"
    if len({t.device for t in (*inputs, *tensors(model))}) > 1:
        return "the model lies on several devices"
    return ""


def _hooks(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )
