"""What a visitor may ask: the methods on offer, and a question read from a request."""

from __future__ import annotations

from functools import cache
from typing import Any

from samp.app.jobs import Question
from samp.app.limits import MOST_METHODS
from samp.app.nets import Nets
from samp.app.photos import Photos
from samp.app.refusals import RefusedError
from samp.lookup import look_up
from samp.methods import resolve_method
from samp.methods.coupled import QUALITIES
from samp.methods.registry import METHODS, method_name

LABELS = {
    "consensus": "Consensus",
    "coupled": "Coupled",
    "samp++": "SAMP++",
    "samp": "SAMP",
    "ig": "Integrated Gradients",
}
DEFAULT = "consensus"


@cache
def describe_methods() -> list[dict[str, Any]]:
    """Return all methods for the page: names, a line on each, whether it walks and so can be watched step by step."""
    return [_describe_method(name) for name in METHODS]


def _describe_method(name: str) -> dict[str, Any]:
    method = resolve_method(name)
    about = method.about
    return {
        "name": name,
        "label": LABELS.get(name, name),
        "line": f"{about.paper}; {about.cost}",
        "complete": about.complete,
        "walks": hasattr(method, "credit"),  # what path methods alone have: how a segment is credited
        "has_quality": hasattr(method, "quality"),
        "by_default": name == DEFAULT,
    }


def read_question(asked: dict[str, Any], photos: Photos, nets: Nets) -> Question:
    """Return the question in the JSON of a request; raise RefusedError if it is none."""
    model, target = nets.check(asked.get("model", nets.default)), asked.get("target")
    names = asked.get("methods", [DEFAULT])
    if not (target is None or _is_number(target, 2**31)):
        raise RefusedError(400, f"target is the number of a class, or null for the predicted one, not {target!r}.")
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_METHODS or not all(isinstance(n, str) for n in names):
        raise RefusedError(400, f"methods are 1 to {MOST_METHODS} names, not {names!r}.")
    seed, quality = asked.get("seed", 0), asked.get("quality", "standard")
    if not _is_number(seed, 2**63):
        raise RefusedError(400, f"seed is a whole number from 0 to below 2**63, not {seed!r}.")
    try:
        methods = tuple(method_name(name) for name in names)
        look_up(quality, QUALITIES, "quality")
    except (TypeError, ValueError) as error:
        raise RefusedError(400, str(error)) from error
    if len(set(methods)) < len(methods):
        raise RefusedError(400, f"each method once, please: {', '.join(methods)}.")
    return Question(photos.get(asked.get("photo")), model, target, methods, quality, seed)


def _is_number(value: object, below: int) -> bool:
    return type(value) is int and 0 <= value < below
