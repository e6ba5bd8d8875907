"""CI elsewhere runs what `.ci/run` runs, and pre-commit its quick checks."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
RUN = (ROOT / ".ci/run").read_text(encoding="utf-8")


def project(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]


def commands(job: str) -> list[str]:
    """What the steps of a job run."""
    body = re.split(r"^  (?=\w)", WORKFLOW.partition(f"\n  {job}:\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^ +(?:- )?run: (.*)$", body, re.MULTILINE)


def test_both_files_are_yaml_with_jobs_and_hooks() -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    workflow, hooks = yaml.safe_load(WORKFLOW), yaml.safe_load(HOOKS)
    assert sorted(workflow["jobs"]) == ["tests", "versions", "wheels"]
    for job in workflow["jobs"].values():
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    assert [hook["id"] for hook in hooks["repos"][0]["hooks"]] == ["ruff-check", "ruff-format", "mypy", "import-linter"]


def test_the_tests_job_runs_the_script_itself_on_every_python() -> None:
    """So that there is one list of steps."""
    assert commands("tests")[-1] == ".ci/run"
    assert len(commands("tests")) == 2  # the other one is for a browser
    (versions,) = re.findall(r"python: \[(.*)\]", WORKFLOW)
    supported = [line.rpartition(" ")[2] for line in project("pyproject.toml")["classifiers"] if ":: 3." in line]
    assert re.findall(r"[\d.]+", versions) == supported
    assert project("lab/pyproject.toml")["requires-python"] == project("pyproject.toml")["requires-python"]


def test_the_versions_job_runs_the_commands_of_the_readme_with_other_versions() -> None:
    blocks = re.findall(r"```sh\n(.*?)\n```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (_, explain), (_, test) = (block.rsplit(" && ", 1) for block in blocks[:2])
    install, _, tests = commands("versions")
    assert install.endswith(f"-e '.[dev]' -e lab && {explain}")
    assert tests == test


def test_the_lowest_versions_are_the_lower_bounds() -> None:
    """Of all that samp and its laboratory need at run time, but for Ray, which brings its own set of versions."""
    bounds: dict[str, str] = {}
    for path in ("pyproject.toml", "lab/pyproject.toml"):
        needed = [*project(path)["dependencies"]]
        for extra in ("viz", "compare", "metrics"):
            needed += project(path).get("optional-dependencies", {}).get(extra, [])
        bounds |= dict(re.findall(r"^([\w-]+)>=([\d.]+)$", "\n".join(needed), re.MULTILINE))
    lowest = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / ".ci/lowest.txt").read_text(), re.MULTILINE))
    assert {name: version + ".0" * (2 - version.count(".")) for name, version in bounds.items()} == lowest


def test_pre_commit_has_every_check_of_the_script() -> None:
    checks = re.findall(r"^\.venv/bin/(ruff \w+|mypy|lint-imports)", RUN, re.MULTILINE)
    hooks = re.findall(r"entry: \.venv/bin/(ruff \w+|mypy|lint-imports)", HOOKS)
    assert sorted(checks) == sorted(hooks)


@pytest.mark.parametrize("script", ["run", "wheels"])
def test_the_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / ".ci" / script, os.X_OK)
