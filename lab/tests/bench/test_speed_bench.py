"""`samp bench speed` runs and counts right; how fast anything is is not tested."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import samp
from maps_alike import measure_agreement
from samp_lab.bench.speed import SpeedSettings, measure_bare_calls, tables
from samp_lab.bench.speed_peers import CONTENDERS, Contender, Task, count_gradients, measure_contenders, peer_table
from samp_lab.bench.speed_tables import BareRate, CostLine, WalkRate, walk_table
from samp_lab.bench.tuning import measure_tuning, tuning_table


def small() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)).eval()


def test_the_report_has_bare_calls_walks_latency_and_three_lines() -> None:
    text = "\n\n".join(tables(small(), SpeedSettings(images=(1, 2), side=16, repeats=1)))
    for row in (
        "| float32 | 2 |",
        "| bfloat16, channels last | 4 |",
        "| coupled | exact | 2 | 4 |",
        "| images | 1, 2 |",
    ):
        assert row in text
    assert text.count("| fast: ") == 6
    for library in ("samp", "captum", "saliency", "shap", "pytorch-grad-cam"):
        assert f"| {library} | " in text
    assert "| pixels | 64, 144, 256, 400 |" in text
    assert "torch" in text.splitlines()[-1]


def test_tables_are_measured_by_name_and_bare_calls_only_where_they_are_needed() -> None:
    (one, machine) = tables(small(), SpeedSettings(images=(1,), side=16, repeats=1, tables=("one",)))
    assert one.startswith("| one image after warm-up |")
    assert machine.endswith(samp.__version__)
    bare, *walks, _ = tables(small(), SpeedSettings(images=(1,), side=16, repeats=1, tables=("walks",)))
    assert bare.startswith("| bare calls |")
    assert len(walks) == 3
    with pytest.raises(ValueError, match="walk"):
        SpeedSettings(tables=("walk",))


def test_of_one_image_the_cost_by_images_is_that_of_one_and_two() -> None:
    (lines, _) = tables(small(), SpeedSettings(images=(1,), side=16, repeats=1, tables=("growth",)))
    assert "| images | 1, 2 |" in lines


def test_every_bare_way_is_timed_on_the_batch_asked_for() -> None:
    rows = list(measure_bare_calls(small(), 3, SpeedSettings(side=8, repeats=1), largest=False))
    assert [row.way for row in rows] == [
        "float32",
        "float32, channels last",
        "bfloat16 autocast",
        "bfloat16, channels last",
    ]
    assert {row.batch for row in rows} == {3}
    assert all(row.rate > 0 for row in rows)


def test_a_walks_share_is_its_gradients_over_the_fastest_bare_rate() -> None:
    bare = [BareRate("float32", 4, 50.0, 100), BareRate("bfloat16", 4, 200.0, 80), BareRate("bfloat16", 8, 400.0, 160)]
    walk = WalkRate("samp++", "fast", 2, rows=4, seconds=0.5, gradients=30.0, peak=96, used="fast: bfloat16")
    assert walk.rate == 120.0
    row = walk_table([walk], bare).splitlines()[-1]
    assert "| 4.00 | 120.0 | **30.0%** | 60.0% | 0 | 1.20 |" in row


def test_libraries_take_the_gradients_that_they_are_asked_for() -> None:
    task = Task(small(), torch.rand(3, 3, 16, 16), rows=6)
    found = {
        one.library: one
        for one in measure_contenders(
            task, run_once, [one for one in CONTENDERS if "ig" in one.method or "Integ" in one.method]
        )
    }
    assert found.keys() == {"samp", "captum", "saliency"}
    assert {one.gradients / one.images for one in found.values()} <= {30.0, 31.0}  # samp's includes the image itself
    walk = count_gradients(task, next(one for one in CONTENDERS if one.method == "samp++"))
    assert walk == samp.explain(task.model, task.x, target=0, method="samp++", batch_size=6).gradients.sum()


def test_walks_are_timed_with_tuning_and_without_and_leave_it_as_it_was() -> None:
    seen: list[bool] = []

    def note(work: Callable[[], object]) -> float:
        seen.append(torch.backends.cudnn.benchmark)
        return run_once(work)

    (found,) = measure_tuning(small(), torch.rand(5, 3, 16, 16), ["samp++"], 4, note, note)
    assert seen == [False, True, True]
    assert not torch.backends.cudnn.benchmark
    assert found.sizes > 1  # a CPU tunes nothing, so each number of rows is a size
    assert tuning_table([found]).splitlines()[2].startswith("| samp++ | 5 | 2.000 | 2.000 | 2.000 | **1.000** |")


def run_once(work: Callable[[], object]) -> float:
    work()
    return 2.0


def test_a_librarys_share_is_its_gradients_over_those_of_bare_calls_and_one_that_is_missing_says_why() -> None:
    def fail(task: Task) -> object:
        raise ValueError("no such layer")

    task = Task(small(), torch.rand(2, 3, 16, 16), rows=4)
    asked = [
        Contender("ours", "bare", lambda task: task.model(task.x.requires_grad_())),
        Contender("theirs", "gone", fail, "no_such_library"),
        Contender("theirs", "fails", fail),
    ]
    rows = list(measure_contenders(task, run_once, asked))
    bare = [BareRate("float32", 4, 4.0, 0), BareRate("float32", 2, 100.0, 0), BareRate("bfloat16", 4, 50.0, 0)]
    lines = peer_table(rows, bare, 4).splitlines()
    assert lines[2] == "| ours | bare | 2 | 1.0 | 2.00 | 1.0 | **25.0%** |"
    assert "not imported: ModuleNotFoundError: No module named 'no_such_library'" in lines[3]
    assert "ValueError: no such layer" in lines[4]


def test_a_line_that_bends_fits_less_well() -> None:
    assert CostLine("steps", (1.0, 2.0, 3.0), (1.0, 4.0, 9.0)).fit[2] == pytest.approx(0.98, abs=0.005)


def test_maps_turned_upside_down_agree_in_nothing() -> None:
    x, map_ = torch.rand(2, 3, 16, 16), torch.rand(2, 16, 16)
    found = measure_agreement(nn.Sequential(nn.Flatten(), nn.Linear(768, 2)).eval(), x, 0, map_, -map_)
    assert found.pixels == pytest.approx(-1)
    assert found.cells == pytest.approx(-1)
    assert found.overlap == 0
