"""Targets of texts: a class by its name, the next token by its text, a margin, or the similarity to another text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from samp.checks import is_whole
from samp.lookup import look_up
from samp.targets import Margin
from samp.text.encoding import single_token, token_text
from samp.text.outputs import Pooling

RUNNER_UP = "runner-up"
BEST = 5  # answers that a result holds


@dataclass(frozen=True)
class Similarity:
    """A target: the cosine between the model's embedding of the text and that of another one.

    The model is one without a head, whose hidden states are pooled: their "mean" over all tokens but padding, or those
    of the "first" token. Raises ValueError for another pooling.

    >>> Similarity("a cat sleeps")
    Similarity(text='a cat sleeps', pooling='mean')
    """

    text: str
    pooling: Pooling = "mean"

    def __post_init__(self) -> None:
        look_up(self.pooling, dict.fromkeys(("mean", "first")), "pooling")


@dataclass(frozen=True)
class Answers:
    """The names of a model's scores: labels of its config, tokens of its tokenizer, or numbers."""

    count: int
    labels: tuple[str, ...]
    tokenizer: Any
    are_tokens: bool

    @classmethod
    def of(cls, model: Any, tokenizer: Any, scores: Tensor, by_token: bool) -> Answers:
        """Return the names for scores (b k); `by_token` says that the model answers for each token."""
        count = scores.shape[1] if scores.ndim > 1 else 1
        labels = getattr(getattr(model, "config", None), "id2label", None) or {}
        are_labels = len(labels) == count
        are_tokens = by_token and not are_labels
        names = tuple(str(labels[i]) for i in sorted(labels, key=int)) if are_labels else ()  # keys of JSON are words
        return cls(count, names, tokenizer, are_tokens)

    def name(self, number: int) -> str:
        """Return the name of a score."""
        if self.are_tokens:
            return repr(token_text(self.tokenizer, number))
        return self.labels[number] if self.labels else f"class {number}"

    def number(self, wanted: object) -> int:
        """Return the number of a score by its name or number; raises ValueError for an unknown one."""
        if isinstance(wanted, str) and self.are_tokens:
            return single_token(self.tokenizer, wanted)
        if isinstance(wanted, str):
            names = {name: number for number, name in enumerate(self.labels)}
            if not names:
                raise ValueError(f"the model has no names of classes: give the number of the class, not {wanted!r}.")
            return look_up(wanted, names, "target")
        if not is_whole(wanted):
            raise TypeError(f"a target of a text is a class, a token, their number or a function, not {wanted!r}.")
        if not 0 <= wanted < self.count:
            raise ValueError(f"target {wanted} is out of range: the model's scores go from 0 to {self.count - 1}.")
        return wanted


@dataclass(frozen=True, eq=False)
class TextTarget:
    """What is explained of each text of a batch: a target of `samp.explain`, its names, and the best answers."""

    target: Any
    labels: tuple[str, ...]
    best: tuple[tuple[tuple[str, float], ...], ...]
    """Of each text: the answers of the largest scores and their probabilities; empty without any."""


def choose_target(
    output: Any, answers: Answers | None, wanted: Sequence[Any], against: Sequence[Any], numbers: Sequence[int]
) -> TextTarget:
    """Return what to explain for texts whose outputs these are.

    - `wanted`, `against`: of each text; None is the best answer, and no margin. "runner-up" is the best other answer.
    - `numbers`: of the texts among all of them, which a target function with two arguments is called with.

    Raises ValueError or TypeError for what the model does not answer.
    """
    if answers is None or callable(wanted[0]):
        function, own = wanted[0], torch.tensor(numbers)
        return TextTarget(_renumber(function, own), (_name_function(function),) * len(wanted), ((),) * len(wanted))
    scores = output if output.ndim > 1 else output[:, None]
    chosen = [_choose_one(answers, row, *pair) for row, *pair in zip(scores, wanted, against, strict=True)]
    of, other = [one for one, _ in chosen], [two for _, two in chosen if two is not None]
    target: Any = Margin(of, other) if other else of
    labels = [answers.name(one) + ("" if two is None else f" rather than {answers.name(two)}") for one, two in chosen]
    return TextTarget(target, tuple(labels), tuple(_best_answers(answers, row) for row in scores))


def _choose_one(answers: Answers, scores: Tensor, wanted: Any, against: Any) -> tuple[int, int | None]:
    if isinstance(wanted, Margin):
        wanted, against = wanted.of, wanted.against
    of = int(scores.argmax()) if wanted is None else answers.number(wanted)
    if against is None:
        return of, None
    if against != RUNNER_UP:
        return of, answers.number(against)
    if answers.count < 2:
        raise ValueError("the model gives one score, so there is no runner-up: leave out `against`.")
    others = scores.clone()
    others[of] = -torch.inf
    return of, int(others.argmax())


def _best_answers(answers: Answers, scores: Tensor) -> tuple[tuple[str, float], ...]:
    if answers.count < 2:
        return ()
    probabilities = scores.double().softmax(0)
    top = probabilities.topk(min(BEST, answers.count))
    return tuple((answers.name(int(number)), float(share)) for share, number in zip(*top, strict=True))


def _renumber(function: Callable[..., Tensor], numbers: Tensor) -> Callable[..., Tensor]:
    """Return the target function, which gets the numbers of texts among all texts where it takes numbers."""
    from samp.targets import resolve_target

    objective = resolve_target(function, len(numbers))
    if not getattr(objective, "takes_samples", False):
        return function
    return lambda output, samples: function(output, numbers.to(samples.device)[samples])


def _name_function(function: Any) -> str:
    return str(getattr(function, "label", None) or getattr(function, "__name__", type(function).__name__))
