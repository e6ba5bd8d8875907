"""Which code made a result: the commit, and whether files differed from it."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

COMMIT_VARIABLE = "SAMP_COMMIT"
"""The environment variable that names the commit of a copy of the code without its history."""


@cache
def code_version() -> dict[str, object]:
    """Return the commit of this code and whether tracked files have been changed since; "unknown" outside of git.

    A copy without history takes the commit from the variable SAMP_COMMIT, which may end in "-dirty".

    >>> sorted(code_version())
    ['commit', 'dirty']
    """
    given = os.environ.get(COMMIT_VARIABLE, "")
    if given:
        return {"commit": given.removesuffix("-dirty"), "dirty": given.endswith("-dirty")}
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return {"commit": "unknown", "dirty": False}
    return {"commit": commit, "dirty": bool(_git("status", "-s", "-uno", ":/*.py"))}


def _git(*words: str) -> str:
    """Return what git prints in this package's repository, "" if there is none or it is another project's."""
    here = Path(__file__).resolve()
    try:
        if not _run("ls-files", here.name, folder=here.parent):
            return ""
        return _run(*words, folder=here.parent)
    except OSError:  # no git here
        return ""


def _run(*words: str, folder: Path) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
