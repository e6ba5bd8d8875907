"""A page that grows downwards as pictures, lines of text and bars are put on it, drawn with Pillow."""

from __future__ import annotations

from PIL import Image, ImageDraw

from samp.plots.fonts import draw_text, fonts_for, make_legible, text_width, warn_of_missing
from samp.plots.palette import PAPER, RULE

LEADING = 1.35  # the height of a line over that of its letters: g and y reach below these


class Paper:
    """A white page of a fixed width; `top` is where the next thing goes.

    >>> page = Paper(100)
    >>> page.write("two words", 16, PAPER, left=10, width=40)
    >>> page.top, page.finish(margin=4).size
    (44, (100, 48))
    """

    def __init__(self, width: int) -> None:
        self.image = Image.new("RGB", (width, 1), PAPER)
        self.top = 0
        self._texts: list[str] = []
        self._fonts: dict[str, None] = {}

    def skip(self, space: int) -> None:
        """Move down by so many pixels."""
        self._reserve(space)
        self.top += space

    def write(self, text: str, size: int, colour: str, left: int, width: int) -> None:
        """Draw a text in letters of this size, in lines of at most `width` pixels, and move below it."""
        fonts, height = self._note(text), round(LEADING * size)
        for line in wrap_lines(text, width, fonts, size):
            self._reserve(height)
            draw_text(ImageDraw.Draw(self.image), (left, self.top), line, colour, fonts, size)
            self.top += height

    def write_right(self, text: str, size: int, colour: str, right: int) -> None:
        """Draw one line that ends at `right`, without moving down."""
        fonts = self._note(text)
        line = make_legible(text, fonts)
        self._reserve(round(LEADING * size))
        place = (right - text_width(line, fonts, size), self.top)
        draw_text(ImageDraw.Draw(self.image), place, line, colour, fonts, size)

    def paste(self, image: Image.Image, left: int) -> None:
        """Put a picture at `top`, without moving down."""
        self._reserve(image.height)
        self.image.paste(image, (left, self.top))

    def draw_bar(self, share: float, colour: str, left: int, width: int, height: int) -> None:
        """Draw a bar that is filled to this share, at least by a hairline, and move below it."""
        self._reserve(height)
        pen, bottom = ImageDraw.Draw(self.image), self.top + height - 1
        pen.rectangle((left, self.top, left + width - 1, bottom), RULE)
        pen.rectangle((left, self.top, left + max(round(min(share, 1.0) * width), 2) - 1, bottom), colour)
        self.top += height

    def finish(self, margin: int) -> Image.Image:
        """Return the page with a margin below, and warn of characters that no font has."""
        self.skip(margin)
        warn_of_missing(" ".join(self._texts), tuple(self._fonts))
        return self.image

    def _note(self, text: str) -> tuple[str, ...]:
        fonts = fonts_for(text)
        self._texts.append(text)
        self._fonts.update(dict.fromkeys(fonts))
        return fonts

    def _reserve(self, space: int) -> None:
        """Make the page long enough for something of this height at `top`."""
        if self.top + space > self.image.height:
            longer = Image.new("RGB", (self.image.width, self.top + space), PAPER)
            longer.paste(self.image)
            self.image = longer


def wrap_lines(text: str, width: float, fonts: tuple[str, ...], size: int) -> list[str]:
    """Return the text in lines of at most `width` pixels, broken between words, in characters that the fonts have.

    >>> wrap_lines("one two", 30, ("",), 16)
    ['one', 'two']
    """
    lines = [""]
    for word in make_legible(text, fonts).split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, fonts, size) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
