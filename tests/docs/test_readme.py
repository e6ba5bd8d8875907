"""The README, the guide and the page on metrics: their code runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import torch

import samp

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/tutorials/*.md"),
        *ROOT.glob("lab/*.md"),
        *ROOT.glob("results/*.md"),
    ]
)


def run_blocks(page: str, *, at_least: int) -> dict[str, object]:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= at_least
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    return names


@pytest.mark.parametrize(("page", "blocks"), [("README.md", 1), ("docs/guide.md", 4)])
def test_the_examples_run_in_order(page: str, blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_blocks(page, at_least=blocks)
    assert isinstance(names["images"], torch.Tensor)
    assert (tmp_path / "why.samp").is_file()


def test_the_examples_of_the_metrics_page_run_in_order() -> None:
    for package in ("captum", "scipy"):
        pytest.importorskip(package, reason="needs the extras compare and metrics")
    run_blocks("docs/metrics.md", at_least=4)


def test_the_examples_of_the_page_on_targets_run_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skimage", reason="needs the extra compare")
    monkeypatch.syspath_prepend(str(ROOT))
    names = run_blocks("docs/targets.md", at_least=6)
    alike = names["alike"]
    assert isinstance(alike, samp.Attribution)
    assert alike.residual.abs().max() < 1e-5


def test_the_examples_of_the_page_on_texts_run_and_find_the_word_that_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("transformers", "tokenizers"):
        pytest.importorskip(package, reason="needs transformers")
    monkeypatch.chdir(tmp_path)
    names: Any = run_blocks("docs/text.md", at_least=5)
    assert names["accuracy"] > 0.95
    result = names["result"]
    assert result.target == "good"
    assert result.top(1)[0][0] == "wonderful"
    assert abs(result.residual) < 1e-5
    assert [one.top(1)[0][0] for one in names["several"]] == ["boring", "great"]
    assert float(names["curves"].difference) > 0.5
    assert (tmp_path / "why.html").is_file()
    assert (tmp_path / "both.html").is_file()


def test_the_readme_fits_on_a_screen() -> None:
    assert len(README.split()) < 920
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code.replace("\n\n", "\n").splitlines()) == 6
    assert "docs/explanation.png" in README


def test_the_readme_counts_the_methods_there_are() -> None:
    names = samp.methods.names()
    assert f"| methods in all | {len(names)} |" in README
    assert f"{len(set(names) - {'coupled', 'samp', 'samp++'})} other methods" in README


def test_the_first_two_commands_install_both_packages_and_run_the_tests() -> None:
    """`.ci/run` executes the first two blocks."""
    install, test = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[:2]
    assert "-e lab" in install
    assert "samp explain" in install
    assert "-e '.[dev]' -e lab" in test
    assert "python -m pytest" in test


def anchors(page: Path) -> set[str]:
    """What a link may point to: headings as GitHub names them, and explicit anchors."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_are_there(page: str) -> None:
    here = ROOT / page
    text = re.sub(r"```.*?```|`[^`\n]*`", "", here.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\](?:\((?!<?https?:)<?)([^)>\s]+)>?\)", text):
        path, _, anchor = link.partition("#")
        target = (here.parent / path).resolve() if path else here
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


# An entry point group, a file of a shell, and the module of a recipe.
NO_NAMES = {"samp.commands", "samp.fish", "samp_lab.tables.toy"}


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith(("results", "CHANGELOG"))])
def test_names_of_samp_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in set(re.findall(r"\b(samp(?:_lab)?(?:\.[A-Za-z_]\w*)+)", text)) - NO_NAMES:
        assert resolve_name(name) is not None, name
