"""The schema of a manifest, which may be damaged or forged: every value is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from samp.batch.tables import FORMS

Check = Callable[[Any], bool]


def check_manifest(manifest: Any) -> None:
    """Raise ValueError with the name of the first part that is missing or has another type.

    >>> check_manifest({"settings": {"method": 3}})
    Traceback (most recent call last):
    ValueError: its settings, method is 3
    """
    _check_parts(
        {"settings": lambda value: _check_parts(SETTINGS, value, OPTIONAL, "settings"), "about": _is_about}, manifest
    )


def _check_parts(
    parts: Mapping[str, Check], value: Any, optional: Mapping[str, Check] | None = None, name: str = ""
) -> bool:
    """Return True, or raise ValueError for a part that is missing or wrong; `name` is what messages call the whole."""
    if not isinstance(value, dict):
        raise ValueError(f"its {name or 'content'} is {_brief(value)}")
    for part, is_kind in {**parts, **{key: kind for key, kind in (optional or {}).items() if key in value}}.items():
        path = f"{name}, {part}" if name else part
        if part not in value:
            raise ValueError(f"its {path} is missing")
        if not is_kind(value[part]):
            raise ValueError(f"its {path} is {_brief(value[part])}")
    return True


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value >= 1


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _one_or_several(is_kind: Check) -> Check:
    return lambda value: is_kind(value) or (isinstance(value, list) and bool(value) and all(map(is_kind, value)))


def _by_name(is_kind: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(is_kind, value.values()))


def _is_about(value: Any) -> bool:
    return _check_parts({"source": _is_source}, value, {"classes": _are_texts, "recipe": _is_recipe}, "about")


def _is_recipe(value: Any) -> bool:
    is_word = _one_or_several(lambda one: _is_text(one) or isinstance(one, bool) or _is_number(one))
    return _by_name(_by_name(is_word))(value)


def _is_source(value: Any) -> bool:
    files = {"files": _are_texts} if isinstance(value, dict) and value.get("kind") == "tars" else {}
    return _check_parts({"kind": _is_text, "place": _is_text, **files}, value, name="about, source")


def _is_fed(value: Any) -> bool:
    return _check_parts(FED, value, name="settings, fed") and len(value) == len(FED)


FED: dict[str, Check] = {
    "size": _one_or_several(_is_count),
    "mean": _one_or_several(_is_number),
    "std": _one_or_several(_is_number),
    "channels": _is_text,
    "margin": lambda value: value is None or _is_number(value),
    "resample": _is_text,
}
SETTINGS: dict[str, Check] = {
    "method": _is_text,
    "model": _is_text,
    "weights": _is_text,
    "target": _is_text,
    "fed": _is_fed,
    "device": _is_text,
    "dtype": _is_text,
    "seed": _is_whole,
    "map_dtype": _is_text,
    "numbers": lambda value: _is_text(value) and value in FORMS,
    "shard_size": _is_count,
    "inputs": _is_count,
    "versions": _by_name(_is_text),
}
OPTIONAL: dict[str, Check] = {"walk": _by_name(_by_name(_is_number))}  # missing in manifests of old versions
