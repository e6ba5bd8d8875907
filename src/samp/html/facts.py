"""What is said of an explanation: numbers for machines, lines for people, notes for the picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click
import torch

from samp.attribution import Attribution
from samp.cli.terminal import printable
from samp.models import Classifier
from samp.models.outputs import output_kind
from samp.models.prediction import ClassifiedPhoto
from samp.wording import format_residual, score_source

BEST = 5


def facts(classified: ClassifiedPhoto, result: Attribution, sample: int, seconds: float) -> dict[str, Any]:
    """The numbers of one explained class, ready for JSON; those that a method does not have are None.

    `seconds` is what all classes of the photo took together.
    """
    index, classifier = classified.targets[sample], classified.classifier
    change = float(sum(c[sample] for c in result.score_change.values())) if result.score_change else math.nan
    residual = float(result.residual[sample])
    return {
        "photo": click.format_filename(classified.path),
        "model": classifier.name,
        "class": classifier.label(index),
        "index": index,
        "score": _number(float(classified.scores[index])),
        "score_is": output_kind(classified.scores[None]),
        "best": [
            _class_score(classified, best)
            for best in classified.scores.topk(min(BEST, len(classified.scores))).indices.tolist()
        ],
        "method": result.method,
        "score_change": _number(change),
        "credit": _number(float(result.group_values[sample].double().sum())),
        "residual": _number(residual),
        "gradients": int(result.gradients[sample]),
        "forwards": int(result.details.get("forwards", 0)),
        "seconds": round(seconds, 3),
        "speed": result.details.get("speed", "exact"),
        "seed": result.details["seed"],
        "device": result.details["device"],
        "dtype": result.details["dtype"],
        "versions": result.details["versions"],
    }


def lines(record: dict[str, Any]) -> dict[str, str]:
    """The same for people, label and words.

    >>> from samp.html.facts import lines
    >>> record = {"class": "cat", "index": 3, "score": 1.5, "score_is": "logit", "model": "net", "residual": None}
    >>> record |= {"gradients": 1, "forwards": 0, "seconds": 0.5, "method": "GradCAM()"}
    >>> lines(record)["class"], lines(record)["score"]
    ('cat (3)', '1.500 (logit, net)')
    """
    return {
        "class": f"{record['class']} ({record['index']})",
        "score": f"{record['score']:.3f} ({score_source(record['score_is'], record['model'])})",
        "residual": _residual(record),
        "gradients": str(record["gradients"]),
        **({"forwards": str(record["forwards"])} if record["forwards"] else {}),
        "seconds": f"{record['seconds']:.2f}",
        **({"speed": record["speed"]} if record.get("speed", "exact") != "exact" else {}),
        "method": record["method"],
    }


def format_lines(words: Mapping[str, str]) -> str:
    """Labels and words as lines for a terminal, each word in one line whatever is in it.

    >>> print(format_lines({"class": "cat (3)", "gradients": "14"}))
    class:     cat (3)
    gradients: 14
    """
    return "\n".join(f"{name + ':':<11}{printable(value)}" for name, value in words.items())


def title(record: dict[str, Any]) -> str:
    """The headline of the picture."""
    words = lines(record)
    return f"Why {words['class']}? Score {words['score']}"


def notes(record: dict[str, Any], classifier: Classifier) -> list[str]:
    """What stands below the picture: how it was made and what the credit misses."""
    zero = f"; input 0 is the colour {zero_colour(classifier)}" if record["score_change"] else ""
    spent = [
        _count_words(record["gradients"], "gradient"),
        _count_words(record["forwards"], "forward"),
        f"{record['seconds']:.2f} s",
    ]
    return [f"{record['method']}{zero}", f"residual: {_residual(record)}; {', '.join(filter(None, spent))}"]


def zero_colour(classifier: Classifier) -> str:
    """The colour that the model sees where its input is 0, which is what "black" baselines are made of.

    >>> zero_colour(Classifier(torch.nn.Identity(), "net", 4, (0.5, 0.25, 1.0), 0.5, (), channels="bgr"))
    '#FF4080'
    """
    mean = torch.tensor(classifier.mean).reshape(-1).expand(3).clamp(0, 1)
    colour = (255 * (mean.flip(0) if classifier.channels == "bgr" else mean)).round().int().tolist()
    return "#" + "".join(f"{part:02X}" for part in colour)


def _residual(record: dict[str, Any]) -> str:
    if record["residual"] is None:
        return "none: this method's credit is not meant to sum to the score"
    return format_residual(record["residual"], record["score_change"])


def _count_words(number: int, kind: str) -> str:
    return f"{number} {kind}{'s' * (number != 1)}" if number else ""


def _class_score(classified: ClassifiedPhoto, index: int) -> dict[str, Any]:
    return {
        "class": classified.classifier.label(index),
        "index": index,
        "score": _number(float(classified.scores[index])),
    }


def _number(value: float) -> float | None:
    """JSON knows no NaN."""
    return value if math.isfinite(value) else None
