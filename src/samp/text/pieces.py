"""A text in parts with their credit, for pages, and as bars for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from samp.text.words import Span

if TYPE_CHECKING:
    from samp.text.attribution import TextAttribution

BAR = 20  # characters of the longest bar
SHOWN, ROUNDING = 0.01, 5e-4  # the share of the change, and the least that three digits show, of a residual to show
JOINERS = "\u200c\u200d"
NOTHING = "\u2423"  # an open box, for a token that stands for no character of the text


@dataclass(frozen=True)
class Piece:
    """A part of a text, and its credit; None for blanks, and whatever else was no feature."""

    text: str
    credit: float | None
    label: str = ""


def make_pieces(
    text: str, features: Sequence[str], credit: Sequence[float], spans: Sequence[Span] | None
) -> list[Piece]:
    """Return the text in order, every character of it once; features that share a character are one piece.

    (Byte-level tokenizers cut an emoji into several tokens.) Without places, the features follow each other.

    >>> [(piece.text, piece.credit) for piece in make_pieces("to be!", ["to", "be"], [1.0, -2.0], [(0, 2), (3, 5)])]
    [('to', 1.0), (' ', None), ('be', -2.0), ('!', None)]
    """
    if spans is None:
        named = [Piece(name, value, f"{value:+.4g}") for name, value in zip(features, credit, strict=True)]
        parts = [part for piece in named for part in (Piece(" ", None), piece)]
        return parts[1:]
    pieces: list[Piece] = []
    place = 0
    for start, end, value in _join_overlapping(spans, credit):
        if start > place:
            pieces.append(Piece(text[place:start], None))
        pieces.append(Piece(text[start:end] or NOTHING, value, f"{value:+.4g}"))
        place = end
    return [*pieces, Piece(text[place:], None)] if place < len(text) else pieces


def format_bars(result: TextAttribution) -> str:
    """Return an explanation as lines for a terminal: credit, a bar, and the word, last since its width may be any.

    It is plain ASCII but for the text itself.
    """
    largest = max((abs(piece.credit) for piece in result.pieces if piece.credit is not None), default=0.0) or 1.0
    lines = [
        f"{escape_unprintable(result.target)}: score {result.score:.3f}, at the baseline ({result.baseline}) "
        f"{result.baseline_score:.3f}"
    ]
    for piece in result.pieces:
        if piece.credit is not None:
            bar = ("+" if piece.credit > 0 else "-") * round(BAR * abs(piece.credit) / largest)
            lines.append(f"{piece.credit:>+9.3f}  {bar:<{BAR}}  {escape_unprintable(piece.text)}")
    change = abs(result.score - result.baseline_score)
    if abs(result.residual) > SHOWN * change and abs(result.residual) > ROUNDING:  # NaN is neither
        lines.append(
            f"the credit misses {result.residual:+.3f} of the change {result.score - result.baseline_score:+.3f}"
        )
    if result.fixed:
        lines.append(f"kept fixed: {escape_unprintable(' '.join(result.fixed))}")
    return "\n".join(lines)


def escape_unprintable(text: str) -> str:
    r"""Return the text on one line: line breaks, control characters and marks that turn text as escape sequences.

    Joiners stay, as emojis and several scripts need them.

    >>> print(escape_unprintable("a\tb\n\x1b[31m"))
    a\tb\n\x1b[31m
    """
    return "".join(
        one if one.isprintable() or one in JOINERS else one.encode("unicode_escape").decode("ascii") for one in text
    )


def _join_overlapping(spans: Sequence[Span], credit: Sequence[float]) -> list[tuple[int, int, float]]:
    joined: list[tuple[int, int, float]] = []
    for (start, end), value in sorted(zip(spans, credit, strict=True)):
        if joined and start < joined[-1][1]:
            first, last, earned = joined[-1]
            joined[-1] = (first, max(last, end), earned + value)
        else:
            joined.append((start, end, value))
    return joined
