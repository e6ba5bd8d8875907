"""A protocol of Deletion and Insertion in words, for figures and pages."""

from __future__ import annotations

from samp.metrics.protocols import Protocol
from samp.models.question import margin_kind


def describe_score(protocol: Protocol, kind: str = "logit") -> str:
    """Return what the height of the curves is; `kind` is what the model's own outputs are.

    >>> from samp.metrics import PROTOCOLS
    >>> describe_score(PROTOCOLS["imagenet"]), describe_score(PROTOCOLS["rise"])
    ("logit over the photo's", 'probability')
    >>> describe_score(PROTOCOLS["rise"], kind="margin of logits")
    'margin of probabilities'
    """
    score = protocol.score if isinstance(protocol.score, str) else "score"
    if kind.startswith("margin"):
        score = margin_kind(score) if score != "logit" else kind
    score = kind if score == "logit" else score  # "logit" stands for the output itself
    scales = {"image": f"{score} over the photo's", "change": f"{score}, 0 hidden to 1 shown", None: score}
    return scales[protocol.normalise]


def describe_protocol(protocol: Protocol, points: int, zero_colour: str, kind: str = "logit") -> str:
    """Return how Deletion and Insertion were measured, as sentences.

    - `points`: how many the curves have; `zero_colour`: what the model sees where its input is 0.
    - `kind`: what the model's own outputs are.

    >>> from samp.metrics import PROTOCOLS
    >>> describe_protocol(PROTOCOLS["rise"], 225, "#7F7F7F").split(";")[0]
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
        f"inserted {protocol.start!r} (0 is the colour {zero_colour} in the space the model is fed). "
        f"Curves: {describe_score(protocol, kind)}. Area: {area} {points} points."
    )
