"""`samp bench agreement`: exact and fast maps before the same judges."""

from __future__ import annotations

from pathlib import Path

import torch

from panel_results import JUDGES, make_panel
from samp.metrics import Criterion, Panel
from samp_lab.bench.panel_agreement import (
    Moved,
    agreement_options,
    alike_table,
    compare_panels,
    measure_net,
    moved_table,
)
from samp_lab.panel_run import PanelOptions

ROAD = Criterion("road", "ROAD", "higher", "r")


def panel_of(*values: float) -> Panel:
    return Panel((ROAD,), {"road": {"coupled": torch.tensor(values, dtype=torch.float64)}})


def test_a_verdict_moves_by_the_mean_of_the_differences_in_units_of_the_spread_over_images() -> None:
    (found,) = compare_panels("net", panel_of(1.0, 2.0, 3.0), panel_of(1.5, 2.5, 3.5))
    assert (found.exact, found.fast, found.difference, found.spread, found.images) == (2.0, 2.5, 0.5, 1.0, 3)
    assert found.share == 0.5


def test_images_that_a_judge_leaves_out_count_for_neither() -> None:
    (found,) = compare_panels("net", panel_of(1.0, 2.0, float("nan")), panel_of(1.0, 4.0, 9.0))
    assert (found.images, found.difference) == (2, 1.0)


def test_a_panel_agrees_with_itself() -> None:
    panel = make_panel({"coupled": 1.0, "IG": 0.0}, JUDGES[:3], 5)
    assert all(one.difference == 0 for one in compare_panels("net", panel, panel))


def test_the_largest_move_stands_below_the_table_and_level_verdicts_have_no_share() -> None:
    rows = [
        Moved("a", "coupled", ROAD, 9, 1.0, 0.5, -0.5, -0.6, -0.4, 1.0),
        Moved("b", "coupled", ROAD, 9, 1.0, 1.25, 0.25, 0.1, 0.4, 1.0),
        Moved("c", "coupled", ROAD, 9, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    ]
    text = moved_table(rows)
    assert "| a | coupled | ROAD | 9 | 1.0000 | 0.5000 | -0.5000 [-0.6000, -0.4000] | -0.500 |" in text
    assert "[+0.0000, +0.0000] | – |" in text
    assert text.endswith("Largest: -0.500 of the spread (a, coupled, ROAD).")


def test_nets_judge_each_others_maps_of_real_photos(data: Path) -> None:
    """Both speeds see the same photos; on a CPU a fast map of SqueezeNet has the regions of the exact one."""
    options = PanelOptions(
        data, photos=2, again=1, boxes=1, methods=("SAMP++",), others=("squeezenet1_1", "mobilenet_v2")
    )
    said: list[str] = []
    alike, moved = measure_net("squeezenet1_1", agreement_options(options), said.append)
    assert "| squeezenet1_1 | SAMP++ | 2 |" in alike_table(alike)
    assert alike[0].cells > 0.6
    keys = {one.judge.key for one in moved}
    assert {"paper", "road", "transfer: mobilenet_v2", "stability: pixels", "random-logit", "energy"} <= keys
    assert not {"random-weights", "grid", "difull"} & {key.partition(":")[0] for key in keys}
    assert sum("judges of" in line for line in said) == 2 * 3  # image sets, at two speeds
