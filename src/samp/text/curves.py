"""Deletion and Insertion of texts: the score as tokens or words go, or come, in the order of their credit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from samp.engine.batches import BatchSize
from samp.isolation import isolate
from samp.metrics import Curves, Protocol
from samp.metrics.deletion_insertion import deletion_insertion as measure_curves
from samp.text.attribution import TextAttribution
from samp.text.prepare import Question, find_device, prepare
from samp.text.text_baselines import TextBaseline, choose_baseline, make_baseline
from samp.text.text_targets import Similarity


def deletion_insertion(
    model: nn.Module,
    tokenizer: Any,
    results: TextAttribution | Sequence[TextAttribution],
    *,
    target: Any = None,
    against: Any = None,
    position: int | None = None,
    baseline: TextBaseline = None,
    normalise: Literal["image", "change"] | None = "change",
    score: str = "logit",
    embedding: str | nn.Module | None = None,
    batch_size: BatchSize = "auto",
) -> list[Curves]:
    """Return the deletion and insertion curves of each explained text, by its own features (tokens or words).

    A feature is deleted by putting the baseline in its place, so with "mask" the curves are the model's scores of the
    text with its best words masked, one after the other. Curves have one point per feature, both ends included.

    - `results`: of `samp.text.explain`, which say what the features are and in which order they go.
    - `target`, `against`, `position`, `baseline`, `embedding`: as in `samp.text.explain`. What is left out
      of the first three is what was explained; another `target` has no `against` but the given one, and a function or
      a similarity must be passed again.
    - `normalise`: "change" maps the score at the baseline to 0 and that of the text to 1, "image" divides by the score
      of the text, None leaves the scores as they are.
    - `score`: "logit" or "probability", where classes or tokens are explained.

    Raises ValueError if a function was explained and none is passed.

    >>> import samp
    >>> words = "the film was good bad".split()
    >>> encode = lambda text: samp.text.Encoded(text, [words.index(w) for w in text.split()], text.split(), [False] * 4)
    >>> net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2)).eval()
    >>> result = samp.text.explain(net, encode, "the film was good", target=1, baseline="zero")
    >>> [curves] = samp.text.deletion_insertion(net, encode, result, target=1, baseline="zero", normalise=None)
    >>> curves.deletion_curve.shape
    torch.Size([1, 5])
    """
    each = [results] if isinstance(results, TextAttribution) else list(results)
    if not each or not all(isinstance(one, TextAttribution) for one in each):
        raise TypeError("results are those of samp.text.explain: one TextAttribution or several.")
    question = Question(target, against, position)
    return [
        _measure(model, tokenizer, one, question, baseline, normalise, score, embedding, batch_size) for one in each
    ]


def _measure(
    model: nn.Module,
    tokenizer: Any,
    result: TextAttribution,
    question: Question,
    baseline: TextBaseline,
    normalise: Literal["image", "change"] | None,
    score: str,
    embedding: Any,
    batch_size: BatchSize,
) -> Curves:
    known = _find_question(result, question)
    with torch.inference_mode(False), isolate(model, find_device(model), 0):
        prepared = prepare(model, tokenizer, [result.text], known, result.groups, embedding, pad=False)
        batch = prepared.batch([0])
        target = prepared.target(prepared.output(batch), [0])
        features = batch.gather(prepared.net.embed(batch.inputs))
        chosen = choose_baseline(baseline, batch)
        ends = [make_baseline(one, batch, prepared.net, features) for one in _pair(chosen)]
    credit: Tensor = result.scores[None]
    if credit.shape[1] != batch.feature_counts[0]:
        raise ValueError(
            f"the result has {credit.shape[1]} features but this tokenizer makes {batch.feature_counts[0]} of its "
            "text: pass the tokenizer that it was explained with."
        )
    protocol = Protocol(1, ends[0], ends[1], unit=batch.groups, score=score, normalise=normalise, name="text")
    return measure_curves(
        prepared.net,
        features,
        credit,
        target.target,
        protocol,
        forward_args=batch.arguments,
        batch_size=batch_size,
    )


def _find_question(result: TextAttribution, asked: Question) -> Question:
    """Return the question that a result answers, but for what is asked otherwise.

    Raises ValueError if that is a function, which the result does not hold.
    """
    position = result.position if asked.position is None else asked.position
    if asked.target is not None:
        reads_output = callable(asked.target) or isinstance(asked.target, Similarity)
        return Question(asked.target, asked.against, None if reads_output else position)
    found = result.details.get("target")
    if isinstance(found, dict):
        against = found["against"][result.sample] if asked.against is None else asked.against
        return Question(found["of"][result.sample], against, position)
    if isinstance(found, list):
        return Question(found[result.sample], asked.against, position)
    raise ValueError("the result explains a function of the output, which it does not hold: pass target=….")


def _pair(baseline: Any) -> tuple[Any, Any]:
    return baseline if isinstance(baseline, tuple) else (baseline, baseline)
