"""The page of explained texts, and what a notebook shows of them: every word on the colour of its credit.

Colours are translucent and text keeps the page's own colour, so that words are readable on light and dark alike. The
words stay in one flow without boxes around them: letters of scripts that join, and text from right to left, look as
they do without colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from samp.html.render import make_environment, read_source, render_page
from samp.plots.palette import TEXT_TINTS, rgb

LEVELS = 9  # shades of each colour
STRONGEST = 0.62  # opacity of the last
Shown = Mapping[str, Any]
"""What `TextAttribution.display` returns."""


def text_page(shown: Sequence[Shown]) -> str:
    """Return the page of explained texts; it loads nothing and runs no script.

    >>> one = {"target": "good", "pieces": [("<a>", 1.0, "+1")], "features": [], "fixed": [], "answers": [], "sums": "",
    ...        "method": "IG()", "seed": 0, "versions": {}}
    >>> "&lt;a&gt;" in text_page([one])
    True
    """
    first = shown[0]
    versions = ", ".join(f"{package} {version}" for package, version in (first["versions"] or {}).items())
    values = {
        "title": "Which words?",
        "lead": "",
        "texts": _sections(shown),
        "made": f"{versions}; seed {first['seed']}",
        "records": [{name: value for name, value in one.items() if name not in ("pieces", "sums")} for one in shown],
    }
    return render_page("text.html", values, styles=["text.css", "text_page.css"], more_style=tints())


def notebook_html(shown: Sequence[Shown]) -> str:
    """Return a part of a page that shows explained texts, with its style, which touches nothing else.

    Colours stand in the words themselves, too: some notebooks remove style sheets.
    """
    template = make_environment().get_template("text_parts.html")
    parts = template.module.explained_texts(_sections(shown), shade_styles())  # type: ignore[attr-defined]  # a macro
    return f"<style>{read_source('text.css')}</style>{parts}"


def tints() -> str:
    """Return the style of the shades, `.samp-text .for1` to `.against9`: orange for the target and blue against it.

    >>> tints().count("for")
    9
    """
    return "".join(f".samp-text .{name} {{ background: {shade}; }}\n" for name, shade in shade_styles().items())


def shade_styles() -> dict[str, str]:
    """Return the colour of each shade, by its class.

    >>> shade_styles()["for9"]
    'rgb(224 106 0 / 0.62)'
    """
    return {
        f"{name}{level}": "rgb({} {} {} / {:.2f})".format(*rgb(colour), STRONGEST * level / LEVELS)
        for name, colour in TEXT_TINTS.items()
        for level in range(1, LEVELS + 1)
    }


def shade_class(credit: float | None, largest: float) -> str:
    """Return the class of the shade of this credit, "" for none.

    >>> shade_class(1.0, 2.0), shade_class(-2.0, 2.0), shade_class(0.01, 2.0), shade_class(None, 2.0)
    ('for5', 'against9', '', '')
    """
    if credit is None or not largest:
        return ""
    level = int(LEVELS * abs(credit) / largest + 0.5)
    return f"{'for' if credit > 0 else 'against'}{level}" if level else ""


def _sections(shown: Sequence[Shown]) -> list[dict[str, Any]]:
    """Return what the templates show of each text; those with the same target share one scale of colours."""
    largest: dict[str, float] = {}
    for one in shown:
        credits = [abs(credit) for _, credit, _ in one["pieces"] if credit is not None]
        largest[one["target"]] = max([largest.get(one["target"], 0.0), *credits])
    return [_section(one, largest[one["target"]]) for one in shown]


def _section(one: Shown, largest: float) -> dict[str, Any]:
    rows = sorted(one["features"], key=lambda feature: -abs(feature["credit"] or 0.0))[:10]
    return {
        **one,
        "marks": [(text, shade_class(credit, largest), label) for text, credit, label in one["pieces"]],
        "largest": f"{largest:.3g}",
        "rows": [
            {
                "text": row["text"],
                "credit": "" if row["credit"] is None else f"{row['credit']:+.3f}",
                "width": f"{100 * abs(row['credit'] or 0.0) / (largest or 1.0):.1f}%",
                "side": "for" if (row["credit"] or 0.0) > 0 else "against",
            }
            for row in rows
        ],
        "shares": [(answer["answer"], f"{answer['probability']:.1%}") for answer in one["answers"]],
    }
