"""The table of methods: complete, and the one in the docs is up to date."""

from __future__ import annotations

from pathlib import Path

from samp.methods import names, resolve_method, table

DOCS = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_table_in_the_docs_is_up_to_date() -> None:
    assert DOCS.read_text(encoding="utf-8").endswith(table() + "\n"), (
        "run `samp methods` and put its table in docs/methods.md"
    )


def test_every_method_says_where_it_comes_from_and_what_it_promises() -> None:
    for name in names():
        method = resolve_method(name)
        about = method.about
        assert all((about.paper, about.cost, about.complete, about.implementation, about.licence)), name
        assert f"| `{name}` | `{method!r}` |" in table()
