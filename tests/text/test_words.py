"""Words in any script, and the words of tokens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samp.text.words import assign_words, find_words, trim_span


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 3.5, isn't it?", ["It's", "3", ".", "5", ",", "isn't", "it", "?"]),
        ("'quoted'", ["'", "quoted", "'"]),
        ("القطة نائمة، نعم", ["القطة", "نائمة", "،", "نعم"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),  # with vowel points
        ("बिल्ली सो रही है", ["बिल्ली", "सो", "रही", "है"]),  # vowel signs are marks, no letters
        ("東京はいい", ["東", "京", "は", "い", "い"]),
        ("naïve nai\u0308ve", ["naïve", "nai\u0308ve"]),
        ("ok 👍🏽 👩‍👩‍👧 🇫🇷🇩🇪 1️⃣", ["ok", "👍🏽", "👩‍👩‍👧", "🇫🇷", "🇩🇪", "1️⃣"]),
        ("a\n\n  b\t", ["a", "b"]),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_are_in_order_and_hold_every_character_but_blanks(text: str) -> None:
    spans = find_words(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    inside = {place for start, end in spans for place in range(start, end)}
    assert all(text[place].isspace() for place in range(len(text)) if place not in inside)


@given(st.text(min_size=1), st.data())
def test_numbers_of_words_rise_without_gaps(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text)), max_size=6)) | {len(text)})
    numbers = assign_words(text, list(zip([0, *cuts[:-1]], cuts, strict=True)))
    assert numbers[0] == 0
    assert all(after - before in (0, 1) for before, after in pairwise(numbers))


def test_tokens_of_one_character_share_its_word() -> None:
    assert assign_words("a 👍 b", [(0, 1), (2, 3), (2, 3), (3, 5)]) == [0, 1, 1, 2]  # bytes of an emoji


def test_blanks_belong_to_the_word_before() -> None:
    assert assign_words("\n a\n b", [(0, 1), (1, 3), (3, 4), (4, 6)]) == [0, 0, 0, 1]


def test_a_token_over_two_words_joins_them() -> None:
    assert assign_words("東京 駅", [(0, 2), (2, 4)]) == [0, 1]


def test_spans_lose_the_blanks_around_them() -> None:
    assert trim_span(" a b ", (0, 5)) == (1, 4)
