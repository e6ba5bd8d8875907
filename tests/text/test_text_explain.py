"""Texts: credit sums, equals what others compute, and does not depend on other texts of the batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import samp
from samp.methods.gradient import Gradient
from samp.methods.smoothgrad import SmoothGrad

text_nets = pytest.importorskip("text_nets", reason="needs transformers", exc_type=ImportError)
from text_nets import SENTENCES, WIDTH, Bag, bert_tokenizer, build, plain_tokenizer  # noqa: E402  # after the skip

CLASSIFIER = "BertForSequenceClassification"
NETS: dict[str, Any] = {
    CLASSIFIER: bert_tokenizer,
    "BertForMaskedLM": bert_tokenizer,
    "GPT2LMHeadModel": plain_tokenizer,
    "LlamaForCausalLM": lambda: plain_tokenizer(beginning=True),
}


def ask(kind: str, text: Any, **settings: Any) -> Any:
    if kind == "BertForMaskedLM":
        settings.setdefault("position", 1)
    return samp.text.explain(build(kind), NETS[kind](), text, **settings)


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.parametrize("groups", ["tokens", "words"])
@pytest.mark.parametrize("method", [None, "coupled", "consensus", "shapley"])
def test_credit_sums_to_the_score_change(kind: str, groups: Any, method: str | None) -> None:
    if method == "shapley":
        pytest.importorskip("captum", reason="needs the extra compare")
    for result in ask(kind, SENTENCES, groups=groups, method=method):
        assert abs(result.residual) < 1e-5
        change = result.score - result.baseline_score
        assert abs(change) > 1e-3  # there is something to explain
        assert float(result.scores.sum()) == pytest.approx(change, abs=1e-5)
        assert float(result.word_scores.sum()) == pytest.approx(float(result.scores.sum()), abs=1e-5)


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.parametrize("method", [None, "coupled", "consensus", "ig", "samp++", "gradientxinput", "shapley", "lime"])
@pytest.mark.parametrize("groups", ["tokens", "words"])
def test_a_text_gets_the_same_alone_and_beside_longer_ones(kind: str, method: str | None, groups: Any) -> None:
    if method in ("shapley", "lime"):
        pytest.importorskip("captum", reason="needs the extra compare")
        pytest.importorskip("sklearn", reason="needs the extra compare")
    together = ask(kind, SENTENCES, method=method, groups=groups)
    for text, beside in zip(SENTENCES, together, strict=True):
        alone = ask(kind, text, method=method, groups=groups)
        assert alone.target == beside.target
        assert alone.features == beside.features
        torch.testing.assert_close(beside.scores, alone.scores, atol=2e-5, rtol=1e-3)  # padded kernels round otherwise


def test_texts_of_different_length_go_into_one_call() -> None:
    results = ask(CLASSIFIER, SENTENCES)
    assert {len(one.attribution.group_values) for one in results} == {3}
    assert [one.sample for one in results] == [0, 1, 2]


def test_a_model_that_sees_padding_reads_its_texts_unpadded() -> None:
    net, tokenizer = Bag().eval(), bert_tokenizer()
    results = samp.text.explain(net, tokenizer, SENTENCES, target=1)
    assert all(len(one.attribution.group_values) == 1 for one in results)
    for text, one in zip(SENTENCES, results, strict=True):
        with torch.no_grad():
            assert one.score == pytest.approx(float(net(torch.tensor([tokenizer(text)["input_ids"]]))[0, 1]), abs=1e-6)


class Largest(Bag):
    """The largest of all embeddings, which are positive, so that padding of zeros is not seen until these sink."""

    def __init__(self) -> None:
        super().__init__()
        self.words.weight.data.abs_().add_(0.2)
        self.words.weight.data[0] = 0

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.score(self.hidden(self.words(numbers).amax(1)).tanh())
        return scores


class LargestBehindAMask(Largest):
    """One that takes a mask and does not look at it."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return super().forward(input_ids)


@pytest.mark.parametrize("kind", [Largest, LargestBehindAMask])
def test_padding_that_is_seen_only_off_the_text(kind: type[Bag]) -> None:
    net, tokenizer, below = kind().eval(), bert_tokenizer(), -torch.ones(6)
    beside = samp.text.explain(net, tokenizer, SENTENCES, target=1, baseline=below)
    for text, one in zip(SENTENCES, beside, strict=True):
        alone = samp.text.explain(net, tokenizer, text, target=1, baseline=below)
        torch.testing.assert_close(one.scores, alone.scores, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("method", samp.text.METHODS)
def test_no_method_depends_on_a_much_longer_text_beside(method: str) -> None:
    if method in ("shapley", "lime", "ablation"):
        pytest.importorskip("captum", reason="needs the extra compare")
        pytest.importorskip("sklearn", reason="needs the extra compare")
    alone = ask(CLASSIFIER, SENTENCES[0], target=1, method=method)
    beside = ask(CLASSIFIER, [SENTENCES[0], "film " * 30], target=1, method=method)[0]
    torch.testing.assert_close(beside.scores, alone.scores, atol=2e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", [CLASSIFIER, "LlamaForCausalLM"])
def test_integrated_gradients_are_those_of_captum(kind: str) -> None:
    captum = pytest.importorskip("captum.attr", reason="needs the extra compare")
    model, tokenizer, steps = build(kind), NETS[kind](), 20
    told = tokenizer(SENTENCES[2], return_special_tokens_mask=True)
    ids, fixed = torch.tensor([told["input_ids"]]), torch.tensor(told["special_tokens_mask"]).bool()
    number = tokenizer.mask_token_id if kind == CLASSIFIER else 7
    method = samp.IG(steps=steps, credit="left")
    table = model.get_input_embeddings()
    ours = samp.text.explain(
        model, tokenizer, SENTENCES[2], target=2, method=method, baseline=table.weight[number].detach()
    )

    def score(numbers: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model(numbers).logits
        return logits if logits.ndim == 2 else logits[:, -1]

    baseline = torch.where(fixed, ids, number)
    peer = captum.LayerIntegratedGradients(score, table)
    theirs = peer.attribute(ids, baseline, target=2, n_steps=steps, method="riemann_left")[0].sum(-1)
    assert bool((theirs[fixed] == 0).all())
    torch.testing.assert_close(ours.token_scores.float(), theirs[~fixed].detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [CLASSIFIER, "GPT2LMHeadModel"])
def test_credit_is_that_of_a_walk_through_inputs_embeds(kind: str) -> None:
    model, tokenizer = build(kind), NETS[kind]()
    batch = tokenizer(SENTENCES[0], return_tensors="pt")
    places = torch.tensor([one not in tokenizer.all_special_ids for one in batch["input_ids"][0].tolist()])
    x = model.get_input_embeddings()(batch["input_ids"]).detach()

    def from_embeddings(embeddings: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model(inputs_embeds=embeddings, attention_mask=mask).logits
        return logits if logits.ndim == 2 else logits[:, -1]

    baseline = torch.where(places[None, :, None], torch.zeros_like(x), x)
    by_hand = samp.explain(
        from_embeddings,
        x,
        target=1,
        method=samp.Coupled(pixels_per_step=1, baseline=baseline),
        groups=torch.arange(x.shape[1])[:, None],
        forward_args=samp.PerSample(batch["attention_mask"]),
    )
    ours = samp.text.explain(
        model, tokenizer, SENTENCES[0], target=1, method=samp.Coupled(pixels_per_step=1), baseline="zero"
    )
    torch.testing.assert_close(ours.scores.float(), by_hand.group_values[0, places] / 2, atol=1e-5, rtol=1e-4)


def test_special_tokens_are_kept_and_named() -> None:
    result = ask(CLASSIFIER, "The film was good.")
    assert result.tokens == ("the", "film", "was", "good", ".")
    assert result.features == ("The", "film", "was", "good", ".")
    assert result.fixed == ("[CLS]", "[SEP]")
    assert ask("LlamaForCausalLM", "the film").fixed == ("<s>",)
    assert ask("GPT2LMHeadModel", "the film").fixed == ()


def test_an_unknown_word_is_a_feature() -> None:
    assert ask(CLASSIFIER, "the zebra").tokens == ("the", "[UNK]")


def test_words_hold_their_tokens() -> None:
    by_word = ask(CLASSIFIER, "the unhappy cat, don't", groups="words")
    assert by_word.features == by_word.words == ("the", "unhappy", "cat", ",", "don't")
    assert by_word.tokens == ("the", "un", "##happy", "cat", ",", "don", "'", "t")
    assert len(by_word.scores) == 5
    assert len(by_word.token_scores) == 8
    by_token = ask(CLASSIFIER, "the unhappy cat, don't")
    assert float(by_token.word_scores[1]) == pytest.approx(float(by_token.scores[1:3].sum()), abs=1e-6)


@pytest.mark.parametrize(("name", "number"), [("mask", 4), ("pad", 0)])
def test_the_baseline_is_the_score_of_the_text_with_such_tokens(name: str, number: int) -> None:
    model, tokenizer = build(CLASSIFIER), bert_tokenizer()
    result = samp.text.explain(model, tokenizer, "the film was good", target=2, baseline=name)
    with torch.no_grad():
        expected = model(torch.tensor([[2, number, number, number, number, 3]])).logits[0, 2]
    assert result.baseline_score == pytest.approx(float(expected), abs=1e-5)
    assert result.baseline == name


def test_every_argument_changes_the_result() -> None:
    model, tokenizer, text = build(CLASSIFIER), bert_tokenizer(), SENTENCES[2]
    usual = samp.text.explain(model, tokenizer, text, target=0)
    mean = model.get_input_embeddings().weight.detach().mean(0)
    for changed in (
        {"target": 1},
        {"against": 2},
        {"method": "coupled"},
        {"baseline": "pad"},
        {"baseline": "zero"},
        {"baseline": "mean"},
        {"baseline": ("mask", "zero")},
        {"groups": "words"},
        {"method": "consensus", "seed": 5},
    ):
        other = samp.text.explain(model, tokenizer, text, **{"target": 0, **changed})
        assert other.scores.shape != usual.scores.shape or not torch.allclose(other.scores, usual.scores, atol=1e-4)
    by_name, by_tensor = (samp.text.explain(model, tokenizer, text, baseline=one) for one in ("mean", mean))
    torch.testing.assert_close(by_name.scores, by_tensor.scores)
    noisy = [samp.text.explain(model, tokenizer, text, method="consensus", seed=seed).scores for seed in (0, 0, 1)]
    assert torch.equal(noisy[0], noisy[1])
    assert not torch.equal(noisy[0], noisy[2])


def test_the_model_is_left_as_it_was() -> None:
    model = build(CLASSIFIER)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    samp.text.explain(model, bert_tokenizer(), SENTENCES[0])
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("method", "instead"),
    [
        *((method, "ig") for method in ("gradcam", "cam", "rise", "xrai", "blurig", "spectralig", "sobel")),
        *(("ig-blurred", "ig"), ("occlusion", "ablation"), ("lrp", "attnlrp")),
    ],
)
def test_methods_of_images_refuse_and_say_what_to_use(method: str, instead: str) -> None:
    with pytest.raises(ValueError, match=f"^{method} [^,';]* and cannot explain a text: use '{instead}'"):
        ask(CLASSIFIER, SENTENCES[0], method=method)


@pytest.mark.parametrize("method", ["gradient", "smoothgrad", Gradient(), SmoothGrad(samples=2)], ids=str)
def test_gradients_that_cancel_within_an_embedding_are_refused(method: Any) -> None:
    model, tokenizer = build(CLASSIFIER), bert_tokenizer()
    with pytest.raises(
        ValueError, match=r"which a LayerNorm behind it makes 0, .*: use 'saliency' or 'gradientxinput'"
    ):
        samp.text.explain(model, tokenizer, SENTENCES[0], method=method)
    ids = torch.tensor([tokenizer(SENTENCES[0])["input_ids"]])
    x = model.get_input_embeddings()(ids).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(model(inputs_embeds=x).logits[0, 1], x)
    assert float(gradient.sum(2).abs().max()) < 1e-5 * float(gradient.abs().max())  # what it would have shown
    for sizes in (Gradient(magnitude=True), SmoothGrad(samples=2, magnitude=True)):
        assert float(samp.text.explain(model, tokenizer, SENTENCES[0], target=1, method=sizes).scores.min()) > 1e-3


@pytest.mark.parametrize("method", samp.text.METHODS)
def test_every_method_that_is_offered_works(method: str) -> None:
    if method in ("shapley", "lime", "ablation"):
        pytest.importorskip("captum", reason="needs the extra compare")
        pytest.importorskip("sklearn", reason="needs the extra compare")
    result = ask(CLASSIFIER, SENTENCES[0], method=method)
    assert bool(result.scores.isfinite().all())
    assert float(result.scores.abs().max()) > 0


@pytest.mark.parametrize("method", ["deeplift", "attnlrp", "libragrad"])
@pytest.mark.parametrize("name", NETS)
def test_rules_for_layers_leave_nothing_of_the_sum(name: str, method: str) -> None:
    alone = [ask(name, sentence, method=method) for sentence in SENTENCES[:2]]
    for one in alone:
        assert abs(one.residual) < 1e-4 * float(one.scores.abs().sum())


def test_every_method_is_offered_or_refused() -> None:
    for method in samp.methods.names():
        if method not in samp.text.METHODS:
            with pytest.raises(ValueError, match="cannot explain a text"):
                ask(CLASSIFIER, SENTENCES[0], method=method)


def test_numbers_and_texts_given_to_samp_explain_lead_here() -> None:
    model, tokenizer = build(CLASSIFIER), bert_tokenizer()
    batch = tokenizer(SENTENCES[0], return_tensors="pt")
    for wrong in (batch["input_ids"], batch, "the film", ["the film"]):
        with pytest.raises(TypeError, match=r"samp\.text\.explain\(model, tokenizer, text\)"):
            samp.explain(model, wrong)


class TwoTables(Bag):
    """A plain module with a table of words and one of places."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Embedding(40, 6)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        embedded = self.words(numbers) + self.places(torch.arange(numbers.shape[1]))
        scores: torch.Tensor = self.score(self.hidden(embedded.mean(1)).tanh())
        return scores


def test_the_layer_that_embeds_is_found_or_named() -> None:
    net, tokenizer = TwoTables().eval(), bert_tokenizer()
    with pytest.raises(ValueError, match=r"2 nn.Embedding layers \(words, places\): name .* embedding="):
        samp.text.explain(net, tokenizer, "the film")
    named = samp.text.explain(net, tokenizer, "the film", embedding="words")
    given = samp.text.explain(net, tokenizer, "the film", embedding=net.words)
    assert torch.equal(named.scores, given.scores)
    assert abs(named.residual) < 1e-6
    with pytest.raises(ValueError, match=r"gives shape .* for token numbers"):
        samp.text.explain(net, tokenizer, "the film", embedding="score")
    with pytest.raises(ValueError, match="no part of the model"):
        samp.text.explain(net, tokenizer, "the film", embedding=nn.Embedding(3, 3))


class Twice(Bag):
    """A plain module that embeds its tokens twice."""

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        embedded = self.words(numbers) + self.words(numbers.flip(1))
        scores: torch.Tensor = self.score(embedded.mean(1) @ self.hidden.weight.T)
        return scores


def test_a_layer_that_is_called_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="calls its layer 'words' 2 times"):
        samp.text.explain(Twice().eval(), bert_tokenizer(), "the film")


def test_what_is_no_text_is_refused() -> None:
    model, tokenizer = build(CLASSIFIER), bert_tokenizer()
    with pytest.raises(ValueError, match="it is empty"):
        samp.text.explain(model, tokenizer, ["the film", " "])
    with pytest.raises(TypeError, match="a string or a list of strings"):
        samp.text.explain(model, tokenizer, 5)  # type: ignore[call-overload]  # the point
    with pytest.raises(TypeError, match="a tokenizer is one of transformers"):
        samp.text.explain(model, None, "the film")
    with pytest.raises(TypeError, match="is an nn"):
        samp.text.explain(lambda x: x, tokenizer, "the film")  # type: ignore[call-overload]  # the point
    with pytest.raises(ValueError, match="no token to explain"):
        samp.text.explain(model, tokenizer, "[SEP]")
    with pytest.raises(ValueError, match="groups"):
        samp.text.explain(model, tokenizer, "the film", groups="letters")  # type: ignore[arg-type]  # the point


def test_baselines_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="no mask token: pass baseline='zero', baseline='mean'"):
        ask("GPT2LMHeadModel", "the film", baseline="mask")
    with pytest.raises(ValueError, match=rf"baseline has shape \(3,\): give one embedding, \({WIDTH},\)"):
        ask(CLASSIFIER, "the film", baseline=torch.zeros(3))
    with pytest.raises(ValueError, match="unknown baseline"):
        ask(CLASSIFIER, "the film", baseline="blurred")


def test_a_tokenizer_without_the_other_package_works() -> None:
    inner = bert_tokenizer().backend_tokenizer
    ours = samp.text.explain(build(CLASSIFIER), inner, SENTENCES[2], target=1)
    theirs = samp.text.explain(build(CLASSIFIER), bert_tokenizer(), SENTENCES[2], target=1)
    torch.testing.assert_close(ours.scores, theirs.scores)
    assert ours.fixed == theirs.fixed


def test_a_baseline_of_the_method_is_refused() -> None:
    for own in (torch.full((1, 4, WIDTH), 0.5), samp.baselines.Constant(1.0), samp.baselines.Blurred()):
        with pytest.raises(ValueError, match=r"pass baseline=… to samp\.text\.explain"):
            ask(CLASSIFIER, "the film", method=samp.IG(baseline=own))
    by_name, as_object = (ask(CLASSIFIER, "the film", target=1, method=one) for one in ("ig", samp.IG()))
    assert torch.equal(by_name.scores, as_object.scores)
    ask(CLASSIFIER, "the film", method=samp.methods.resolve_method("ig-both"))
    with pytest.raises(ValueError, match=r"leave it out, as in method='ig', and pass baseline=…"):
        ask(CLASSIFIER, "the film", method=samp.methods.resolve_method("ig-blurred"), baseline="mask")


@pytest.mark.parametrize("kind", [CLASSIFIER, "GPT2LMHeadModel"])
def test_a_text_that_is_too_long_is_refused(kind: str) -> None:
    ends = 2 if kind == CLASSIFIER else 0
    ask(kind, "film " * (40 - ends), target=1, method="saliency")
    with pytest.raises(ValueError, match="the text has 41 tokens, but the model takes 40: cut the text"):
        ask(kind, "film " * (41 - ends), target=1)
    tokenizer = bert_tokenizer()
    tokenizer.model_max_length = 3
    with pytest.raises(ValueError, match="has 4 tokens, but the model takes 3"):
        samp.text.explain(Bag().eval(), tokenizer, "the film")
