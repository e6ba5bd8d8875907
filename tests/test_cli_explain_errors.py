"""`samp explain` when something is wrong: one sentence, exit code 2, nothing half-written."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from cli_runs import TINY, a_photo, refused, started, tiny
from samp import photos


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.jpg"], "nowhere.jpg is not a file"),
        (["nowhere/*.jpg"], "no file matches nowhere/*.jpg"),
        (["--device", "warp"], "device 'warp' cannot be used"),
        (["--target", "siamese cta"], "tiny has no class 'siamese cta': did you mean 'siamese cat'?"),
        (["--target", "crane"], "is the name of classes 3 and 4: give the number"),
        (["--target", "9"], "target 9 is out of range: the model's output goes from 0 to 4"),
        (["--target", "cup", "--top", "2"], "give --target or --top, not both"),
        (["--method", "gradcam", "--eta", "0.1"], "gradcam takes no --eta: it has none of these settings"),
        (["--method", "ig", "--momentum", "0.1"], "ig takes no --momentum: it has --direction, --baseline, --eta."),
        (["--eta", "0"], "eta is a ratio above 0"),
        (["--momentum", "1"], "momentum λ lies from 0 to below 1"),
        (["--baseline", "blak"], "did you mean 'black'?"),
        (["--out", "no/such/folder/x.png"], "the folder no/such/folder does not exist"),
        (["--weights", "nowhere.safetensors"], "nowhere.safetensors is not a file"),
        (["--classes", "nowhere.txt"], "nowhere.txt cannot be read as class names"),
        (["--mean", "1,2,3", "--channels", "grey"], "mean has 3 numbers but grey has 1"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    refused(tiny(*words), sentence)
    assert os.listdir() == []


@pytest.mark.parametrize("words", [["--size", "big"], ["--mean", "1,2"], ["--top", "0"], ["--dtype", "int8"]])
def test_options_that_cannot_be_parsed_exit_with_2(words: list[str]) -> None:
    result = tiny(*words)
    assert result.exit_code == 2
    assert f"Invalid value for '{words[0]}'" in result.output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_where_there_is_none_gets_a_sentence() -> None:
    refused(tiny(a_photo(), "--device", "cuda", "--out", "why.png"), "device 'cuda' cannot be used")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "cannot be read"), (b"hello", "cannot be read"), (None, "cannot be read")],
    ids=["empty", "text", "truncated"],
)
def test_a_file_that_is_no_photo_gets_a_sentence(content: bytes | None, sentence: str) -> None:
    whole = photos.embedded().read_bytes()
    Path("broken.jpg").write_bytes(whole[: len(whole) // 2] if content is None else content)
    result = tiny("broken.jpg", "--out", "why.png")
    assert result.exit_code == 2
    assert f"broken.jpg {sentence}" in result.output
    assert os.listdir() == ["broken.jpg"]


@pytest.mark.parametrize("form", ["png", "html", "npz", "samp"])
def test_a_full_disk_leaves_what_was_there(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    photo, old = a_photo(), Path(f"why.{form}")
    old.write_text("the old one")

    def full(path: Path, *_: Any) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(f"samp.cli.output._{form}", full)
    refused(tiny(photo, "--out", old), f"why.{form} cannot be written (No space left on device)")
    assert old.read_text() == "the old one"
    assert sorted(os.listdir()) == sorted(["photo.png", old.name])


def test_a_folder_that_cannot_be_made_gets_a_sentence() -> None:
    a_photo("in/a.png")
    Path("out").write_text("in the way")
    refused(tiny("in", "--out", "out"), "the folder out cannot be made (File exists)")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
@pytest.mark.parametrize("form", ["png", "samp"])
def test_a_file_that_grows_too_large_is_not_left_behind(form: str) -> None:
    """The operating system itself refuses to write on, in the middle of the file."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    process = started(a_photo(), *TINY, "--out", f"why.{form}", preexec_fn=limit)
    _, errors = process.communicate()
    assert process.returncode == 2, errors
    assert f"why.{form} cannot be written" in errors.splitlines()[-1]
    assert os.listdir() == ["photo.png"]


def test_a_folder_that_may_not_be_written_to_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samp.cli.output.os.access", lambda path, mode: mode != os.W_OK)  # chmod does not stop root
    refused(tiny(a_photo(), "--out", "why.png"), "may not be written to: choose another --out")


def test_an_interrupt_while_writing_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, *_: Any) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("samp.cli.output._png", interrupted)
    result = tiny(a_photo(), "--out", "why.png")
    assert result.exit_code == 130
    assert os.listdir() == ["photo.png"]


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    process = started(a_photo(), *TINY, "--method", "ig")
    assert process.stdout is not None
    process.stdout.close()  # as `| head -0` does
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_leaves_only_whole_files() -> None:
    for number in range(200):
        a_photo(f"in/{number:03}.png")
    process = started("in", "--model", "tiny_nets:slow", "--out", "out")
    deadline = time.monotonic() + 60
    while not list(Path("out").glob("*.png")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1].startswith("samp: interrupted")
    written = list(Path("out").iterdir())
    assert 0 < len(written) < 200
    for path in written:
        Image.open(path).verify()
