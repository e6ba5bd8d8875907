"""Every case is today what the golden file says: bit for bit where it was written, within a tolerance elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from golden import cases, store


@cache
def golden() -> dict[str, Any]:
    return store.read()


@cache
def changed_environment() -> dict[str, str]:
    """What is another here than where the file was written."""
    here, there = store.fingerprint(), golden()["environment"]
    changed = {
        name: f"{there.get(name)} → {here.get(name)}"
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    }
    if changed:
        warnings.warn(
            f"golden file: what depends on it is compared within {store.TOLERANCE}, not bit for bit: {changed}",
            stacklevel=2,
        )
    return changed


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with store.one_thread():
        yield


@pytest.mark.parametrize("name", cases.CASES)
def test_a_case_is_as_the_golden_file_says(name: str) -> None:
    case = cases.CASES[name]
    if lacking := cases.missing(case):
        pytest.skip(f"needs {lacking}")
    stored = golden()["cases"].get(name)
    assert stored is not None, f"{name} is not in the golden file: run python tests/golden/write.py."
    changed = {
        what: how
        for what, how in changed_environment().items()
        if what != store.BLAS or any(word in name for word in store.FITTED)
    }
    lines = store.differences(stored, cases.compute(case), exact=not changed)
    how = f"within {store.TOLERANCE}, for the environment differs: {changed}" if changed else "bit for bit"
    assert not lines, f"{name!r} is not what it was ({how}):\n  " + "\n  ".join(lines)


def test_the_golden_file_has_no_case_that_nobody_computes() -> None:
    assert sorted(golden()["cases"].keys() - cases.CASES.keys()) == []
