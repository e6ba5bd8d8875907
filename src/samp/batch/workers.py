"""Who does the work of a run, and whether that fits the device of its model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Workers:
    """Who does the work: this process (`count` 0), or workers of a local Ray or of the Ray cluster at `address`.

    >>> Workers(count=8, gpus_per_worker=1, address="auto").cpus_per_worker
    1
    """

    count: int = 0
    gpus_per_worker: float = 0
    """1, or a fraction if workers share a GPU. Each worker sees its own alone, as the device "cuda"."""
    cpus_per_worker: float = 1
    address: str | None = None

    def __post_init__(self) -> None:
        for name in ("count", "gpus_per_worker", "cpus_per_worker"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more.")
        if self.gpus_per_worker > 1:
            raise ValueError(
                f"`gpus_per_worker` is {self.gpus_per_worker:g}, but a net runs on one: give 1 or a fraction, and more "
                "workers."
            )

    @property
    def in_process(self) -> bool:
        """Whether this process does the work itself."""
        return self.count == 0 and self.address is None

    @property
    def concurrency(self) -> int:
        """How many workers there are at a time; 1 in this process."""
        return max(self.count, 1)

    def check_device(self, device: str | None) -> None:
        """Raise ValueError if the device of the model and the GPUs of workers contradict each other.

        >>> Workers(2, gpus_per_worker=0.5).check_device("cuda")
        >>> Workers(2).check_device("cuda:1")
        >>> Workers(2, gpus_per_worker=1).check_device("cpu")
        Traceback (most recent call last):
        ValueError: `gpus_per_worker` gives each worker a GPU but `device` is cpu: add `device="cuda"`.
        """
        if self.gpus_per_worker and self.in_process:
            raise ValueError(
                "`gpus_per_worker` is for workers, of which there are none: add `workers`, or leave it out."
            )
        if self.gpus_per_worker and device != "cuda":
            raise ValueError(
                f"`gpus_per_worker` gives each worker a GPU but `device` is {device}: {_suggest_device(device)}."
            )
        if not self.gpus_per_worker and not self.in_process and device == "cuda":
            raise ValueError(
                "`device` is cuda but workers are given no GPU, so all would crowd on the first: add "
                '`gpus_per_worker=1` or a fraction, or name the GPU that they share, as `device="cuda:0"`.'
            )


def _suggest_device(device: str | None) -> str:
    if device is not None and device.startswith("cuda:"):
        return 'say `device="cuda"`, which is each worker\'s own, or leave out `gpus_per_worker`'
    return 'add `device="cuda"`'
