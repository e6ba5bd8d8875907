"""Runs whose files are damaged: it is found, told, left out of the report, and repaired by the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import small_runs
from cli_runs import run as command
from samp.batch import load, run
from samp.batch.columns import Columns
from samp.html.report_facts import extreme_positions, ranking_quantity
from samp.html.report_page import run_page
from small_runs import classifier


def test_no_map_is_read_but_those_that_are_shown(tmp_path: Path) -> None:
    """So a page about a million inputs takes seconds; what is wrong with other maps is found when every byte is."""
    data = small_runs.photos(tmp_path / "data", 20)
    run(data, out=tmp_path / "out", model=classifier(), shard_size=1)
    before = run_page(load(tmp_path / "out"))
    rows = load(tmp_path / "out").rows()
    columns = Columns.from_rows(rows)
    best, worst = extreme_positions(ranking_quantity(columns).per_input(columns))
    others = set(range(20)) - {*best, *worst}
    for shard in others:
        path = tmp_path / "out" / "maps" / f"{shard:06d}.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[:-40] + bytes(40))
    assert run_page(load(tmp_path / "out")) == before
    assert len(load(tmp_path / "out", thorough=True).numbers) == 12
    result = command("report", str(tmp_path / "out"), "--check")
    assert result.exit_code == 1, result.output
    assert f"shards {', '.join(map(str, sorted(others)))} do not hold" in result.stderr
    assert "8 inputs have no row yet" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("victim", ["maps/000000.safetensors", "done/000000.json"])
@pytest.mark.parametrize("check", [("--check",), ()])
def test_damaged_shards_are_told_and_the_same_run_repairs_them(
    tmp_path: Path, victim: str, check: tuple[str, ...]
) -> None:
    data, out = small_runs.photos(tmp_path / "data", 5), tmp_path / "out"
    run(data, out=out, model=classifier(), shard_size=2)
    assert command("report", str(out), *check).exit_code == 0
    (out / "done" / "000002.json").unlink()  # not done yet, which is no damage
    assert command("report", str(out), *check).exit_code == 0
    (out / victim).write_text("hello\n")
    result = command("report", str(out), *check)
    said = "shard 0 does not hold what its receipt says, and is left out: the same `samp run` command repairs it."
    assert (result.exit_code, result.stderr) == (1, f"samp: {said}\n")
    assert result.stdout.startswith("written: ")
    assert said[1:] in (out / "report.html").read_text(encoding="utf-8")
    assert run(data, out=out, model=classifier(), shard_size=2).found == 2
    again = command("report", str(out), *check)
    assert (again.exit_code, again.stderr) == (0, "")


def test_a_run_whose_shards_are_all_damaged_has_a_page(tmp_path: Path) -> None:
    run(small_runs.photos(tmp_path / "data", 3), out=tmp_path / "out", model=classifier(), shard_size=1)
    for path in (tmp_path / "out" / "maps").iterdir():
        path.write_text("hello")
    words = run_page(load(tmp_path / "out", thorough=True))
    assert "Shards 0, 1, 2 do not hold what their receipts say" in words
    assert "3 inputs have no row yet" in words
    assert "There are too few maps for this" in words


@pytest.mark.parametrize("part", ["numbers", "maps"])
@pytest.mark.parametrize("harm", ["cut short", "zeros", "gone"])
def test_what_a_crash_of_the_machine_leaves_is_found_without_reading_it_all(
    tmp_path: Path, part: str, harm: str
) -> None:
    run(small_runs.photos(tmp_path / "data", 6), out=tmp_path / "out", model=classifier(), shard_size=2)
    (victim,) = (tmp_path / "out" / part).glob("000001.*")
    content = victim.read_bytes()
    victim.unlink()
    if harm != "gone":
        victim.write_bytes(content[:-1] if harm == "cut short" else bytes(len(content)))
    assert load(tmp_path / "out").numbers == (0, 2)


def test_receipts_of_old_that_say_no_sizes_are_checked_by_every_byte(tmp_path: Path) -> None:
    run(small_runs.photos(tmp_path / "data", 4), out=tmp_path / "out", model=classifier(), shard_size=2)
    for path in (tmp_path / "out" / "done").glob("*.json"):
        said = json.loads(path.read_text())
        del said["sizes"]
        path.write_text(json.dumps(said))
    victim = tmp_path / "out" / "maps" / "000001.safetensors"
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    assert load(tmp_path / "out").numbers == (0,)
