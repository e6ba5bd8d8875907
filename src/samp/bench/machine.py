"""What a benchmark runs on: waiting for it, its memory, its description."""

from __future__ import annotations

import platform
from collections.abc import Callable

import torch

import samp


def wait(device: torch.device | str) -> None:
    """Until the device has done all it was told."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def peak_bytes(work: Callable[[], object], device: torch.device | str) -> int:
    """Bytes allocated on a CUDA device at most during the work; 0 elsewhere, where torch does not count.

    >>> peak_bytes(lambda: None, "cpu")
    0
    """
    if torch.device(device).type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats(device)
    work()
    wait(device)
    return torch.cuda.max_memory_allocated(device)


def describe(device: torch.device | str) -> str:
    """The machine and the versions, for below a table.

    >>> "torch" in describe("cpu")
    True
    """
    on_gpu = torch.device(device).type == "cuda"
    where = torch.cuda.get_device_name(device) if on_gpu else f"{torch.get_num_threads()} CPU threads"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, samp {samp.__version__}"
    return f"{where}, {platform.machine()}, {versions}"
