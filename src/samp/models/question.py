"""What is asked of a model's answer, in words: why this class, or why this one rather than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def name_class(record: Mapping[str, Any], numbers: bool = False) -> str:
    """Return the class that a record explains and the one that it is told from, if any; on request with their numbers.

    >>> record = {"class": "tabby", "index": 281, "against": {"class": "Egyptian cat", "index": 285}}
    >>> name_class(record), name_class(record, numbers=True)
    ('tabby rather than Egyptian cat', 'tabby (281) rather than Egyptian cat (285)')
    """
    sides = [record, *filter(None, [record.get("against")])]
    return " rather than ".join(f"{one['class']} ({one['index']})" if numbers else str(one["class"]) for one in sides)


def margin_kind(kind: str) -> str:
    """Return what the difference of two scores of this kind is called.

    >>> margin_kind("logit"), margin_kind("probability")
    ('margin of logits', 'margin of probabilities')
    """
    return f"margin of {kind[:-1]}ies" if kind.endswith("y") else f"margin of {kind}s"
