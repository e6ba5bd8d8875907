"""What of a text model is explained: classes, tokens, margins, positions, similarities and functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.text.text_targets import Answers

text_nets = pytest.importorskip("text_nets", reason="needs transformers", exc_type=ImportError)
from text_nets import SENTENCES, Bag, bert_tokenizer, build, plain_tokenizer  # noqa: E402  # after the skip

CLASSIFIER = "BertForSequenceClassification"


@torch.no_grad()
def next_scores(model: Any, tokenizer: Any, text: str) -> Tensor:
    scores: Tensor = model(torch.tensor([tokenizer(text)["input_ids"]])).logits[0, -1]
    return scores


@pytest.mark.parametrize("kind", ["GPT2LMHeadModel", "LlamaForCausalLM"])
def test_the_most_likely_next_token_is_explained(kind: str) -> None:
    model, tokenizer = build(kind), plain_tokenizer()
    for one in samp.text.explain(model, tokenizer, SENTENCES):
        scores = next_scores(model, tokenizer, one.text)
        best = int(scores.argmax())
        assert one.details["target"][one.sample] == best
        assert one.target == repr(tokenizer.decode([best]))
        assert one.score == pytest.approx(float(scores[best]), abs=1e-4)
        assert one.answers[0][1] == pytest.approx(float(scores.softmax(0)[best]), abs=1e-5)


def test_a_token_is_named_by_its_text_or_number() -> None:
    model, tokenizer = build("GPT2LMHeadModel"), plain_tokenizer()
    number = tokenizer.convert_tokens_to_ids("cat")
    by_text = samp.text.explain(model, tokenizer, "the film", target="cat")
    by_number = samp.text.explain(model, tokenizer, "the film", target=number)
    assert by_text.target == by_number.target == "'cat'"
    assert torch.equal(by_text.scores, by_number.scores)
    assert by_text.score == pytest.approx(float(next_scores(model, tokenizer, "the film")[number]), abs=1e-5)
    with pytest.raises(ValueError, match=r"'the cat' is 2 tokens, \['the', 'cat'\]: give one token"):
        samp.text.explain(model, tokenizer, "the film", target="the cat")
    with pytest.raises(ValueError, match="target 64 is out of range: the model's scores go from 0 to 63"):
        samp.text.explain(model, tokenizer, "the film", target=64)


def test_the_margin_to_the_runner_up() -> None:
    model, tokenizer = build("GPT2LMHeadModel"), plain_tokenizer()
    best, second = next_scores(model, tokenizer, "the film").topk(2)[0].tolist()
    first, runner_up = next_scores(model, tokenizer, "the film").topk(2)[1].tolist()
    result = samp.text.explain(model, tokenizer, "the film", against="runner-up")
    assert result.score == pytest.approx(best - second, abs=1e-4)
    assert " rather than " in result.target
    margin = samp.text.explain(model, tokenizer, "the film", target=samp.Margin(first, against=runner_up))
    assert torch.equal(result.scores, margin.scores)
    with pytest.raises(ValueError, match="both are"):
        samp.text.explain(model, tokenizer, "the film", target=first, against=first)


def test_the_last_token_counts_also_where_shorter_texts_are_padded() -> None:
    model, tokenizer = build("LlamaForCausalLM"), plain_tokenizer()
    for one in samp.text.explain(model, tokenizer, SENTENCES, target=5):
        assert one.score == pytest.approx(float(next_scores(model, tokenizer, one.text)[5]), abs=1e-4)


def test_classes_are_named_as_in_the_config() -> None:
    labels = {0: "bad", 1: "good", 2: "so so"}
    model = build(CLASSIFIER, id2label=labels, label2id={name: number for number, name in labels.items()})
    by_name = samp.text.explain(model, bert_tokenizer(), SENTENCES[0], target="good")
    by_number = samp.text.explain(model, bert_tokenizer(), SENTENCES[0], target=1)
    assert by_name.target == "good"
    assert torch.equal(by_name.scores, by_number.scores)
    with pytest.raises(ValueError, match=r"unknown target 'goood'.*good"):
        samp.text.explain(model, bert_tokenizer(), SENTENCES[0], target="goood")
    with pytest.raises(ValueError, match="no names of classes"):
        samp.text.explain(Bag().eval(), bert_tokenizer(), SENTENCES[0], target="good")


def test_each_text_may_have_a_target_of_its_own() -> None:
    model = build(CLASSIFIER)
    each = samp.text.explain(model, bert_tokenizer(), SENTENCES, target=[2, 0, 1])
    for text, target, one in zip(SENTENCES, [2, 0, 1], each, strict=True):
        alone = samp.text.explain(model, bert_tokenizer(), text, target=target)
        torch.testing.assert_close(one.scores, alone.scores, atol=2e-5, rtol=1e-3)
    with pytest.raises(ValueError, match="2 targets for 3 texts"):
        samp.text.explain(model, bert_tokenizer(), SENTENCES, target=[0, 1])


def test_a_masked_model_is_explained_at_its_mask() -> None:
    model, tokenizer = build("BertForMaskedLM"), bert_tokenizer()
    result = samp.text.explain(model, tokenizer, "the [MASK] was good", target="film")
    with torch.no_grad():
        scores = model(**tokenizer("the [MASK] was good", return_tensors="pt")).logits[0, 2]
    assert result.score == pytest.approx(float(scores[tokenizer.convert_tokens_to_ids("film")]), abs=1e-5)
    assert result.tokens == ("the", "was", "good")
    assert result.fixed == ("[CLS]", "[MASK]", "[SEP]")
    with pytest.raises(ValueError, match=r"answers for each token: pass position=…"):
        samp.text.explain(model, tokenizer, "the film was good")
    with pytest.raises(ValueError, match="position 9 is outside of the text, which has 6 tokens"):
        samp.text.explain(model, tokenizer, "the film was good", position=9)
    with pytest.raises(ValueError, match="leave out `position`"):
        samp.text.explain(build(CLASSIFIER), tokenizer, "the film was good", position=1)


def test_a_similarity_is_the_cosine_of_mean_states() -> None:
    model, tokenizer = build("BertModel"), bert_tokenizer()
    similar = samp.text.Similarity("the cat was sleeping")
    results = samp.text.explain(model, tokenizer, SENTENCES, target=similar)

    @torch.no_grad()
    def mean_state(text: str) -> Tensor:
        state: Tensor = model(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0].mean(0)
        return state

    for one in results:
        expected = torch.cosine_similarity(mean_state(one.text), mean_state(similar.text), dim=0)
        assert one.score == pytest.approx(float(expected), abs=1e-5)
        assert abs(one.residual) < 1e-6
    assert len({id(one.attribution) for one in results}) == 1  # in one batch: the mean leaves out padding


def test_a_model_without_scores_says_what_to_pass() -> None:
    with pytest.raises(TypeError, match=r"without scores \(logits\): pass target=samp.text.Similarity"):
        samp.text.explain(build("BertModel"), bert_tokenizer(), "the film")
    with pytest.raises(TypeError, match="without hidden states"):
        samp.text.explain(build(CLASSIFIER), bert_tokenizer(), "the film", target=samp.text.Similarity("the cat"))


def test_a_function_gets_the_whole_output_and_the_numbers_of_texts() -> None:
    model, tokenizer = build("BertModel"), bert_tokenizer()
    axes = torch.tensor([3, 5, 7])

    def state(output: Any, samples: Tensor) -> Tensor:
        pooled: Tensor = output.last_hidden_state.mean(1)
        return pooled[range(len(samples)), axes[samples]]

    for number, one in enumerate(samp.text.explain(model, tokenizer, SENTENCES, target=state)):
        with torch.no_grad():
            hidden = model(torch.tensor([tokenizer(one.text)["input_ids"]])).last_hidden_state
        assert one.score == pytest.approx(float(hidden.mean(1)[0, axes[number]]), abs=1e-5)
        assert abs(one.residual) < 1e-5


def test_the_end_of_a_text_is_found_by_a_classifier_of_the_gpt_kind() -> None:
    model, tokenizer = build("GPT2ForSequenceClassification", num_labels=3, pad_token_id=63), plain_tokenizer()
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    model.config.pad_token_id = tokenizer.pad_token_id
    for one in samp.text.explain(model, tokenizer, SENTENCES, target=1):
        with torch.no_grad():
            expected = model(torch.tensor([tokenizer(one.text)["input_ids"]])).logits[0, 1]
        assert one.score == pytest.approx(float(expected), abs=1e-4)
        assert abs(one.residual) < 1e-5


class Prompt(nn.Module):
    """A language model that puts vectors of its own before a text, or gives the scores of its last token alone."""

    def __init__(self, own: int, last: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.start, self.last = nn.Embedding(64, 6), nn.Parameter(torch.randn(1, own, 6)), last
        self.read, self.score = nn.GRU(6, 6, batch_first=True), nn.Linear(6, 64)

    def forward(self, input_ids: Tensor) -> Tensor:
        x = torch.cat([self.start.expand(len(input_ids), -1, -1), self.words(input_ids)], 1)
        scores: Tensor = self.score(self.read(x)[0])
        return scores[:, -1:] if self.last else scores

    def can_generate(self) -> bool:
        return True


def test_scores_of_other_tokens_than_those_of_the_text_are_refused() -> None:
    tokenizer = plain_tokenizer()
    with pytest.raises(ValueError, match="scores for 6 tokens of a text of 4"):
        samp.text.explain(Prompt(2).eval(), tokenizer, "the film was good", target=3)
    with pytest.raises(ValueError, match="scores for 1 tokens of a text of 4"):
        samp.text.explain(Prompt(0, last=True).eval(), tokenizer, "the film was good", target=3)
    net = Prompt(0).eval()
    one = samp.text.explain(net, tokenizer, "the film was good", target=3)
    with torch.no_grad():
        expected = net(torch.tensor([tokenizer("the film was good")["input_ids"]]))[0, -1, 3]
    assert one.score == pytest.approx(float(expected), abs=1e-6)


class Returns(Bag):
    """Returns what the given function makes of its tokens' embeddings (b l e) and its scores (b k)."""

    def __init__(self, pack: Any) -> None:
        super().__init__()
        self.pack = pack

    def forward(self, numbers: Tensor) -> Any:
        embedded = self.words(numbers)
        return self.pack(embedded, self.score(self.hidden(embedded.mean(1)).tanh()))


def test_scores_are_found_in_packed_outputs_or_refused() -> None:
    tokenizer, text = bert_tokenizer(), "the film"
    plain = samp.text.explain(Bag().eval(), tokenizer, text, target=1)
    for pack in (
        lambda states, scores: {"out": scores},
        lambda states, scores: {"last_hidden_state": states, "logits": scores},
        lambda states, scores: (scores, None, (states,)),
    ):
        assert torch.equal(samp.text.explain(Returns(pack).eval(), tokenizer, text, target=1).scores, plain.scores)
    for pack, words in (
        (lambda states, scores: (states, scores), "without scores"),
        (lambda states, scores: (states.mean(1), scores), "which of them holds the scores"),
        (lambda states, scores: {"last_hidden_state": states}, "without scores"),
        (lambda states, scores: {"pooler_output": scores}, "without scores"),
        (lambda states, scores: "text", "returns str, not a tensor"),
    ):
        with pytest.raises(TypeError, match=words):
            samp.text.explain(Returns(pack).eval(), tokenizer, text, target=1, position=0)


@pytest.mark.parametrize("kind", ["BertModel", "GPT2Model"])
def test_hidden_states_in_a_tuple_are_no_scores(kind: str) -> None:
    with pytest.raises(TypeError, match="without scores"):
        samp.text.explain(build(kind, return_dict=False), bert_tokenizer(), "the film", position=1)
    named, packed = (
        samp.text.explain(build(CLASSIFIER, return_dict=way), bert_tokenizer(), "the film", target=1)
        for way in (True, False)
    )
    assert torch.equal(named.scores, packed.scores)


def test_labels_with_numbers_as_words_keep_their_order() -> None:
    model = SimpleNamespace(config=SimpleNamespace(id2label={str(number): f"label {number}" for number in range(12)}))
    answers = Answers.of(model, None, torch.zeros(1, 12), by_token=False)
    assert [answers.name(number) for number in (2, 10)] == ["label 2", "label 10"]


@pytest.mark.parametrize(
    "target", [lambda output: output.logits[:, 1], samp.text.Similarity("film"), samp.Margin(1, 2)]
)
def test_an_answer_to_tell_from_needs_an_answer(target: Any) -> None:
    with pytest.raises(ValueError, match="`against` belongs to a class or a token"):
        samp.text.explain(build(CLASSIFIER), bert_tokenizer(), "the film", target=target, against=0)


def test_an_unknown_word_is_no_target() -> None:
    model, tokenizer = build("BertForMaskedLM"), bert_tokenizer()
    for known in (tokenizer, tokenizer.backend_tokenizer):
        with pytest.raises(ValueError, match=r"does not know the target 'zebra' \(\[UNK\]\)"):
            samp.text.explain(model, known, "the film", target="zebra", position=1)
    one = samp.text.explain(model, tokenizer, "the film", target="[UNK]", position=1)
    assert one.details["target"] == [tokenizer.unk_token_id]
