"""Commands have OpenMP's threads sleep soon when they wait; what the user has set stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from cli_runs import COMMAND
from samp.threads import SHORT_WAIT, wait_settings


def turns_before_sleep(command: str, *words: str, **added: str) -> int:
    """Return how often a waiting thread looks again before it sleeps, as GNU's runtime says when it is loaded."""
    own = {name: value for name, value in os.environ.items() if name not in (*SHORT_WAIT, "OMP_WAIT_POLICY")}
    env = {**own, "OMP_DISPLAY_ENV": "VERBOSE", **added}
    said = subprocess.run([sys.executable, "-c", command, *words], env=env, capture_output=True, text=True, check=True)
    counts = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", said.stderr)
    if not counts:
        pytest.skip("needs GNU's OpenMP runtime, which says how it is set")
    return int(counts[0])


def test_threads_of_a_command_soon_sleep() -> None:
    assert turns_before_sleep(COMMAND, "doctor", "--json") == int(SHORT_WAIT["GOMP_SPINCOUNT"])


def test_what_the_user_chose_stays() -> None:
    assert turns_before_sleep(COMMAND, "doctor", "--json", GOMP_SPINCOUNT="7") == 7


def test_a_program_that_imports_samp_keeps_its_own() -> None:
    assert turns_before_sleep("import samp, samp.batch, torch") > int(SHORT_WAIT["GOMP_SPINCOUNT"])


@pytest.mark.parametrize("name", [*SHORT_WAIT, "OMP_WAIT_POLICY"])
def test_any_word_on_how_threads_wait_is_the_user_s_choice(name: str) -> None:
    assert wait_settings({name: "1"}) == {}
    assert wait_settings({"OMP_NUM_THREADS": "1"}) == SHORT_WAIT
