"""Runs over data sets in one process: rows and maps are those of `explain`, and a run goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import samp
from cli_runs import environment
from samp import images as photos
from samp.batch import Model, Workers, load, run
from samp.batch.shards import Shards
from samp.batch.stored_maps import encode_maps
from samp.models import Classifier
from small_runs import CLASSES, classifier, rows, same


def by_hand(path: Path, method: str) -> samp.Attribution:
    net = classifier()
    return samp.explain(net.net, net.prepare(photos.read(path)), method=method)


@pytest.mark.parametrize("method", ["consensus", "samp++", "ig", "gradcam"])
def test_rows_and_maps_are_those_of_explain(data: Path, out: Path, method: str) -> None:
    summary = run(data, out=out, model=classifier(), method=method, shard_size=3, map_dtype="float32")
    assert (summary.inputs, summary.explained, summary.code) == (7, 7, 0)
    maps = dict(load(out).maps())
    for row in load(out).rows():
        expected = by_hand(data / row["id"], method)
        net = classifier()
        with torch.no_grad():
            scores = net.net(net.prepare(photos.read(data / row["id"])))[0]
        assert row["target"] == row["predicted"] == int(scores.argmax())
        assert row["label"] == CLASSES[row["target"]]
        assert row["score"] == pytest.approx(float(scores.max()), rel=1e-5)
        assert row["gradients"] == int(expected.gradients)
        assert row["forwards"] == expected.details.get("forwards", 0)
        assert row["resolution"] == (None if expected.resolution is None else int(expected.resolution))
        assert row["error"] is None
        assert torch.allclose(maps[row["id"]], expected.map[0], rtol=1e-4, atol=1e-6)
        if method == "gradcam":
            assert row["residual"] is None
            continue
        change = {way: float(value) for way, value in expected.score_change.items()}
        assert row["score_change"] == pytest.approx(sum(change.values()), rel=1e-4, abs=1e-6)
        assert row["residual"] == pytest.approx(float(expected.residual), rel=1e-3, abs=1e-5)
        for way, value in change.items():
            assert row["score"] - row[f"baseline_score_{way}"] == pytest.approx(value, rel=1e-4, abs=1e-6)


def test_the_seed_reaches_the_method(data: Path, out: Path) -> None:
    net = classifier()
    run(data, out=out, model=net, method="random", seed=3, map_dtype="float32")
    for name, found in load(out).maps():
        x = net.prepare(photos.read(data / name))
        torch.testing.assert_close(found, samp.explain(net.net, x, method="random", seed=3).map[0])
        assert not torch.allclose(found, samp.explain(net.net, x, method="random", seed=0).map[0])


def test_numbers_do_not_depend_on_the_form_of_their_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(data, out=tmp_path / "one", model=classifier())
    monkeypatch.setattr("samp.batch.tables.find_spec", lambda name: None)
    run(data, out=tmp_path / "other", model=classifier())
    assert list((tmp_path / "other").rglob("*.jsonl"))
    same(tmp_path / "one", tmp_path / "other")


def test_float16_keeps_maps_of_any_scale() -> None:
    for size in (1e-9, 1.0, 1e9):
        credit = size * torch.randn(50, generator=torch.Generator().manual_seed(0))
        (found,) = encode_maps(credit[None], torch.float16)
        back = found.map.float() * found.scale
        assert torch.allclose(back, credit, rtol=2**-10, atol=float(credit.abs().max()) * 2**-24)


def test_credit_below_0_alone_keeps_its_digits_too() -> None:
    (one,) = encode_maps(torch.tensor([[-1e-9, -2e-9]]), torch.float16)
    assert (one.map.tolist(), one.scale.item()) == ([-0.5, -1.0], pytest.approx(2e-9))


@pytest.mark.parametrize("size", [1e-60, 1.0, 1e45])
def test_maps_of_a_net_in_float64_keep_their_range(tmp_path: Path, size: float) -> None:
    """float32, in which others are scaled, would make zeros or infinities of them."""
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).double().eval()
    net[1].weight.data.mul_(size)
    inputs = [torch.rand(3, 2, 2, dtype=torch.float64) for _ in range(2)]
    run(inputs, out=tmp_path / "run", model=Classifier(net, "net", 2, 0.5, 0.5, ()), target=1, method="ig")
    for one, found in zip(inputs, dict(load(tmp_path / "run").maps()).values(), strict=True):
        expected = samp.explain(net, one[None], target=1, method="ig").map[0]
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6 * float(expected.abs().max()))


def test_whoever_may_read_the_rows_may_read_the_maps(data: Path, out: Path) -> None:
    run(data, out=out, model=classifier())
    assert len({path.stat().st_mode for path in out.rglob("00*")}) == 1


def test_a_run_that_may_not_be_read_is_not_called_damaged(data: Path, out: Path) -> None:
    run(data, out=out, model=classifier())
    (victim,) = (out / "maps").iterdir()
    victim.chmod(0)
    me = os.geteuid()
    try:
        if me == 0:  # who may read everything
            os.seteuid(65534)
        with pytest.raises(PermissionError, match="may not be read: ask its owner for permission"):
            Shards(out, "parquet").receipt(0)
    finally:
        os.seteuid(me)


# Going on.


def test_shards_that_are_there_are_not_done_again(data: Path, out: Path) -> None:
    run(data, out=out, model=classifier(), shard_size=3)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("[!.]*") if path.is_file()}
    again = run(data, out=out, model=classifier(), shard_size=3)
    assert (again.found, again.explained) == (7, 7)
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("part", ["numbers", "maps", "done"])
@pytest.mark.parametrize("harm", ["cut short", "changed", "gone"])
def test_a_shard_that_was_harmed_is_done_again(data: Path, tmp_path: Path, part: str, harm: str) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        run(data, out=place, model=classifier(), shard_size=3)
    (victim,) = (other / part).glob("000001.*")
    content = victim.read_bytes()
    if harm == "gone":
        victim.unlink()
    else:
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        victim.write_bytes(content[:middle] if harm == "cut short" else changed)
    again = run(data, out=other, model=classifier(), shard_size=3)
    assert again.found == 4
    same(one, other)


def test_a_photo_that_was_bad_is_explained_once_it_is_repaired(data: Path, tmp_path: Path) -> None:
    run(data, out=tmp_path / "one", model=classifier(), shard_size=3)
    good = (data / "001.png").read_bytes()
    (data / "001.png").write_bytes(good[: len(good) // 2])
    bad = run(data, out=tmp_path / "other", model=classifier(), shard_size=3)
    assert (bad.explained, bad.code, list(bad.failures)) == (6, 1, ["001.png"])
    assert "cannot be read as an image" in bad.failures["001.png"]
    failed = {row["id"]: row for row in rows(tmp_path / "other")}["001.png"]
    assert failed["error"] == bad.failures["001.png"]
    assert failed["score"] is None
    assert len(list(load(tmp_path / "other").maps())) == 6
    (data / "001.png").write_bytes(good)
    kept = run(data, out=tmp_path / "other", model=classifier(), shard_size=3, keep_failed=True)
    assert (kept.found, kept.failures) == (6, bad.failures)
    assert run(data, out=tmp_path / "other", model=classifier(), shard_size=3).code == 0
    same(tmp_path / "one", tmp_path / "other")


# The manifest is renamed first; then of each shard three files are, when they are whole and when all three are.
@pytest.mark.parametrize(("renames", "found"), [(0, 0), (3, 0), (5, 0), (6, 0), (7, 1)])
def test_a_run_killed_at_any_point_is_finished_by_another(data: Path, tmp_path: Path, renames: int, found: int) -> None:
    run(data, out=tmp_path / "one", model=classifier(), shard_size=1)
    code = """
import os, sys, small_runs
from samp.batch import run
left = [int(sys.argv[3])]
def dying(*names, replace=os.replace):
    if not left[0]:
        os.kill(os.getpid(), 9)
    left[0] -= 1
    replace(*names)
os.replace = dying
run(sys.argv[1], out=sys.argv[2], model=small_runs.classifier(), shard_size=1)
"""
    words = [sys.executable, "-c", code, data, tmp_path / "other", str(renames)]
    killed = subprocess.run(words, env=environment(), check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / "other").rglob("*.part"))
    again = run(data, out=tmp_path / "other", model=classifier(), shard_size=1)
    assert again.found == found
    assert not list((tmp_path / "other").rglob("*.part"))
    same(tmp_path / "one", tmp_path / "other")


def test_files_of_others_are_left_alone(data: Path, out: Path) -> None:
    out.mkdir()
    for name in (".download.part", "notes.txt"):
        (out / name).write_text("mine")
    assert run(data, out=out, model=classifier()).code == 0
    assert {(out / name).read_text() for name in (".download.part", "notes.txt")} == {"mine"}


def test_a_run_in_parquet_says_before_it_works_that_it_cannot_go_on_without_pyarrow(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'samp[scale]'")
    run(data, out=out, model=classifier())
    monkeypatch.setattr("samp.batch.tables.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install .*\[scale\]"):
        run(data, out=out, model=classifier())


def test_two_runs_do_not_write_into_one_folder(data: Path, out: Path) -> None:
    refused: list[str] = []

    def again(count: object) -> None:
        with pytest.raises(ValueError, match="another run is writing into"):
            run(data, out=out, model=classifier())
        refused.append("yes")

    run(data, out=out, model=classifier(), on_progress=again)
    assert refused


def test_weights_that_differ_each_time_are_refused(data: Path, out: Path) -> None:
    with pytest.raises(ValueError, match="has other weights each time it is made"):
        run(data, out=out, model="small_runs:random_weights")


def test_the_net_is_left_as_it_was(data: Path, out: Path) -> None:
    mine = classifier()
    run(data, out=out, model=Model(mine, dtype="float64"))
    assert next(mine.net.parameters()).dtype == torch.float32
    assert json.loads((out / "manifest.json").read_text())["settings"]["dtype"] == "float64"


def test_neither_ray_nor_pyarrow_is_imported_before_it_is_asked_for() -> None:
    code = """
import sys, samp
from samp.cli import main
import samp.explain, samp.batch, samp.cli.explain, samp.cli.run, samp.cli.progress
print([name for name in ("ray", "pyarrow", "datasets") if name in sys.modules])
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


# Former names.


@pytest.mark.parametrize(
    ("former", "name"), [({"crew": 0}, "workers"), ({"crew": Workers()}, "workers"), ({"tell": print}, "on_progress")]
)
def test_the_former_names_of_arguments_work_with_a_warning(data: Path, out: Path, former: Any, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"is called {name}= now") as caught:
        assert run(data, out=out, model=classifier(), method="ig", **former).code == 0
    assert caught[0].filename == __file__


def test_an_argument_by_both_its_names_is_refused(data: Path, out: Path) -> None:
    with pytest.raises(TypeError, match=r"both workers= and its former name crew=: pass workers= alone"):
        run(data, out=out, model=classifier(), workers=1, crew=1)
    with pytest.raises(TypeError, match=r"both on_progress= and its former name tell="):
        run(data, out=out, model=classifier(), on_progress=print, tell=print)
    assert not out.exists()


def test_crew_is_a_former_name_of_workers() -> None:
    with pytest.warns(DeprecationWarning, match="is called Workers now"):
        assert samp.batch.Crew is Workers
    with pytest.raises(AttributeError, match="no attribute 'Crews'"):
        _ = samp.batch.Crews


def test_an_error_names_the_argument_that_the_caller_gave(data: Path, out: Path) -> None:
    with pytest.raises(ValueError, match=r"^workers is -1: give 0 or more"):
        run(data, out=out, model=classifier(), workers=-1)
    with pytest.raises(ValueError, match=r"^count is -1: give 0 or more"):
        Workers(count=-1)
