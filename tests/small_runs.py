"""Small data sets, nets and comparisons for tests of runs over whole data sets."""

from __future__ import annotations

import io
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from ray_processes import wait_for
from samp.batch import Model, load
from samp.batch.tables import TIMING
from samp.models import Classifier

CLASSES = ("ant", "bee", "cat")
SIDE = 12


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Seven photos."""
    return photos(tmp_path / "data", 7)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a run may write."""
    return tmp_path / "out"


class Net(nn.Module):
    """A small CNN, seeded, that may take its time."""

    def __init__(self, pause: float = 0.0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.default_generator.manual_seed(0)
            self.layers = nn.Sequential(
                nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, len(CLASSES))
            )
        self.load_state_dict(self.state_dict())  # as from a checkpoint, else a model of this name seems untrained
        self.pause = pause

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(self.pause)
        scores: Tensor = self.layers(x)
        return scores


MARKER, LOST_AFTER = Path("marker"), 0  # of `losing`, for a test to set


class Lost(Net):
    """A net whose device is lost in the first process that asks it for a gradient, and stays lost there.

    If `after` is not 0, only once it was shown more than so many inputs.
    """

    def __init__(self, marker: Path, after: int = 0) -> None:
        super().__init__()
        self.marker, self.here = marker, False
        self.after, self.shown = after, 0

    def forward(self, x: Tensor) -> Tensor:
        self.shown += 0 if x.requires_grad else len(x)
        if x.requires_grad and self.shown > self.after and (self.here or not self.marker.exists()):
            self.marker.touch()
            self.here = True
            raise RuntimeError("CUDA error: unspecified launch failure")
        return super().forward(x)


class Noting(Model):
    """A model that notes where its worker would have it run, and which GPUs that sees, and stays on the CPU.

    It is loaded once as many workers as `together` says have noted that: else one may do all before others begin.
    """

    def load(self, to: str | None = None) -> Classifier:
        if to is None:
            notes = Path(self.given["notes"])
            notes.mkdir(exist_ok=True)
            (notes / str(os.getpid())).write_text(f"{self.device} {os.environ.get('CUDA_VISIBLE_DEVICES')}")
            wait_for(lambda: len(list(notes.iterdir())) >= self.given.get("together", 1))
        assert isinstance(self.model, Classifier)
        return self.model


def classifier(pause: float = 0.0) -> Classifier:
    return Classifier(Net(pause).eval(), "small", SIDE, 0.5, 0.5, CLASSES)


def slow() -> Classifier:
    return classifier(0.01)


def slower() -> Classifier:
    """A net whose run takes some seconds, so that it can be ended under way."""
    return classifier(0.1)


def saving() -> Classifier:
    """A slow net; whoever loads it writes down what is finished of a shard at every batch."""
    from samp.batch import worker

    worker.SAVED_EVERY = 0.0
    return classifier(0.02)


def stuck() -> Classifier:
    """A net that waits, once it was shown more than two inputs, as long as there is a file `stuck` in this folder."""

    class Stuck(Net):
        shown = 0

        def forward(self, x: Tensor) -> Tensor:
            self.shown += 0 if x.requires_grad else len(x)
            while self.shown > 2 and Path("stuck").exists():
                time.sleep(0.05)
            return super().forward(x)

    return Classifier(Stuck().eval(), "stuck", SIDE, 0.5, 0.5, CLASSES)


def losing() -> Classifier:
    return Classifier(Lost(MARKER, LOST_AFTER).eval(), "losing", SIDE, 0.5, 0.5, CLASSES)


def deadly() -> Classifier:
    """A net that kills its process over any input that is all white."""

    class Deadly(Net):
        def forward(self, x: Tensor) -> Tensor:
            if bool((x == 1).flatten(1).all(1).any()):
                os.kill(os.getpid(), 9)
            return super().forward(x)

    return Classifier(Deadly().eval(), "deadly", SIDE, 0.5, 0.5, CLASSES)


def talking() -> Classifier:
    """A net that prints."""

    class Talking(Net):
        def forward(self, x: Tensor) -> Tensor:
            print("Hello from the net.")
            return super().forward(x)

    return Classifier(Talking().eval(), "talking", SIDE, 0.5, 0.5, CLASSES)


def random_weights() -> Classifier:
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 2))
    return Classifier(net.eval(), "unseeded", SIDE, 0.5, 0.5, ())


def photos(folder: Path, count: int) -> Path:
    """A folder of this many different photos, some of them in a folder of their own."""
    noise = np.random.default_rng(0)
    for i in range(count):
        path = folder / ("deeper" if i % 3 == 2 else ".") / f"{i:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise.integers(0, 255, (16, 20, 3), dtype=np.uint8)).save(path)
    return folder


def pack_tar(path: Path, members: dict[str, bytes]) -> Path:
    """A tar of these members."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run but for what two runs of the same differ in."""
    return [{name: value for name, value in row.items() if name not in TIMING} for row in load(folder).rows()]


def same(one: Path, other: Path) -> None:
    """Every row and every map of one run is that of the other: none missing, none twice."""
    mine, theirs = rows(one), rows(other)
    assert len({row["id"] for row in mine}) == len(mine)
    assert mine == theirs
    for (name, found), (wanted, expected) in zip(load(one).maps(), load(other).maps(), strict=True):
        assert name == wanted
        assert torch.equal(found, expected)
