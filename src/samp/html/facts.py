"""What a page, a picture and a terminal state about an explanation: numbers, labelled lines, a title and notes."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samp.attribution import Attribution
from samp.baselines import Constant
from samp.groups import Pixels
from samp.html.answer_facts import answer_facts, answer_lines
from samp.html.walk_notes import describe_score_change
from samp.models import Classifier
from samp.models.answers import Answers
from samp.models.outputs import output_kind
from samp.models.prediction import ClassifiedPhoto
from samp.models.question import margin_kind, name_class
from samp.models.zero_colour import name_zero, zero_colour
from samp.plots.answer_rows import answer_sentence
from samp.region import Region
from samp.result_words import format_residual, format_walks, score_source

Record = dict[str, Any]
"""The numbers of one explanation or comparison, as JSON has them."""
BEST = 5  # classes listed


@dataclass(frozen=True, eq=False)
class ExplainedPhoto:
    """A photo with its explanations: all that a picture or a page shows."""

    classified: ClassifiedPhoto
    result: Attribution
    answers: tuple[Answers, ...]
    """What the model says, for each class explained."""
    records: tuple[Record, ...]
    """The numbers of each class, ready for JSON."""
    signed: bool = False
    """Whether the fine map shows negative credit as well."""

    def headline(self, sample: int) -> tuple[str, str]:
        """Return the question of one class, and the model's answer to the photo."""
        record = self.records[sample]
        return f"Why {name_class(record)}?", answer_sentence(self.answers[sample], record["model"])

    def notes(self, sample: int) -> list[str]:
        """Return the lines below the pictures of one class."""
        return notes(self.records[sample], self.classified.classifier)


def facts(
    classified: ClassifiedPhoto,
    result: Attribution,
    sample: int,
    seconds: float,
    asked: tuple[Region, Answers] | None = None,
) -> Record:
    """Return the numbers of one explained class, ready for JSON; those that a method does not have are None.

    `seconds` is the time of all classes of the photo together; `asked` the region and what the model says of it.
    """
    index, classifier, other = classified.targets[sample], classified.classifier, classified.against
    score, kind = float(classified.scores[index]), output_kind(classified.scores[None])
    if other is not None:
        score, kind = score - float(classified.scores[other]), margin_kind(kind)
    change = float(sum(c[sample] for c in result.score_change.values())) if result.score_change else math.nan
    residual = float(result.residual[sample])
    return {
        "photo": printable_path(classified.path),
        "model": classifier.name,
        "class": classifier.label(index),
        "index": index,
        "against": None if other is None else _class_score(classified, other),
        "score": _number(score),
        "score_is": kind,
        "best": [
            _class_score(classified, best)
            for best in classified.scores.topk(min(BEST, len(classified.scores))).indices.tolist()
        ],
        **(answer_facts(*asked) if asked else {}),
        "method": result.method,
        "groups": result.details["groups"],
        "zero": name_zero(classifier),
        "score_change": _number(change),
        "score_change_by_direction": {name: _number(float(c[sample])) for name, c in result.score_change.items()},
        "credit": _number(float(result.group_values[sample].double().sum())),
        "residual": _number(residual),
        **({"absorbed": float(result.details["absorbed"][sample])} if "absorbed" in result.details else {}),
        "gradients": int(result.gradients[sample]),
        "forwards": int(result.details.get("forwards", 0)),
        "walks": result.details.get("walks"),
        "resolution": None if result.resolution is None else int(result.resolution[sample]),
        "seconds": round(seconds, 3),
        "speed": result.details.get("speed", "exact"),
        "seed": result.details["seed"],
        "device": result.details["device"],
        "dtype": result.details["dtype"],
        "versions": result.details["versions"],
    }


def lines(record: Record) -> dict[str, str]:
    """Return the same for people: label and text.

    >>> from samp.html.facts import lines
    >>> record = {"class": "cat", "index": 3, "score": 1.5, "score_is": "logit", "model": "net", "residual": None}
    >>> record |= {"gradients": 1, "forwards": 0, "seconds": 0.5, "method": "GradCAM()"}
    >>> lines(record)["class"], lines(record)["score"]
    ('cat (3)', '1.500 (logit, net)')
    """
    return {
        "class": name_class(record, numbers=True),
        "score": f"{record['score']:.3f} ({score_source(record['score_is'], record['model'])})",
        **answer_lines(record),
        "residual": _residual(record),
        **({"map": words} if (words := _walks(record)) else {}),
        "gradients": str(record["gradients"]),
        **({"forwards": str(record["forwards"])} if record["forwards"] else {}),
        "seconds": f"{record['seconds']:.2f}",
        **({"speed": record["speed"]} if record.get("speed", "exact") != "exact" else {}),
        "method": describe_method(record),
    }


def describe_method(record: Record) -> str:
    """Return the method with its settings, its features unless they are pixels, and the colour of a zero baseline.

    >>> describe_method({"method": "IG(baseline=Constant(value=0.0))", "zero": "mid-grey #7F7F7F"})
    'IG(baseline=Constant(value=0.0)); zero is mid-grey #7F7F7F here'
    """
    groups = record.get("groups", repr(Pixels()))
    features = "" if groups == repr(Pixels()) else f" on {groups}"
    zero = f"; zero is {record['zero']} here" if repr(Constant(0.0)) in record["method"] else ""
    return f"{record['method']}{features}{zero}"


def notes(record: Record, classifier: Classifier) -> list[str]:
    """Return the lines below the picture: what the scores are, how it was made, what the credit misses."""
    spent = [
        _count_text(record["gradients"], "gradient"),
        _count_text(record["forwards"], "forward"),
        f"{record['seconds']:.2f} s",
    ]
    parts = [_walks(record), f"residual: {_residual(record)}", ", ".join(filter(None, spent))]
    return [
        describe_score_change(record, zero_colour(classifier)),
        describe_method(record),
        "; ".join(filter(None, parts)),
    ]


def printable_path(path: Path) -> str:
    """Return a path as text that can be encoded: bytes of its name that are not UTF-8 become U+FFFD.

    >>> printable_path(Path("caf\\udce9.jpg"))
    'caf�.jpg'
    """
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _residual(record: Record) -> str:
    if record["residual"] is None:
        return "none: this method's credit is not meant to sum to the score"
    return format_residual(record["residual"], record["score_change"], record.get("absorbed"))


def _walks(record: Record) -> str:
    return format_walks(record.get("walks"), record.get("resolution"))


def _count_text(number: int, kind: str) -> str:
    return f"{number} {kind}{'s' * (number != 1)}" if number else ""


def _class_score(classified: ClassifiedPhoto, index: int) -> Record:
    return {
        "class": classified.classifier.label(index),
        "index": index,
        "score": _number(float(classified.scores[index])),
    }


def _number(value: float) -> float | None:
    """Return None for NaN and infinity, which JSON does not have."""
    return value if math.isfinite(value) else None
