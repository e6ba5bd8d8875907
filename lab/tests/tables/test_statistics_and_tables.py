"""What Table 7, Table 8 and Fig. Sensitivity-N say of results, and the numbers they say it with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from samp.metrics.correlations import pearson
from samp.metrics.pointing_game import PointingGame
from samp.metrics.sensitivity_n import BETAS, completeness_check
from samp_lab.experiment import FigureContext
from samp_lab.figures.sensitivity import LINES, SENSITIVITY, measurements_of
from samp_lab.measurements.base import Measurement, name_of
from samp_lab.measurements.paper_tables import CreditSums, Fidelity, MethodSeconds
from samp_lab.measurements.pointing import Pointing
from samp_lab.runner import run_measurements
from samp_lab.sections import Grid, Paragraph, Picture, Section
from samp_lab.setups import parse_setup
from samp_lab.statistics import bootstrap_estimate, correlation, ratio
from samp_lab.store import Results, Store
from samp_lab.tables.pointing_games import mcnemar, tally_games
from samp_lab.tables.table7 import PHOTOS, POINTING, POINTING_VALUES, TABLE7, TIMES
from samp_lab.tables.table8 import TABLE8
from samp_lab.workspace import ExperimentOptions, Workspace

MNIST, COCO = parse_setup("mnist"), parse_setup("coco/mobilenet_v2")
NOWHERE = Path("no figures")


def results_of(
    numbers: Mapping[Measurement, Mapping[str, Any]], seconds: Mapping[Measurement, Sequence[float]] | None = None
) -> Results:
    timing = {name_of(cell): {"seconds": list(column)} for cell, column in (seconds or {}).items()}
    return Results({name_of(cell): {"numbers": dict(columns)} for cell, columns in numbers.items()}, timing)


def states(section: Section) -> dict[str, str]:
    return {verdict.claim: verdict.state for verdict in section.verdicts}


def grids(section: Section) -> list[Grid]:
    return [block for block in section.blocks if isinstance(block, Grid)]


# ---- estimates ----


def test_accuracy_is_the_pointing_games_own() -> None:
    random = np.random.default_rng(0)
    games = [
        [[label, bool(random.random() < 0.5), False] for label in "abc" if random.random() < 0.6] for _ in range(30)
    ]
    rounds = [one for game in games for one in game]
    hits, labels = torch.tensor([hit for _, hit, _ in rounds]), tuple(label for label, _, _ in rounds)
    oracle = PointingGame(torch.zeros(len(rounds), 2), hits, torch.ones(len(rounds)).bool(), labels)
    assert tally_games(games).accuracy(np.ones((1, 30)))[0] == pytest.approx(100 * oracle.accuracy)


def test_weights_stand_for_photos_that_occur_several_times() -> None:
    games = [[["a", True, False]], [["a", False, False], ["b", True, True]], None]
    again = [games[0], games[1], games[1], games[1]]
    assert tally_games(games).accuracy(np.array([[1.0, 3.0, 0.0]])) == tally_games(again).accuracy(np.ones((1, 4)))
    assert math.isnan(tally_games(games).accuracy(np.array([[0.0, 0.0, 1.0]]))[0])
    assert tally_games(games, difficult=True).classes == ("b",)


def test_mcnemars_p_is_the_binomial_tests() -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = games_of(lambda photo: photo % 3 > 0), games_of(lambda photo: photo % 5 == 0)
    pairs = [(a[0][1], b[0][1]) for a, b in zip(one, other, strict=True)]
    gained, lost = pairs.count((True, False)), pairs.count((False, True))
    assert min(gained, lost) > 0
    expected = stats.binomtest(gained, gained + lost).pvalue
    assert mcnemar(tally_games(one), tally_games(other)) == pytest.approx(expected)


def test_the_weighted_correlation_is_that_of_the_repeated_images() -> None:
    random = np.random.default_rng(1)
    x, y, weights = random.normal(size=9) + 1e4, random.normal(size=9), random.integers(0, 4, size=(5, 9))
    found = correlation(x.tolist(), y.tolist())(weights.astype(float))
    for row, r in zip(weights, found, strict=True):
        assert r == pytest.approx(float(pearson(*(torch.tensor(np.repeat(v, row)) for v in (x, y)))))


def test_a_correlation_with_what_does_not_vary_is_none() -> None:
    statistic = correlation([float(image) for image in range(20)], [5.0] * 20)
    assert math.isnan(bootstrap_estimate(statistic, 20).value)
    assert bootstrap_estimate(statistic, 20).state(1) == "open"


def test_the_interval_of_a_mean_is_the_one_of_the_standard_error() -> None:
    x = np.random.default_rng(2).normal(size=200)
    found = bootstrap_estimate(lambda weights: weights @ x / 200, 200)
    error = 1.96 * x.std(ddof=1) / math.sqrt(200)
    assert (found.value - found.low, found.high - found.value) == pytest.approx((error, error), rel=0.15)  # 1,999 draws


def test_one_image_has_no_interval_and_decides_nothing() -> None:
    found = bootstrap_estimate(lambda weights: weights[:, 0], 1)
    assert found.format(".1f") == "1.0"
    assert found.state(1) == "missing"


def test_a_ratio_turned_over_is_one_over_it() -> None:
    a, b = [1.0, 2.0, 4.0, 3.0], [2.0, 1.0, 3.0, 9.0]
    assert ratio(a, b).value == pytest.approx(1 / ratio(b, a).value)
    assert ratio(a, a).value == 1


# ---- Table 7 ----


def games_of(hits: Callable[[int], bool]) -> list[list[list[Any]]]:
    return [[["dog" if photo % 2 else "cat", hits(photo), photo < 10]] for photo in range(40)]


def test_what_points_best_wins_and_what_points_as_well_stays_open() -> None:
    better = {"RISE": lambda photo: photo % 8 != 0, "SAMP++": lambda photo: photo % 4 > 1}
    numbers = {
        Pointing(COCO, method, most=PHOTOS): {"game": games_of(better.get(row, lambda photo: photo % 8 == 1))}
        for row, method in POINTING.items()
    }
    section = TABLE7.section(results_of(numbers), [COCO], NOWHERE)
    found = states(section)
    assert found["RISE better than SAMP++, pointing ↑"] == "holds"
    assert found["SAMP++ better than Blur IG, pointing ↑"] == "holds"
    assert len(found) == 9
    assert len(grids(section)[0].full_heads) == len(grids(section)[0].rows[0])
    rows = {row[0]: row[1:] for row in grids(section)[0].rows}
    assert rows["RISE"][0].startswith("**87.5**")
    assert rows["RISE"][1:3] == ("87.3", "+0.2")
    assert rows["RISE"][4] == "35 of 40"
    assert rows["random"][1] == "–"
    assert rows["SAMP++"][3] == "40.0 of 10"


def test_a_game_lost_where_the_paper_wins_fails() -> None:
    cells = {row: Pointing(COCO, POINTING[row], most=PHOTOS) for row in POINTING_VALUES}
    numbers = {cell: {"game": games_of(lambda photo, row=row: row != "RISE")} for row, cell in cells.items()}
    found = states(TABLE7.section(results_of(numbers), [COCO], NOWHERE))
    assert {found[f"RISE better than {row}, pointing ↑"] for row in POINTING_VALUES if row != "RISE"} == {"fails"}
    assert found["SAMP++ better than IG, pointing ↑"] == "open"


def test_photos_whose_boxes_could_not_be_read_are_told() -> None:
    numbers = {Pointing(COCO, "rise", most=PHOTOS): {"game": [None, [], [["dog", True, False]]]}}
    section = TABLE7.section(results_of(numbers), [COCO], NOWHERE)
    said = " ".join(block.text for block in section.blocks if isinstance(block, Paragraph))
    assert "1 maps of 1 out of 3 photos, for 1 classes" in said
    assert "boxes of 1 photos could not be read" in said


def test_fidelity_is_compared_image_by_image_beside_the_papers() -> None:
    base = np.linspace(0, 1, 30)
    numbers = {
        Fidelity(MNIST, "samp++"): {"cells": (base + 0.1).tolist(), "bhatt": base.tolist()},
        Fidelity(MNIST, "ig"): {"cells": (base + 0.02 * np.cos(base)).tolist(), "bhatt": base.tolist()},
        Fidelity(MNIST, "rise"): {"cells": [None, *(base[1:] + 0.2).tolist()], "bhatt": base.tolist()},
    }
    section = TABLE7.section(results_of(numbers), [MNIST], NOWHERE)
    assert states(section) == {
        "SAMP++ not worse than IG, μFidelity ↑": "holds",
        "SAMP++ not worse than RISE, μFidelity ↑": "fails",
    }
    assert len(grids(section)[0].full_heads) == len(grids(section)[0].rows[0])
    rows = {row[0]: row for row in grids(section)[0].rows}
    assert rows["SAMP++"][2:4] == ("0.461", "+0.139")
    assert rows["RISE"][1].startswith("**")


def test_the_old_unequal_grid_is_shown_and_decides_nothing() -> None:
    base = np.linspace(0, 1, 30).tolist()
    numbers = {Fidelity(MNIST, name): {"novello": base, "bhatt": base} for name in ("samp++", "ig")}
    section = TABLE7.section(results_of(numbers), [MNIST], NOWHERE)
    assert not section.verdicts
    assert "of an older run" in grids(section)[0].full_heads[1]
    numbers[Fidelity(MNIST, "ig")] = {"cells": base, "bhatt": base}
    assert [row[0] for row in grids(TABLE7.section(results_of(numbers), [MNIST], NOWHERE))[0].rows] == ["IG"]


def test_every_ratio_of_the_papers_seconds_is_claimed_once() -> None:
    five = {"SmoothGrad": "slower", "RISE": "slower", "IG": "slower", "Blur IG": "slower", "Guided IG": "faster"}
    assert {row: claim for row, claim in TIMES.claims.items() if row in TIMES.values} == five
    for row, claim in five.items():
        assert (TIMES.values["SAMP++"] > TIMES.values[row]) == (claim == "slower")


def test_seconds_are_judged_as_ratios() -> None:
    seconds = {"samp++": 2.0, "ig": 1.0, "guidedig": 3.0, "cam": 0.1, "gradcam": 4.0}
    columns = {
        MethodSeconds(MNIST, name): [value * wobble for wobble in (0.9, 1.0, 1.1)] * 7
        for name, value in seconds.items()
    }
    numbers = {cell: {"gradients": [1] * 21, "forwards": [0] * 21} for cell in columns}
    section = TABLE7.section(results_of(numbers, columns), [MNIST], NOWHERE)
    assert states(section) == {
        "SAMP++ slower than IG": "holds",
        "SAMP++ faster than Guided IG": "holds",
        "SAMP++ slower than CAM": "holds",
        "SAMP++ slower than Grad-CAM": "fails",
    }
    judged = {verdict.claim: verdict for verdict in section.verdicts}
    assert judged["SAMP++ slower than IG"].paper == "× 1.14"
    assert {verdict.part for verdict in section.verdicts} == {"time"}
    assert len(grids(section)[0].full_heads) == len(grids(section)[0].rows[0])
    rows = {row[0]: row for row in grids(section)[0].rows}
    assert rows["Guided IG"][1:5] == ("3", "0.344", "1.50", "1.46")
    assert rows["CAM"][2] == "–"


def test_on_other_data_than_the_papers_numbers_stand_alone() -> None:
    digits = parse_setup("digits/mnist-slim")
    numbers: dict[Measurement, dict[str, Any]] = {
        Fidelity(digits, name): {"cells": [0.1, value], "bhatt": [0.2, 0.3]}
        for name, value in (("samp++", 0.5), ("ig", 0.4))
    }
    numbers |= {MethodSeconds(digits, name): {"gradients": [1, 1], "forwards": [0, 0]} for name in ("samp++", "cam")}
    results = results_of(numbers, {MethodSeconds(digits, name): [1.0, 2.0] for name in ("samp++", "cam")})
    section = TABLE7.section(results, [digits], NOWHERE)
    assert not section.verdicts
    assert not any("the paper's" in grid.heads for grid in grids(section))
    for grid in grids(section):
        assert {len(row) for row in grid.rows} == {len(grid.full_heads)}


def test_without_results_there_is_nothing_to_say() -> None:
    empty = results_of({})
    assert TABLE7.section(empty, [MNIST, COCO], NOWHERE).blocks == ()
    assert states(TABLE8.section(empty, [MNIST], NOWHERE)) == states(SENSITIVITY.section(empty, [MNIST], NOWHERE)) == {}


# ---- Table 8 ----


def test_table_8_judges_and_times_its_rows() -> None:
    judged, timed = [
        [cell for cell in TABLE8.measurements([MNIST]) if cell.kind == kind] for kind in ("judged", "timed")
    ]
    low = np.linspace(0, 0.1, 20)
    numbers: dict[Measurement, dict[str, Any]] = {
        cell: {
            "deletion": (low + shift).tolist(),
            "insertion": (1 - low - shift).tolist(),
            "gradients": [1] * 20,
            "forwards": [2] * 20,
        }
        for cell, shift in zip(judged, (0.1, 0.2, 0.0), strict=True)
    }
    numbers |= {cell: {"gradients": [1] * 21, "forwards": [2] * 21} for cell in timed}
    seconds = dict(zip(timed, ([9.0, 9.1, 9.2] * 7, [0.1, 0.1, 0.2] * 7, [0.3, 0.3, 0.4] * 7), strict=True))
    found = states(TABLE8.section(results_of(numbers, seconds), [MNIST], NOWHERE))
    assert found.pop("SAMP++ faster than Deep SHAP") == "fails"
    assert len(found) == 5
    assert set(found.values()) == {"holds"}


# ---- Fig. Sensitivity-N ----


def sums(noise: Callable[[int], float]) -> Results:
    random = np.random.default_rng(3)
    change, error = random.normal(size=50), random.normal(size=50)
    numbers = {}
    for cell in SENSITIVITY.measurements([MNIST]):
        credit = change + noise(round(1 / cell.method.eta)) * error  # type: ignore[attr-defined]  # all cells here have one
        columns = [(f"credit {d}", credit.tolist()) for d in ("to_baseline", "to_image")]
        numbers[cell] = dict([*columns, *((f"change {d}", change.tolist()) for d in ("to_baseline", "to_image"))])
    return results_of(numbers)


@pytest.mark.parametrize(
    ("noise", "state"),
    [(lambda beta: 3 / beta, "holds"), (lambda beta: beta / 50, "fails"), (lambda beta: 0.5, "open")],
)
def test_a_correlation_that_rises_with_beta_is_found_to(noise: Callable[[int], float], state: str) -> None:
    section = SENSITIVITY.section(sums(noise), [MNIST], NOWHERE)
    rising = [verdict for verdict in section.verdicts if verdict.claim.startswith("correlation rises")]
    assert {verdict.state for verdict in rising} == {state}
    assert len(rising) == len(section.verdicts) / 2 == 2 * len(LINES)
    assert len(grids(section)[0].rows[0]) == 1 + len(BETAS)


def test_measured_and_drawn_end_to_end_it_is_the_completeness_check(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    experiment = replace(SENSITIVITY, measurements_of=partial(measurements_of, betas=(1, 10)))
    digits = parse_setup("digits/mnist-slim")
    options, store = ExperimentOptions(limit=3, part=2), Store(tmp_path)
    outcome = run_measurements(experiment.measurements([digits]), options, store, "test", say=lambda line: None)
    assert not outcome.failed
    lab = Workspace(options)
    experiment.draw(FigureContext(outcome, store, lab, [digits], tmp_path / "figures"))
    section = experiment.section(store.read(), [digits], tmp_path / "figures")
    (picture,) = [block for block in section.blocks if isinstance(block, Picture)]
    assert (tmp_path / "figures" / picture.file).read_bytes().startswith(b"\x89PNG")

    x = lab.prepare_images(digits, None).x
    for line, method in LINES.items():
        oracle = completeness_check(lab.net("mnist-slim").net, x, betas=[1, 10], method=method)
        for direction, expected in oracle.correlation.items():
            for beta, r in zip((1, 10), expected.tolist(), strict=True):
                cell = next(
                    c
                    for c in experiment.measurements([digits])
                    if isinstance(c, CreditSums) and c.method == _at(line, beta)
                )
                found = [store.read().numbers(cell, f"{name} {direction}") for name in ("credit", "change")]
                assert bootstrap_estimate(correlation(*found), 3).value == pytest.approx(
                    r, abs=1e-4
                )  # seven digits are kept


def _at(line: str, beta: int) -> Any:
    return replace(LINES[line], eta=1 / beta)
