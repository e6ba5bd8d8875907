"""Differences between devices: how much work to do at once, out-of-memory errors, supported dtypes.

Support for another accelerator begins here. Elsewhere: shared random generators in `samp.isolation`, compiled and
captured calls in `samp.fast`, the blur that is fastest on a GPU in `samp.baselines`, what `samp doctor` lists.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Input elements per model call, unless the user sets a batch size. On two CPU cores EfficientNet-Lite0 at 224
# pixels is fastest at 2 to 4 images a call (41, 43, 46 and 65 ms an image at 2, 4, 8 and 16); small nets gain up to
# hundreds. A GPU is fastest with as many as fit.
ELEMENTS_AT_ONCE = {"cpu": 400_000}
ELEMENTS_ON_ACCELERATOR = 2**25
WITHOUT_FLOAT64 = ("mps",)  # Apple's GPUs
OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error means that a device or the host ran out of memory; torch has several such errors.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes do not match"))
    (True, False)
    """
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    return any(words in str(error) for words in OUT_OF_MEMORY)


def release_memory() -> None:
    """Return the memory that torch has cached to the device."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished its work, as is needed before reading a clock."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def widen(values: Tensor) -> Tensor:
    """Return these values in float64, or in float32 where the device has no float64.

    >>> widen(torch.ones(1)).dtype
    torch.float64
    """
    return values.to(torch.float32 if values.device.type in WITHOUT_FLOAT64 else torch.float64)


def is_half_faster(device: torch.device) -> bool:
    """Return whether bfloat16 is faster than float32: on GPUs and CPUs that have it in hardware.

    >>> is_half_faster(torch.device("meta"))
    False
    """
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and (torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported())
