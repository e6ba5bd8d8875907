"""The lock of a run's folder: one run at a time, and nobody else's file is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samp.batch import run
from samp.batch.lock import NAME, lock_folder
from small_runs import classifier


def test_a_lock_of_another_program_keeps_its_content(data: Path, out: Path) -> None:
    out.mkdir()
    for name in (".lock", NAME):
        (out / name).write_text("pid 4711")
    assert run(data, out=out, model=classifier()).code == 0
    assert [(out / name).read_text() for name in (".lock", NAME)] == ["pid 4711"] * 2


def test_a_link_in_the_place_of_the_lock_is_not_followed(data: Path, out: Path, tmp_path: Path) -> None:
    out.mkdir()
    precious, unmade = tmp_path / "precious.txt", tmp_path / "unmade.txt"
    precious.write_text("mine")
    for target in (precious, unmade):
        (out / NAME).unlink(missing_ok=True)
        (out / NAME).symlink_to(target)
        with pytest.raises(OSError, match=r"samp-run\.lock is a link, where a run keeps its lock: remove it"):
            run(data, out=out, model=classifier())
    assert precious.read_text() == "mine"
    assert not unmade.exists()


def test_a_pipe_in_the_place_of_the_lock_is_refused_rather_than_waited_for(data: Path, out: Path) -> None:
    out.mkdir()
    os.mkfifo(out / NAME)
    with pytest.raises(OSError, match="is not a file, where a run keeps its lock"):
        run(data, out=out, model=classifier())


def test_a_folder_can_be_locked_again_once_it_was_let_go(tmp_path: Path) -> None:
    for _ in range(2):
        with (
            lock_folder(tmp_path),
            pytest.raises(ValueError, match="another run is writing into"),
            lock_folder(tmp_path),
        ):
            pass
