"""The laboratory's own wheel: its code and data, the command it brings, its licence, and nothing of samp."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

import samp

LAB = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    if not find_spec("build") or not find_spec("hatchling"):
        pytest.skip("needs build and hatchling: pip install 'samp[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(LAB)]
    subprocess.run(build, check=True, capture_output=True)
    (path,) = folder.glob("samp_lab-*.whl")
    return ZipFile(path)


def info(wheel: ZipFile, name: str) -> str:
    return wheel.read(f"samp_lab-{samp.__version__}.dist-info/{name}").decode()


def test_the_wheel_holds_all_files_of_the_package_and_no_others(wheel: ZipFile) -> None:
    source = LAB / "src"
    files = (path.relative_to(source).as_posix() for path in (source / "samp_lab").rglob("*") if path.is_file())
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == {name for name in files if "__pycache__" not in name}
    for name in (
        "py.typed",
        "datasets/imagenet_wnids.txt",
        "datasets/coco_classes.json",
        "report/templates/paper.html",
    ):
        assert f"samp_lab/{name}" in packed


def test_the_wheel_brings_the_command_bench_to_samp(wheel: ZipFile) -> None:
    lines = info(wheel, "entry_points.txt").split("\n")
    assert lines[lines.index("[samp.commands]") + 1] == "bench = samp_lab.commands:bench"


def test_the_wheel_has_the_version_of_samp_which_it_needs(wheel: ZipFile) -> None:
    metadata = info(wheel, "METADATA")
    assert f"\nVersion: {samp.__version__}\n" in metadata
    assert "\nRequires-Dist: samp" in metadata


def test_the_wheel_carries_its_licence(wheel: ZipFile) -> None:
    assert "Apache License" in info(wheel, "licenses/LICENSE")
    assert "License-Expression: Apache-2.0" in info(wheel, "METADATA")
    assert (LAB / "LICENSE").read_bytes() == (LAB.parent / "LICENSE").read_bytes()
