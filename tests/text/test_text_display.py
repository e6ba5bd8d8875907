"""How explained texts are shown: pages, notebooks and terminals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import samp
from samp.html.text_page import LEVELS, STRONGEST, shade_class
from samp.plots.palette import PAGE, TEXT_TINTS, rgb
from samp.text.pieces import make_pieces

NASTY = ["<script>alert(1)</script>", "&amp;", "القطة", "猫", "👍🏽", '"onload="x']


def encode(text: str) -> samp.text.Encoded:
    """Words between blanks as tokens, after a special one."""
    spans = [found.span() for found in re.finditer(r"\S+", text)]
    tokens = [text[start:end] for start, end in spans]
    return samp.text.Encoded(
        text,
        [0, *range(1, 1 + len(tokens))],
        ["<s>", *tokens],
        [True] + [False] * len(tokens),
        [(0, 0), *spans],
        pad_id=9,
    )


class Sum(nn.Module):
    """A score for each of two classes: the weight of every token, summed."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 1)
        self.words.weight.data = torch.tensor([0.0, 4, -2, 1, 0, 3, -4, 0, 0, 0])[:, None]

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        total = self.words(numbers).sum(1)
        return torch.cat([-total, total], 1)


@pytest.fixture(scope="module")
def result() -> samp.text.TextAttribution:
    found = samp.text.explain(Sum().eval(), encode, " ".join(NASTY), target=1)
    assert found.scores.tolist() == pytest.approx([4, -2, 1, 0, 3, -4], abs=1e-5)
    return found


def test_the_page_escapes_every_word_and_holds_the_text_whole(
    result: samp.text.TextAttribution, tmp_path: Path
) -> None:
    page = result.save_page(tmp_path / "why.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    (flow,) = re.findall(r'<p class="samp-words" dir="auto">(.*?)</p>', page, re.DOTALL)
    assert unescape(re.sub(r"<[^>]*>", "", flow)) == result.text
    assert set(re.findall(r"</?([a-z]+)", flow)) == {"span"}
    facts = json.loads(re.findall(r'id="facts">(.*?)</script>', page, re.DOTALL)[0])
    assert [one["text"] for one in facts[0]["features"]] == NASTY
    assert "<s>" in facts[0]["fixed"]


def test_shades_follow_sign_and_size(result: samp.text.TextAttribution) -> None:
    shades = dict(re.findall(r'<span(?: class="(\w+)")? title="([^"]*)"', result.page()))
    assert set(shades) == {"for9", "against5", "for2", "for7", "against9", ""}
    assert [shade_class(credit, 9.0) for credit in (9, 1, 0.4, 0, -1)] == ["for9", "for1", "", "", "against1"]


def test_texts_of_one_target_share_their_scale() -> None:
    results = samp.text.explain(Sum().eval(), encode, ["strong", "none weak"], target=1)
    assert [found.scores.abs().max().item() for found in results] == pytest.approx([4, 4], abs=1e-4)
    page = results.page()
    assert page.count("strongest: 4") == 2


def test_a_notebook_shows_the_same_with_a_style_that_touches_nothing_else(result: samp.text.TextAttribution) -> None:
    shown = result._repr_html_()
    style, _, body = shown.removeprefix("<style>").partition("</style>")
    rules = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    selectors = [part.strip() for part in re.findall(r"([^{}]+)\{", rules)]
    assert len(selectors) > 5
    assert 'style="background:rgb(224 106 0 / ' in body  # in the words, where style sheets are removed
    assert all(selector.startswith(".samp-text") for selector in selectors)
    assert "&lt;script&gt;" in body
    assert "<script" not in body


def luminance(colour: tuple[float, ...]) -> float:
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("tint", TEXT_TINTS)
def test_words_are_readable_on_every_shade(side: int, tint: str) -> None:
    ink, card = rgb(PAGE["ink"][side]), rgb(PAGE["card"][side])
    for level in range(LEVELS + 1):
        share = STRONGEST * level / LEVELS
        ground = [share * one + (1 - share) * two for one, two in zip(rgb(TEXT_TINTS[tint]), card, strict=True)]
        bright, dark = sorted((luminance(tuple(ground)), luminance(ink)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5  # WCAG's AA for text


def test_the_terminal_gets_plain_bars(result: samp.text.TextAttribution) -> None:
    lines = str(result).splitlines()
    assert lines[0].startswith("class 1: score 2.000, at the baseline (pad) 0.000")
    assert lines[1] == f"   +4.000  {'+' * 20}  <script>alert(1)</script>"
    assert lines[2].split() == ["-2.000", "-" * 10, "&amp;"]
    assert lines[-1] == "kept fixed: <s>"
    assert "\x1b" not in str(result)


def test_control_characters_are_escaped_on_a_terminal() -> None:
    shown = str(samp.text.explain(Sum().eval(), encode, "a\x1b[31m \u202ebc", target=1))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"a\x1b[31m" in shown


def test_top_is_by_size_whatever_the_sign(result: samp.text.TextAttribution) -> None:
    assert [name for name, _ in result.top(3)] == [NASTY[0], NASTY[5], NASTY[4]]
    assert "residual" in repr(result)


@given(st.text(max_size=20), st.data())
def test_pieces_hold_every_character_once(text: str, data: st.DataObject) -> None:
    cuts = (
        st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
        .map(sorted)
        .filter(lambda pair: pair[0] < pair[1])
    )
    spans = [tuple(one) for one in data.draw(st.lists(cuts, max_size=5) if text else st.just([]))]
    credit = [1.0] * len(spans)
    pieces = make_pieces(text, [""] * len(spans), credit, spans)
    assert "".join(piece.text for piece in pieces) == text
    assert sum(piece.credit or 0 for piece in pieces) == len(spans)


def test_tokens_without_places_follow_each_other() -> None:
    assert "".join(piece.text for piece in make_pieces("ab", ["a", "##b"], [1.0, 2.0], None)) == "a ##b"


def test_the_terminal_names_what_the_credit_misses(result: samp.text.TextAttribution) -> None:
    assert "misses" not in str(result)
    assert "misses" not in str(replace(result, residual=0.01))
    assert "misses" not in str(replace(result, residual=float("nan")))
    assert "the credit misses -0.500 of the change +2.000" in str(replace(result, residual=-0.5))
