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
from cli_runs import environment
from samp.batch import BrokenRunError, load, run
from samp.batch.tables import write_table
from samp.models import Classifier
from small_runs import CLASSES, classifier, rows, same


class Hungry(small_runs.Net):
    """A net whose memory holds so many inputs at a time, and none that is all white."""

    def __init__(self, most: int, kind: type[Exception]) -> None:
        super().__init__()
        self.most, self.kind, self.calls = most, kind, list[int]()

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append(len(x))
        if len(x) > self.most or bool((x == 1).flatten(1).all(1).any()):
            raise self.kind("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return super().forward(x)


@pytest.mark.parametrize("kind", [torch.cuda.OutOfMemoryError, MemoryError])
@pytest.mark.parametrize("batch_size", ["auto", 4, 64])
@pytest.mark.parametrize("method", ["samp++", "ig"])
def test_memory_that_runs_out_halves_the_batch_down_to_one_input_and_all_others_are_as_undisturbed(
    data: Path, tmp_path: Path, kind: type[Exception], batch_size: Any, method: str
) -> None:
    Image.new("RGB", (16, 20), "white").save(data / "white.png")
    how = {"method": method, "batch_size": batch_size, "map_dtype": "float32"}
    assert run(data, out=tmp_path / "one", model=classifier(), **how).code == 0
    net = Hungry(2, kind).eval()  # two walks of one input at a time
    hungry = Classifier(net, "small", small_runs.SIDE, 0.5, 0.5, CLASSES)
    summary = run(data, out=tmp_path / "other", model=hungry, **how)
    assert (summary.code, summary.explained, list(summary.failures)) == (1, 7, ["white.png"])
    assert "memory" in summary.failures["white.png"]
    assert max(net.calls) > 2
    maps, expected = dict(load(tmp_path / "other").maps()), dict(load(tmp_path / "one").maps())
    for one, other in zip(rows(tmp_path / "one"), rows(tmp_path / "other"), strict=True):
        assert one["id"] == other["id"]
        if one["id"] == "white.png":
            continue
        # Another batch is another order of sums: float32 rounds differently, by a few units in its seventh digit.
        for name, value in one.items():
            assert other[name] == (pytest.approx(value, rel=1e-4, abs=1e-5) if isinstance(value, float) else value), (
                name
            )
        assert torch.allclose(maps[one["id"]], expected[one["id"]], rtol=1e-4, atol=1e-6)


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


def test_a_net_without_a_row_for_each_input_gets_a_sentence(out: Path) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 1), nn.Flatten(0)).eval()
    summary = run([torch.rand(3, 2, 2)], out=out, model=Classifier(net, "flat", 2, 0.5, 0.5, ()), method="ig")
    assert summary.failures == {"0": "the net gives outputs of shape (1,): it must give one row for each input."}


def test_a_device_that_is_lost_ends_the_run_which_goes_on_later(data: Path, tmp_path: Path) -> None:
    lost = Classifier(small_runs.Lost(tmp_path / "marker").eval(), "small", small_runs.SIDE, 0.5, 0.5, CLASSES)
    with pytest.raises(BrokenRunError, match=r"the device is lost \(CUDA error: unspecified") as broken:
        run(data, out=tmp_path / "out", model=lost)
    assert (broken.value.summary.code, broken.value.summary.explained) == (3, 0)
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
from samp.batch import BrokenRunError, load, run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
summary = run(sys.argv[1], out=sys.argv[2], model=small_runs.classifier(), shard_size=15, map_dtype="float32")
print(summary.code, len(summary.lost), summary.lost[0])
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    words = [sys.executable, "-c", code, data, tmp_path / "other"]
    process = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert process.stdout.startswith("3 3 "), process.stderr
    assert "cannot be written" in process.stdout
    for name in ("one", "other"):
        assert run(data, out=tmp_path / name, model=classifier(), shard_size=15, map_dtype="float32").code == 0
    same(tmp_path / "one", tmp_path / "other")


def limited(size: int, data: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """A run in a process that may write no file above this size."""
    code = """
import resource, signal, sys, small_runs
from samp.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
main(["run", *sys.argv[2:], "--model", "small_runs:classifier"])
"""
    words = [sys.executable, "-c", code, str(size), data, "--out", out]
    return subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)


def test_a_manifest_that_cannot_be_written_ends_the_run_before_it_begins(data: Path, out: Path) -> None:
    process = limited(200, data, out)
    assert process.returncode == 2
    assert "manifest.json cannot be written (File too large)" in process.stderr
    assert [path.name for path in out.iterdir()] == [".samp-run.lock"]
    assert run(data, out=out, model=classifier()).code == 0


def test_what_was_done_stays_where_doing_it_again_fails(data: Path, tmp_path: Path) -> None:
    """A shard with one failed input is tried again on a disk without room: its other inputs are still there."""
    out = tmp_path / "out"
    (data / "bad.png").write_text("no photo")
    run(data, out=out, model=small_runs.classifier())
    before = rows(out)
    process = limited(1000, data, out)  # the maps do not fit
    assert process.returncode == 3
    assert "maps/.000000.safetensors" in process.stderr
    assert rows(out) == before
    assert len(dict(load(out, thorough=True).maps())) == 7
    assert not list(out.rglob("*.part"))


def test_what_goes_wrong_with_one_shard_costs_that_shard_alone(data: Path, out: Path) -> None:
    """Here its place is taken by a folder."""
    run(data, out=out, model=classifier(), shard_size=3)
    (out / "done" / "000001.json").unlink()
    (out / "maps" / "000001.safetensors").unlink()
    (out / "maps" / "000001.safetensors").mkdir()
    (out / "done" / "000002.json").unlink()
    summary = run(data, out=out, model=classifier(), shard_size=3)
    assert (summary.code, summary.explained, list(summary.lost)) == (3, 4, [1])
    (out / "maps" / "000001.safetensors").rmdir()
    assert run(data, out=out, model=classifier(), shard_size=3).code == 0


def test_what_nobody_expected_of_one_shard_costs_that_shard_alone(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writing(path: Path, rows: list[dict[str, Any]], form: str) -> None:
        if rows[0]["id"] == "004.png":
            raise ZeroDivisionError("by nothing")
        write_table(path, rows, form)

    monkeypatch.setattr("samp.batch.shards.write_table", writing)
    summary = run(data, out=out, model=classifier(), shard_size=3)
    assert (summary.code, summary.explained, summary.lost) == (3, 4, {1: "by nothing"})
    assert load(out).numbers == (0, 2)


def test_a_shard_that_is_changing_has_no_receipt(data: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or one of before would be taken for that of the files of now."""
    (data / "bad.png").write_text("no photo")
    run(data, out=out, model=classifier())
    seen: list[tuple[str, bool]] = []

    def noting(one: Path, other: Path, replace: Any = os.replace) -> None:
        if not Path(other).name.startswith("."):
            seen.append((Path(other).parent.name, (out / "done" / "000000.json").exists()))
        replace(one, other)

    monkeypatch.setattr(os, "replace", noting)
    run(data, out=out, model=classifier())
    assert seen == [("maps", False), ("numbers", False), ("done", False)]


def test_a_net_that_cannot_be_fed_is_said_at_once(data: Path, out: Path) -> None:
    wrong = Classifier(classifier().net, "small", 5, 0.5, 0.5, CLASSES)
    with pytest.raises(ValueError, match=r"small cannot be run on an input of \(1, 3, 5, 5\)"):
        run(data, out=out, model=wrong)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"shard_size": 0}, "a shard holds 1 input at least"),
        ({"map_dtype": "float61"}, "did you mean 'float16'"),
        ({"speed": "fats"}, "did you mean 'fast'"),
        ({"target": "be"}, "did you mean 'bee'"),
        ({"workers": -1}, "workers is -1"),
        ({"target": 3}, "target 3 is out of range"),
        ({"method": "sampp"}, "unknown method"),
        ({"model": nn.Identity()}, "wrap it in samp.models.Classifier"),
    ],
)
def test_wrong_arguments_get_a_sentence(data: Path, out: Path, words: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        run(data, out=out, **{"model": classifier(), **words})
