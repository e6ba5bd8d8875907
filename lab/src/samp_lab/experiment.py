"""The interface of an experiment, and the context in which its figures are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from PIL import Image
from torch import Tensor

from samp.atomic import atomic_write
from samp_lab.figures.png import small_png
from samp_lab.measurements.base import Measurement, name_of
from samp_lab.runner import Outcome
from samp_lab.sections import Section
from samp_lab.setups import Setup
from samp_lab.store import Results, Store
from samp_lab.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Experiment(Protocol):
    """A table or figure: the measurements it needs, its figures, and its section of the report.

    `setups` are the names of its default setups. `draw` runs right after measuring and writes the figures that the
    measurements at hand allow; `section` reads stored results alone and shows the figures that exist.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def setups(self) -> tuple[str, ...]: ...
    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]: ...
    def draw(self, context: FigureContext) -> None: ...
    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section: ...


@dataclass(frozen=True, eq=False)
class FigureContext:
    """What figures are drawn from (the measurements of a run and its images), and the folder they are written to."""

    outcome: Outcome
    store: Store
    workspace: Workspace
    setups: Sequence[Setup]
    figures: Path
    show: bool = False
    """Show pictures of every data set, including those whose terms forbid publication."""

    @property
    def results(self) -> Results:
        return self.outcome.results

    def has(self, measurement: Measurement) -> bool:
        """Return whether this run has the arrays of a measurement."""
        return name_of(measurement) in self.outcome.done

    def arrays(self, measurement: Measurement) -> dict[str, Tensor]:
        """Return the arrays of a measurement of this run, one row per image."""
        done = self.outcome.done[name_of(measurement)]
        return self.store.arrays(done.key, done.parts)

    def pictures(self, setup: Setup, most: int | None) -> list[np.ndarray[Any, Any]] | None:
        """Return the crop of each image that the net is given, h w c in bytes; None if they must not be published."""
        if not (self.show or self.workspace.images(setup.data, most).free):
            return None
        crop, entries = self.workspace.net(setup.net).crop, self.workspace.prepare_images(setup, most).entries
        return [np.atleast_3d(np.asarray(crop(entry.picture()))) for entry in entries]

    def save(self, figure: Figure, name: str) -> Path:
        """Write a figure as PNG into the figures folder."""
        self.figures.mkdir(parents=True, exist_ok=True)
        path = self.figures / f"{name}.png"
        drawn = BytesIO()
        figure.savefig(drawn, format="png")
        with atomic_write(path) as unfinished, Image.open(drawn) as image:
            unfinished.write_bytes(small_png(image))
        return path
