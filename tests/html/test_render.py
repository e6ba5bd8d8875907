"""Pages from templates: values are escaped, nothing is left undefined, and the policy fits what is in the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError
from markupsafe import escape

from samp.html.render import make_environment, read_source, render_page
from samp.html.svg import element
from samp.plots.palette import PAGE

EVIL = """</script></style><script>document.title = "hit"</script>"'&<"""
VALUES = {"title": EVIL, "lead": EVIL}
SHEETS = ["style.css", "explain.css", "compare.css", "report.css", "player.css"]


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(page: str) -> str:
    (found,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    return str(found)


def test_values_are_escaped_wherever_they_stand() -> None:
    page = render_page("base.html", VALUES)
    assert EVIL not in page
    assert page.count(str(escape(EVIL))) == 3  # title, heading, lead


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="lead"):
        render_page("base.html", {"title": ""})


def test_json_in_a_page_cannot_end_its_element() -> None:
    text = make_environment().from_string("{{ data|tojson }}").render(data={"name": EVIL, "b": [1, None]})
    assert "<" not in text
    assert json.loads(text) == {"name": EVIL, "b": [1, None]}
    with pytest.raises(ValueError, match="JSON"):
        make_environment().from_string("{{ data|tojson }}").render(data=float("nan"))


def test_the_policy_names_the_style_and_the_script_that_are_in_the_page() -> None:
    page = render_page("base.html", VALUES, styles=["compare.css"], scripts=["theme.js", "sort.js"])
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    assert script == read_source("theme.js") + read_source("sort.js")
    assert style.endswith(read_source("style.css") + read_source("compare.css"))
    expected = ["default-src 'none'", "img-src data:", f"script-src {digest(script)}", f"style-src {digest(style)}"]
    assert policy(page).split("; ") == expected


def test_a_page_without_a_script_admits_none_and_has_no_button_for_one() -> None:
    page = render_page("base.html", VALUES)
    assert "script-src" not in policy(page)
    assert "<script" not in page
    assert "<button" not in page


def test_every_colour_of_a_style_sheet_is_in_the_palette() -> None:
    own = {"gap", "own", "dash", "n", "walk", "at"}  # set in the sheets themselves
    for name in SHEETS:
        used = set(re.findall(r"var\(--([a-z0-9-]+)", read_source(name)))
        assert used - own <= set(PAGE), name
    page = render_page("base.html", VALUES)
    for name, (light, dark) in PAGE.items():
        assert page.count(f"--{name}: {light};") == 1 + 2 * (light == dark)
        assert page.count(f"--{name}: {dark};") == 2 + (light == dark)


def test_every_template_is_used_with_autoescape() -> None:
    for path in (files("samp.html") / "templates").iterdir():
        if path.name.endswith(".html"):
            text = path.read_text(encoding="utf-8")
            assert "|safe" not in text.replace(" ", ""), path.name
            assert "autoescape" not in text, path.name


def test_elements_escape_attributes_and_text_once() -> None:
    inner = element("title", {"class": '"<&'}, "a & b")
    assert element("g", {}, inner) == '<g><title class="&#34;&lt;&amp;">a &amp; b</title></g>'
