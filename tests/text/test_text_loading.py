"""Text models from folders: whole checkpoints only, with a tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import samp

text_nets = pytest.importorskip("text_nets", reason="needs transformers", exc_type=ImportError)
from text_nets import bert_tokenizer, build  # noqa: E402  # after the skip


def save(kind: str, place: Path, without: str = "nothing") -> str:
    """Save a model and its tokenizer, but for the weights whose names begin with `without`."""
    build(kind).save_pretrained(place)
    bert_tokenizer().save_pretrained(place)
    file = place / "model.safetensors"
    weights = {name: weight for name, weight in load_file(file).items() if not name.startswith(without)}
    save_file(weights, file, metadata={"format": "pt"})
    return f"hf:{place}"


@pytest.mark.parametrize(
    "kind", ["BertForSequenceClassification", "BertForMaskedLM", "BertModel", "GPT2LMHeadModel", "LlamaForCausalLM"]
)
def test_a_whole_checkpoint_is_the_model_that_was_saved(kind: str, tmp_path: Path) -> None:
    model, tokenizer = samp.text.load(save(kind, tmp_path))
    saved = build(kind).state_dict()
    assert all(bool((saved[name] == weight).all()) for name, weight in model.state_dict().items())
    assert tokenizer("the film").input_ids == bert_tokenizer()("the film").input_ids


@pytest.mark.parametrize("lost", ["classifier", "bert.pooler", "bert.encoder.layer.1"])
def test_a_checkpoint_without_some_weights_is_refused(lost: str, tmp_path: Path) -> None:
    folder = save("BertForSequenceClassification", tmp_path, without=lost)
    with pytest.raises(ValueError, match=rf"its checkpoint lacks {lost}\S* and \d+ more, which would be random"):
        samp.text.load(folder)


def test_an_encoder_needs_no_pooler(tmp_path: Path) -> None:
    model, tokenizer = samp.text.load(save("BertModel", tmp_path, without="pooler"))
    result = samp.text.explain(model, tokenizer, "the film", target=samp.text.Similarity("the cat"))
    assert abs(result.residual) < 1e-5
