"""Fast maps before the panel: when they agree with exact ones, what the page says, and a run of real nets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from cli_runs import run
from samp.metrics import Criterion, Panel
from samp_lab.bench.speed_agreement import BOUND, both_speeds, compare_speeds, summary_table, write_agreement
from samp_lab.leaderboard.results_file import NetResult, PanelResults, write_results
from samp_lab.panel_methods import find_contestant
from samp_lab.panel_run import PanelOptions, PanelRun, measure_panel

ROAD = Criterion("road", "ROAD", "higher", "…")


def panel_with(*shifts: float, images: int = 400, noise: float = 0.1) -> Panel:
    """A judge of scores of standard deviation 1, of which each method's fast ones are higher by its shift."""
    draw = torch.Generator().manual_seed(0)
    exact = torch.randn(images, generator=draw, dtype=torch.float64)
    rows = {}
    for number, shift in enumerate(shifts):
        change = shift + noise * torch.randn(images, generator=draw, dtype=torch.float64)
        rows |= {f"m{number}": exact, f"m{number} (fast)": exact + change * exact.std()}
    return Panel((ROAD,), {"road": rows})


def states(panel: Panel) -> list[str]:
    return [one.state for one in compare_speeds(NetResult("a", panel, {}))]


def test_the_whole_interval_decides() -> None:
    assert states(panel_with(0.0, BOUND - 0.05, BOUND + 0.05, -BOUND - 0.05)) == [
        "agrees", "agrees", "differs", "differs"
    ]  # fmt: skip
    assert states(panel_with(0.0, images=20, noise=2.0)) == ["undecided"]


def test_scores_that_are_all_equal_agree_with_themselves_alone() -> None:
    same, other = torch.ones(30), torch.full((30,), 2.0)
    assert states(Panel((ROAD,), {"road": {"m": same, "m (fast)": same}})) == ["agrees"]
    assert states(Panel((ROAD,), {"road": {"m": same, "m (fast)": other}})) == ["differs"]


def test_images_without_a_number_on_either_side_are_left_out() -> None:
    exact, fast = torch.tensor([1.0, 2.0, float("nan"), 4.0]), torch.tensor([1.0, float("nan"), 3.0, 4.0])
    (found,) = compare_speeds(NetResult("a", Panel((ROAD,), {"road": {"m": exact, "m (fast)": fast}}), {}))
    assert (found.exact.count, found.exact.mean, found.difference.mean) == (2, 2.5, 0.0)


def test_methods_at_one_speed_are_not_compared() -> None:
    assert states(Panel((ROAD,), {"road": {"m": torch.rand(5), "n (fast)": torch.rand(5)}})) == []


def test_the_summary_counts_and_names_the_largest_difference() -> None:
    found = list(compare_speeds(NetResult("a", panel_with(0.5), {})))
    assert summary_table(found).splitlines()[2] == "| a | m0 | 1 | 0 | 0 | 1 | +0.50 SD (ROAD) |"


def test_the_page_is_made_of_the_file(tmp_path: Path) -> None:
    facts = {"photos": 9, "speeds": {"m0 (fast)": "fast: bfloat16"}, "alike": {"m0": {"pixels": 0.5, "cells": 0.75}}}
    net = NetResult("a", panel_with(0.0, 0.5), {}, facts)
    write_results(
        tmp_path / "panel.json", PanelResults({"a": net}, {"command": "samp bench agreement", "machine": "M"})
    )
    page = write_agreement(tmp_path).read_text(encoding="utf-8")
    assert "Of 2 comparisons, 1 agree, 0 are undecided and 1 differ." in page
    assert "| a | m0 | 9 | 0.500 | 0.750 |" in page
    assert page.endswith("`samp bench agreement`; M; fast: bfloat16.\n")


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown method 'nothing'"):
        find_contestant("nothing (fast)")


def test_both_speeds_of_the_net_of_known_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is replaced here but the question whether bfloat16 pays: it is used on any machine."""
    monkeypatch.setattr("samp.fast.gradients.is_half_faster", lambda device: True)
    found = measure_panel("planted", PanelOptions(tmp_path, planted=4, methods=both_speeds(["IG"])))
    assert list(found.speeds) == ["IG (fast)"]
    assert found.speeds["IG (fast)"].startswith("fast: bfloat16")
    exact, fast = (found.panel.scores["known truth"][name] for name in ("IG", "IG (fast)"))
    assert exact.mean() == 1
    assert fast.mean() > 0.9
    assert 0.9 < found.alike["IG"].pixels <= 1


def test_the_command_measures_and_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMP_DATA", str(tmp_path))
    result = run("bench", "agreement", "--net", "planted", "--methods", "IG", "--photos", "2", "--out", tmp_path / "o")
    assert result.exit_code == 0, result.output
    assert list(json.loads((tmp_path / "o" / "panel.json").read_text())["nets"]) == ["planted"]
    assert "| Net of known truth | IG | 1 |" in (tmp_path / "o" / "agreement.md").read_text()
    assert run("bench", "agreement", "--net", "nothing", "--photos", "2", "--out", tmp_path / "o").exit_code == 1


def test_parts_of_the_panel_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def measure_panel(net: str, options: PanelOptions) -> PanelRun:
        asked[net] = options
        return PanelRun(panel_with(0.0), {}, {}, {"photos": 2})

    monkeypatch.setattr("samp_lab.panel_run.measure_panel", measure_panel)
    words = ("bench", "agreement", "--net", "resnet50", "--photos", "2", "--data", tmp_path, "--out", tmp_path)
    result = run(*words, "--without", "grids", "--without", "random-weights")
    assert result.exit_code == 0, result.output
    options = asked["resnet50"]
    assert (options.sets, options.again_judges) == (["photos", "again", "boxes"], ["stability", "random-logit"])
    assert options.others == ("mobilenet_v2", "resnet50", "squeezenet1_1")
    assert json.loads((tmp_path / "panel.json").read_text())["nets"]["resnet50"]["asked"]["without"] == [
        "grids", "random-weights"
    ]  # fmt: skip
    assert "unknown part of the panel 'nothing'" in run(*words, "--without", "nothing").output
