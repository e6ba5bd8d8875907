"""The machine of a benchmark: synchronisation, peak memory, description."""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable

import torch

import samp


def synchronize(device: torch.device | str) -> None:
    """Wait until the device has finished."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def peak_bytes(work: Callable[[], object], device: torch.device | str) -> int:
    """Return the peak of bytes in use on a CUDA device during the work, including the pools of CUDA graphs.

    Returns 0 on other devices, for which torch does not count.

    >>> peak_bytes(lambda: None, "cpu")
    0
    """
    if torch.device(device).type != "cuda":
        return 0
    gc.collect()
    torch.cuda.empty_cache()  # or graphs that are gone would count
    torch.cuda.reset_peak_memory_stats(device)
    work()
    synchronize(device)
    return torch.cuda.max_memory_allocated(device) + _graph_pool_bytes(torch.device(device))


def _graph_pool_bytes(device: torch.device) -> int:
    """Return the bytes of CUDA graph pools that do not count as allocated, although nothing else may use them."""
    segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    own = [s for s in segments if s.get("segment_pool_id", (0, 0)) != (0, 0)]
    index = torch.cuda.current_device() if device.index is None else device.index
    return sum(int(s["total_size"] - s["allocated_size"]) for s in own if s["device"] == index)


def describe_machine(device: torch.device | str) -> str:
    """Return a line with the machine and the versions.

    >>> "torch" in describe_machine("cpu")
    True
    """
    on_gpu = torch.device(device).type == "cuda"
    where = torch.cuda.get_device_name(device) if on_gpu else f"{torch.get_num_threads()} CPU threads"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, samp {samp.__version__}"
    return f"{where}, {platform.machine()}, {versions}"
