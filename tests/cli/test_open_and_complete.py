"""`--open` shows what was written where there is a screen; shells complete values of options without torch."""

from __future__ import annotations

import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from cli_runs import a_photo, assert_refused, run, tiny
from samp.cli.opening import has_screen

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from samp.cli import main; main(prog_name='samp')"
QUICK = ["--method", "gradientxinput"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to open, on a machine with a screen."""
    addresses: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(addresses.append(address)) or True)
    return addresses


def test_the_page_is_opened_if_asked_alone(opened: list[str]) -> None:
    photo = str(a_photo(Path("photo.png")))
    assert tiny(photo, "--out", "a b.html", *QUICK).exit_code == 0
    assert opened == []
    result = tiny(photo, "--out", "a b.html", "--open", *QUICK)
    assert result.exit_code == 0, result.output
    assert opened == [Path("a b.html").resolve().as_uri()]


def test_without_a_screen_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail("opened"))
    photo = str(a_photo(Path("photo.png")))
    result = tiny(photo, "--out", "why.html", "--open", *QUICK)
    assert result.exit_code == 0
    assert "there is no screen here, so nothing was opened: copy why.html" in result.stderr
    monkeypatch.setenv("BROWSER", "w3m")
    assert has_screen()


def test_a_browser_that_does_not_start_is_one_sentence(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    photo = str(a_photo(Path("photo.png")))
    result = tiny(photo, "--out", "why.html", "--open", *QUICK)
    assert result.exit_code == 0
    assert "no browser was found: open why.html yourself" in result.stderr


def test_what_no_browser_shows_is_refused_before_anything_is_done(opened: list[str]) -> None:
    photo = str(a_photo(Path("photo.png")))
    refused = tiny(photo, "--out", "why.npz", "--open")
    assert_refused(refused, "a browser cannot show .npz files: leave out --open")
    assert not Path("why.npz").exists()


def complete(*words: str, kind: str = "bash") -> list[str]:
    """What a shell is offered for the last of these words, by samp without torch."""
    typed = {"COMP_WORDS": " ".join(("samp", *words)), "COMP_CWORD": str(len(words))}
    asked = {**os.environ, "_SAMP_COMPLETE": f"{kind}_complete", **typed}
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], env=asked, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("explain --method gradc", ["plain,gradcam", "plain,gradcam++"]),
        ("run --method gradc", ["plain,gradcam", "plain,gradcam++"]),
        ("play --model m", ["plain,mobilenet_v2"]),
        ("explain --model nets/", ["file,nets/"]),
        ("explain --baseline bl", ["plain,black", "plain,blurred"]),
        ("explain --groups s", ["plain,superpixels:"]),
        ("run --labels f", ["plain,folder-names"]),
        ("explain --quality d", ["plain,draft"]),
        ("report --ga", ["plain,--gallery"]),
        ("compare --methods ig,gradcam+", ["plain,ig,gradcam++"]),
    ],
)
def test_values_are_completed_without_torch(words: str, offered: list[str]) -> None:
    assert complete(*words.split(" ")) == offered


def test_models_that_are_completed_are_those_that_there_are() -> None:
    from samp import models
    from samp.cli.complete import MODELS

    assert all(callable(getattr(models, name)) for name in MODELS)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_the_script(shell: str) -> None:
    """The shell itself parses it; without the shell there is nothing to try."""
    import shutil

    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    script = run("completion", shell).output
    flag = "--no-execute" if shell == "fish" else "-n"
    parsed = subprocess.run([shell, flag], input=script, capture_output=True, text=True, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")
    lines = complete("explain", "--method", "gradc", kind=shell) if shell == "zsh" else []
    assert "gradcam" in lines or shell == "fish"
