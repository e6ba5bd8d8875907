"""Experiments run, stop, go on and come out the same; what is wrong with one cell or image is that one's alone."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from click.testing import CliRunner

import samp
from samp.cli import main
from samp_lab.effects import Effect
from samp_lab.measurements.base import PartResult, key_of, name_of, spec_of
from samp_lab.measurements.method_maps import MethodCurves, MethodMaps
from samp_lab.registry import load_experiments
from samp_lab.reproduce import SetupChoice, substitute_setups
from samp_lab.runner import run_measurements
from samp_lab.setups import Setup, parse_setup
from samp_lab.statistics import compare_paired, kendall_tau
from samp_lab.store import Store
from samp_lab.tables.metric_table import MetricTable
from samp_lab.tables.table1 import TABLE1
from samp_lab.workspace import ExperimentOptions, ImagePart, Workspace

DIGITS = parse_setup("digits/mnist-slim")
QUICK = ExperimentOptions(limit=4, part=2)


def quiet(_: str) -> None:
    pass


def judged(*methods: str) -> list[MethodCurves]:
    return [MethodCurves(DIGITS, method) for method in methods]


def run(cells, folder: Path, options: ExperimentOptions = QUICK, **more):  # type: ignore[no-untyped-def]  # any cells, any outcome
    return run_measurements(cells, options, Store(folder), "samp bench test", say=quiet, **more)


def test_numbers_are_those_of_the_metric_itself(tmp_path: Path) -> None:
    cell = judged("ig")[0]
    outcome = run([cell], tmp_path)
    lab = Workspace(QUICK)
    net, ready = lab.net("mnist-slim").net, lab.prepare_images(DIGITS, None)
    result = samp.explain(net, ready.x, method="ig")
    curves = samp.metrics.deletion_insertion(net, ready.x, result, protocol="mnist")
    for column in ("deletion", "insertion"):
        torch.testing.assert_close(torch.tensor(outcome.results.numbers(cell, column)), getattr(curves, column))
    assert outcome.results.numbers(cell, "gradients") == [51] * 4


def test_a_second_run_measures_nothing_and_writes_the_same(tmp_path: Path) -> None:
    cells = judged("ig", "random")
    run(cells, tmp_path)
    first = (tmp_path / "results.json").read_bytes()
    again = run(cells, tmp_path)
    assert not any(done.fresh for done in again.done.values())
    assert (tmp_path / "results.json").read_bytes() == first


def test_every_setting_changes_the_key() -> None:
    cell, lab = judged("samp")[0], Workspace(QUICK)
    keys = {key_of(cell, lab.facts(DIGITS, None))}
    for options in (replace(QUICK, limit=3), replace(QUICK, seed=1), replace(QUICK, part=1)):
        keys.add(key_of(cell, Workspace(options).facts(DIGITS, None)))
    for other in (
        MethodCurves(DIGITS, "samp++"),
        MethodCurves(DIGITS, "samp", protocol="rise"),
        MethodMaps(DIGITS, "samp"),
    ):
        keys.add(key_of(other, lab.facts(DIGITS, None)))
    assert len(keys) == 7
    lab.net("mnist-slim").net.get_parameter(next(iter(dict(lab.net("mnist-slim").net.named_parameters())))).data += 1
    assert key_of(cell, Workspace(QUICK, {"mnist-slim": lab.net("mnist-slim")}).facts(DIGITS, None)) not in keys


def test_cells_side_by_side_come_out_as_one_after_the_other(tmp_path: Path) -> None:
    cells = judged("ig", "samp", "random")
    run(cells, tmp_path / "one")
    run(cells, tmp_path / "two", jobs=2)
    one, two = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("one", "two"))
    assert one["cells"].keys() == two["cells"].keys()
    for name, found in one["cells"].items():
        for column, numbers in found["numbers"].items():
            # threads are divided among the workers, and a sum in another order differs in its last digits
            assert two["cells"][name]["numbers"][column] == pytest.approx(numbers, rel=1e-3, abs=1e-4)


DYING = """
import os, sys
from samp.cli import main
left = int(sys.argv.pop(1))
def dying(*names, replace=os.replace):
    global left
    if not left:
        os.kill(os.getpid(), 9)
    left -= 1
    replace(*names)
os.replace = dying
main()
"""


def test_a_killed_run_goes_on_and_comes_out_the_same(tmp_path: Path) -> None:
    """Killed before random renames of files until it gets through; only what takes time differs, in its own file."""
    words = ["bench", "table2", "--dataset", "digits/mnist-slim", "--limit", "6", "--part", "1", "--out"]

    def bench(out: str, renames: int) -> int:
        command = [sys.executable, "-c", DYING, str(renames), *words, str(tmp_path / out)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert bench("whole", -1) == 0
    chance, codes = random.Random(0), [-signal.SIGKILL]
    while codes[-1] == -signal.SIGKILL and len(codes) < 40:
        codes.append(bench("killed", chance.randint(2, 40)))
    assert codes[-1] == 0
    assert len(codes) > 3
    whole, pieces = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("whole", "killed"))
    assert pieces | {"commands": []} == whole | {"commands": []}


@dataclass(frozen=True)
class Broken:
    kind: ClassVar[str] = "broken"
    version: ClassVar[int] = 1
    setup: Setup = DIGITS
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        raise RuntimeError("no such kernel")


def test_a_cell_that_fails_is_named_and_the_others_are_measured(tmp_path: Path) -> None:
    outcome = run([Broken(), *judged("random")], tmp_path)
    assert [one.name for one in outcome.failed] == ["broken bed=digits/mnist-slim"]
    assert outcome.failed[0].why == "RuntimeError: no such kernel"
    assert outcome.results.has(judged("random")[0])
    assert json.loads((tmp_path / "results.json").read_text())["failed"].keys() == {"broken bed=digits/mnist-slim"}


def test_a_bad_image_is_left_out_and_named(tmp_path: Path, data: Path) -> None:
    for path in sorted((data / "photos").glob("n0*"))[:3]:
        (tmp_path / "photos").mkdir(exist_ok=True)
        (tmp_path / "photos" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "photos" / "n05.jpg").write_bytes(b"no photo")
    (tmp_path / "models").symlink_to(data / "models")
    cell = MethodCurves(parse_setup("photos/squeezenet1_1"), "gradcam")
    outcome = run([cell], tmp_path / "out", ExperimentOptions(data=tmp_path))
    assert not outcome.failed
    found = outcome.results.entry(cell)
    assert len(found["numbers"]["deletion"]) == 3
    assert [one["id"] for one in found["skipped"]] == ["n05.jpg"]
    assert "n05.jpg" in found["skipped"][0]["why"]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, and nothing said of where data lies."""
    monkeypatch.delenv("SAMP_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["table1", "--dataset", "mnist"], "give its folder as --data"),
        (["table1", "--dataset", "mnist", "--data", "nowhere"], "there is no folder nowhere"),
        (["table1", "--dataset", "minst"], "did you mean 'mnist'?"),
        (["table2", "--dataset", "mnist"], "table2 does not run on mnist: it has imagenet/resnet50"),
        (["table1", "--limit", "0"], "limit is a number of images of at least 1, not 0"),
        (["report", "--out", "nowhere"], "there are no results in nowhere"),
        (["train", "mnits", "--data", "."], "did you mean 'mnist'?"),
    ],
)
@pytest.mark.usefixtures("elsewhere")
def test_bad_input_gets_one_sentence(words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["bench", *words])
    assert result.exit_code in (1, 2)
    assert said in result.output.replace("\n", " ")


def test_weights_of_another_net_get_one_sentence(data: Path, tmp_path: Path) -> None:
    weights = data / "models" / "squeezenet1_1_fp16.safetensors"
    cell = MethodCurves(parse_setup("photos/mobilenet_v2"), "random")
    outcome = run([cell], tmp_path, ExperimentOptions(data=data, weights=weights))
    assert "squeezenet1_1_fp16.safetensors" in outcome.failed[0].why


def test_a_damaged_part_is_measured_again(tmp_path: Path) -> None:
    run(judged("ig"), tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    part = sorted(tmp_path.glob("cells/*/001.json"))[0]
    part.write_text(part.read_text()[:20])
    outcome = run(judged("ig"), tmp_path)
    assert [done.fresh for done in outcome.done.values()] == [True]
    assert (tmp_path / "results.json").read_bytes() == before


def test_an_effect_holds_is_open_or_fails() -> None:
    low, high = [0.1 + 0.01 * i for i in range(20)], [0.5 + 0.01 * i for i in range(20)]
    effect, apart = Effect("a", "b", "deletion", part="improves"), compare_paired(low, high)
    assert effect.verdict(-0.1, apart, DIGITS).state == "holds"
    assert effect.verdict(+0.1, apart, DIGITS).state == "fails"
    assert effect.verdict(-0.1, compare_paired(low, low[::-1]), DIGITS).state == "open"
    assert effect.verdict(-0.1, apart, DIGITS).claim == "a better than b, deletion ↓"
    assert effect.verdict(+0.1, apart, DIGITS).claim == "a worse than b, deletion ↓"
    assert effect.verdict(-0.1, apart, DIGITS).part == "improves"


def test_agreement_is_kendalls() -> None:
    stats = pytest.importorskip("scipy.stats", reason="needs the extra metrics")
    chance = random.Random(1)
    for _ in range(20):
        a, b = ([chance.randint(0, 5) for _ in range(8)] for _ in range(2))
        assert kendall_tau(a, b) == pytest.approx(stats.kendalltau(a, b).statistic)


def test_a_table_sets_ours_beside_the_papers(tmp_path: Path) -> None:
    table = MetricTable(
        name="t",
        title="T",
        rows={"IG": "ig", "random": "random"},
        setups=("digits/mnist-slim",),
        values={"digits": {"IG": (0.0, 0.1, 0.9, 0.1), "random": (0.4, 0.1, 0.5, 0.1)}},
        effects=(Effect("IG", "random", "deletion"),),
    )
    outcome = run(table.measurements([DIGITS]), tmp_path)
    section = table.section(outcome.results, [DIGITS], tmp_path)
    grid = next(block for block in section.blocks if hasattr(block, "heads"))
    assert [row[0] for row in grid.rows] == ["IG", "random"]
    mean = sum(outcome.results.numbers(judged("ig")[0], "deletion")) / 4
    assert f"{mean:.3f}".replace("-", "−") in grid.rows[0][1]
    assert section.verdicts[0].paper == "−0.400"


def test_every_experiment_has_setups_and_measurements() -> None:
    for experiment in load_experiments():
        assert SetupChoice().select(experiment) == [parse_setup(one) for one in experiment.setups]
        assert len({name_of(cell) for cell in experiment.measurements(SetupChoice().select(experiment))}) > 0
    assert substitute_setups(TABLE1, {"mnist": "digits/mnist-slim"}) == [DIGITS]


def test_what_a_cell_asks_is_json() -> None:
    for experiment in load_experiments():
        for cell in experiment.measurements(SetupChoice().select(experiment)):
            assert json.loads(json.dumps(spec_of(cell))) == spec_of(cell)
