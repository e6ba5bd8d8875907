"""Watching a method while it computes: its evaluations are counted, its steps drawn, and it is stopped on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from samp.app.jobs import Job
from samp.app.pictures import draw_map, draw_point
from samp.engine.watch import WalkStep
from samp.models.prediction import ClassifiedPhoto

PACE = 0.1  # seconds from one frame to the next, at least


class Spectator:
    """Turns what one method of a job does into events."""

    def __init__(self, job: Job, method: str, classified: ClassifiedPhoto, expected: int | None) -> None:
        self.job, self.method, self.classified = job, method, classified
        self.expected, self.rows = expected, 0
        self.seen: Image.Image = classified.crop.convert("RGB")
        self.credit: dict[tuple[int, str], Tensor] = {}
        self.next_frame = self.next_count = 0.0

    @contextmanager
    def watch(self, net: nn.Module) -> Iterator[None]:
        """Count the rows that this thread gives the net inside, each time asking whether to go on."""
        own = threading.get_ident()  # others predict with the same net meanwhile

        def count(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            if threading.get_ident() == own:
                self.job.check()
                self.rows += len(inputs[0])
                self._tell_progress()

        handle = net.register_forward_pre_hook(count)
        try:
            yield
        finally:
            handle.remove()

    def show(self, step: WalkStep) -> None:
        """Draw the step of the first walk in the batch, about ten times a second, and whenever a walk ends."""
        self.job.check()
        ended = bool((step.progress == 1).any())
        if time.monotonic() < self.next_frame and not ended:
            return
        credit = step.credit()
        assert isinstance(credit, Tensor)  # of one input
        rows = list(zip(step.walks.tolist(), step.directions, strict=True))
        for row, values in zip(rows, credit, strict=True):
            self.credit[row] = values.sum(0).cpu()
        points = step.points()
        assert isinstance(points, Tensor)
        picture = draw_map(self.seen, self.map_so_far())
        for place, (walk, direction) in enumerate(rows):
            if walk == rows[0][0]:
                self.job.log.add(
                    "frame",
                    method=self.method,
                    step=step.number,
                    walk=walk,
                    moved=float(step.progress[place]),
                    score=float(step.scores[place]),
                    direction=direction,
                    point=draw_point(points[place], self.classified.classifier),
                    map=picture,
                )
        self.next_frame = time.monotonic() + PACE

    def map_so_far(self) -> Tensor:
        """Return the credit of each pixel (h w): both directions together, the mean of the walks that have begun."""
        walks = {walk for walk, _ in self.credit}
        return torch.stack(list(self.credit.values())).sum(0) / len(walks)

    def _tell_progress(self) -> None:
        if time.monotonic() >= self.next_count:
            share = min(self.rows / self.expected, 1.0) if self.expected else None
            self.job.log.add("progress", method=self.method, share=share, evaluations=self.rows)
            self.next_count = time.monotonic() + PACE

    def tell_end(self) -> None:
        """Tell that the method is done."""
        self.job.log.add("progress", method=self.method, share=1.0, evaluations=self.rows)
