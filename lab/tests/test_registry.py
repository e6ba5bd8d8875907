"""A line in the registry is all that makes an experiment a command; nothing else lists experiments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from samp.cli import main
from samp_lab import registry
from samp_lab.experiment import Experiment
from samp_lab.registry import EXPERIMENTS, SETS, Registration, load_experiment, load_experiments
from samp_lab.setups import parse_setup
from samp_lab.tables.metric_table import MetricTable

MINE = MetricTable("mine", "My table", {"IG": "ig"}, ("digits/mnist-slim",), {})
ON_PHOTOS = (
    *("table1", "table2", "table3", "table4", "table6", "table7", "concentration"),
    *("curves", "verification", "gallery", "momentum", "baselines", "eta", "confidence"),
)
LINE = Registration("my_table:MINE", "My table of my methods.")


def bench(*words: str) -> str:
    result = CliRunner().invoke(main, ["bench", *words])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def with_my_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "mine", LINE)
    module = ModuleType("my_table")
    monkeypatch.setattr(module, "MINE", MINE, raising=False)
    monkeypatch.setitem(sys.modules, "my_table", module)


@pytest.mark.usefixtures("with_my_line")
def test_a_line_in_the_registry_makes_a_command(tmp_path: Path) -> None:
    assert "mine" in bench("--help")
    assert "My table of my methods." in bench("--help")
    assert "My table of my methods." in bench("mine", "--help")
    assert "1 cell on digits/mnist-slim" in bench("list")
    said = bench("mine", "--limit", "1", "--out", str(tmp_path))
    assert "[1/1] judged digits/mnist-slim" in said
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "My table" in report
    assert "| IG |" in report


@pytest.mark.usefixtures("with_my_line")
def test_a_set_runs_what_is_registered_for_it() -> None:
    assert MINE in load_experiments("paper")
    assert MINE in load_experiments("all")
    assert MINE not in load_experiments("beyond")


def test_sets_hold_every_experiment_once_in_the_order_of_the_list() -> None:
    names = [experiment.name for experiment in load_experiments()]
    assert names == list(EXPERIMENTS)
    both = [experiment.name for one in ("paper", "beyond") for experiment in load_experiments(one)]
    assert both == names
    assert not set(SETS) & set(names)


def test_a_help_line_begins_as_the_title_does() -> None:
    """Titles are the report's and help lines the command's, but both name the same table or figure."""
    for name, entry in EXPERIMENTS.items():
        title = load_experiment(name).title
        where = title.partition(":")[0] if entry.group == "paper" else "Beyond the paper"
        assert entry.summary.startswith(f"{where}: ")
        assert entry.summary.endswith(".")


def test_an_experiment_is_registered_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "other", EXPERIMENTS["table2"])
    with pytest.raises(ValueError, match="is registered as 'other' but its name is 'table2': use one name"):
        load_experiment("other")


WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from samp.cli import main; main(prog_name='samp')"


@pytest.mark.parametrize("words", ["bench --help", "bench table1 --help", "bench paper --help", "bench speed --help"])
def test_help_needs_no_torch(words: str) -> None:
    """Here torch cannot be imported at all."""
    command = [sys.executable, "-c", WITHOUT_TORCH, *words.split()]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "Usage: samp bench" in result.stdout


def test_the_registry_itself_imports_no_experiment() -> None:
    code = "import sys, samp_lab.registry as r; r.EXPERIMENTS; print(sorted(m for m in sys.modules if 'samp_lab' in m))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['samp_lab', 'samp_lab.registry']"


def test_no_module_keeps_a_second_list() -> None:
    """The words of a help line stand in the registry alone."""
    folder = Path(registry.__file__).parent
    for path in folder.rglob("*.py"):
        if path.name != "registry.py":
            text = path.read_text(encoding="utf-8")
            assert not [entry.summary for entry in EXPERIMENTS.values() if entry.summary in text], path


@pytest.mark.parametrize("experiment", load_experiments("paper"), ids=lambda one: one.name)
def test_the_papers_net_comes_first_on_photos(experiment: Experiment) -> None:
    setups = [setup for setup in map(parse_setup, experiment.setups) if setup.reading == "text"]
    first: dict[str, str] = {}
    for setup in setups:
        first.setdefault(setup.data, setup.net)
    photos = {data: net for data, net in first.items() if data in ("imagenet", "photos", "coco", "voc")}
    assert set(photos.values()) <= {"resnet50"}
    assert bool(photos) == (experiment.name in ON_PHOTOS)
