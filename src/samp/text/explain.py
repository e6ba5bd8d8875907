"""`samp.text.explain`: from a model, a tokenizer and a text to the credit of its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, overload

import torch
from torch import Tensor, nn

from samp.attribution import Attribution
from samp.engine.batches import BatchSize
from samp.explain import explain as explain_inputs
from samp.isolation import isolate
from samp.methods import Method
from samp.targets import resolve_target
from samp.text.attribution import TextAttribution, TextAttributions
from samp.text.batches import GroupName, TextBatch, group_numbers
from samp.text.outputs import ReadPosition
from samp.text.prepare import PreparedTexts, Question, find_device, prepare, read_texts
from samp.text.text_baselines import EmbeddingBaseline, TextBaseline, choose_baseline, make_baseline
from samp.text.text_methods import DEFAULT, DEFAULT_OF_TOKENS, depends_on_size, resolve_text_method, with_baseline
from samp.text.text_targets import TextTarget


class ExplainOptions(TypedDict, total=False):
    """The keywords of `explain`."""

    target: Any
    against: Any
    method: str | Method | None
    baseline: TextBaseline
    groups: GroupName
    position: int | None
    embedding: str | nn.Module | None
    batch_size: BatchSize
    progress: bool
    seed: int


@overload
def explain(model: nn.Module, tokenizer: Any, text: str, **options: Unpack[ExplainOptions]) -> TextAttribution: ...
@overload
def explain(
    model: nn.Module, tokenizer: Any, text: Sequence[str], **options: Unpack[ExplainOptions]
) -> TextAttributions: ...
def explain(
    model: nn.Module,
    tokenizer: Any,
    text: str | Sequence[str],
    *,
    target: Any = None,
    against: Any = None,
    method: str | Method | None = None,
    baseline: TextBaseline = None,
    groups: GroupName = "tokens",
    position: int | None = None,
    embedding: str | nn.Module | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> TextAttribution | TextAttributions:
    """Return the credit of every token or word of a text for one score of the model; of several texts, one result each.

    The walk goes through the embeddings of the tokens: to take a word away is to walk it to the baseline. Special
    tokens ([CLS], [SEP], the beginning of a text) and padding stay as they are; they are no features.

    - `model`: a classifier, masked or causal language model or encoder of transformers, or any `nn.Module` of token
      numbers that has an embedding layer. A model that answers for each token is explained at one `position`: the one
      mask token, or the last token of a model that generates text (so its next token), unless given.
    - `tokenizer`: one of transformers or tokenizers, or a function text -> `samp.text.Encoded`.
    - `text`: one, or a list. What a text gets does not depend on the others: they are padded into one batch only where
      the model says the same of a padded text.
    - `target`: a class by its name in the model's config or its number; the next token by its text (with its blank,
      " Paris") or number; `samp.Margin`; a `samp.text.Similarity` to another text; or a function of the model's output
      -> b. A list holds one for each text. `None` is the best answer.
    - `against`: explain why the target rather than this answer, by the margin of their scores; "runner-up" is the best
      other answer.
    - `method`: by name (`samp.text.METHODS`: path methods such as "ig" or "consensus", "shapley", "ablation" …) or as
      an object. `None` is `samp.IG(steps=30, credit="shared_trapezoid")`, and for a model that answers for each token
      (a language model) `samp.SAMP(steps=64, credit="shared")`: up to 64 features move one by one, and each earns the
      change of the score in its step. Both are complete. "shapley", by forward passes, is the one to trust.
    - `baseline`: "mask", "pad", "zero", "mean" (of all embeddings), a tensor with one embedding, or a pair for
      (deletion, insertion). `None` takes the first of "mask", "pad" and "mean" that the tokenizer has a token for.
    - `groups`: "tokens", or "words", whose tokens then move together.
    - `embedding`: the layer that embeds tokens, or its name, where the model has several and does not say which.

    Raises ValueError or TypeError for what cannot be explained, and `samp.NonFiniteError` as `samp.explain` does.

    >>> import samp
    >>> words = "the film was good bad".split()
    >>> encode = lambda text: samp.text.Encoded(text, [words.index(w) for w in text.split()], text.split(), [False] * 4)
    >>> net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2)).eval()
    >>> result = samp.text.explain(net, encode, "the film was good", target=1, baseline="zero")
    >>> result.tokens, abs(result.residual) < 1e-5
    (('the', 'film', 'was', 'good'), True)
    """
    texts = read_texts(text)
    chosen = None if method is None else resolve_text_method(method)
    question = Question(target, against, position)
    with torch.inference_mode(False):
        with isolate(model, find_device(model), seed):
            prepared = prepare(model, tokenizer, texts, question, groups, embedding, pad=not depends_on_size(chosen))
        if chosen is None:
            chosen = DEFAULT_OF_TOKENS if isinstance(prepared.net.reader, ReadPosition) else DEFAULT
        results: dict[int, TextAttribution] = {}
        for numbers in prepared.together:
            run = _Batch(prepared, numbers, baseline, seed)
            found = explain_inputs(
                prepared.net,
                run.features,
                target=run.target.target,
                method=with_baseline(chosen, run.baseline),
                groups=run.batch.groups,
                forward_args=run.batch.arguments,
                batch_size=batch_size,
                progress=progress,
                seed=seed,
            )
            results |= {number: run.result(found, sample) for sample, number in enumerate(numbers)}
    ordered = TextAttributions([results[number] for number in range(len(texts))])
    return ordered[0] if isinstance(text, str) else ordered


class _Batch:
    """The texts of one call of `samp.explain`: their features, baselines and target, and what becomes of its result."""

    def __init__(self, prepared: PreparedTexts, numbers: Sequence[int], baseline: Any, seed: int) -> None:
        self.prepared, self.batch = prepared, prepared.batch(numbers)
        net, batch = prepared.net, self.batch
        with isolate(net, self.batch.places.device, seed):
            self.output = prepared.output(batch)
            self.target: TextTarget = prepared.target(self.output, numbers)
            self.features: Tensor = batch.gather(net.embed(batch.inputs))
            chosen = choose_baseline(baseline, batch)
            both = chosen if isinstance(chosen, tuple) else (chosen,)
            ends = [make_baseline(one, batch, net, self.features) for one in both]
            self.scores = self._score(self.output)
            self.floor = torch.stack([self._score_at(one) for one in ends]).mean(0)
        self.baseline = (ends[0], ends[1]) if len(ends) > 1 else ends[0]

    @property
    def answers_by_token(self) -> bool:
        """Whether the model answers for each token."""
        return isinstance(self.prepared.net.reader, ReadPosition)

    def _score(self, output: Any) -> Tensor:
        objective = resolve_target(self.target.target, len(self.features), self.features.device)
        if objective is None:  # `choose_target` never leaves it open
            raise RuntimeError("the target is not known.")
        return objective(output, torch.arange(len(self.features), device=self.features.device)).detach()

    def _score_at(self, baseline: EmbeddingBaseline) -> Tensor:
        with torch.no_grad():
            arguments = [argument.values for argument in self.batch.arguments]
            return self._score(self.prepared.net(baseline.embeddings, *arguments))

    def result(self, found: Attribution, sample: int) -> TextAttribution:
        """Return the explanation of one text of the batch."""
        text, count = self.batch.texts[sample], self.batch.feature_counts[sample]
        ways = max(len(found.score_change), 1)
        values = found.values if isinstance(found.values, Tensor) else found.values[0]
        tokens = (values[sample].double().sum(1) / ways)[: len(text.feature_places)].cpu()
        words = Words.of(text)
        spans = words.spans if self.prepared.groups == "words" else text.feature_spans
        names = tuple(text.tokens[place] for place in text.feature_places)
        shown = names if spans is None else tuple(text.text[slice(*span)] for span in spans)
        return TextAttribution(
            text=text.text,
            features=shown,
            scores=(found.group_values[sample, :count].double() / ways).cpu(),
            tokens=names,
            token_scores=tokens,
            words=words.names,
            word_scores=torch.zeros(len(words.names), dtype=tokens.dtype).index_add_(0, words.numbers, tokens),
            fixed=_fixed_tokens(text, self.batch),
            target=self.target.labels[sample],
            score=float(self.scores[sample]),
            baseline_score=float(self.floor[sample]),
            residual=float(found.residual[sample]) / ways,
            baseline=_name_baseline(self.baseline),
            groups=self.prepared.groups,
            method=found.method,
            answers=self.target.best[sample],
            spans=None if spans is None else tuple(spans),
            details=found.details,
            attribution=found,
            sample=sample,
            position=int(self.batch.position[sample]) if self.answers_by_token else None,
        )


class Words:
    """The words of a text: their names, their places, and the number of the word of each feature token."""

    def __init__(self, names: tuple[str, ...], spans: list[tuple[int, int]] | None, numbers: Tensor) -> None:
        self.names, self.spans, self.numbers = names, spans, numbers

    @classmethod
    def of(cls, text: Any) -> Words:
        """Return the words of an encoded text; its tokens where it is not known where these stand."""
        places = text.feature_spans
        if places is None:
            names = tuple(text.tokens[place] for place in text.feature_places)
            return cls(names, None, torch.arange(len(names)))
        numbers = group_numbers(text, "words")
        spans = []
        for number in range(max(numbers) + 1):
            own = [span for span, mine in zip(places, numbers, strict=True) if mine == number]
            spans.append((min(start for start, _ in own), max(end for _, end in own)))
        return cls(tuple(text.text[start:end] for start, end in spans), spans, torch.tensor(numbers))


def _fixed_tokens(text: Any, batch: TextBatch) -> tuple[str, ...]:
    """Return the special tokens of a text, without padding."""
    seen = text.columns.get("attention_mask", [1] * len(text.ids))
    return tuple(text.tokens[place] for place, fixed in enumerate(text.fixed) if fixed and seen[place])


def _name_baseline(baseline: Any) -> str:
    return ", ".join(map(repr, baseline)) if isinstance(baseline, tuple) else repr(baseline)
