"""`samp explain` on several photos, and with models and settings of the user's."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from cli_runs import a_photo, answer, assert_refused, explain, tiny


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# Several photos.


def test_a_folder_is_explained_into_a_folder_and_bad_files_are_skipped() -> None:
    for name in ("in/a.png", "in/b.png", "in/a.jpg"):
        a_photo(name)
    Path("in/broken.jpg").write_text("no photo")
    result = tiny("in", "--out", "deep/out", "--json")
    assert result.exit_code == 1  # some worked, some did not
    assert sorted(path.name for path in Path("deep/out").iterdir()) == ["a-2.png", "a.png", "b.png"]
    assert "in/broken.jpg cannot be read as an image" in result.stderr
    assert "1 of 4 photos could not be explained" in result.stderr
    told = answer(result)
    assert [fact["photo"] for fact in told] == ["in/a.jpg", "in/a.png", "in/b.png", "in/broken.jpg"]
    assert [fact.get("out") for fact in told] == ["deep/out/a.png", "deep/out/a-2.png", "deep/out/b.png", None]
    assert "cannot be read" in told[-1]["error"]


def test_a_folder_of_one_photo_still_goes_into_a_folder() -> None:
    a_photo("in/a.png")
    for name in ("out", "a folder.html"):  # whose name says nothing of what is in it
        assert tiny("in", "--out", name).exit_code == 0
        assert [path.name for path in Path(name).iterdir()] == ["a.png"]


def test_globs_and_missing_files_go_together() -> None:
    a_photo("a.png")
    Path("empty").mkdir()
    result = tiny("*.png", "nowhere.png", "*.gif", "empty")
    assert result.exit_code == 1
    for sentence in ("nowhere.png is not a file", "no file matches *.gif", "no photos in the folder empty"):
        assert sentence in result.output
    assert os.listdir("explanations") == ["a.png"]


def test_if_no_photo_can_be_read_the_exit_code_is_2() -> None:
    Path("a.jpg").write_text("no photo")
    Path("b.jpg").write_bytes(b"")
    result = tiny("a.jpg", "b.jpg")
    assert result.exit_code == 2
    assert "2 of 2 photos could not be explained" in result.output
    assert os.listdir("explanations") == []


def test_a_photo_whose_file_cannot_be_written_is_skipped() -> None:
    long = "l" * 251  # with .html one letter too many for a file's name
    for name in ("a.png", f"{long}.png", "z.png"):
        a_photo(f"in/{name}")
    result = tiny("in", "--out", "out", "--format", "html", "--json")
    assert result.exit_code == 1, result.output
    assert sorted(os.listdir("out")) == ["a.html", "z.html"]
    assert "1 of 3 photos could not be explained" in result.stderr
    assert [("error" in fact) for fact in answer(result)] == [False, True, False]
    assert answer(result)[1]["error"].count("cannot be written") == 1


def test_a_photo_is_never_overwritten() -> None:
    photo = a_photo("in/a.png")
    before = photo.read_bytes()
    a_photo("in/a.jpg")  # whose sheet would be a.png
    assert_refused(tiny("in", "--out", "in"), "in/a.png would overwrite a photo")
    assert_refused(tiny("in/a.jpg", photo, "--out", "in"), "in/a.png would overwrite a photo")
    assert_refused(tiny(photo, "--out", photo), "in/a.png would overwrite a photo")
    assert photo.read_bytes() == before


def test_names_may_hold_spaces_and_any_letters() -> None:
    result = tiny(a_photo("mé dia/čaj ☕.png"), "--out", "proč ☕.png", "--json")
    assert result.exit_code == 0, result.output
    assert answer(result)[0]["photo"] == "mé dia/čaj ☕.png"
    assert Path("proč ☕.png").is_file()


# Models of the user's.


def test_what_is_assumed_of_a_model_is_said() -> None:
    result = explain(a_photo(), "--model", "tiny_nets:any_size", "--size", "32", "--json")
    assert result.exit_code == 0, result.output
    assert "does not say how it is fed; as for ImageNet: mean (0.485, 0.456, 0.406), std" in result.stderr
    assert "size" not in result.stderr.split("(set by")[1]
    assert answer(result)[0]["class"].startswith("class ")


def test_a_thousand_outputs_are_named_as_imagenet() -> None:
    result = explain(a_photo(), "--model", "tiny_nets:thousand", "--target", "tabby", "--json")
    assert answer(result)[0]["index"] == 281


def test_a_model_of_another_size_gets_a_sentence() -> None:
    result = explain(a_photo(), "--model", "tiny_nets:only_32")
    assert result.exit_code == 2
    assert "cannot be run on 3 channels of 224×224 pixels" in result.output
    assert "set what it takes by --size" in result.output.splitlines()[-1]
    assert explain(a_photo(), "--model", "tiny_nets:only_32", "--size", "32").exit_code == 0


def test_a_model_that_is_no_classifier_gets_a_sentence() -> None:
    assert_refused(
        explain(a_photo(), "--model", "tiny_nets:picture"), "gave (1, 3, 16, 16) for one photo: a classifier gives"
    )


def test_a_model_that_needs_too_much_memory_gets_a_sentence() -> None:
    assert_refused(
        explain(a_photo(), "--model", "tiny_nets:hungry"), "memory ran out with one photo: try a smaller --size"
    )


def test_a_module_in_the_current_folder_is_found() -> None:
    Path("my_own_net.py").write_text(
        "from torch import nn\ndef net(): return nn.Sequential(nn.Flatten(), nn.Linear(48, 2))\n"
    )
    result = explain(a_photo(), "--model", "my_own_net:net", "--size", "4", "--json")
    assert result.exit_code == 0, result.output
    assert answer(result)[0]["model"] == "my_own_net:net"


def test_weights_are_loaded_into_the_users_net() -> None:
    from tiny_nets import only_32

    net = only_32()
    save_file({name: torch.zeros_like(tensor) for name, tensor in net.state_dict().items()}, "zeros.safetensors")
    words = [
        "--model",
        "tiny_nets:only_32",
        "--size",
        "32",
        "--weights",
        "zeros.safetensors",
        "--method",
        "ig",
        "--json",
    ]
    assert answer(explain(a_photo(), *words))[0]["score"] == pytest.approx(np.log(2))  # softplus of nothing


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_the_dtype_reaches_the_net(dtype: str) -> None:
    assert answer(tiny(a_photo(), "--dtype", dtype, "--json"))[0]["dtype"] == f"torch.{dtype}"


def test_fast_is_fast_and_says_so() -> None:
    """Although a progress line would take a hook, which fast calls do not bear."""
    fast, exact = (answer(tiny(a_photo(), "--speed", speed, "--json"))[0] for speed in ("fast", "exact"))
    assert fast["speed"].startswith("fast: ")
    assert exact["speed"] == "exact"
    assert fast["credit"] == pytest.approx(exact["credit"], rel=0.05)
    assert "speed:     fast: " in tiny(a_photo(), "--speed", "fast").stdout


def test_the_seed_and_the_baseline_reach_the_method() -> None:
    words = ["--method", "ig", "--baseline", "uniform", "--json"]
    first, again, other = (answer(tiny(a_photo(), *words, "--seed", seed))[0]["credit"] for seed in ("1", "1", "2"))
    assert first == again != other
    pair = answer(tiny(a_photo(), "--baseline", "white,0.25", "--json"))[0]["method"]
    assert "(Colour(name='white', values=(1.0, 1.0, 1.0)), Constant(value=0.25))" in pair


def test_a_momentum_of_0_is_none_at_all_and_not_the_methods_own() -> None:
    said = answer(tiny(a_photo(), "--method", "samp++", "--momentum", "0", "--json"))[0]["method"]
    assert "momentum=0.0" in said


@pytest.mark.parametrize(
    ("model", "kind"),
    [("sigmoid", "score"), ("one_sigmoid", "score"), ("softmax", "probability"), ("both_signs", "logit")],
)
def test_a_score_is_called_what_it_is_known_to_be(model: str, kind: str) -> None:
    result = explain(a_photo(), "--model", f"tiny_nets:{model}", "--size", "8", "--json")
    assert answer(result)[0]["score_is"] == kind


@pytest.mark.parametrize("model", ["in_a_dict", "in_a_pair"])
def test_scores_among_other_outputs_are_found(model: str) -> None:
    result = explain(a_photo(), "--model", f"tiny_nets:{model}", "--size", "8", "--json")
    assert result.exit_code == 0, result.output
    assert answer(result)[0]["class"].startswith("class ")
