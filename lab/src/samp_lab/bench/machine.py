"""What a benchmark runs on: waiting for it, its memory, its description."""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable

import torch

import samp


def synchronize(device: torch.device | str) -> None:
    """Until the device has done all it was told."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def peak_bytes(work: Callable[[], object], device: torch.device | str) -> int:
    """Bytes in use on a CUDA device at most during the work, with all that CUDA graphs hold for themselves.

    It is 0 elsewhere, where torch does not count.

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
    """Bytes in the pools of CUDA graphs that do not count as allocated: nothing else may use them."""
    segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    own = [s for s in segments if s.get("segment_pool_id", (0, 0)) != (0, 0)]
    index = torch.cuda.current_device() if device.index is None else device.index
    return sum(int(s["total_size"] - s["allocated_size"]) for s in own if s["device"] == index)


def describe_machine(device: torch.device | str) -> str:
    """The machine and the versions, for below a table.

    >>> "torch" in describe_machine("cpu")
    True
    """
    on_gpu = torch.device(device).type == "cuda"
    where = torch.cuda.get_device_name(device) if on_gpu else f"{torch.get_num_threads()} CPU threads"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, samp {samp.__version__}"
    return f"{where}, {platform.machine()}, {versions}"
