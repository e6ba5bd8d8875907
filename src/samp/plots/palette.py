"""Every colour of figures and pages, in hex; no other module, style sheet or template names one.

Pillow, matplotlib and CSS all read hex strings. `samp.html.render` turns `PAGE` into the pages' CSS variables.
"""

from __future__ import annotations

# Text, background and rules of pictures on white.
INK, QUIET, PAPER = "#1e1e1e", "#646464", "#ffffff"
RULE = "#e1e1e1"  # grid lines
FRAME = "#bebebe"  # the hairline around a picture
BEST = "#00694d"
# Okabe and Ito's colours that show on white, distinguishable with colour-blind eyes; further lines repeat them in
# other dashes. The dark page has lighter shades of the same hues.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", INK)
SERIES_ON_DARK = ("#3d9ae0", "#f0763a", "#1fbf8f", "#d991b8", "#8fd0f5", "#f0b429", "#eeeef0")
# In a notebook, whose page may be light or dark: in between.
NOTEBOOK_SERIES = ("#1f86d0", "#e06a00", "#0a9c74", "#c9669c", "#8a6fd1", "#a58b00", "#808080")
WALKS = {"to_baseline": SERIES[0], "to_image": SERIES[1]}
POSITIVE, NEGATIVE = "#008c3c", "#cd2828"  # frames: maps of the photo's own class, and of others
# Dark to bright, even in lightness: black, purple, orange, pale yellow.
HEAT = ("#000004", "#57106e", "#bc3754", "#f98e09", "#fcffa4")
# From dark blue over white to dark orange: the hues of Okabe and Ito, equally dark at equal distance from the middle.
SIGNED = ("#053a63", "#2f86bd", "#ffffff", "#d56a10", "#6e2b00")
# Behind words, translucent, so that they are light on a light page and dark on a dark one.
TEXT_TINTS = {"for": "#e06a00", "against": "#1f86d0"}

# CSS variable of the pages: its value on the light page and on the dark one.
PAGE: dict[str, tuple[str, str]] = {
    "paper": ("#f7f6f3", "#111214"),
    "card": ("#ffffff", "#1a1c1f"),
    "ink": ("#1b1c1f", "#eeeef0"),
    "quiet": ("#595c63", "#a7abb3"),
    "line": ("#dfddd7", "#303338"),
    "focus": ("#1b1c1f", "#ffffff"),
    "lit": ("#f0eee8", "#26292e"),  # what the pointer is on
    "accent": ("#b84a00", "#f5a142"),
    "to-baseline": ("#006ba6", "#62bdf0"),  # the walk away from the photo; the other one has the accent
    "best": (BEST, "#4fd1a5"),
    "holds": (BEST, "#5fd8ae"),
    "open": ("#7a5600", "#f0c060"),
    "fails": ("#b3261e", "#ff9489"),
    "missing": ("#595c63", "#a7abb3"),
    "holds-fill": ("#1b9e77", "#1fa37c"),
    "open-fill": ("#e6b450", "#c9952c"),
    "fails-fill": ("#d1443b", "#d9544a"),
    "missing-fill": ("#c9c7c0", "#4a4e55"),
    "holds-soft": ("#e2f3ec", "#12312a"),
    "open-soft": ("#fbf0d6", "#362c14"),
    "fails-soft": ("#fce8e6", "#401f1d"),
    "missing-soft": ("#eeede9", "#26292e"),
    **{f"c{number}": pair for number, pair in enumerate(zip(SERIES, SERIES_ON_DARK, strict=True))},
}


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a hex colour, each from 0 to 255.

    >>> rgb("#d55e00")
    (213, 94, 0)
    """
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
