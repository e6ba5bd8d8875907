"""The page of `samp app`: HTML from samp's base template, and its style sheets and modules as files of their own.

The content security policy of the server allows nothing inline, so unlike the other pages this one is several files.
"""

from __future__ import annotations

from importlib.resources import files

from samp.html.render import make_environment, read_source
from samp.plots.palette import PAGE

HOME = "samp.app.page"
SHARED = ("style.css", "theme.js")  # from samp.html
KINDS = {"js": "text/javascript", "css": "text/css"}


def render_app() -> str:
    """Return the page that the server answers to `GET /`.

    >>> '<script type="module" src="page/app.js">' in render_app()
    True
    """
    values = {"title": "Why did the model say that?", "lead": "", "script": "page/app.js"}
    return make_environment(HOME).get_template("app.html").render(values)


def render_refusal(sentence: str) -> str:
    """Return the page for a visitor who has not come by the address that `samp app` printed.

    >>> "ask for the address" in render_refusal("Please ask for the address.")
    True
    """
    return make_environment(HOME).get_template("refused.html").render(title="This page needs its key", lead=sentence)


def read_asset(name: str) -> tuple[str, str] | None:
    """Return the text and the media type of a file that the page names; None if there is no such file.

    >>> read_asset("app.js")[1], read_asset("../__init__.py")
    ('text/javascript; charset=utf-8', None)
    """
    if name not in list_assets():
        return None
    kind = f"{KINDS[name.rpartition('.')[2]]}; charset=utf-8"
    if name == "colours.css":
        return make_environment(HOME).get_template(name).render(palette=PAGE), kind
    return read_source(name, HOME), kind


def list_assets() -> list[str]:
    """Return the names of all files that `read_asset` has, in order.

    >>> {"app.css", "colours.css", "style.css", "theme.js"} <= set(list_assets())
    True
    """
    own = [path.name for path in (files(HOME) / "templates").iterdir() if path.name.rpartition(".")[2] in KINDS]
    return sorted({*own, *SHARED, "colours.css"})
