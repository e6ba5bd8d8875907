"""One palette: no other file names a colour, and matplotlib, Pillow and pages read it alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import ImageColor

from samp.plots import palette

ROOT = Path(__file__).parents[2]
COLOURS = [palette.INK, palette.QUIET, palette.PAPER, palette.RULE, palette.FRAME, palette.POSITIVE, palette.NEGATIVE]
COLOURS += [*palette.SERIES, *palette.SERIES_ON_DARK, *palette.HEAT, *palette.SIGNED]
COLOURS += [colour for pair in palette.PAGE.values() for colour in pair]


def test_no_other_file_names_a_colour() -> None:
    found = []
    for folder in ("src/samp", "lab/src/samp_lab"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".css", ".js", ".html") and path.name != "palette.py":
                lines = path.read_text(encoding="utf-8").splitlines()
                # colours in upper case are what a model sees where its input is 0, in examples
                found += [f"{path.name}: {line}" for line in lines if re.search(r"#(?:[0-9a-f]{3}){1,2}\b", line)]
    assert found == []


@pytest.mark.parametrize("colour", sorted(set(COLOURS)))
def test_colours_are_read_alike_everywhere(colour: str) -> None:
    assert re.fullmatch(r"#[0-9a-f]{6}", colour)
    assert palette.rgb(colour) == ImageColor.getrgb(colour)
    colors = pytest.importorskip("matplotlib.colors", reason="needs the extra viz")
    assert tuple(round(255 * level) for level in colors.to_rgb(colour)) == palette.rgb(colour)


def test_series_are_told_apart() -> None:
    assert len(set(palette.SERIES)) == len(set(palette.SERIES_ON_DARK)) == len(palette.SERIES)
