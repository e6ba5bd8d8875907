"""Why the score of a photo and the score change of its walks are two numbers, in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from samp.models.question import name_class

# The baseline of a method's text: one, or a pair of the walk to the baseline and the walk to the image.
BASELINE = r"(\w+\((?:[^()]|\([^()]*\))*\))"
PAIR = re.compile(rf"baseline=\({BASELINE}, {BASELINE}\)")
SINGLE = re.compile(rf"baseline={BASELINE}")
COLOUR = re.compile(r"Colour\(name='(\w+)'.*")
CONSTANT = re.compile(r"Constant\(value=(.*)\)")


def describe_score_change(record: Mapping[str, Any], zero: str) -> str:
    """Return what the score is, and how the score change that the credit adds up to is made of the walks.

    `zero` is the colour that the model sees where its input is 0.

    >>> record = {"score": 11.1, "score_is": "logit", "class": "cello", "index": 486, "score_change": 16.1}
    >>> record |= {"score_change_by_direction": {"to_baseline": 9.0, "to_image": 7.1}}
    >>> record |= {"method": "Coupled(baseline=(Constant(value=0.0), Blurred(kernel=31, sigma=5.0)))"}
    >>> describe_score_change(record, "#7F7F7F")
    'Score 11.100: the logit of cello (486) for the picture. Score change 16.100: both directions added up, 7.100 from
    the blurred picture up to the picture, and 9.000 from it down to plain #7F7F7F.'
    """
    score = f"Score {record['score']:.3f}: the {record['score_is']} of {name_class(record, numbers=True)}"
    changes = {name: change for name, change in record["score_change_by_direction"].items() if change is not None}
    if record["score_change"] is None or not changes:
        return f"{score} for the picture."
    if (absorbed := record.get("absorbed")) is not None:
        return (
            f"{score} for the picture. Biases absorb {absorbed:.3f} of it, so that {changes['to_image']:.3f} is left."
        )
    ends = _baseline_words(record["method"], zero)
    ways = {
        "to_image": f"from {ends[1]} up to the picture",
        "to_baseline": f"from {'it' if len(changes) > 1 else 'the picture'} down to {ends[0]}",
    }
    walked = [f"{changes[name]:.3f} {ways[name]}" for name in ways if name in changes]
    change = f"Score change {record['score_change']:.3f}"
    if len(walked) == 1:
        return f"{score} for the picture. {change}: one walk, {walked[0]}."
    return f"{score} for the picture. {change}: both directions added up, {', and '.join(walked)}."


def _baseline_words(method: str, zero: str) -> tuple[str, str]:
    """Return where the walk to the baseline ends and where the walk to the image starts, as far as the method says."""
    if pair := PAIR.search(method):
        return _words(pair[1], zero), _words(pair[2], zero)
    single = SINGLE.search(method)
    words = _words(single[1], zero) if single else "its baseline"
    return words, words


def _words(baseline: str, zero: str) -> str:
    if baseline.startswith("Blurred("):
        return "the blurred picture"
    if colour := COLOUR.fullmatch(baseline):
        return f"plain {colour[1]}"
    constant = CONSTANT.fullmatch(baseline)
    if constant and constant[1] == "0.0":
        return f"plain {zero}"
    return f"input {constant[1]}" if constant else baseline
