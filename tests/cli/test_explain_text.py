"""`samp explain --text`: a small model of transformers in a folder, on the terminal, as JSON and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import samp
from cli_runs import answer, assert_refused, explain

text_nets = pytest.importorskip("text_nets", reason="needs transformers", exc_type=ImportError)
from text_nets import bert_tokenizer, build, plain_tokenizer  # noqa: E402  # after the skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("classifier")
    labels = {0: "bad", 1: "good", 2: "so so"}
    model = build("BertForSequenceClassification", id2label=labels, label2id={name: n for n, name in labels.items()})
    model.save_pretrained(place)
    bert_tokenizer().save_pretrained(place)
    return f"hf:{place}"


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("causal")
    build("LlamaForCausalLM").save_pretrained(place)
    plain_tokenizer(beginning=True).save_pretrained(place)
    return f"hf:{place}"


def test_numbers_are_those_of_the_library(folder: str) -> None:
    model, tokenizer = samp.text.load(folder)
    texts = ["the film was good", "not bad!"]
    expected = samp.text.explain(model, tokenizer, texts, target="good", groups="words")
    words = [word for text in texts for word in ("--text", text)]
    for one, found in zip(
        expected, answer(explain(*words, "--model", folder, "--target", "good", "--json")), strict=True
    ):
        assert found["features"] == one.record()["features"]
        assert found["target"] == "good"
        assert found["method"].startswith("IG(")
        assert found["fixed"] == ["[CLS]", "[SEP]"]


def test_bars_and_a_page(folder: str, tmp_path: Path) -> None:
    out = tmp_path / "why.html"
    done = explain("--text", "the unhappy film", "--model", folder, "--features", "tokens", "--out", out)
    assert done.exit_code == 0, done.output
    assert "happy" in done.stdout
    assert "\x1b[" not in done.stdout  # it is no terminal
    assert f"written: {out}" in done.stdout
    assert "unhappy" not in done.stdout
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_next_token_against_the_runner_up(causal: str) -> None:
    words = ("--text", "the film was", "--model", causal, "--json", "--baseline", "zero,mean", "--method", "ig")
    (found,) = answer(explain(*words, "--against", "runner-up"))
    assert " rather than " in found["target"]
    assert found["baseline"] == "zero, mean" or found["baseline"] == "mean"
    assert found["method"].startswith("IG(")


def test_a_terminal_gets_colours_unless_asked_not_to(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from samp.cli import explain_text

    monkeypatch.setattr(explain_text, "_has_colours", lambda: True)
    assert "\x1b[" in explain("--text", "the film", "--model", folder).stdout
    monkeypatch.undo()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not explain_text._has_colours()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("photo.png",), "--text goes without photos"),
        (("--top", "2"), "--text goes without photos, --top"),
        (("--weights", "a.pt"), "--weights is for photos"),
        (("--model", "resnet50"), "give --model hf:FOLDER"),
        (("--out", "a.png"), "does not end in .html"),
        (("--baseline", "blurred"), "unknown baseline 'blurred'"),
        (("--method", "gradcam"), "gradcam maps feature channels of images and cannot explain a text"),
        (("--steps", "5"), "give --method too"),
        (("--similar-to", "a", "--target", "good"), "not both"),
        (("--target", "great"), "unknown target 'great'"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder: str, words: tuple[str, ...], sentence: str) -> None:
    model = () if "--model" in words else ("--model", folder)
    done = explain("--text", "the film", *model, *words)
    if "Loading weights" in done.output:  # transformers' own bar
        assert done.exit_code == 2
        assert sentence in done.output
    else:
        assert_refused(done, sentence)


def test_a_model_without_scores_asks_for_another_text(tmp_path: Path) -> None:
    build("BertModel").save_pretrained(tmp_path)
    bert_tokenizer().save_pretrained(tmp_path)
    done = explain("--text", "the film", "--model", f"hf:{tmp_path}")
    assert done.exit_code == 2
    assert "give another text as --similar-to" in done.output
    (found,) = answer(explain("--text", "the film", "--model", f"hf:{tmp_path}", "--similar-to", "the cat", "--json"))
    assert found["target"] == "similarity to 'the cat'"


def test_a_folder_that_is_none_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert_refused(explain("--text", "a", "--model", "hf:no/such-model"), "hf:no/such-model could not be loaded")
