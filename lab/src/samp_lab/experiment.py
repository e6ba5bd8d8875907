"""What an experiment is, and the sheet its figures are drawn on."""

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
    """A table or figure: which cells it needs, and what it says of them.

    `beds` are the names of the test beds it runs on unless told otherwise. `draw` writes its figures, those that the
    cells at hand allow, right after a run; `section` reads results alone, and shows the figures that are there.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def setups(self) -> tuple[str, ...]: ...
    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]: ...
    def draw(self, sheet: FigureContext) -> None: ...
    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section: ...


@dataclass(frozen=True, eq=False)
class FigureContext:
    """What figures are drawn from: the cells of a run, its images, and the folder that pictures go to."""

    outcome: Outcome
    store: Store
    workspace: Workspace
    setups: Sequence[Setup]
    figures: Path
    show: bool = False
    """Show pictures of every data set, also those whose terms forbid to publish them."""

    @property
    def results(self) -> Results:
        return self.outcome.results

    def has(self, cell: Measurement) -> bool:
        """Whether this run has the cell's arrays."""
        return name_of(cell) in self.outcome.done

    def arrays(self, cell: Measurement) -> dict[str, Tensor]:
        """The arrays of a cell of this run, one row per image."""
        done = self.outcome.done[name_of(cell)]
        return self.store.arrays(done.key, done.parts)

    def pictures(self, bed: Setup, most: int | None) -> list[np.ndarray[Any, Any]] | None:
        """What the net saw of each image, h w c of bytes; None where they may not be shown."""
        if not (self.show or self.workspace.images(bed.data, most).free):
            return None
        crop, entries = self.workspace.net(bed.net).crop, self.workspace.prepare_images(bed, most).entries
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
