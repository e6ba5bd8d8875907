"""Printing to a terminal or a pipe, in any encoding and without the control characters that names may hold.

File names, class names and messages of other libraries may hold anything: sequences that move the cursor or colour what
follows, line breaks that forge a line of ours, marks that turn the order of letters. In files and in JSON these are
data and stay; in lines for people they are written as escape sequences.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Mapping
from contextlib import nullcontext

import click

# C0, DEL and C1; marks that turn the direction of text; separators of lines; a byte order mark.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
HANDLER = "samp-degrade"
# Substitutes for characters of ours that an encoding may not have; any other is written as its number.
SUBSTITUTES = {
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "×": "x",
    "·": "*",
    "²": "^2",
    "³": "^3",
    "√": "sqrt",
    "∞": "inf",
    "η": "eta",
    "λ": "lambda",
    "ε": "epsilon",
    "σ": "sigma",
    "α": "alpha",
    "Δ": "Delta",
    "Σ": "sum",
    "∂": "d",
    "⌈": "ceil(",
    "⌉": ")",
    "≥": ">=",
    "≤": "<=",
    "→": "->",
    "←": "<-",
    "↓": "v",
    "↑": "^",
    "\ufffd": "?",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "μ": "mu",
    "β": "beta",
    "π": "pi",
    "‖": "||",
}


def say(line: str, err: bool = False) -> None:
    """Print one line to stdout, or to stderr if `err`; control characters in it are escaped."""
    _print(printable(line), err)


def say_block(text: str, err: bool = False) -> None:
    """Print several lines, such as a table: as `say`, but with line breaks kept."""
    _print(printable(text, keep="\n"), err)


def say_traceback(error: BaseException) -> None:
    """Print the traceback of an error to stderr, indented, so that no line of its message looks like one of ours."""
    say_block(textwrap.indent("".join(traceback.format_exception(error)).strip(), "  ").lstrip(), err=True)


def _print(text: str, err: bool) -> None:
    progress = sys.modules.get("samp.progress")  # only where it has been imported may there be a bar on the terminal
    with progress.hide_command_bars() if progress else nullcontext():
        click.echo(text, file=sys.stderr if err else sys.stdout)


def clear_line() -> None:
    """Erase what a bar that was interrupted while it was drawn may have left on the terminal's line."""
    if "samp.progress" in sys.modules and sys.stderr.isatty():
        blank = " " * (os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        click.echo(f"\r{blank}\r", nl=False, err=True)


def printable(text: object, keep: str = "") -> str:
    r"""Return the text with control characters escaped, except those to keep; stray bytes of a name become "�".

    >>> print(printable("a\x1b[31mb\n\u202egnp.exe"))
    a\x1b[31mb\n\u202egnp.exe
    """

    def escape_character(found: re.Match[str]) -> str:
        character = found.group()
        return character if character in keep else character.encode("unicode_escape").decode("ascii")

    return UNSAFE.sub(escape_character, click.format_filename(str(text)))


def accept_any_encoding() -> None:
    """Make stdout and stderr write a substitute for what their encoding does not have, instead of raising.

    Pipes on Windows use cp1252, and there are terminals in latin-1 and ASCII.
    """
    codecs.register_error(HANDLER, degrade)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a notebook or a test puts in their place may not have it
            stream.reconfigure(errors=HANDLER)


def degrade(error: UnicodeError) -> tuple[str, int]:
    r"""Return a substitute for characters that cannot be encoded, and where to continue: a handler for `codecs`.

    >>> codecs.register_error(HANDLER, degrade)
    >>> "2·⌈1/η⌉ × 猫".encode("ascii", HANDLER)
    b'2*ceil(1/eta) x \\u732b'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    left_over = error.object[error.start : error.end]
    return "".join(
        SUBSTITUTES.get(one, one.encode("ascii", "backslashreplace").decode()) for one in left_over
    ), error.end


def format_lines(texts: Mapping[str, str]) -> str:
    """Return labels and texts as lines for a terminal, each text on one line whatever is in it.

    >>> print(format_lines({"class": "cat (3)", "gradients": "14"}))
    class:     cat (3)
    gradients: 14
    """
    return "\n".join(f"{name + ':':<11}{printable(text)}" for name, text in texts.items())
