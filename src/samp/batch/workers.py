"""Who does the work of a run, and whether that fits where its model is to run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Crew:
    """Who does the work: this process (no workers), or workers of a Ray of our own or of a cluster's.

    >>> Crew(workers=8, gpus_per_worker=1, address="auto").cpus_per_worker
    1
    """

    workers: int = 0
    gpus_per_worker: float = 0
    """1, or a part of one that workers share; each sees its own alone, as the device "cuda"."""
    cpus_per_worker: float = 1
    address: str | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "gpus_per_worker", "cpus_per_worker"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more.")
        if self.gpus_per_worker > 1:
            raise ValueError(
                f"gpus_per_worker is {self.gpus_per_worker:g}, but a net runs on one: give 1 or a part of one, and "
                "more workers."
            )

    @property
    def alone(self) -> bool:
        """Whether this process does the work itself."""
        return self.workers == 0 and self.address is None

    @property
    def hands(self) -> int:
        """How many work at a time."""
        return max(self.workers, 1)

    def check_device(self, device: str | None) -> None:
        """Say so where this device and the GPUs that workers are given contradict each other.

        >>> Crew(2, gpus_per_worker=0.5).check_device("cuda")
        >>> Crew(2).check_device("cuda:1")
        >>> Crew(2, gpus_per_worker=1).check_device("cpu")
        Traceback (most recent call last):
        ValueError: --gpus-per-worker gives each worker a GPU but --device is cpu: add --device cuda.
        """
        if self.gpus_per_worker and self.alone:
            raise ValueError(
                "--gpus-per-worker is for workers, of which there are none: add --workers, or leave it out."
            )
        if self.gpus_per_worker and device != "cuda":
            raise ValueError(f"--gpus-per-worker gives each worker a GPU but --device is {device}: {_instead(device)}.")
        if not self.gpus_per_worker and not self.alone and device == "cuda":
            raise ValueError(
                "--device is cuda but workers are given no GPU, so all would crowd on the first: add --gpus-per-worker "
                "1 or a part of one, or name the one that they share, as --device cuda:0."
            )


def _instead(device: str | None) -> str:
    if device is not None and device.startswith("cuda:"):
        return "say --device cuda, which is each worker's own, or leave out --gpus-per-worker"
    return "add --device cuda"
