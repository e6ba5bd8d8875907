"""`samp explain --text`: a small model of transformers in a folder, on the terminal, as JSON and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import samp
from cli_runs import a_photo, answer, assert_refused, explain
from samp.cli.explain_text import HINT

text_nets = pytest.importorskip("text_nets", reason="needs transformers", exc_type=ImportError)
from text_nets import bert_tokenizer, build, plain_tokenizer, transformers  # noqa: E402  # after the skip


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


def test_of_a_language_model_the_command_names_the_method_to_trust(folder: str, causal: str) -> None:
    words = ("--text", "the film was", "--text", "the film", "--json", "--baseline", "zero")
    hints = []
    for more in (("--model", causal), ("--model", causal, "--method", "samp"), ("--model", folder)):
        done = explain(*words, *more)
        assert done.exit_code == 0, done.output
        hints.append(done.stderr.count(f"{HINT}\n"))
    assert hints == [1, 0, 0]


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


def test_a_net_that_reads_no_text_is_named(tmp_path: Path) -> None:
    vit = transformers.ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=8, patch_size=4)
    transformers.ViTForImageClassification(vit).save_pretrained(tmp_path)
    refused = explain("--text", "a", "--model", f"hf:{tmp_path}")
    assert_refused(refused, "is ViTForImageClassification, which takes pixel_values and no text: give a text model.")


def test_a_photo_is_no_question_to_a_text_model(folder: str, tmp_path: Path) -> None:
    photo = a_photo(tmp_path / "photo.png")
    assert_refused(explain(photo, "--model", folder), "is no image classifier but BertForSequenceClassification")


@pytest.mark.parametrize("kind", ["BertForSequenceClassification", "GPT2LMHeadModel", "LlamaForCausalLM"])
def test_a_folder_without_a_tokenizer_says_so(kind: str, tmp_path: Path) -> None:
    build(kind).save_pretrained(tmp_path)  # transformers makes a tokenizer of special tokens for some of these
    assert_refused(explain("--text", "a", "--model", f"hf:{tmp_path}"), "has no tokenizer that transformers can read")


def test_an_empty_text_to_compare_with_is_refused(folder: str) -> None:
    assert_refused(explain("--text", "a", "--similar-to", " ", "--model", folder), "--similar-to is empty")
