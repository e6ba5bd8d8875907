"""The API page says what the docstrings say now, of every public name."""

import importlib.util
from pathlib import Path

import pytest

import samp

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("build_api", DOCS / "build_api.py")
build_api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build_api)

NAMES = [name for _, _, names in build_api.contents() for name in names]


def test_the_page_is_up_to_date():
    same = build_api.PAGE.read_text(encoding="utf-8") == build_api.page()
    assert same, "docs/api.md is behind the docstrings: run `python docs/build_api.py` and commit the page."


def test_every_public_name_is_on_the_page():
    headings = {line.removeprefix("### ") for line in build_api.page().splitlines() if line.startswith("### ")}
    assert headings == set(NAMES)
    assert {f"samp.{name}" for name in samp.__all__} <= headings
    registers = {"samp.metrics.PROTOCOLS", "samp.metrics.JUDGES"}
    assert {f"samp.metrics.{name}" for name in samp.metrics.__all__} - registers <= headings


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_has_a_docstring_with_an_example(name):
    docstring = build_api.resolve(name).__doc__ or ""
    assert ">>> " in docstring, f"{name} needs an example that runs."


def test_no_entry_depends_on_the_machine():
    assert " at 0x" not in build_api.page()
    assert str(Path.home()) not in build_api.page()


def test_examples_are_fenced_and_fences_are_closed():
    inside = False
    for line in build_api.page().splitlines():
        inside ^= line.startswith("```")
        assert inside or not line.startswith((">>> ", "... "))
    assert not inside
