"""What was typed wrong is said before torch is imported: here torch cannot be imported at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli_runs import a_photo, assert_refused, run, tiny
from samp import baselines
from samp.cli.option_words import BASELINES
from samp.cli.options import QUALITIES
from samp.methods import consensus, coupled

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from samp.cli import main; main(prog_name='samp')"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def without_torch(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("explain nope.jpg", "nope.jpg is not a file: check its name and folder."),
        ("explain nope/*.jpg", "no file matches nope/*.jpg"),
        ("explain drawing.svg", "drawing.svg is in SVG format, which cannot be read here (a drawing has no pixels"),
        ("explain photo.png --method gradcan", "unknown method 'gradcan': did you mean 'gradcam'?"),
        ("explain photo.png --method Grad-CAM --eta 0.1", "Grad-CAM takes no --eta: it has none of these settings."),
        (
            "explain photo.png --method ig --quality fine",
            "ig takes no --quality: it has --steps, --direction, --",
        ),
        ("explain photo.png --baseline blak", "unknown baseline 'blak': did you mean 'black'?"),
        ("explain photo.png --quality best", "Invalid value for '--quality'"),
        ("explain photo.png --eta 0", "Invalid value for '--eta'"),
        ("explain photo.png --momentum 1", "Invalid value for '--momentum'"),
        ("explain photo.png --target cup --top 2", "give --target or --top, not both"),
        ("explain photo.png --out why.jpg", "--out why.jpg does not end in .png"),
        ("explain photo.png --out photo.png", "photo.png would overwrite a photo"),
        ("explain photo.png --out drawing.svg/x.png", "the folder drawing.svg cannot be made"),
        ("explain photo.png --weights nope.pt", "--weights nope.pt is not a file"),
        ("explain photo.png --classes nope.txt", "--classes nope.txt is not a file"),
        ("compare nope.jpg", "nope.jpg is not a file"),
        ("compare photo.png --methods ig,gradcan", "unknown method 'gradcan': did you mean 'gradcam'?"),
        ("compare photo.png --methods ,", "--methods names no method"),
        ("play nope.jpg", "nope.jpg is not a file"),
        ("play photo.png --method gradcan", "unknown method 'gradcan'"),
        ("run nope --out why", "nope is not there: give a folder, a list (.csv, .parquet) or tars."),
        ("run . --out why --method gradcan", "unknown method 'gradcan'"),
        ("run . --out why --method gradcam --step 3", "gradcam takes no --step"),
    ],
)
def test_a_slip_is_said_without_torch(words: str, sentence: str) -> None:
    a_photo("photo.png")
    Path("drawing.svg").write_text("<svg/>")
    result = without_torch(*words.split())
    assert result.returncode == 2, result.stderr
    assert sentence in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["drawing.svg", "photo.png"]


def test_what_is_right_does_go_on_to_torch() -> None:
    """So that the test above cannot pass by stopping at anything."""
    result = without_torch("explain", str(a_photo()))
    assert "torch" in result.stderr


def test_the_light_lists_are_the_librarys() -> None:
    assert set(BASELINES) == set(baselines.BASELINES)
    assert set(QUALITIES) == set(coupled.QUALITIES) == set(consensus.QUALITIES)


@pytest.mark.parametrize("name", ["new/x.png", "new/and/deep/x.html"])
def test_the_folder_of_one_file_is_made(name: str) -> None:
    result = tiny(a_photo(), "--method", "gradient", "--out", name)
    assert result.exit_code == 0, result.output
    assert Path(name).stat().st_size > 1000


def test_the_folder_of_a_comparison_is_made() -> None:
    words = ["--methods", "gradient,Gradient", "--model", "tiny_nets:classifier", "--out", "new/page.html"]
    result = run("compare", str(a_photo()), *words)
    assert result.exit_code == 0, result.output
    assert Path("new/page.html").is_file()


def test_a_folder_is_not_made_for_a_model_that_cannot_be_loaded() -> None:
    assert_refused(run("explain", str(a_photo()), "--out", "new/x.png", "--model", "no_such:net"), "there is no module")
    assert not Path("new").exists()
