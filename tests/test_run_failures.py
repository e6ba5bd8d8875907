"""What goes wrong with one input, or with the disk, in runs over data sets: it costs no more than it must."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import small_runs
from samp.models import Classifier
from samp.runs import run
from small_runs import CLASSES, classifier, rows, same


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_runs.photos(tmp_path / "data", 7)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_memory_that_runs_out_halves_the_batch(data: Path, tmp_path: Path) -> None:
    class Hungry(small_runs.Net):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 2:
                raise RuntimeError("CUDA out of memory")
            return super().forward(x)

    hungry = Classifier(Hungry().eval(), "small", small_runs.SIDE, 0.5, 0.5, CLASSES)
    for name, net in (("one", classifier()), ("other", hungry)):
        assert run(data, out=tmp_path / name, model=net, batch_size=4).code == 0
    for one, other in zip(rows(tmp_path / "one"), rows(tmp_path / "other"), strict=True):
        assert one["id"] == other["id"]
        assert one["score"] == pytest.approx(other["score"], abs=1e-6)


def test_what_fails_for_one_input_costs_that_input_alone(data: Path, out: Path) -> None:
    class Picky(small_runs.Net):
        def forward(self, x: Tensor) -> Tensor:
            if bool((x == 1).flatten(1).all(1).any()):
                raise RuntimeError("white is too bright")
            return super().forward(x)

    Image.new("RGB", (16, 20), "white").save(data / "003b.png")
    picky = Classifier(Picky().eval(), "picky", small_runs.SIDE, 0.5, 0.5, CLASSES)
    summary = run(data, out=out, model=picky)
    assert summary.failures == {"003b.png": "white is too bright"}
    assert summary.explained == 7


def test_a_map_that_is_not_finite_is_a_failure(data: Path, out: Path) -> None:
    class Odd(small_runs.Net):
        def forward(self, x: Tensor) -> Tensor:
            dark = (x == -1).flatten(1).all(1)[:, None]
            return super().forward(x).masked_fill(dark, torch.nan)

    Image.new("RGB", (16, 20), "black").save(data / "black.png")
    odd = Classifier(Odd().eval(), "odd", small_runs.SIDE, 0.5, 0.5, CLASSES)
    summary = run(data, out=out, model=odd, target=1)
    assert list(summary.failures) == ["black.png"]
    assert "NaN or Inf" in summary.failures["black.png"]
    assert summary.explained == 7


def test_a_device_that_is_lost_ends_the_run_which_goes_on_later(data: Path, tmp_path: Path) -> None:
    lost = Classifier(small_runs.Lost(tmp_path / "marker").eval(), "small", small_runs.SIDE, 0.5, 0.5, CLASSES)
    with pytest.raises(OSError, match=r"the device is lost \(CUDA error: unspecified"):
        run(data, out=tmp_path / "out", model=lost)
    assert run(data, out=tmp_path / "out", model=classifier()).code == 0


def test_inputs_of_another_shape_than_their_shard_fail_alone(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    anything = Classifier(net, "anything", small_runs.SIDE, 0.5, 0.5, ())
    inputs = [torch.rand(3, side, side) for side in (8, 9, 8)]
    summary = run(inputs, out=tmp_path / "one", model=anything)
    assert (summary.explained, list(summary.failures)) == (2, ["1"])
    assert "its map has shape (9, 9) but the first of its shard (8, 8)" in summary.failures["1"]
    assert run(inputs, out=tmp_path / "other", model=anything, shard_size=1).code == 0


def test_shards_that_cannot_be_written_are_told_and_done_later(tmp_path: Path) -> None:
    """In a process whose files may not be large: maps of 8.8 kB do not fit, the manifest does."""
    data = small_runs.photos(tmp_path / "data", 45)
    code = """
import resource, signal, sys, small_runs
from samp.runs import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
summary = run(sys.argv[1], out=sys.argv[2], model=small_runs.classifier(), shard_size=15, map_dtype="float32")
print(summary.code, len(summary.lost), summary.lost[0])
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    told = subprocess.run(
        [sys.executable, "-c", code, data, tmp_path / "other"], env=env, capture_output=True, text=True, check=False
    )
    assert told.stdout.startswith("2 3 "), told.stderr
    assert "cannot be written" in told.stdout
    for name in ("one", "other"):
        assert run(data, out=tmp_path / name, model=classifier(), shard_size=15, map_dtype="float32").code == 0
    same(tmp_path / "one", tmp_path / "other")


def test_a_net_that_cannot_be_fed_is_said_at_once(data: Path, out: Path) -> None:
    wrong = Classifier(classifier().net, "small", 5, 0.5, 0.5, CLASSES)
    with pytest.raises(ValueError, match=r"small cannot be run on an input of \(1, 3, 5, 5\)"):
        run(data, out=out, model=wrong)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"shard_size": 0}, "a shard holds 1 input at least"),
        ({"map_dtype": "float61"}, "did you mean 'float16'"),
        ({"speed": "fats"}, "did you mean 'fast'"),
        ({"target": "be"}, "did you mean 'bee'"),
        ({"crew": -1}, "workers is -1"),
        ({"target": 3}, "target 3 is out of range"),
        ({"method": "sampp"}, "unknown method"),
        ({"model": nn.Identity()}, "wrap it in samp.models.Classifier"),
    ],
)
def test_wrong_arguments_get_a_sentence(data: Path, out: Path, words: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        run(data, out=out, **{"model": classifier(), **words})
