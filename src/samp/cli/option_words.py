"""What is typed behind an option, read as the numbers or the baseline that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from samp.lookup import look_up

if TYPE_CHECKING:
    from samp.models import Classifier

# Names of the library, repeated here so that errors need not wait for torch.
BASELINES = ("zero", "black", "white", "uniform", "gaussian", "blurred")
COLOURS = ("black", "white")  # which depend on how the model is fed


def parse_numbers(kind: type[int] | type[float], *counts: int) -> Callable[[str], tuple[float, ...]]:
    """Return a parser of numbers with commas between, for as many of them as one of the counts.

    >>> parse_numbers(float, 1, 3)("0.485,0.456,0.406")
    (0.485, 0.456, 0.406)
    """

    def read(words: str) -> tuple[float, ...]:
        try:
            found = tuple(kind(word) for word in words.split(","))
        except ValueError:
            found = ()
        if len(found) not in counts:
            expected = " or ".join(map(str, counts))
            raise click.BadParameter(f"{words!r} is not {expected} numbers with commas between.")
        return found

    return read


def parse_baseline(words: str, classifier: Classifier | None = None) -> Any:
    """Return the baseline for a name or a number, or a pair for two with a comma between (deletion, insertion).

    Black and white are those of a photo, which the classifier knows; raise ValueError for them if there is none.

    >>> parse_baseline("zero,0.5")
    (Constant(value=0.0), Constant(value=0.5))
    """
    from samp.baselines import resolve_baseline

    def resolve(word: str | float) -> Any:
        if word not in COLOURS:
            return resolve_baseline(word)
        if classifier is None:
            raise ValueError(f"{word} depends on how the model is fed, which is not known: give zero or a number.")
        return classifier.colour(str(word))

    parts = tuple(resolve(parse_baseline_word(word)) for word in words.split(","))
    return parts[0] if len(parts) == 1 else parts


def parse_baseline_word(word: str) -> str | float:
    """Return a word of --baseline as the name or the number that it is; raise ValueError for any other.

    >>> parse_baseline_word(" black"), parse_baseline_word("0.5")
    ('black', 0.5)
    """
    try:
        return float(word)
    except ValueError:
        return look_up(word.strip(), {name: name for name in BASELINES}, "baseline")
