"""`samp explain` when something is wrong: one sentence, exit code 2, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors import SafetensorError

from cli_runs import PATIENCE, TINY, a_photo, assert_refused, start_command, tiny, wait_until
from samp import images as photos
from samp.atomic import UnwritableError, atomic_write
from samp.extras import install_command


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.jpg"], "nowhere.jpg is not a file: check its name and folder."),
        (["nowhere/*.jpg"], "no file matches nowhere/*.jpg: check the pattern and the folder it starts from."),
        (["--device", "warp"], "device 'warp' cannot be used"),
        (["--device", "meta"], "device 'meta' cannot be used"),
        (["--size", "1000000"], "a size is from 1 to 8,192 pixels, not 1000000: give what the model takes."),
        (["--size", "0,16"], "a size is from 1 to 8,192 pixels, not (0, 16)"),
        (["--target", "siamese cta"], "tiny has no class 'siamese cta': did you mean 'Siamese cat' (1)?"),
        (["--target", "cat"], "tiny has no class 'cat': did you mean 'Siamese cat' (1)?"),
        (["--target", "crane"], "is the name of classes 3 and 4: give the number"),
        (["--target", "9"], "target 9 is out of range: the model's output goes from 0 to 4"),
        (["--against", "cat"], "tiny has no class 'cat': did you mean 'Siamese cat' (1)?"),
        (["--target", "cup", "--against", "0"], "'cup' (0) is the class to explain and cannot be told from itself"),
        (["--target", "cup", "--top", "2"], "give --target or --top, not both"),
        (["--method", "gradcam", "--eta", "0.1"], "gradcam takes no --eta: it has none of these settings"),
        (
            ["--method", "ig", "--momentum", "0.1"],
            "ig takes no --momentum: it has --steps, --direction, --baseline, --eta.",
        ),
        (["--eta", "0.1"], "consensus takes no --eta: it has --quality, --walks, --steps, --noise, --direction,"),
        (["--method", "coupled", "--walks", "2"], "coupled takes no --walks: it has --quality, --steps, --direction,"),
        (
            ["--method", "ig", "--quality", "fine"],
            "ig takes no --quality: it has --steps, --direction, --baseline, --eta.",
        ),
        (
            ["--baseline", "blak"],
            "did you mean 'black'? The known ones are black, zero, white, uniform, gaussian, blurred.",
        ),
        (["--groups", "tiles:3"], "--groups tiles:3: give superpixels:N or patches:N with a whole number N"),
        (["--groups", "patches:0"], "--groups patches:0: give superpixels:N or patches:N"),
        (["--groups", "superpixels"], "--groups superpixels: give superpixels:N or patches:N"),
        (["--weights", "nowhere.safetensors"], "nowhere.safetensors is not a file"),
        (["--classes", "nowhere.txt"], "--classes nowhere.txt is not a file"),
        (["--mean", "1,2,3", "--channels", "grey"], "mean has 3 numbers but grey has 1"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    assert_refused(tiny(*words), sentence)
    assert os.listdir() == []


@pytest.mark.parametrize(
    "words",
    [
        ["--size", "big"],
        ["--mean", "1,2"],
        ["--top", "0"],
        ["--dtype", "int8"],
        ["--quality", "best"],
        ["--eta", "0"],
        ["--momentum", "1"],
        ["--step", "0"],
    ],
)
def test_options_that_cannot_be_parsed_exit_with_2(words: list[str]) -> None:
    result = tiny(*words)
    assert result.exit_code == 2
    assert f"Invalid value for '{words[0]}'" in result.output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_where_there_is_none_gets_a_sentence() -> None:
    assert_refused(tiny(a_photo(), "--device", "cuda", "--out", "why.png"), "device 'cuda' cannot be used")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "cannot be read"), (b"hello", "cannot be read"), (None, "cannot be read")],
    ids=["empty", "text", "truncated"],
)
def test_a_file_that_is_no_photo_gets_a_sentence(content: bytes | None, sentence: str) -> None:
    whole = photos.example_photo().read_bytes()
    Path("broken.jpg").write_bytes(whole[: len(whole) // 2] if content is None else content)
    result = tiny("broken.jpg", "--out", "why.png")
    assert result.exit_code == 2
    assert f"broken.jpg {sentence}" in result.output
    assert os.listdir() == ["broken.jpg"]


@pytest.mark.parametrize("form", ["png", "html", "npz", "samp"])
def test_a_full_disk_leaves_what_was_there(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    photo, old = a_photo(), Path(f"why.{form}")
    old.write_text("the old one")

    def full(*given: Any) -> None:
        path = next(one for one in given if isinstance(one, Path))
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    result = tiny(photo, "--out", old)
    assert_refused(result, f"why.{form} cannot be written (No space left on device)")
    assert result.output.count("cannot be written") == 1
    assert ".part" not in result.output
    assert old.read_text() == "the old one"
    assert sorted(os.listdir()) == sorted(["photo.png", old.name])


def test_a_full_disk_ends_it_before_the_next_photo(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    photos = a_photo("a.png"), a_photo("b.png")
    monkeypatch.setattr(Path, "write_bytes", full)
    assert_refused(tiny(*photos), "explanations/a.png cannot be written (No space left on device)")


@pytest.mark.parametrize(
    ("message", "full"),
    [("I/O error: No space left on device (os error 28)", True), ("I/O error: File too large (os error 27)", False)],
)
def test_a_full_disk_is_known_by_what_safetensors_says(message: str, full: bool) -> None:
    with pytest.raises(UnwritableError, match="cannot be written") as caught, atomic_write(Path("why.samp")):
        raise SafetensorError(message)
    assert caught.value.full is full


def test_a_decompression_bomb_is_refused_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    photo = a_photo()
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert_refused(tiny(photo, "--out", "why.png"), "photo.png has more than 200 pixels: make it smaller first.")
    assert os.listdir() == ["photo.png"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names of any bytes")
def test_a_name_that_is_no_text_is_told_in_letters() -> None:
    name = os.fsdecode(b"caf\xe9.png")
    Path(name).write_text("no photo")
    result = tiny(name, "--json")
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert told["error"].startswith("caf\N{REPLACEMENT CHARACTER}.png cannot be read as an image")
    json.dumps(told, ensure_ascii=False).encode()  # no half of a letter


def test_without_scikit_image_lime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)  # as if it were not installed
    assert_refused(tiny(a_photo(), "--method", "lime"), install_command("compare"))


def test_a_file_of_nearly_the_same_name_is_offered() -> None:
    a_photo("holiday.png")
    assert_refused(
        tiny("holidya.png"), "holidya.png is not a file: check its name and folder (did you mean holiday.png?)."
    )


def test_a_folder_that_cannot_be_made_gets_a_sentence() -> None:
    a_photo("in/a.png")
    Path("out").write_text("in the way")
    assert_refused(tiny("in", "--out", "out"), "the folder out cannot be made (out is not a folder)")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
@pytest.mark.parametrize("form", ["png", "samp"])
def test_a_file_that_grows_too_large_is_not_left_behind(form: str) -> None:
    """The operating system itself refuses to write on, in the middle of the file."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    process = start_command(a_photo(), *TINY, "--out", f"why.{form}", preexec_fn=limit)
    _, errors = process.communicate()
    assert process.returncode == 2, errors
    assert f"why.{form} cannot be written" in errors.splitlines()[-1]
    assert os.listdir() == ["photo.png"]


def test_a_folder_that_may_not_be_written_to_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samp.cli.output.os.access", lambda path, mode: mode != os.W_OK)  # chmod does not stop root
    assert_refused(tiny(a_photo(), "--out", "why.png"), "may not be written to: choose another --out")


def test_an_interrupt_while_writing_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, *_: Any) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    photo = a_photo()
    monkeypatch.setattr(Path, "write_bytes", interrupted)
    result = tiny(photo, "--out", "why.png")
    assert result.exit_code == 130
    assert os.listdir() == ["photo.png"]


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    process = start_command(a_photo(), *TINY, "--method", "ig")
    assert process.stdout is not None
    process.stdout.close()  # as `| head -0` does
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_leaves_only_whole_files() -> None:
    for number in range(200):
        a_photo(f"in/{number:03}.png")
    process = start_command("in", "--model", "tiny_nets:slow", "--out", "out")
    wait_until(lambda: list(Path("out").glob("*.png")), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1].startswith("samp: interrupted")
    written = list(Path("out").iterdir())
    assert 0 < len(written) < 200
    for path in written:
        Image.open(path).verify()
