"""Who does the work of a run, and whether that fits the device of its model."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Workers:
    """Who does the work: this process (`count` 0), a process for each of `devices`, or workers of a local Ray or of
    the Ray cluster at `address`.

    >>> Workers(count=8, gpus_per_worker=1, address="auto").cpus_per_worker
    1
    >>> Workers(devices=("cuda:0", "cuda:1")).concurrency
    2
    """

    count: int = 0
    gpus_per_worker: float = 0
    """1, or a fraction if workers share a GPU. Each worker sees its own alone, as the device "cuda"."""
    cpus_per_worker: float = 1
    address: str | None = None
    devices: tuple[str, ...] = ()
    """Of this machine, all of one kind. Each has a process of its own, without Ray; a device may be named twice."""

    def __post_init__(self) -> None:
        if self.devices:
            self._check_devices()
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
        return self.count == 0 and self.address is None and not self.devices

    @property
    def concurrency(self) -> int:
        """How many workers there are at a time; 1 in this process."""
        return max(self.count, len(self.devices), 1)

    def check_device(self, device: str | None) -> None:
        """Raise ValueError if the device of the model and the GPUs of workers contradict each other.

        >>> Workers(2, gpus_per_worker=0.5).check_device("cuda")
        >>> Workers(2).check_device("cuda:1")
        >>> Workers(2, gpus_per_worker=1).check_device("cpu")
        Traceback (most recent call last):
        ValueError: `gpus_per_worker` gives each worker a GPU but `device` is cpu: add `device="cuda"`.
        """
        if self.devices:
            if device is not None:
                raise ValueError(f"`device` is {device}, but `devices` names those to use: leave one of them out.")
            return
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

    def _check_devices(self) -> None:
        kinds = set()
        for name in self.devices:
            try:
                kinds.add(torch.device(name).type)
            except RuntimeError as error:
                raise ValueError(f"{name!r} in `devices` is no device: give names such as cuda:0.") from error
        if len(kinds) > 1:
            raise ValueError(
                f"`devices` are of several kinds ({', '.join(sorted(kinds))}), whose numbers differ by rounding: give "
                "devices of one kind."
            )
        if self.count or self.gpus_per_worker or self.address is not None:
            raise ValueError(
                "`devices` have processes of their own on this machine, without Ray: leave them out, or leave out "
                "`workers`, `gpus_per_worker` and `address`."
            )


def _suggest_device(device: str | None) -> str:
    if device is not None and device.startswith("cuda:"):
        return 'say `device="cuda"`, which is each worker\'s own, or leave out `gpus_per_worker`'
    return 'add `device="cuda"`'
