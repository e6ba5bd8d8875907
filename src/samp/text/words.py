"""Words of a text, in any script, and the word that each token belongs to.

Tokenizers cut text in ways of their own, and some call a whole sentence one word, so words are found in the text itself
and tokens are assigned to them by their place in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

Span = tuple[int, int]
JOINER, KEYCAP = "\u200d", "\u20e3"
APOSTROPHES = "'’"


def find_words(text: str) -> list[Span]:
    """Return the place (start, end) of each word of the text, in order; blanks belong to none.

    A word is a run of letters, marks and digits, with apostrophes inside it. Chinese characters and Japanese kana,
    which are written without blanks, are words by themselves, as is every other sign; an emoji of several characters
    is one sign.

    >>> text = "Don’t panic, 東京 👍🏽!"
    >>> [text[start:end] for start, end in find_words(text)]
    ['Don’t', 'panic', ',', '東', '京', '👍🏽', '!']
    """
    words: list[Span] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        end = _end_of_word(text, place) if _is_letter(text[place]) else _end_of_sign(text, place)
        words.append((place, end))
        place = end
    return words


def assign_words(text: str, offsets: Sequence[Span]) -> list[int]:
    """Return the number of the word that each token belongs to, given the place of each token in the text.

    A token that spans several words joins them, and a token of blanks belongs to the word before it (or to the first).
    Numbers count from 0 without gaps.

    >>> assign_words("unhappy end", [(0, 2), (2, 7), (7, 11)])
    [0, 0, 1]
    """
    words = find_words(text)
    number_at = {place: number for number, (start, end) in enumerate(words) for place in range(start, end)}
    found: list[int | None] = []
    for start, end in offsets:
        places = (place for place in range(start, end) if place in number_at)
        first = next(places, None)
        previous = found[-1] if found else None
        found.append(previous if first is None else number_at[first])
    known = [number for number in found if number is not None]
    lead = known[0] if known else 0  # tokens before the first word are of blanks
    raw = [lead if number is None else number for number in found]
    order = {number: place for place, number in enumerate(sorted(set(raw)))}
    return [order[number] for number in raw]


def trim_span(text: str, span: Span) -> Span:
    """Return the span without the blanks around it; one of blanks only is returned as it is.

    >>> trim_span("the end", (3, 7)), trim_span("a  b", (1, 3))
    ((4, 7), (1, 3))
    """
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else span


def _end_of_word(text: str, start: int) -> int:
    end = start + 1
    while end < len(text):
        inside = text[end] in APOSTROPHES and end + 1 < len(text) and _is_letter(text[end + 1])
        if not (_is_letter(text[end]) or _extends(text[end]) or inside):
            break
        end += 1
    return end


def _end_of_sign(text: str, start: int) -> int:
    """Return the end of one sign: a character with what is drawn on it, a flag, or characters joined to one emoji."""
    end = start + 1
    if _is_flag_letter(text[start]) and end < len(text) and _is_flag_letter(text[end]):
        end += 1
    while end < len(text) and (_extends(text[end]) or text[end - 1] == JOINER):
        end += 1
    return end


def _is_letter(character: str) -> bool:
    """Return whether the character is part of words that are written together."""
    return unicodedata.category(character)[0] in "LN" and not _stands_alone(character)


def _stands_alone(character: str) -> bool:
    return unicodedata.name(character, "").startswith(("CJK ", "HIRAGANA ", "KATAKANA "))


def _extends(character: str) -> bool:
    """Return whether the character is drawn on, or joins, the one before it: marks, variants, skin tones, joiners."""
    skin_tone = 0x1F3FB <= ord(character) <= 0x1F3FF
    return unicodedata.category(character)[0] == "M" or skin_tone or character in (JOINER, KEYCAP, "\u200c")


def _is_flag_letter(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF
