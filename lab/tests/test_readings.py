"""The two readings: names of setups, and the settings that each gives to methods, nets and protocols."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from samp.baselines import black
from samp.methods import SAMP, Coupled, resolve_method
from samp.metrics.fills import RISEBlur
from samp.metrics.protocols import PROTOCOLS
from samp_lab.measurements.base import Measurement
from samp_lab.nets import TRAINED
from samp_lab.readings import AUTHORS, READINGS, method_as_read
from samp_lab.registry import load_experiments
from samp_lab.reproduce import SLIM, SetupChoice, run_plans
from samp_lab.runner import Outcome
from samp_lab.setups import DEFAULT_NETS, PROTOCOL_ENDINGS, parse_setup
from samp_lab.store import Results, Store
from samp_lab.tables.table1 import ROWS, TABLE1
from samp_lab.training import RECIPES
from samp_lab.workspace import ExperimentOptions


@pytest.mark.parametrize(
    "name",
    [
        *("mnist", "mnist@authors", "cifar10@authors", "imagenet@authors", "imagenet/squeezenet1_1@authors"),
        *("mnist/mnist-authors-seed1@authors", "mnist:even", "mnist:odd@authors", "photos/resnet50"),
    ],
)
def test_a_setups_name_is_read_back(name: str) -> None:
    assert parse_setup(name).name == name
    assert parse_setup(parse_setup(name).name) == parse_setup(name)


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown reading 'mine'.*text, authors"):
        parse_setup("mnist@mine")


def test_every_reading_has_nets_and_protocols() -> None:
    assert set(READINGS) == set(DEFAULT_NETS) == set(PROTOCOL_ENDINGS)
    for experiment in load_experiments():
        for setup in map(parse_setup, experiment.setups):
            assert setup.protocol in PROTOCOLS


def test_the_text_leaves_every_method_as_it_is() -> None:
    for method in ROWS.values():
        assert method_as_read(method, parse_setup("cifar10")) == method


def test_the_benchmarks_settings_reach_every_rival_of_table_1() -> None:
    setup = parse_setup("mnist@authors")
    read = {name: resolve_method(method_as_read(method, setup)) for name, method in ROWS.items()}
    assert read["IG"] == AUTHORS["ig"]
    assert read["Guided IG"].score == read["Blur IG"].score == read["XRAI"].score == "probability"  # type: ignore[attr-defined]  # has it
    assert (read["RISE"].masks, read["RISE"].cells, read["RISE"].p) == (400, 8, 0.1)  # type: ignore[attr-defined]  # has it
    assert read["SAMP"].baseline == (black, RISEBlur(11, 5.0))  # type: ignore[attr-defined]  # has it
    assert read["LRP"] == resolve_method("lrp")


@pytest.mark.parametrize(("setup", "kernel"), [("cifar10@authors", 11), ("imagenet@authors", 31)])
@pytest.mark.parametrize("method", [SAMP(eta=0.1), Coupled(), "samp++"])
def test_walks_start_from_the_blur_that_insertion_starts_from(setup: str, kernel: int, method: object) -> None:
    bed = parse_setup(setup)
    read = method_as_read(method, bed)  # type: ignore[arg-type]  # a method
    assert read.baseline[1] == PROTOCOLS[bed.protocol].start == RISEBlur(kernel, 5.0)  # type: ignore[union-attr]  # has it


def test_a_baseline_that_was_chosen_is_kept() -> None:
    chosen = SAMP(baseline="white")
    assert method_as_read(chosen, parse_setup("mnist@authors")) == chosen


def test_grad_cams_layer_is_resnets_own() -> None:
    assert method_as_read("gradcam", parse_setup("imagenet@authors")).layer == "layer4.2.bn3"  # type: ignore[union-attr]  # has it
    assert method_as_read("gradcam", parse_setup("mnist@authors")) == "gradcam"


def test_nets_of_the_authors_are_padded_and_trained_by_sgd() -> None:
    for name in ("mnist-authors", "cifar10-authors", "mnist-slim-authors", "cifar10-slim-authors"):
        assert RECIPES[name].optimiser == "sgd"
        assert RECIPES[name].net.padding == 1  # type: ignore[union-attr]  # has it
        assert RECIPES[name].centred == name.startswith("cifar10")
        assert name in TRAINED


def test_a_choice_selects_by_reading_and_by_width() -> None:
    names = [setup.name for setup in SetupChoice(("mnist", "cifar10"), "authors").select(TABLE1)]
    assert names[:2] == ["mnist@authors", "mnist/mnist-authors-seed1@authors"]
    slim = SetupChoice(("mnist", "cifar10"), slim=True).select(TABLE1)
    assert [setup.net for setup in slim] == [SLIM[n] for n in ("mnist", "mnist-authors", "cifar10", "cifar10-authors")]
    assert SetupChoice(("cifar10@authors",)).select(TABLE1) == [parse_setup("cifar10@authors")]


def test_a_run_that_is_stopped_has_the_papers_nets_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def keep(cells: Iterable[Measurement], *_: object, **__: object) -> Outcome:
        asked.extend(cell.setup.name for cell in cells)
        return Outcome(Results({}, {}))

    monkeypatch.setattr("samp_lab.reproduce.run_measurements", keep)
    monkeypatch.setattr("samp_lab.reproduce.write_report", lambda _: None)
    run_plans([(TABLE1, list(map(parse_setup, TABLE1.setups)))], ExperimentOptions(), Store(tmp_path))
    first = {name: asked.index(name) for name in dict.fromkeys(asked)}
    assert max(first["cifar10@authors"], first["imagenet@authors"]) < first["imagenet/mobilenet_v2"]
    assert first["imagenet/squeezenet1_1"] < first["mnist/mnist-seed1"]
    assert len(asked) == len(TABLE1.measurements(list(map(parse_setup, TABLE1.setups))))
