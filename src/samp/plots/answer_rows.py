"""What the model says, as rows of a small chart: a label, a probability and a remark each."""

from __future__ import annotations

from dataclasses import dataclass

from samp.models.answers import Answers, Guess, Reply
from samp.region import Region

ENOUGH = 0.8  # of the probability of the explained class in the whole picture
TOO_MUCH = 0.5  # likewise, of the blurred picture: removing parts by blur says little then


@dataclass(frozen=True)
class AnswerRow:
    """One bar: `probability` is its length, None if the model has none and `text` is a score."""

    label: str
    probability: float | None
    text: str
    explained: bool
    """Whether it is of the explained class, which has a colour of its own."""
    remark: str = ""


def answer_rows(answers: Answers) -> list[AnswerRow]:
    """Return the best classes of the photo, and below them the explained one if it is not among them."""
    index = answers.explained.index  # names may come twice: ImageNet has two maillots and two cranes
    rows = [*answers.top, *([] if index in [guess.index for guess in answers.top] else [answers.explained])]
    return [_row(guess.label, guess, guess.index == index) for guess in rows]


def region_rows(answers: Answers) -> list[AnswerRow]:
    """Return the explained class of the photo, its region alone, without it, and all blurred; none without a region."""
    asked = {
        "the outlined part alone": answers.alone,
        "all but the outlined part": answers.without,
        "everything blurred": answers.blurred,
    }
    rows = [
        _row(label, reply.explained, explained=True, remark=_remark(reply)) for label, reply in asked.items() if reply
    ]
    return [_row("the whole picture", answers.explained, explained=True), *rows] if rows else []


def answer_sentence(answers: Answers, model: str) -> str:
    """Return what the model says of the photo, and of the explained class if that is another."""
    best = answers.top[0]
    says = f"{model} says {best.label}, {format_guess(best)}"
    if answers.agrees:
        return f"{says}."
    return f"The model's answer is another: {says}; {answers.explained.label}, {format_guess(answers.explained)}."


def region_sentence(region: Region) -> str:
    """Return how much of the picture holds how much of the credit.

    >>> import torch
    >>> region_sentence(Region(torch.tensor([[True, False, False, False]]), torch.ones(1, 4), 0.5, 0.0))
    'Outlined: half of the positive credit, on 25% of the picture.'
    """
    if region.is_empty:
        return "No region: no credit is positive."
    share = "half" if region.share_of_credit == 0.5 else format_share(region.share_of_credit)
    return f"Outlined: {share} of the positive credit, on {format_share(region.share_of_picture)} of the picture."


def part_sentences(answers: Answers | None) -> tuple[str, str]:
    """Return what the model says of the region alone, and of the photo without it, as far as it was asked.

    >>> part_sentences(None)
    ('The outlined part alone, the rest blurred.', 'Without it.')
    """
    parts = ("The outlined part alone, the rest blurred", "Without it")
    if answers is None or answers.alone is None or answers.without is None:
        return f"{parts[0]}.", f"{parts[1]}."
    evidence = evidence_sentence(answers)
    without = f"{parts[1]}: {_reply_text(answers.without)}.{' ' * bool(evidence)}{evidence}"
    return f"{parts[0]}: {_reply_text(answers.alone)}.", without


def evidence_sentence(answers: Answers) -> str:
    """Return how to read the answers to both parts, where the outlined one does not decide by itself; else "".

    A part is enough if the explained class keeps four fifths of its probability in it. Where half of it stays although
    everything is blurred, the parts cannot tell.
    """
    asked = (answers.explained, *(reply.explained for reply in (answers.alone, answers.without) if reply))
    if len(asked) < 3 or any(guess.probability is None for guess in asked):
        return ""
    whole, alone, without = (float(guess.probability or 0.0) for guess in asked)
    blurred = None if answers.blurred is None else answers.blurred.explained.probability
    if blurred is not None and blurred >= TOO_MUCH * whole:
        return f"All blurred, it is still {format_share(blurred)}: blur hides too little to tell."
    if without >= ENOUGH * whole:
        also = "Either part is enough" if alone >= ENOUGH * whole else "The rest is enough"
        return f"{also}: the evidence is spread over the picture."
    return "Neither part is enough alone." if alone < ENOUGH * whole else ""


def format_guess(guess: Guess) -> str:
    """Return the probability of a class as a percentage, or its score if the model has no probabilities.

    >>> format_guess(Guess("cat", 0, 3.25, 0.617)), format_guess(Guess("cat", 0, 3.25, None))
    ('62%', 'score 3.250')
    """
    return f"score {guess.score:.3f}" if guess.probability is None else format_share(guess.probability)


def format_share(share: float) -> str:
    """Return a share in whole percents; what is not quite 0 or 100 does not look like it.

    >>> [format_share(share) for share in (0.0, 0.004, 0.07, 0.996, 1.0)]
    ['0%', '<1%', '7%', '>99%', '100%']
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def _row(label: str, guess: Guess, explained: bool, remark: str = "") -> AnswerRow:
    return AnswerRow(label, guess.probability, format_guess(guess), explained, remark)


def _remark(reply: Reply) -> str:
    return "" if reply.agrees else f"{reply.best.label}, {format_guess(reply.best)}"


def _reply_text(reply: Reply) -> str:
    explained = f"{reply.explained.label}, {format_guess(reply.explained)}"
    best = f"{reply.best.label}, {format_guess(reply.best)}"
    return explained if reply.agrees else f"{best} ({explained})"
