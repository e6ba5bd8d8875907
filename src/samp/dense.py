"""Tensors that hold plain numbers in memory: what torch can make beside them is refused by name."""

from __future__ import annotations

import torch
from torch import Tensor


def check_dense(tensor: Tensor, name: str) -> None:
    """Raise TypeError for a nested, sparse, quantised, float8 or meta tensor: most of torch's functions fail on these.

    >>> check_dense(torch.eye(2).to_sparse(), "the input")
    Traceback (most recent call last):
    TypeError: the input is a sparse tensor (torch.sparse_coo): pass tensor.to_dense().
    """
    if tensor.is_nested:
        raise TypeError(f"{name} is a nested tensor: pad its parts to one shape with torch.nested.to_padded_tensor.")
    if tensor.is_quantized:
        raise TypeError(f"{name} is quantised ({tensor.dtype}): pass tensor.dequantize().")
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} is a sparse tensor ({tensor.layout}): pass tensor.to_dense().")
    if tensor.is_floating_point() and tensor.element_size() < 2:
        raise TypeError(f"{name} has dtype {tensor.dtype}, in which torch computes little: pass tensor.float().")
    if tensor.is_meta:
        raise TypeError(f"{name} is a tensor on the meta device, which holds no numbers: make it on a real device.")


def check_real(tensor: Tensor, name: str) -> None:
    """Raise TypeError unless these are dense numbers without an imaginary part.

    >>> check_real(torch.ones(1, dtype=torch.complex64), "the baseline")
    Traceback (most recent call last):
    TypeError: the baseline is complex (torch.complex64): take .real or .abs() of it.
    """
    check_dense(tensor, name)
    if tensor.is_complex():
        raise TypeError(f"{name} is complex ({tensor.dtype}): take .real or .abs() of it.")
