"""Every block of Python on the site runs, in order, and every command of a shell block is one of `samp`.

Blocks run in a folder with a photo `cat.jpg` and a folder `photos/`. A block that needs what is not everywhere says so
in its title, ```` ```python title="Needs a GPU" ````, and runs where that is there.
"""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
import torch

from cli_runs import run
from samp.cli import main
from samp.images import example_photo

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "lab/README.md", *ROOT.glob("docs/**/*.md")]
}
BLOCK = re.compile(r"^```python(?: title=\"(?P<title>[^\"]*)\")?\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS = {
    "Needs a GPU": torch.cuda.is_available(),
    "Needs Quantus": find_spec("quantus") is not None,  # .ci/quantus
    "Needs the network": False,
    "Needs ImageNet, COCO and MNIST": False,
}
# Pages whose blocks other tests run, which look at the results as well; and the docstrings, which doctest runs.
ELSEWHERE = {
    "README.md": "tests/docs/test_readme.py",
    "docs/guide.md": "tests/docs/test_readme.py",
    "docs/metrics.md": "tests/docs/test_readme.py",
    "docs/targets.md": "tests/docs/test_readme.py",
    "docs/text.md": "tests/docs/test_readme.py",
    "docs/experiments.md": "lab/tests/test_docs.py",
    "docs/api.md": "tests/docs/test_api_page.py",
}
EXTRAS = {
    "docs/index.md": "efficientnet_lite_pytorch matplotlib",
    "docs/how-to/photos.md": "efficientnet_lite_pytorch matplotlib",
    "docs/how-to/models.md": "transformers",
    "docs/how-to/tables.md": "sklearn",
    "docs/how-to/captum-and-quantus.md": "captum",
    "docs/scale.md": "efficientnet_lite_pytorch",
    "docs/which-metric.md": "scipy",
}
TUTORIALS = "docs/tutorials/"  # executed by the script that writes them
RUNNABLE = [page for page, text in PAGES.items() if BLOCK.search(text) and page not in ELSEWHERE]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder that the pages assume."""
    data = example_photo().parent
    shutil.copy(data / "chelsea.jpg", tmp_path / "cat.jpg")
    (tmp_path / "photos").mkdir()
    for name in ("chelsea.jpg", "coffee.jpg"):
        shutil.copy(data / name, tmp_path / "photos" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in RUNNABLE if not page.startswith(TUTORIALS)])
def test_the_blocks_of_the_page_run_in_order(page: str, folder: Path) -> None:
    for package in EXTRAS.get(page, "").split():
        pytest.importorskip(package, reason=f"{page} needs {package}")
    names: dict[str, object] = {"__name__": "page"}
    for found in BLOCK.finditer(PAGES[page]):
        if found["title"] is None or NEEDS[found["title"]]:
            line = PAGES[page][: found.start("code")].count("\n")
            exec(compile("\n" * line + found["code"], page, "exec"), names)  # so that an error names the page's line


def test_few_blocks_need_what_is_not_everywhere_and_all_are_python() -> None:
    titles = []
    for page, text in PAGES.items():
        assert text.count("\n```python") == len(BLOCK.findall(text)) - text.startswith("```python"), page
        for found in BLOCK.finditer(text):
            if not found["code"].startswith(">>> ") and page != "docs/api.md":
                ast.parse(found["code"])
            titles += [found["title"]] if found["title"] is not None else []
    assert set(titles) == set(NEEDS)
    assert len(titles) <= 6


@pytest.mark.parametrize("page", ELSEWHERE)
def test_blocks_that_run_elsewhere_do(page: str) -> None:
    text = (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")
    assert f'"{page}"' in text or f'"{Path(page).name}"' in text or page == "docs/api.md"


def commands() -> Iterator[tuple[str, str]]:
    """Yield page and line of each command `samp …` in a shell block."""
    for page, text in PAGES.items():
        for block in SHELL.findall(text):
            for line in block.replace("\\\n", " ").splitlines():
                found = re.search(r"(?:^|&& |/)samp (.*)", line)
                if found and "install" not in found[1]:
                    yield page, found[1].split(" && ")[0]


COMMANDS = sorted(set(commands()))


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}: samp {line}" for page, line in COMMANDS])
def test_a_command_of_a_page_is_one_that_samp_has(page: str, line: str) -> None:
    words = shlex.split(re.split(r" >>? |  +#", line)[0], comments=True)
    command: click.Command = main
    context = click.Context(main, info_name="samp")
    while isinstance(command, click.Group):
        following = command.get_command(context, words.pop(0)) if words else None
        assert following is not None, line
        command, context = following, click.Context(following, parent=context)
    values, _, order = command.make_parser(context).parse_args(words)
    for parameter in order:
        value = values.get(parameter.name)
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)


def test_commands_are_found_and_a_wrong_one_is_refused() -> None:
    assert len(COMMANDS) > 40
    with pytest.raises(click.NoSuchOption):
        test_a_command_of_a_page_is_one_that_samp_has("", "explain cat.jpg --no-such-option")
    with pytest.raises(click.BadParameter):
        test_a_command_of_a_page_is_one_that_samp_has("", "explain cat.jpg --quality best")


@pytest.mark.parametrize("line", ["explain cat.jpg --groups patches:16 --quality draft", "methods", "completion bash"])
def test_cheap_commands_run(line: str, folder: Path) -> None:
    if line.startswith("explain"):
        pytest.importorskip("efficientnet_lite_pytorch", reason="needs the extra demo")
    ran = run(*shlex.split(line))
    assert ran.exit_code == 0, ran.output
