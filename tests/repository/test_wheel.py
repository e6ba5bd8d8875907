"""The built wheel, installed alone, is whole: it imports, explains, and carries its photos and licence."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPLAIN = """
import torch, samp
from samp import images, models
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16, 4)).eval()
classifier = models.Classifier(net, "flat", 4, 0.5, 0.5, models.imagenet_classes())
photo = classifier.prepare(images.read(images.example_photo()))
print(samp.__file__, tuple(samp.explain(net, photo).map.shape))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not find_spec("build") or not find_spec("hatchling"):
        pytest.skip("needs build and hatchling: pip install 'samp[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    run = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(run, check=True, capture_output=True)
    (wheel,) = folder.glob("samp-*.whl")
    target = folder / "installed"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return target


def test_the_wheel_explains_by_itself(installed: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(installed)!r})\n{EXPLAIN}"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert answer.returncode == 0, answer.stderr
    where, shape = answer.stdout.split(maxsplit=1)
    assert Path(where).is_relative_to(installed)
    assert shape.strip() == "(1, 4, 4)"


def test_the_wheel_carries_all_files_of_the_library_and_no_others(installed: Path) -> None:
    """Photos, weights, pages and types as well as code."""
    assert files_below(installed / "samp") == files_below(ROOT / "src" / "samp")
    for name in ("py.typed", "data/coffee.jpg", "data/mnist_slim.safetensors", "data/imagenet_classes.txt"):
        assert (installed / "samp" / name).is_file(), name


def test_the_laboratory_is_not_in_the_wheel(installed: Path) -> None:
    """Experiments, data sets, training and benchmarks are samp-lab's."""
    packages = {path.name for path in (installed / "samp").iterdir()}
    assert not packages & {"experiments", "datasets", "training", "bench", "optimum"}
    assert sorted(path.name for path in installed.iterdir() if path.suffix != ".dist-info") == ["bin", "samp"]
    (info,) = installed.glob("samp-*.dist-info")
    entries = (info / "entry_points.txt").read_text(encoding="utf-8")
    assert "samp.commands" not in entries
    assert "samp = samp.cli:main" in entries


def test_the_wheel_carries_its_licence(installed: Path) -> None:
    (info,) = installed.glob("samp-*.dist-info")
    assert "Apache License" in (info / "licenses" / "LICENSE").read_text(encoding="utf-8")
    assert "License-Expression: Apache-2.0" in (info / "METADATA").read_text(encoding="utf-8")


def files_below(folder: Path) -> set[str]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in names if "__pycache__" not in name}
