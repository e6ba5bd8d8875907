"""Requests that are refused: a status and one sentence."""

from __future__ import annotations


class RefusedError(Exception):
    """A request that is answered by this status and sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError, NotImplementedError)


def error_sentence(error: Exception) -> str:
    """Return one line on an error: its own message if that was meant for people, else with its type.

    >>> error_sentence(ValueError("eta is above 0,\\nnot 0.")), error_sentence(KeyError("x"))
    ('eta is above 0, not 0.', "unexpected KeyError ('x')")
    """
    message = " ".join(str(error).split()) or type(error).__name__
    return message if isinstance(error, EXPECTED) else f"unexpected {type(error).__name__} ({message})"
