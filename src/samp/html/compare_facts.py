"""What is said of methods side by side: numbers for machines, and words on how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samp.compare import Compared, Row
from samp.compare_columns import COLUMNS
from samp.html.facts import facts, zero_colour
from samp.metrics.protocols import Protocol
from samp.models import Classifier
from samp.models.prediction import ClassifiedPhoto

ABOUT = ("photo", "model", "class", "index", "score", "score_is", "best", "seed", "device", "dtype", "versions")
# What each column is, for people.
MEANINGS = {
    "deletion": "Area under the deletion curve: how long the score stays up while the pixels that the map ranks "
    "highest are taken away. Lower is better.",
    "insertion": "Area under the insertion curve: how soon the score comes up while those pixels are put in. Higher is "
    "better.",
    "difference": "Both in one number. Higher is better.",
    "completeness_error": "What the credit misses of the change of the score between baseline and photo, over that "
    "change. Lower is better; a dash where the method does not mean its credit to sum to it.",
    "variance": "Of the credit over all pixels (Definition 1 of the SAMP paper, which wants it large). It grows with "
    "the square of a map's scale, so only maps of the same sum can be ranked by it: no best is marked.",
    "gini": "Gini coefficient of the credit's size: 0 if all pixels have the same, near 1 if few have it all. Higher "
    "is clearer, which alone does not make a map right.",
    "top_share": "Share of the credit's size that lies on the tenth of the pixels with the most. Higher is clearer.",
    "seconds": "Wall time of explaining this photo once, on this machine, with whatever else ran on it; the curves are "
    "not counted. Lower is better.",
    "gradients": "Evaluations of the model with a gradient. Lower is better.",
    "forwards": "Evaluations of the model without one; those of the curves are not counted. Lower is better.",
}


def comparison_record(
    classified: ClassifiedPhoto, compared: Compared, left_out: Mapping[str, str], command: str
) -> dict[str, Any]:
    """Everything the comparison found, ready for JSON; what a method does not have is None."""
    common = facts(classified, compared.rows[0].attribution, 0, 0.0)
    return {
        **{key: common[key] for key in ABOUT},
        "protocol": compared.protocol.label,
        "protocol_settings": repr(compared.protocol),
        "command": command,
        "shares": compared.rows[0].curves.shares.tolist(),
        "methods": [_method(row) for row in compared.rows],
        "left_out": dict(left_out),
    }


def missing_notes(compared: Compared, record: dict[str, Any]) -> list[str]:
    """A sentence for each thing that could not be had: methods that failed, curves on a scale that does not exist."""
    notes = [f"{name} is left out: {sentence}" for name, sentence in record["left_out"].items()]
    if any(row.curves.unnormalised for row in compared.rows):
        notes.append(
            f"there are no curves, as the protocol {record['protocol']!r} divides by the photo's score, which is not "
            f"above 0 ({record['score']:.3f}): try `protocol='rise'`, or another `target`."
        )
    return notes


def text_table(compared: Compared) -> str:
    """The table of the one photo for a terminal, in columns."""
    cells = [["method", *(column.heading_with_arrow for column in COLUMNS)]]
    for row in compared.rows:
        numbers = row.numbers(0)
        cells.append([row.name, *(column.format_value(numbers[column.key]) for column in COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        [
            cell.ljust(width) if not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in cells
    ]
    return "\n".join("  ".join(line) for line in lines)


def score_words(protocol: Protocol, kind: str = "logit") -> str:
    """What the curves' height is; `kind` says what the model's own outputs are.

    >>> from samp.metrics import PROTOCOLS
    >>> score_words(PROTOCOLS["imagenet"]), score_words(PROTOCOLS["rise"])
    ("logit over the photo's", 'probability')
    """
    score = protocol.score if isinstance(protocol.score, str) else "score"
    score = kind if score == "logit" else score  # which is the output as it is
    scales = {"image": f"{score} over the photo's", "change": f"{score}, 0 hidden to 1 shown", None: score}
    return scales[protocol.normalise]


def protocol_words(protocol: Protocol, points: int, classifier: Classifier, kind: str = "logit") -> str:
    """How Deletion and Insertion were measured, as sentences.

    >>> import torch
    >>> from samp.metrics import PROTOCOLS
    >>> net = Classifier(torch.nn.Identity(), "net", 4, 0.5, 0.5, ())
    >>> protocol_words(PROTOCOLS["rise"], 225, net).split(";")[0]
    "'rise': pixels with the most credit first, 224 at a time"
    """
    unit = "pixels" if protocol.unit is None else f"features of {protocol.unit!r}"
    most = "the largest credit, whatever its sign," if protocol.absolute else "the most credit"
    if isinstance(protocol.step, tuple):
        each = f"at {', '.join(f'{share:.0%}' for share in protocol.step)}"
    else:
        each = f"{protocol.step:,} at a time"
    area = f"the {protocol.auc} of" if isinstance(protocol.auc, str) else "a function of"
    return (
        f"{protocol.label!r}: {unit} with {most} first, {each}; deleted ones show {protocol.fill!r}, those not yet "
        f"inserted {protocol.start!r} (0 is the colour {zero_colour(classifier)} in the space the model is fed). "
        f"Curves: {score_words(protocol, kind)}. Area: {area} {points} points."
    )


def _method(row: Row) -> dict[str, Any]:
    curves = {name: getattr(row.curves, name)[0].tolist() for name in ("deletion_curve", "insertion_curve")}
    known = {
        name: [None if value != value else value for value in line] for name, line in curves.items()
    }  # JSON: no NaN
    return {"name": row.name, "method": row.attribution.method, **row.numbers(0), **known}
