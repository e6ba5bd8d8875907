"""The examples of the README and of the page on metrics run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert isinstance(names["images"], torch.Tensor)
    assert (tmp_path / "why.samp").is_file()


def test_the_examples_of_the_metrics_page_run_in_order() -> None:
    for package in ("captum", "scipy"):
        pytest.importorskip(package, reason="needs the extras compare and metrics")
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_files_it_points_to_are_there() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert "docs/explanation.png" in links
    for link in links:
        assert (Path(__file__).parents[2] / link).exists(), link
