"""A copy of the user's net for fast calls: channels last, bfloat16 where autocast would have it, and nothing to train.

The user's own net is never changed. The copy holds numbers of its own, which are copied anew before every explanation,
so that it is not out of date; its addresses stay, so that captured calls stay valid. Settings are compared, and where
one changed another copy is made; what an object of the user's holds deep inside is not looked at.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from samp.fast.model_state import ModelSnapshot
from samp.targets import Model

HALF = torch.bfloat16
_PRODUCTS = (nn.Linear, nn.modules.conv._ConvNd)


class Float32Layer(nn.Module):
    """A layer that works in float32 under autocast too: scores would else have three digits."""

    def __init__(self, layer: nn.Module, device_type: str) -> None:
        super().__init__()
        self.layer, self.device_type = layer, device_type

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(self.device_type, enabled=False):
            out: Tensor = self.layer(x.float())
        return out


class ModelCopy:
    """The copy, called under autocast where it is in half precision; `sizes` are those of its last output, `calls` the
    number of calls so far.
    """

    def __init__(self, net: Model, device_type: str, half: bool) -> None:
        self.net, self.device_type, self.half = net, device_type, half
        self.sizes: torch.Size | None = None
        self.calls = 0

    def __call__(self, *inputs: Any) -> Any:
        self.calls += 1
        # the cache would hold copies of numbers that a captured call must read anew
        with torch.autocast(self.device_type, HALF, enabled=self.half, cache_enabled=False):
            output = self.net(*inputs)
        self.sizes = output.shape[1:] if isinstance(output, Tensor) else None
        return output


def copy_model(model: nn.Module, half: bool) -> nn.Module:
    """A copy in channels last, and with `half` in bfloat16 but for its last layer; it asks for no gradient of its own.

    >>> net = copy_model(nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8, 2)), half=True)
    >>> [str(p.dtype) for p in net.parameters()]
    ['torch.bfloat16', 'torch.bfloat16', 'torch.float32', 'torch.float32']
    """
    products = {name: module for name, module in model.named_modules() if name and isinstance(module, _PRODUCTS)}
    last = next(reversed(products), None)
    kept = {id(p) for p in products[last].parameters()} if last else set()
    halved = {id(p) for m in products.values() for p in m.parameters(recurse=False)} - kept if half else kept - kept
    memo: dict[int, Any] = {}
    for tensor in ModelSnapshot(model).tensors:
        own = _copy_tensor(tensor, halved)
        memo[id(tensor)] = nn.Parameter(own, requires_grad=False) if isinstance(tensor, nn.Parameter) else own
    net = copy.deepcopy(model, memo)
    if half and last is not None:
        device_type = next(model.parameters()).device.type
        net.set_submodule(last, Float32Layer(net.get_submodule(last), device_type))
    return net.eval()


def _copy_tensor(tensor: Tensor, halved: set[int]) -> Tensor:
    layout = torch.channels_last if tensor.ndim == 4 else torch.preserve_format
    dtype = HALF if id(tensor) in halved and tensor.dtype == torch.float32 else tensor.dtype
    return tensor.detach().to(dtype, copy=True, memory_format=layout)


class Refresh:
    """Copies a model's numbers into those of its copy, in place; all of a kind at once, since one by one would take a
    GPU milliseconds.

    >>> model = nn.Linear(2, 1)
    >>> net = copy_model(model, half=False)
    >>> refresh = Refresh(net, ModelSnapshot(model).tensors)
    >>> model.weight.data.fill_(3.0)
    tensor([[3., 3.]])
    >>> refresh(ModelSnapshot(model).tensors, called=False), net.weight.tolist()
    (True, [[3.0, 3.0]])
    """

    def __init__(self, net: nn.Module, theirs: Sequence[Tensor]) -> None:
        self.net, self.own = net, ModelSnapshot(net).tensors
        kinds: dict[object, list[int]] = {}
        for number, (own, given) in enumerate(zip(self.own, theirs, strict=False)):  # a copy may leave one out
            kinds.setdefault((own.dtype, given.dtype, own.stride() == given.stride()), []).append(number)
        self.kinds = list(kinds.values())

    @torch.no_grad()
    def __call__(self, theirs: Sequence[Tensor], called: bool) -> bool:
        """Whether it was done: a net that has other tensors since, as some have when they are `called`, is to be copied
        anew.
        """
        if called:
            self.own = ModelSnapshot(self.net).tensors
        if [t.shape for t in self.own] != [t.shape for t in theirs] or (called and _share_memory(self.own)):
            return False
        for kind in self.kinds:
            # by .data, which autograd does not count as a change: another thread may be on its way back through the
            # copy, and the numbers it needs are the same ones, unless the user changes the model meanwhile
            torch._foreach_copy_([self.own[number].data for number in kind], [theirs[number] for number in kind])
        return True


def _share_memory(tensors: Sequence[Tensor]) -> bool:
    """Whether two of them are one in memory, so that what is copied into one would overwrite the other."""
    places = [t.data_ptr() for t in tensors if t.numel()]
    return len(set(places)) < len(places)
