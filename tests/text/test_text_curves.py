"""Deletion and Insertion of texts, checked by running the model on the masked texts themselves."""

from __future__ import annotations

import pytest
import torch

import samp

text_nets = pytest.importorskip("text_nets", reason="needs transformers", exc_type=ImportError)
from text_nets import SENTENCES, Bag, bert_tokenizer, build, plain_tokenizer  # noqa: E402  # after the skip

MASK = 4


def test_curves_are_the_scores_of_texts_with_words_masked_by_hand() -> None:
    model, tokenizer = build("BertForSequenceClassification"), bert_tokenizer()
    result = samp.text.explain(model, tokenizer, SENTENCES[2], target=2)
    [curves] = samp.text.deletion_insertion(model, tokenizer, result, normalise=None)
    ids = torch.tensor(tokenizer(SENTENCES[2])["input_ids"])
    order = (1 + result.scores.argsort(descending=True)).tolist()  # [CLS] comes first
    deleted, inserted = ids.clone(), ids.clone()
    inserted[1:-1] = MASK
    texts = [(deleted.clone(), inserted.clone())]
    for place in order:
        deleted[place], inserted[place] = MASK, ids[place]
        texts.append((deleted.clone(), inserted.clone()))
    with torch.no_grad():
        down, up = (model(torch.stack(rows)).logits[:, 2] for rows in zip(*texts, strict=True))
    torch.testing.assert_close(curves.deletion_curve[0], down, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(curves.insertion_curve[0], up, atol=1e-5, rtol=1e-5)
    assert float(curves.deletion) == pytest.approx(float(down.mean()), abs=1e-5)


def test_words_go_as_a_whole() -> None:
    model, tokenizer = build("BertForSequenceClassification"), bert_tokenizer()
    result = samp.text.explain(model, tokenizer, "the unhappy cat", target=0, groups="words")
    [curves] = samp.text.deletion_insertion(model, tokenizer, result, normalise=None)
    assert curves.deletion_curve.shape == (1, 4)
    first = int(result.scores.argmax())
    ids = torch.tensor([tokenizer("the unhappy cat")["input_ids"]])
    for place in {0: [1], 1: [2, 3], 2: [4]}[first]:
        ids[0, place] = MASK
    with torch.no_grad():
        assert float(curves.deletion_curve[0, 1]) == pytest.approx(float(model(ids).logits[0, 0]), abs=1e-5)


def test_a_linear_model_by_hand() -> None:
    """Scores 1, 3, 2 of three words: deleting by credit leaves 6, 3, 1, 0 of 6, and inserting gives 0, 3, 5, 6."""
    net = torch.nn.Sequential(torch.nn.Embedding(4, 1), torch.nn.Flatten(), torch.nn.Linear(3, 1, bias=False)).eval()
    net[0].weight.data = torch.tensor([[0.0], [1.0], [3.0], [2.0]])
    net[2].weight.data.fill_(1.0)

    def encode(text: str) -> samp.text.Encoded:
        return samp.text.Encoded(text, [int(word) for word in text.split()], text.split(), [False] * 3, pad_id=0)

    result = samp.text.explain(net, encode, "1 2 3", method="ig")
    assert result.scores.tolist() == pytest.approx([1.0, 3.0, 2.0], abs=1e-5)
    [curves] = samp.text.deletion_insertion(net, encode, result)
    assert curves.deletion_curve[0].tolist() == pytest.approx([1, 0.5, 1 / 6, 0], abs=1e-5)
    assert curves.insertion_curve[0].tolist() == pytest.approx([0, 0.5, 5 / 6, 1], abs=1e-5)


def test_the_explained_target_is_judged() -> None:
    model, tokenizer = build("BertForSequenceClassification"), bert_tokenizer()
    results = samp.text.explain(model, tokenizer, SENTENCES, target=[2, 0, 1], against=[1, 1, 0])
    for one, curves in zip(
        results, samp.text.deletion_insertion(model, tokenizer, results, normalise=None), strict=True
    ):
        assert float(curves.deletion_curve[0, 0]) == pytest.approx(one.score, abs=1e-4)
        assert float(curves.deletion_curve[0, -1]) == pytest.approx(one.baseline_score, abs=1e-4)


@pytest.mark.parametrize("against", [None, "runner-up", 9])
def test_the_explained_token_and_position_are_judged(against: str | int | None) -> None:
    model, tokenizer = build("BertForMaskedLM"), bert_tokenizer()
    results = samp.text.explain(model, tokenizer, SENTENCES, position=2, against=against)
    judged = samp.text.deletion_insertion(model, tokenizer, results, normalise=None)
    for one, curves in zip(results, judged, strict=True):
        assert one.position == 2
        assert float(curves.deletion_curve[0, 0]) == pytest.approx(one.score, abs=1e-4)
        assert float(curves.deletion_curve[0, -1]) == pytest.approx(one.baseline_score, abs=1e-4)
    one = results[0]
    [of_seven] = samp.text.deletion_insertion(model, tokenizer, one, target=7, normalise=None)
    [elsewhere] = samp.text.deletion_insertion(model, tokenizer, one, target=7, position=1, normalise=None)
    with torch.no_grad():
        scores = model(torch.tensor([tokenizer(one.text)["input_ids"]])).logits[0, :, 7]
    assert float(of_seven.deletion_curve[0, 0]) == pytest.approx(float(scores[2]), abs=1e-4)
    assert float(elsewhere.deletion_curve[0, 0]) == pytest.approx(float(scores[1]), abs=1e-4)


def test_a_position_of_a_causal_model_is_judged() -> None:
    model, tokenizer = build("GPT2LMHeadModel"), plain_tokenizer()
    one = samp.text.explain(model, tokenizer, "the film was good", position=1)
    [curves] = samp.text.deletion_insertion(model, tokenizer, one, normalise=None)
    assert float(curves.deletion_curve[0, 0]) == pytest.approx(one.score, abs=1e-4)


def test_what_cannot_be_judged_is_refused() -> None:
    net, tokenizer = Bag().eval(), bert_tokenizer()
    result = samp.text.explain(net, tokenizer, "the film", target=lambda output: output[:, 0])
    with pytest.raises(ValueError, match="explains a function"):
        samp.text.deletion_insertion(net, tokenizer, result)
    samp.text.deletion_insertion(net, tokenizer, result, target=0)
    with pytest.raises(TypeError, match=r"results are those of samp\.text\.explain"):
        samp.text.deletion_insertion(net, tokenizer, torch.ones(2))  # type: ignore[arg-type]  # the point
