"""The map of the tree: every file and folder that it names is there, and none of the larger ones is missing."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import torch

import samp

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def tree() -> Iterator[str]:
    """The paths of the map, from the repository's root."""
    folder = ""
    for line in PAGE.partition("```\n")[2].partition("```")[0].splitlines():
        name = line.split()[0]
        folder = folder if line.startswith("  ") else name
        yield folder + name if line.startswith("  ") else name


def test_all_that_is_named_is_there() -> None:
    paths = [*tree(), *re.findall(r"`((?:src|lab|tests|docs|tools)/[\w./]+)`", PAGE)]
    assert len(paths) > 40
    for path in paths:
        there = ROOT / path
        assert there.is_dir() if path.endswith("/") else there.is_file(), path


def test_every_package_is_on_the_map() -> None:
    for home in ("src/samp/", "lab/src/samp_lab/"):
        packages = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in (ROOT / home).glob("*/__init__.py")}
        assert packages
        assert packages <= set(tree())


def test_the_layers_are_those_of_the_contract() -> None:
    table = PAGE.partition("## Layers")[2].partition("\n## ")[0]
    rows = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| [^|]+ \| (`.*`) \|$", table, re.MULTILINE)]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    layers = [re.findall(r"samp\.(\w+)", layer) for layer in contract["layers"]]
    assert list(map(sorted, rows)) == [sorted(layer) for layer in layers if layer != ["__main__"]]


def test_one_call_goes_through_the_files_that_are_named() -> None:
    """The files of samp in which a function is called; a second call, since the first one imports."""
    net, x = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval(), torch.rand(1, 3, 4, 4)
    samp.explain(net, x)
    crossed = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            crossed.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        samp.explain(net, x)
    finally:
        sys.setprofile(before)
    home = Path(samp.__file__).parent
    files = {f"src/samp/{Path(path).relative_to(home).as_posix()}" for path in crossed if path.startswith(str(home))}
    section = PAGE.partition("## One call")[2].partition("\n## ")[0]
    assert files == set(re.findall(r"`(src/samp/[\w./]+)`", section))
    assert f"goes through {len(files)} files" in section
