"""Text on pictures: in a font that has its letters; what none has is written in words that can be read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from cli_runs import TINY, a_photo, run, tiny
from samp.plots import fonts
from samp.plots.fonts import BUILT_IN, draw_text, fonts_for, make_legible, missing_characters, text_width

OURS = chr(0xE123)  # a private character, which no other font is likely to have


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine whose only fonts are those put into this folder, and Pillow's own."""
    monkeypatch.setattr(fonts, "_matplotlib_fonts", lambda: ())
    yield from only_in(tmp_path / "data", monkeypatch)


@pytest.fixture
def beside_matplotlibs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The same with matplotlib, as after the README's first command."""
    pytest.importorskip("matplotlib", reason="needs the extra viz")
    yield from only_in(tmp_path / "data", monkeypatch)


def only_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(fonts, "_font_folders", lambda: iter([folder]))
    monkeypatch.chdir(folder.parent)
    folder.mkdir()
    fonts._system_fonts.cache_clear()
    yield folder
    fonts._system_fonts.cache_clear()


def a_font(folder: Path, characters: str, name: str = "tiny") -> Path:
    """A font in which each of these characters is a black square, and an unknown one is a narrow bar."""
    builder = pytest.importorskip("fontTools.fontBuilder", reason="needs fonttools").FontBuilder(1000)
    pen_type = pytest.importorskip("fontTools.pens.ttGlyphPen").TTGlyphPen

    def box(width: int) -> object:
        pen = pen_type(None)
        pen.moveTo((0, 0))
        for corner in ((0, 800), (width, 800), (width, 0)):
            pen.lineTo(corner)
        pen.closePath()
        return pen.glyph()

    names = {ord(one): f"g{number}" for number, one in enumerate(characters)}
    builder.setupGlyphOrder([".notdef", *names.values()])
    builder.setupCharacterMap(names)
    builder.setupGlyf({".notdef": box(100), **{glyph: box(800) for glyph in names.values()}})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", *names.values()), (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": name, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(folder / f"{name}.ttf")
    return folder / f"{name}.ttf"


def drawn(text: str) -> np.ndarray:
    chain = fonts_for(text)
    image = Image.new("RGB", (400, 40), "white")
    draw_text(ImageDraw.Draw(image), (4, 4), make_legible(text, chain), "black", chain, 20)
    return np.asarray(image)


def test_plain_text_stays_in_pillows_own_font() -> None:
    assert fonts_for("Why tabby (281)? Score 3.2") == (BUILT_IN,)


def test_accents_are_letters_after_the_readmes_first_command(beside_matplotlibs: Path) -> None:
    text = "café crème Übergröße łódź Ωж − ×"
    chain = fonts_for(text)
    assert [Path(file).name for file in chain[:-1]] == ["DejaVuSans.ttf"]
    assert make_legible(text, chain) == text
    assert missing_characters(text, chain) == ""
    assert not np.array_equal(drawn("é"), drawn("e"))


def test_an_accent_that_stands_alone_joins_its_letter(beside_matplotlibs: Path) -> None:
    assert make_legible("cafe\u0301", fonts_for("cafe\u0301")) == "café"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("café Übergröße Åse", "cafe Ubergro[U+00DF]e Ase"),
        ("猫", "[U+732B]"),
        ("三毛猫.jpg", "[U+4E09 U+6BDB U+732B].jpg"),
        ("ねこ カメ", "neko kame"),
        ("고양이", "goyangi"),
        ("👩\u200d🔬 at work", "[woman microscope] at work"),
        ("a][b", "a][b"),
        ("one\x1b[31m\ntwo", "one[U+001B][31m two"),
    ],
)
def test_without_a_font_there_are_words_that_can_be_read(text: str, words: str, alone: Path) -> None:
    chain = fonts_for(text)
    assert chain == (BUILT_IN,)
    assert make_legible(text, chain) == words
    assert missing_characters(words, chain) == ""


def test_a_font_of_the_machine_is_found_and_used(alone: Path) -> None:
    before = drawn(f"a {OURS}")
    file = a_font(alone, OURS)
    (alone / "broken.ttf").write_text("no font")
    fonts._system_fonts.cache_clear()
    chain = fonts_for(f"a {OURS}")
    assert chain == (str(file), BUILT_IN)
    assert make_legible(f"a {OURS}", chain) == f"a {OURS}"
    square = (drawn(OURS) == 0).all(2)
    assert square.sum() == 16 * 16  # 0.8 of 20 pixels, either way
    assert not np.array_equal(before, drawn(f"a {OURS}"))
    assert text_width(f"a{OURS}", chain, 20) == pytest.approx(text_width("a", chain, 20) + 20)


def test_a_class_without_a_font_is_told_in_one_line(alone: Path) -> None:
    Path("classes.txt").write_text("\n".join("猫犬鳥虫魚"), encoding="utf-8")
    words = [a_photo(), "--method", "gradient", "--classes", "classes.txt", "--target", "0", "--out", "why.png"]
    result = tiny(*words)
    assert result.exit_code == 0, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("samp: no font here has 猫 ")  # and others of the model's answer
    assert ": the picture says [U+732B] " in line
    assert "class:     猫 (0)" in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="fonts are looked for elsewhere")
def test_fonts_are_looked_for_where_linux_keeps_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_DIRS", "/one:/two")
    assert list(fonts._font_folders()) == [tmp_path / "fonts", Path("/one/fonts"), Path("/two/fonts")]


def test_the_figure_of_a_comparison_has_no_boxes_either(beside_matplotlibs: Path) -> None:
    a_font(beside_matplotlibs, OURS)
    Path("classes.txt").write_text(f"café {OURS}\n猫\nc\nd\ne", encoding="utf-8")
    words = ["compare", str(a_photo()), "--methods", "gradient", "--classes", "classes.txt", *TINY]
    shown, told = (run(*words, "--target", target) for target in "01")
    assert shown.exit_code == told.exit_code == 0, shown.output + told.output
    assert shown.stderr == ""  # matplotlib warns of each glyph that it does not have
    assert told.stderr.startswith("samp: no font here has 猫: the picture says [U+732B];")
    assert len(told.stderr.splitlines()) == 1


def test_a_name_from_right_to_left_stays_where_it_is_in_the_line() -> None:
    """Its own letters run from right to left; the English words and numbers around it do not move."""
    pieces = [run for _, run in fonts._runs("Why קטה סיאם (281)?", (BUILT_IN,))]
    assert pieces == ["Why ", "קטה סיאם", " (281)?"]


def test_marks_that_no_font_has_are_replaced_too(alone: Path) -> None:
    """Shaping would put a circle under a mark, which looks like a glyph."""
    assert make_legible("\u0e17\u0e33", [BUILT_IN]) == "[U+0E17 U+0E33]"
    assert make_legible("\u092c\u093f", [BUILT_IN]) == "[U+092C U+093F]"


def test_flags_are_their_letters() -> None:
    assert make_legible("\U0001f1e9\U0001f1ea", [BUILT_IN]) == "DE"


def test_letters_that_cannot_be_joined_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts.features, "check", lambda name: False)
    with pytest.warns(UserWarning, match="Pillow has no Raqm here"):
        fonts.warn_of_missing("חתול", fonts_for("חתול"))
