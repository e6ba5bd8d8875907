"""Pages from templates: jinja2 with escaping on, one base template, one style sheet, colours from the palette.

A template extends base.html. Values are escaped where they are inserted, so no caller escapes anything; JSON goes into
a page by the filter `tojson`. Style and script are inserted as they are, and the page's content security policy names
their hashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from samp.html.embed import content_security_policy
from samp.plots.palette import PAGE

HOME = "samp.html"


def render_page(
    template: str,
    values: Mapping[str, Any],
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    package: str = HOME,
    more_style: str = "",
    images: str = "data:",
) -> str:
    """Return the page that a template in `package`/templates makes of these values.

    - `styles`: files that follow the shared style sheet; `scripts`: files that make up the page's one script.
    - `more_style`: style that follows these files.
    - `images`: where pictures may come from, as the content security policy calls it.
    - `package`: whose templates, styles and scripts are looked up first, before those of `samp.html`.

    Raise jinja2.UndefinedError if the template uses a value that is not given.

    >>> page = render_page("base.html", {"title": "<b>", "lead": ""})
    >>> page.splitlines()[0], "<title>&lt;b&gt;</title>" in page
    ('<!doctype html>', True)
    """
    environment = make_environment(package)
    colours = environment.get_template("colours.css").render(palette=PAGE)
    style = "".join([colours, *(read_source(name, package) for name in ("style.css", *styles)), more_style])
    script = "".join(read_source(name, package) for name in scripts)
    return environment.get_template(template).render(
        values,
        style=Markup(style),
        script=Markup(script),
        policy=Markup(content_security_policy(script, style, images)),
    )


def read_source(name: str, package: str = HOME) -> str:
    """Return the text of a style sheet or script as it lies in a templates folder.

    >>> read_source("style.css").splitlines()[0]
    '/* Shared by every page; colours.css has the colours. */'
    """
    return _make_loader(package).get_source(make_environment(package), name)[0]


@cache
def make_environment(package: str = HOME) -> Environment:
    """Return the environment of the templates in a package; those of `samp.html` are found from every package."""
    environment = Environment(
        loader=_make_loader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


@cache
def _make_loader(package: str) -> ChoiceLoader:
    return ChoiceLoader([PackageLoader(name) for name in dict.fromkeys([package, HOME])])
