"""Text on pictures in any script: in a font that has its characters, else in a readable replacement.

Pillow's own font has little more than ASCII. Characters that it lacks are looked up in matplotlib's DejaVu Sans (extra
`viz`) and then in the fonts installed on the machine, which are searched only in that case. Characters in no font are
replaced: letters by the same without accents, emoji by their names, ideographs by their code points.

Lines are ours and run from left to right; names in them may run from right to left. Such a stretch is drawn by itself,
so that it does not carry the English words around it along. Pillow joins its letters by Raqm and FriBiDi.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from PIL import ImageDraw, ImageFont, features

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
BUILT_IN = ""  # stands for Pillow's own font among files
MOST_FONTS = 400  # fonts of the machine that are opened at most
# Fonts that cover many scripts are tried first.
PREFERRED_FONTS = re.compile(
    "dejavusans|notosans|cjk|sourcehan|wqy|fallback|gothic|nanum|malgun|msyh|simsun|pingfang", re.I
)
AVOIDED_STYLES = re.compile("bold|italic|oblique|light|thin|black|mono|condensed|serif", re.I)
_STRONG = "\u0590-\u07ff\u0860-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
# Hebrew, Arabic and their like, from the first such letter to the last, with what stands between.
RIGHT_TO_LEFT = re.compile(f"([{_STRONG}](?:[^A-Za-z]*[{_STRONG}])?)")
SELECTORS = re.compile("[\u200b-\u200d\u2060\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")  # modifiers of other characters


def fonts_for(text: str) -> tuple[str, ...]:
    """Return the font files that the text needs, in order of preference; `BUILT_IN` is Pillow's own font.

    >>> fonts_for("tabby (281)")
    ('',)
    """
    lacking, found = _characters_missing(BUILT_IN, set(_normalise_text(text))), []
    for look in (_matplotlib_fonts, _system_fonts):  # the machine's fonts are searched only if needed
        for file in look() if lacking else ():
            left = _characters_missing(file, lacking)
            if left < lacking:
                found.append(file)
            lacking = left
    return (*found, BUILT_IN)  # last, so that a word is not in two fonts where one has all of it


def make_legible(text: str, fonts: Iterable[str]) -> str:
    """Return the text with every character that none of these fonts has replaced by what they can draw.

    >>> make_legible("café 猫", [BUILT_IN])
    'cafe [U+732B]'
    """
    fonts = tuple(fonts)
    words = []
    for drawable, characters in groupby(_normalise_text(text), lambda one: _font_of(one, fonts) is not None):
        run = "".join(characters)
        words.append(run if drawable else "".join(_replacement(one, fonts) for one in run).replace("][", " "))
    return "".join(words)


def missing_characters(text: str, fonts: Iterable[str]) -> str:
    """Return the characters of the text that none of these fonts has, each once.

    >>> missing_characters("猫 or 猫", [BUILT_IN])
    '猫'
    """
    fonts = tuple(fonts)
    return "".join(one for one in dict.fromkeys(_normalise_text(text)) if _font_of(one, fonts) is None)


def warn_of_missing(text: str, fonts: tuple[str, ...]) -> None:
    """Warn of characters that none of these fonts has, and name their replacements."""
    lost = missing_characters(text, fonts)
    if lost:
        warnings.warn(
            f"no font here has {' '.join(lost)}: "
            f"the picture says {' '.join(make_legible(one, fonts) for one in lost)}; "
            "with a font that has these characters (Noto Sans CJK, say) it shows them.",
            stacklevel=2,
        )
    if RIGHT_TO_LEFT.search(text) and not features.check("raqm"):
        warnings.warn(
            "Pillow has no Raqm here, so letters of Hebrew and Arabic stand unjoined and from left to right on the "
            "picture: install FriBiDi (fribidi, libfribidi0), or take a page, which the browser draws.",
            stacklevel=2,
        )


def text_width(text: str, fonts: tuple[str, ...], size: int) -> float:
    """Return the width of a line in pixels, with each character in the first of these fonts that has it."""
    return sum(open_font(file, size).getlength(run) for file, run in _runs(text, fonts))


def draw_text(
    pen: ImageDraw.ImageDraw,
    place: tuple[float, float],
    text: str,
    colour: str,
    fonts: tuple[str, ...],
    size: int,
) -> None:
    """Draw one line of text with its upper left corner at `place`, all fonts on one base line."""
    left, top = place
    base = top + _ascent(size)
    for file, run in _runs(text, fonts):
        font = open_font(file, size)
        pen.text((left, base), run, colour, font, anchor="ls")
        left += font.getlength(run)


@cache
def open_font(file: str, size: int) -> Font:
    """Return the font of this file at this size; raise OSError if the file is no scalable font."""
    return ImageFont.truetype(file, size) if file else ImageFont.load_default(size)


def _runs(text: str, fonts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (font file, text) pieces; characters in none of the fonts stay with the first one."""
    runs: list[tuple[str, str]] = []
    for stretch in RIGHT_TO_LEFT.split(text):  # odd ones run from right to left
        own: list[tuple[str, str]] = []
        for one in stretch:
            file = _font_of(one, fonts)
            file = fonts[0] if file is None else file
            if own and own[-1][0] == file:
                own[-1] = (file, own[-1][1] + one)
            else:
                own.append((file, one))
        runs += own[::-1] if RIGHT_TO_LEFT.fullmatch(stretch) else own
    return runs


def _font_of(character: str, fonts: tuple[str, ...]) -> str | None:
    return next((file for file in fonts if _has_glyph(file, character)), None)


def _characters_missing(file: str, characters: set[str]) -> set[str]:
    return {one for one in characters if not _has_glyph(file, one)}


@cache
def _has_glyph(file: str, character: str) -> bool:
    """Return whether the font draws this character differently from one that no font has."""
    if character == " ":
        return True
    if not file and unicodedata.category(character).startswith("M"):
        return False  # shaping puts a dotted circle under a mark, so it would look like one that is there
    try:
        # without shaping, for the same reason
        font = ImageFont.truetype(file, 16, layout_engine=ImageFont.Layout.BASIC) if file else open_font(file, 16)
    except OSError:  # not a font, or a bitmap font of a single size
        return False
    drawn, unknown = (font.getmask(one) for one in (character, "\U0010ffff"))
    return (drawn.size, bytes(drawn)) != (unknown.size, bytes(unknown))


def _ascent(size: int) -> int:
    font = open_font(BUILT_IN, size)
    return font.getmetrics()[0] if isinstance(font, ImageFont.FreeTypeFont) else size


def _normalise_text(text: str) -> str:
    """Return the text on one line, accents composed with their letters, without modifiers that draw nothing alone."""
    return " ".join(SELECTORS.sub("", unicodedata.normalize("NFC", text)).split())


def _replacement(character: str, fonts: tuple[str, ...]) -> str:
    """Return what is drawn instead of a character that no font has."""
    if "\U0001f1e6" <= character <= "\U0001f1ff":  # two of these are a flag
        return chr(ord(character) - 0x1F1E6 + ord("A"))
    letters = "".join(one for one in unicodedata.normalize("NFKD", character) if not unicodedata.combining(one))
    if letters != character and all(_font_of(one, fonts) is not None for one in letters):
        return letters
    name = unicodedata.name(character, "")
    syllable = re.fullmatch(r"(?:HIRAGANA|KATAKANA|HANGUL) (?:LETTER|SYLLABLE) (?:SMALL )?(\w+)", name)
    if syllable:
        return syllable[1].lower()
    known = unicodedata.category(character) == "So" and name
    return f"[{name.lower()}]" if known else f"[U+{ord(character):04X}]"


@cache
def _matplotlib_fonts() -> tuple[str, ...]:
    """Return the file of the DejaVu Sans that ships with matplotlib, without importing matplotlib."""
    spec = find_spec("matplotlib")
    places = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    files = (place / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf" for place in places)
    return tuple(str(file) for file in files if file.is_file())


@cache
def _system_fonts() -> tuple[str, ...]:
    """Return the font files of this machine, those that likely cover the text first."""

    def rank(file: str) -> tuple[bool, bool, str]:
        name = re.sub(r"\W", "", Path(file).stem)
        return not PREFERRED_FONTS.search(name), bool(AVOIDED_STYLES.search(name)), file

    files = [
        os.path.join(folder, name)
        for place in _font_folders()
        for folder, _, names in os.walk(place)
        for name in names
        if name.lower().endswith((".ttf", ".otf", ".ttc"))
    ]
    return tuple(sorted(files, key=rank)[:MOST_FONTS])


def _font_folders() -> Iterator[Path]:
    """Yield the folders in which this operating system keeps fonts."""
    home = Path("~").expanduser()
    if sys.platform == "win32":
        yield Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts"
        yield home / "AppData" / "Local" / "Microsoft" / "Windows" / "Fonts"
    elif sys.platform == "darwin":
        yield from (home / "Library" / "Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts"))
    else:
        yield Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "fonts"
        shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        yield from (Path(place) / "fonts" for place in shared.split(":"))
