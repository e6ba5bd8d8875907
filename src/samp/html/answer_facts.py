"""What the model says of a photo and of its region, as numbers for JSON and lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samp.models.answers import Answers, Guess, Reply
from samp.plots.answer_rows import format_share
from samp.region import Region


def answer_facts(region: Region, answers: Answers) -> dict[str, Any]:
    """Return the model's answer, the probability of the explained class, and both again for the region.

    Probabilities are None for a net with a single output; `alone`, `without` and `blurred` if there is no region.
    """
    return {
        "probability": answers.explained.probability,
        "answer": _guess(answers.top[0]),
        "region": {
            "share_of_credit": region.share_of_credit,
            "share_of_picture": region.share_of_picture,
            "sigma": region.sigma,
            "alone": _reply(answers.alone),
            "without": _reply(answers.without),
            "blurred": _reply(answers.blurred),
        },
    }


def answer_lines(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the same for people, by label; nothing of a record without answers.

    >>> cat = {"class": "cat", "index": 0, "probability": 0.9}
    >>> region = {"share_of_credit": 0.5, "share_of_picture": 0.07}
    >>> region |= {"alone": {**cat, "explained_probability": 0.9}, "without": {**cat, "explained_probability": 0.3}}
    >>> answer_lines({"class": "cat", "index": 0, "answer": cat, "probability": 0.9, "region": region})["region"]
    '50% of the positive credit on 7% of the picture; it alone: cat, 90%; without it: cat, 30%'
    """
    if "answer" not in record:
        return {}
    region = record["region"]
    credit, picture = (format_share(region[name]) for name in ("share_of_credit", "share_of_picture"))
    shares = f"{credit} of the positive credit on {picture}"
    lines = {"region": "none: no credit is positive"}
    if region["alone"] is not None:
        alone, without = (_reply_text(record, region[name]) for name in ("alone", "without"))
        lines = {"region": f"{shares} of the picture; it alone: {alone}; without it: {without}"}
    said = _chance(record["answer"]["class"], record["answer"]["probability"])
    other = record["answer"]["index"] != record["index"]
    return {"answer": f"{said}; {_chance(record['class'], record['probability'])}" if other else said, **lines}


def _guess(guess: Guess) -> dict[str, Any]:
    return {"class": guess.label, "index": guess.index, "probability": guess.probability}


def _reply(reply: Reply | None) -> dict[str, Any] | None:
    return None if reply is None else {**_guess(reply.best), "explained_probability": reply.explained.probability}


def _reply_text(record: Mapping[str, Any], reply: Mapping[str, Any]) -> str:
    own = _chance(record["class"], reply["explained_probability"])
    return own if reply["index"] == record["index"] else f"{_chance(reply['class'], reply['probability'])} ({own})"


def _chance(label: str, probability: float | None) -> str:
    return label if probability is None else f"{label}, {format_share(probability)}"
