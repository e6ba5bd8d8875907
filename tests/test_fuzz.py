"""Random calls of everything public: a finite result or an error of ours, nothing else.

`SAMP_FUZZ` asks for more rounds than one, each of some hundred calls with other seeds.
"""

from __future__ import annotations

import os
import random

import pytest

pytest.importorskip("captum")
pytest.importorskip("matplotlib")
pytest.importorskip("skimage")
fuzzing = pytest.importorskip("fuzzing")

ROUNDS = int(os.environ.get("SAMP_FUZZ", "1"))
CALLS = 24  # of each function in a round


@pytest.mark.parametrize("name", fuzzing.TARGETS)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_odd_arguments_give_a_finite_result_or_an_error_of_ours(name: str, number: int) -> None:
    rng = random.Random(f"{name} {number}")
    calls = [fuzzing.draw(rng, name) for _ in range(CALLS)]
    complaints = [said for said in map(fuzzing.complaint, calls) if said]
    assert not complaints, "\n".join(complaints)


def test_the_usual_arguments_give_a_result() -> None:
    """Otherwise the fuzzer would test nothing but refusals."""
    for name, target in fuzzing.TARGETS.items():
        usual = {key: next(iter(pool.values()))() for key, pool in list(target.pools.items())[: target.needed]}
        assert target.good(target.function(**usual)), name


def test_errors_of_others_are_told_from_ours() -> None:
    import samp

    for ask, ours in (
        (lambda: samp.explain(None, None), True),  # type: ignore[arg-type]  # the point
        (lambda: samp.metrics.holm([0.1, 3j]), True),
        (lambda: samp.explain(lambda x: 1 / 0, samp.metrics.grid(2, 2).float()), False),
        (lambda: len(3), False),  # type: ignore[arg-type]  # the point
    ):
        with pytest.raises(Exception) as caught:  # noqa: PT011  # any, which is then looked at
            ask()
        assert fuzzing.is_ours(caught.value) == ours
