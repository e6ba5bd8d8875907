"""The recipe of a run: by which names and settings its model and its method are made again, as far as words say that.

It is stored for readers. What decides the numbers of a run are its settings, which identify weights by their hash.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from samp.baselines import BASELINES, Colour, Constant
from samp.batch.models import Model
from samp.methods import Method, resolve_method
from samp.methods.registry import METHODS

Words = dict[str, Any]


def make_recipe(model: Model, method: Method) -> Words:
    """Return the words for the model and for the method, without those that cannot be told in words.

    >>> from samp.methods import Consensus
    >>> make_recipe(Model("squeezenet1_1", weights="/net.pt"), Consensus(walks=3))
    {'model': {'model': 'squeezenet1_1', 'weights': '/net.pt'}, 'method': {'method': 'consensus', 'walks': 3}}
    """
    found = {"model": _model_words(model), "method": _method_words(method)}
    return {part: words for part, words in found.items() if words}


def _model_words(model: Model) -> Words:
    """Return the arguments of `samp.models.load` for the model, none for a classifier of the caller."""
    if not isinstance(model.model, str):
        return {}
    paths = {name: value and str(value) for name, value in (("weights", model.weights), ("classes", model.classes))}
    words = {"model": model.model, **paths, "trust": model.trust, **model.given}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in words.items() if value}


def _method_words(method: Method) -> Words:
    """Return the name of the method and its settings that differ from those the name stands for; none if unknown."""
    module = type(method).__module__
    names = [name for name, entry in METHODS.items() if f"samp.methods.{entry.module}" == module]
    found = (_words_by_name(method, name) for name in names)
    return min(filter(None, found), key=len, default={})


def _words_by_name(method: Method, name: str) -> Words:
    standard = resolve_method(name)
    if type(standard) is not type(method):
        return {}
    words: Words = {"method": name}
    for field in fields(method):  # type: ignore[arg-type]  # methods are dataclasses, which their protocol cannot say
        value = getattr(method, field.name)
        if value == getattr(standard, field.name):
            continue
        told = _baseline_words(value) if field.name == "baseline" else value
        if field.name not in METHODS[name].settings or not isinstance(told, str | int | float):
            return {}
        words[field.name] = told
    return words


def _baseline_words(value: object) -> str | None:
    """Return a baseline, or a pair of them, as names and numbers with commas between; None for others."""
    parts = [_baseline_word(part) for part in (value if isinstance(value, tuple) else (value,))]
    return None if None in parts else ",".join(map(str, parts))


def _baseline_word(value: object) -> str | None:
    """Return the word of the command line for a baseline; a constant is its number, since black is a colour there."""
    if isinstance(value, Constant):
        return repr(float(value.value))
    if isinstance(value, Colour):
        return value.name
    return next((name for name, known in BASELINES.items() if type(known) is type(value) and known == value), None)
