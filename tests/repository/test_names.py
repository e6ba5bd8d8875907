"""Functions are named by verbs, or by the quantity they return: never by a participle alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/samp", "lab/src/samp_lab", "tools")
# Without "left": here it is a side.
IRREGULAR = re.compile(
    "begun|bound|broken|built|chosen|done|drawn|driven|found|frozen|given|gone|grown|held|hidden|kept|known|laid|led|lost|"
    "made|meant|met|paid|said|seen|sent|shown|sought|spoken|taken|taught|thrown|told|torn|won|worn|written"
)
NO_PARTICIPLES = re.compile("bed|embed|feed|need|seed|speed")
PREPOSITIONS = re.compile("against|as|at|by|down|for|from|in|into|of|off|on|out|over|through|to|under|up|with")


def is_participle(word: str) -> bool:
    return bool(IRREGULAR.fullmatch(word)) or (word.endswith("ed") and not NO_PARTICIPLES.fullmatch(word))


def is_bare_participle(name: str) -> bool:
    first, *rest = name.strip("_").split("_")
    return is_participle(first) and (not rest or bool(PREPOSITIONS.fullmatch(rest[0])))


@pytest.mark.parametrize("name", ["placed", "_told", "shown", "kept_by", "drawn_with"])
def test_such_names_are_noticed(name: str) -> None:
    assert is_bare_participle(name)


@pytest.mark.parametrize("name", ["feed", "place_all", "hidden_operations", "is_fixed", "seed_everything", "run"])
def test_others_are_not(name: str) -> None:
    assert not is_bare_participle(name)


def test_no_function_is_named_by_a_participle_alone() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 200
    wrong = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_bare_participle(node.name)
    ]
    assert wrong == []
