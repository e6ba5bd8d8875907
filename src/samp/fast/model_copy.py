"""A copy of the user's net for fast calls: channels last, bfloat16 where autocast would have it, and nothing to train.

The user's net is never changed. The copy has tensors of its own, whose values are copied again before every
explanation; their addresses do not change, so captured calls stay valid. If a setting of the net has changed, a new
copy is made; attributes deep inside objects of the user are not compared.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from samp.fast.model_state import ModelSnapshot
from samp.model_output import extract_scores
from samp.targets import Model

HALF = torch.bfloat16
_PRODUCTS = (nn.Linear, nn.modules.conv._ConvNd)


class Float32Layer(nn.Module):
    """A layer that computes in float32 even under autocast, without which scores would have only three digits."""

    def __init__(self, layer: nn.Module, device_type: str) -> None:
        super().__init__()
        self.layer, self.device_type = layer, device_type

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(self.device_type, enabled=False):
            out: Tensor = self.layer(x.float())
        return out


class ModelCopy:
    """The copy, called under autocast if `half`; `sizes` is the shape of its last output per sample, `calls` counts."""

    def __init__(self, net: Model, device_type: str, half: bool) -> None:
        self.net, self.device_type, self.half = net, device_type, half
        self.sizes: torch.Size | None = None
        self.calls = 0

    def __call__(self, *inputs: Any) -> Any:
        self.calls += 1
        # the cache would hold casts of weights that a captured call must read again
        with torch.autocast(self.device_type, HALF, enabled=self.half, cache_enabled=False):
            output = self.net(*inputs)
        self.sizes = _sample_sizes(output)
        return output


def _sample_sizes(output: Any) -> torch.Size | None:
    """Return the shape of a sample's scores; None if a target function must find them in the output."""
    try:
        return extract_scores(output).shape[1:]
    except TypeError:
        return None


def copy_model(model: nn.Module, half: bool) -> nn.Module:
    """Return a copy in channels last, with `half` in bfloat16 except for its last layer; no parameter requires grad.

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
    """Copies a model's values into its copy, in place.

    Tensors of the same dtypes and strides are copied in one call: one by one would take milliseconds on a GPU.

    >>> model = nn.Linear(2, 1)
    >>> net = copy_model(model, half=False)
    >>> refresh = Refresh(net, ModelSnapshot(model).tensors)
    >>> model.weight.data.fill_(3.0)
    tensor([[3., 3.]])
    >>> refresh(ModelSnapshot(model).tensors, called=False), net.weight.tolist()
    (True, [[3.0, 3.0]])
    """

    def __init__(self, net: nn.Module, model_tensors: Sequence[Tensor]) -> None:
        self.net, self.own = net, ModelSnapshot(net).tensors
        batches: dict[object, list[int]] = {}
        for number, (own, source) in enumerate(zip(self.own, model_tensors, strict=False)):  # a copy may leave one out
            batches.setdefault((own.dtype, source.dtype, own.stride() == source.stride()), []).append(number)
        self.batches = list(batches.values())

    @torch.no_grad()
    def __call__(self, model_tensors: Sequence[Tensor], called: bool) -> bool:
        """Copy the values and return True; return False if the net must be copied again.

        That is the case if its tensors have changed, as those of some nets do when they are `called`.
        """
        if called:
            self.own = ModelSnapshot(self.net).tensors
        if [t.shape for t in self.own] != [t.shape for t in model_tensors] or (called and _share_memory(self.own)):
            return False
        for batch in self.batches:
            # .data, so that autograd does not count this as a change: another thread may be in a backward pass through
            # the copy, and the values it needs are the same, unless the user changes the model meanwhile
            torch._foreach_copy_(
                [self.own[number].data for number in batch], [model_tensors[number] for number in batch]
            )
        return True


def _share_memory(tensors: Sequence[Tensor]) -> bool:
    """Return whether two of these tensors share memory, so that copying into one would overwrite the other."""
    addresses = [t.data_ptr() for t in tensors if t.numel()]
    return len(set(addresses)) < len(addresses)
