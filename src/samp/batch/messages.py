"""Text for rows and error messages: errors in one line, and names in characters that any file can hold."""

from __future__ import annotations


def error_line(error: Exception) -> str:
    r"""Return the message of an error on one line, or its type if it has no message.

    >>> error_line(ValueError("no\nphoto")), error_line(KeyError())
    ('no photo', 'KeyError')
    """
    return " ".join(str(error).split()) or type(error).__name__


def utf8_text(name: str) -> str:
    r"""Return text that any file can hold: bytes of a file name that are not UTF-8 are written as escapes.

    >>> utf8_text("caf\udce9.jpg")
    'caf\\xe9.jpg'
    """
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a lone surrogate that no file name has
        return name.encode("utf-8", "backslashreplace").decode("utf-8")
