"""Messages of the library name arguments: options are known to the command line alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*\b(?!:|\))")  # not a variable of a style sheet: --ink: …, var(--ink)
# Files that are the command line, or that need a command's words for what they do.
ALLOWED = (
    "src/samp/cli/",
    "lab/src/samp_lab/bench/startup.py",  # times `samp --help` and `samp explain`
    "lab/src/samp_lab/bench/threads.py",  # times `samp explain`
    "lab/src/samp_lab/figures/setup_figure.py",  # a caption of the published report
)


def python_files() -> list[Path]:
    files = [*(ROOT / "src" / "samp").rglob("*.py"), *(ROOT / "lab" / "src").rglob("*.py")]
    return sorted(file for file in files if not is_command_line(file.relative_to(ROOT)))


def is_command_line(file: Path) -> bool:
    return file.as_posix().startswith(ALLOWED) or (file.parent.name == "samp_lab" and file.name.endswith("commands.py"))


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield all strings of a module but its docstrings, with their lines."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings, of fields too
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


@pytest.mark.parametrize("file", python_files(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_text_names_an_option_of_the_command_line(file: Path) -> None:
    found = [(line, text) for line, text in texts(ast.parse(file.read_text(encoding="utf-8"))) if FLAG.search(text)]
    assert not found, "name the argument instead, as `device` or device='cpu': samp.cli.flags makes it an option"


def test_the_search_finds_options() -> None:
    code = 'def f():\n    """samp explain --out here"""\n    raise ValueError(f"{1}: try --device cpu.")\n'
    assert [line for line, text in texts(ast.parse(code)) if FLAG.search(text)] == [3]
    assert not FLAG.search("color: var(--ink); --paper: #fff; a -- b --")


def test_what_is_allowed_exists() -> None:
    for place in ALLOWED:
        if place.startswith("src/") or (ROOT / "lab").is_dir():
            assert (ROOT / place).exists(), place
