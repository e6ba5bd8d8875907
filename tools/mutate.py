"""Mutation tests: would the suite notice if a line of the source were wrong?

Each mutation in `tools/mutations/*.toml` replaces a text that occurs once in one file. It is applied in a *copy* of
`src` and `tests`, never in the working tree, and the tests it names are run there: it is killed if one of them fails,
and survives if all pass.

    python tools/mutate.py                 # all of them, a few minutes per dozen
    python tools/mutate.py shards credit   # those whose name, file or area contains one of these words
    python tools/mutate.py --list

The exit status is 1 if a mutation survived that is not marked as equivalent.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "lab", "tests", "tools", "conftest.py", "pyproject.toml")
FAILED = (1, 2)  # exit status of pytest: a test failed, or could not be collected


@dataclass(frozen=True)
class Mutation:
    """One wrong line: `new` in place of `old`.

    >>> Mutation("engine", "signs", "walk.py", "+1", "-1", ("tests/engine/test_walk.py",)).apply("sign = +1")
    'sign = -1'
    """

    area: str
    name: str
    file: str
    """Relative to src/samp."""
    old: str
    new: str
    tests: tuple[str, ...]
    """Tests to run, as arguments of pytest."""
    equivalent: str = ""
    """Why it changes no result and may survive; "" if it must be killed."""

    def apply(self, source: str) -> str:
        """Return the mutated source; raise ValueError unless the old text occurs exactly once."""
        if (count := source.count(self.old)) != 1:
            raise ValueError(
                f"{self.name}: the old text occurs {count} times in {self.file}, and must once: {self.old!r}"
            )
        return source.replace(self.old, self.new)


def read_mutations(folder: Path = ROOT / "tools" / "mutations") -> list[Mutation]:
    """Return all mutations; a file holds those of one area. Raise ValueError if two have the same name."""
    mutations = [
        Mutation(area=path.stem, **{**entry, "tests": tuple(entry["tests"])})
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]
    ]
    twice = [name for name, count in Counter(mutation.name for mutation in mutations).items() if count > 1]
    if twice:
        raise ValueError(f"mutations need names of their own, and these have not: {', '.join(twice)}.")
    return mutations


@dataclass(frozen=True)
class Verdict:
    """Result of the tests on a mutation, or on the original source; `status` is pytest's, None after a timeout."""

    status: int | None
    seconds: float
    output: str

    @property
    def is_killed(self) -> bool:
        return self.status is None or self.status in FAILED

    @property
    def first_failure(self) -> str:
        """The test that killed it, or how pytest ended if none failed."""
        failed = [line.split()[1] for line in self.output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed[0] if failed else "ran out of time" if self.status is None else f"pytest ended with {self.status}"


@dataclass(frozen=True)
class Tree:
    """A copy of the repository in which mutations are applied, one at a time."""

    root: Path

    @classmethod
    def copy_from(cls, root: Path, source: Path = ROOT) -> Tree:
        """Copy the parts of the repository at `source` that tests need to `root`."""
        for name in COPIED:
            if (source / name).is_dir():
                shutil.copytree(source / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            elif (source / name).exists():
                shutil.copy(source / name, root / name)
        return cls(root)

    @contextmanager
    def apply_mutation(self, mutation: Mutation) -> Iterator[None]:
        """Context in which the mutation is applied to the copy."""
        source = self._path(mutation).read_text(encoding="utf-8")
        self._write(mutation, mutation.apply(source))
        try:
            yield
        finally:
            self._write(mutation, source)

    def test(self, tests: Sequence[str], patience: float) -> Verdict:
        """Run these tests on the copy, up to the first failure or for `patience` seconds."""
        env = {**os.environ, "PYTHONPATH": str(self.root / "src")}
        command = [sys.executable, "-m", "pytest", "-x", "-rfE", "--tb=no", "-p", "no:cacheprovider", *tests]
        started = time.monotonic()
        try:
            run = subprocess.run(
                command, cwd=self.root, env=env, capture_output=True, text=True, timeout=patience, check=False
            )
        except subprocess.TimeoutExpired:
            return Verdict(None, time.monotonic() - started, "")
        return Verdict(run.returncode, time.monotonic() - started, run.stdout + run.stderr)

    def _path(self, mutation: Mutation) -> Path:
        return self.root / "src" / "samp" / mutation.file

    def _write(self, mutation: Mutation, source: str) -> None:
        """Write the source and delete its byte code, which Python would reuse for a file of the same time and size."""
        path = self._path(mutation)
        path.write_text(source, encoding="utf-8")
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()


def try_all(mutations: Sequence[Mutation], jobs: int, patience: float) -> Iterator[tuple[Mutation, Verdict]]:
    """Yield each mutation with its verdict, in order; `jobs` of them run at a time, each in its own copy."""
    with tempfile.TemporaryDirectory(prefix="samp-mutations-") as folder:
        trees: Queue[Tree] = Queue()
        for job in range(jobs):
            trees.put(Tree.copy_from(Path(folder) / str(job)))

        def work(mutation: Mutation) -> tuple[Mutation, Verdict]:
            tree = trees.get()
            try:
                with tree.apply_mutation(mutation):
                    return mutation, tree.test(mutation.tests, patience)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(work, mutations)


def check_that_tests_pass(mutations: Sequence[Mutation], patience: float) -> None:
    """Raise RuntimeError if the tests fail without a mutation, since they would then kill any."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    with tempfile.TemporaryDirectory(prefix="samp-mutations-") as folder:
        verdict = Tree.copy_from(Path(folder) / "clean").test(tests, patience)
    if verdict.status != 0:
        raise RuntimeError(
            f"the tests do not pass without a mutation ({verdict.first_failure}):\n{verdict.output[-2000:]}"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Try the selected mutations, print the verdict on each, and return the exit status."""
    parser = argparse.ArgumentParser(description="Would the tests notice a wrong line? See tools/mutations/*.toml.")
    parser.add_argument("words", nargs="*", help="only mutations whose area, name or file holds one of these")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default: 1)")
    parser.add_argument("--patience", type=float, default=1800, help="seconds for one mutation's tests (default: 1800)")
    parser.add_argument("--list", action="store_true", help="list them and run nothing")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutation first")
    options = parser.parse_args(words)
    chosen = [
        m
        for m in read_mutations()
        if not options.words or any(w in f"{m.area} {m.name} {m.file}" for w in options.words)
    ]
    if options.list:
        print("\n".join(f"{m.area:8} {m.file:32} {m.name}" for m in chosen))
        return 0
    if not options.unchecked:
        check_that_tests_pass(chosen, options.patience)
    alive = 0
    for mutation, verdict in try_all(chosen, options.jobs, options.patience):
        word = "killed" if verdict.is_killed else "equivalent" if mutation.equivalent else "SURVIVED"
        alive += word == "SURVIVED"
        how = mutation.equivalent if word == "equivalent" else verdict.first_failure
        print(f"{word:10} {mutation.file:28} {mutation.name:60} {verdict.seconds:5.0f} s  {how}", flush=True)
    print(f"{len(chosen)} mutations, {alive} survived")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
