"""The list of mutations is true of the source, and the tool that tries them tells the killed from the survivors."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutate
from mutate import ROOT, Mutation, Tree, read_mutations

MUTATIONS = read_mutations()


def test_there_are_mutations_of_every_area() -> None:
    areas = [mutation.area for mutation in MUTATIONS]
    assert len(areas) >= 45
    assert all(areas.count(area) >= 8 for area in ("engine", "credit", "metrics", "runs", "cli"))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_fits_the_source_and_names_tests_that_are_there(mutation: Mutation) -> None:
    source = (ROOT / "src" / "samp" / mutation.file).read_text(encoding="utf-8")
    mutated = mutation.apply(source)
    assert mutated != source
    compile(mutated, mutation.file, "exec")  # else any test would kill it
    assert mutation.tests
    for test in mutation.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file()
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8") if name else True


def test_text_that_is_gone_or_not_alone_is_no_place_for_a_mutation() -> None:
    signs = mutation("+", "-")
    for source, times in (("a - b", 0), ("a + b + c", 2)):
        with pytest.raises(ValueError, match=f"signs: the old text occurs {times} times in sums.py"):
            signs.apply(source)


SUM = "def add(a, b):\n    return a + b  # a sum\n"
TEST = "from samp.sums import add\n\ndef test_sum():\n    assert add(2, 2) == 4\n"


def mutation(old: str, new: str, name: str = "signs", equivalent: str = "") -> Mutation:
    return Mutation("sums", name, "sums.py", old, new, ("tests/test_sums.py",), equivalent)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small one, in the place of ours."""
    root = tmp_path / "repository"
    for path, text in {"src/samp/__init__.py": "", "src/samp/sums.py": SUM, "tests/test_sums.py": TEST}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    monkeypatch.setattr(Tree.copy_from.__func__, "__defaults__", (root,))
    return root


def test_survivors_are_told_and_the_working_tree_stays_as_it_is(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 + 2 is 2 * 2 too; 2 - 2 is not."""
    found = [
        mutation("a + b", "a - b"),
        mutation("a + b", "a * b", "products"),
        mutation("a sum", "a word", "words", equivalent="a comment"),
    ]
    monkeypatch.setattr(mutate, "read_mutations", lambda: found)
    assert mutate.main(["--jobs", "2"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == ["killed", "SURVIVED", "equivalent", "3"]
    assert "tests/test_sums.py::test_sum" in told[0]
    assert told[-1] == "3 mutations, 1 survived"
    assert mutate.main(["signs"]) == 0
    assert (repository / "src/samp/sums.py").read_text() == SUM


def test_tests_that_fail_anyway_kill_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "tests/test_sums.py").write_text(TEST.replace("4", "5"))
    monkeypatch.setattr(mutate, "read_mutations", lambda: [mutation("+", "-")])
    with pytest.raises(RuntimeError, match="the tests do not pass without a mutation"):
        mutate.main([])


def test_what_is_listed_is_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutate.main(["--list", "shards.py"]) == 0
    assert "batch/shards.py" in capsys.readouterr().out
