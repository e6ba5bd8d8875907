"""SHA-256 of named tensors. The hashes are stored in files, so the format must not change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor


def hash_tensors(tensors: Mapping[str, Tensor], header: str = "{name} {dtype} {shape}\n", start: str = "") -> str:
    """Return the SHA-256 of `start`, then of each tensor's header and bytes, in the order of their names.

    >>> hash_tensors({"a": torch.ones(2)}) == hash_tensors({"a": torch.ones(1, 2)})
    False
    """
    digest = hashlib.sha256(start.encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(header.format(name=name, dtype=tensor.dtype, shape=tuple(tensor.shape)).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
