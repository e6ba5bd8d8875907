"""The experiments beyond the paper: what their cells measure, against oracles, and what their sections say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import samp
from samp.baselines import Blurred
from samp.methods import SAMP, Coupled, SAMPPlusPlus
from samp.metrics import deletion_insertion
from samp_lab.experiment import Experiment, FigureContext
from samp_lab.figures.budget import BUDGET, BUDGETS
from samp_lab.measurements.base import Measurement, key_of, name_of
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.measurements.path_orders import (
    PAIR,
    WAYS,
    MethodOrders,
    Optimum,
    RandomOrders,
    Squares,
    Superpixels,
    TransferCurves,
    manipulations,
    orders_of,
    random_orders,
)
from samp_lab.runner import run_measurements
from samp_lab.sections import Grid, Paragraph, Picture, Section
from samp_lab.setups import parse_setup
from samp_lab.store import Results, Store
from samp_lab.tables.transfer import TRANSFER
from samp_lab.theory.allocation import allocation, simulate_bridge
from samp_lab.theory.optimum_table import OPTIMUM
from samp_lab.theory.propositions import THEORY
from samp_lab.workspace import ExperimentOptions, ImagePart, Workspace

DIGITS = parse_setup("digits/mnist-slim")
NOWHERE = Path("no figures")
FEW = Squares(2)  # 4 groups, 24 orders


@pytest.fixture(scope="module")
def part() -> ImagePart:
    _, make = next(Workspace(ExperimentOptions(limit=3)).parts(DIGITS, None))
    return make()


def results_of(numbers: Mapping[Measurement, Mapping[str, Any]]) -> Results:
    return Results({name_of(cell): {"numbers": dict(columns)} for cell, columns in numbers.items()}, {})


def states(section: Section) -> dict[str, str]:
    return {verdict.claim: verdict.state for verdict in section.verdicts}


def grids(section: Section) -> list[Grid]:
    return [block for block in section.blocks if isinstance(block, Grid)]


def assert_even(section: Section) -> None:
    for grid in grids(section):
        assert {len(row) for row in grid.rows} == {len(grid.full_heads)}


def true_credits(part: ImagePart, image: int, order: tuple[int, ...], *, rising: bool) -> np.ndarray:
    """Credits along an order of the quarters, each point put together and scored by itself."""
    x, soft = part.x[image], Blurred()(part.x)[image]
    start, end = (soft, x) if rising else (x, torch.zeros_like(x))
    point, scores = start.clone(), []
    for moves in range(5):
        if moves:
            row, column = (14 * place for place in divmod(order[moves - 1], 2))
            point[:, row : row + 14, column : column + 14] = end[:, row : row + 14, column : column + 14]
        with torch.no_grad():
            scores.append(part.net(point[None])[0, part.target[image]].item())
    return np.diff(scores)


# ---- groups ----


@pytest.mark.parametrize(("pixels", "size"), [(28, 7), (32, 8), (224, 56)])
def test_sixteen_squares_are_equal(pixels: int, size: int) -> None:
    ids = Squares(4).ids(torch.zeros(2, 3, pixels, pixels))
    assert ids.shape == (2, pixels, pixels)
    assert torch.bincount(ids[1].flatten()).tolist() == [size * size] * 16


def test_superpixels_follow_the_image_and_not_its_neighbours(part: ImagePart) -> None:
    ids = Superpixels(4).ids(part.x)
    assert torch.equal(ids[1:2], Superpixels(4).ids(part.x[1:2]))
    assert int(ids.max()) < 16
    assert not torch.equal(ids[0], Squares(4).ids(part.x)[0])
    # within a superpixel the image varies less than within a square
    spread = [
        sum(float(part.x[0, 0][cut == group].var(correction=0) * (cut == group).sum()) for group in cut.unique())
        for cut in (ids[0], Squares(4).ids(part.x)[0])
    ]
    assert spread[0] < spread[1]


def test_a_blank_image_falls_into_squares() -> None:
    blank = torch.zeros(1, 1, 8, 8)
    assert torch.equal(Superpixels(4).ids(blank), Squares(4).ids(blank))


# ---- the optimum ----


def test_the_optimum_is_the_best_of_all_orders_of_the_images_own_points(part: ImagePart) -> None:
    found = Optimum(DIGITS, FEW).measure(part).numbers
    for image in range(3):
        orders = list(permutations(range(4)))
        down, up = (np.array([true_credits(part, image, o, rising=rising) for o in orders]) for rising in (False, True))
        for way, credit in zip(WAYS, (-down, up, up - down), strict=True):
            variances = credit.var(1)
            areas = np.pad(credit.cumsum(1), ((0, 0), (1, 0))).mean(1)
            assert found[f"optimum {way} variance"][image] == pytest.approx(variances.max(), rel=1e-4)
            spread = found[f"highest {way} area"][image] - found[f"random {way} area"][image]
            assert spread == pytest.approx(areas.max() - areas.mean(), abs=0.2 * np.ptp(areas) + 1e-4)  # 200 draws
            assert found[f"random {way} variance"][image] == pytest.approx(variances.mean(), rel=0.2)


@pytest.mark.parametrize("method", [SAMP, SAMPPlusPlus, Coupled])
def test_a_methods_variance_is_that_of_its_order(part: ImagePart, method: Any) -> None:
    chosen = method(pixels_per_step=1, baseline=PAIR)
    found = MethodOrders(DIGITS, chosen, FEW).measure(part).numbers
    result = samp.explain(part.net, part.x, target=part.target, method=chosen, groups=samp.Patches(14))
    best = Optimum(DIGITS, FEW).measure(part).numbers
    for image in range(3):
        by_way = {
            "to_baseline": result.order["to_baseline"][image].argsort(stable=True),
            "to_image": result.order["to_image"][image].argsort(stable=True),
            "both": result.group_values[image].argsort(descending=True, stable=True),
        }
        for way, order in by_way.items():
            down, up = (true_credits(part, image, tuple(order.tolist()), rising=r) for r in (False, True))
            expected = {"to_baseline": down, "to_image": up, "both": up - down}[way].var()
            assert found[f"{way} variance"][image] == pytest.approx(expected, rel=1e-4, abs=1e-7)
            assert found[f"{way} variance"][image] <= best[f"optimum {way} variance"][image] * (1 + 1e-4)
            assert found[f"{way} area"][image] <= best[f"highest {way} area"][image] + 1e-4


def test_along_its_order_samp_finds_the_scores_of_its_own_walk(part: ImagePart) -> None:
    cut = Squares(4)  # of which some are black, and never have to move
    method = SAMP(pixels_per_step=1, baseline=PAIR)
    result = samp.explain(part.net, part.x, target=part.target, method=method, groups=cut.ids(part.x)[:, None])
    assert (result.order["to_baseline"] < 0).any()
    for image, walks in enumerate(manipulations(part, cut)):
        orders = orders_of(result, image, 16)
        for direction, walk in walks.items():
            steps = int(result.steps[direction][image])
            own = result.scores[direction][image, : steps + 1].tolist()
            assert walk.score_along(orders[direction]) == pytest.approx(own + own[-1:] * (16 - steps), abs=1e-4)


def test_the_cut_and_the_method_are_part_of_the_key() -> None:
    cells = [MethodOrders(DIGITS, m, c) for m in ("samp", "samp++") for c in (Squares(4), Squares(2), Superpixels(4))]
    assert len({key_of(cell, {}) for cell in cells}) == len(cells)


def optimum_numbers(method_share: Mapping[str, float]) -> dict[Measurement, dict[str, list[float]]]:
    """Twenty images on which methods reach these shares of the optimum, give or take."""
    wobble, cut = np.linspace(0, 0.01, 20), OPTIMUM.cuts["16 patches"]
    searches = ("optimum", "highest", "greedy", "random", "beam 4", "beam 16", "beam 64")
    columns = {f"{s} {way} variance": (2.0 + wobble).tolist() for s in searches for way in WAYS}
    columns |= {f"{s} {way} area": (wobble + (s != "random")).tolist() for s in searches for way in WAYS}
    numbers: dict[Measurement, dict[str, list[float]]] = {Optimum(DIGITS, cut): columns}
    for row, share in method_share.items():
        values = {f"{way} variance": (2.0 * share + wobble * wobble).tolist() for way in WAYS}
        values |= {f"{way} area": (share + wobble).tolist() for way in WAYS}
        numbers[MethodOrders(DIGITS, OPTIMUM.methods[row], cut)] = values
    return numbers


def test_who_is_nearer_to_the_optimum_is_said_so() -> None:
    section = OPTIMUM.section(
        results_of(optimum_numbers({"coupled": 0.9, "SAMP": 0.5, "SAMP++": 1.0})), [DIGITS], NOWHERE
    )
    found = states(section)
    assert found["coupled nearer to the optimum of Eq. 5 than SAMP: 16 patches, one order for both"] == "holds"
    assert found["coupled nearer to the largest area than SAMP++: 16 patches, insertion's walk"] == "fails"
    assert len(found) == 12
    assert_even(section)
    rows = {row[0]: row for row in grids(section)[0].rows}
    assert rows["largest variance"][1:4] == ("1.000 [1.000, 1.000]", "20 of 20", "1.000 [1.000, 1.000]")
    assert rows["SAMP"][1].startswith("0.49")
    assert rows["SAMP"][2:4] == ("0 of 20", "0.500 [0.500, 0.500]")
    assert rows["random"][3] == "0.000 [0.000, 0.000]"


def test_a_method_that_failed_is_a_dash() -> None:
    section = OPTIMUM.section(results_of(optimum_numbers({"coupled": 0.9})), [DIGITS], NOWHERE)
    assert {row[0]: row for row in grids(section)[0].rows}["SAMP"] == ("SAMP", *"–" * 9)
    assert not section.verdicts


# ---- theory ----


@pytest.mark.parametrize(("groups", "sigma", "total"), [(4, 1.0, 2.0), (12, 2.5, -4.0)])
def test_brownian_allocations_given_their_sum_are_those_of_prop_1(groups: int, sigma: float, total: float) -> None:
    found = simulate_bridge(groups, sigma, total)
    theory = (total / groups, sigma * (1 - 1 / groups), -sigma / groups)
    for (value, half), expected in zip((found.mean, found.variance, found.covariance), theory, strict=True):
        assert abs(value - expected) < 2 * half + 0.02 * sigma  # the kept ones end near C, not at C
        assert half < 0.1 * sigma


def test_steps_of_a_bridge_look_like_one() -> None:
    random = np.random.default_rng(0)
    steps = random.normal(size=(4000, 12))
    steps += (6.0 - steps.sum(1, keepdims=True)) / 12
    orders = random_orders(12, 4000, seed=1)
    found = allocation(np.pad(steps.cumsum(1), ((0, 0), (1, 0))), orders)
    assert found.curve == pytest.approx(np.linspace(0, 6, 13), abs=0.1)
    assert found.spread == pytest.approx(np.full(12, 1 - 1 / 12), abs=0.1)
    assert (found.neighbours, found.others) == pytest.approx((-1 / 11, -1 / 11), abs=0.02)
    assert (found.kurtosis, found.identity) == pytest.approx((0.0, 0.0), abs=0.1)


def test_a_linear_model_has_a_straight_line_and_groups_that_are_not_alike() -> None:
    weights, orders = np.array([5.0, 1.0, 0.0, -2.0, 3.0]), random_orders(5, 2000, seed=0)
    found = allocation(np.pad(weights[orders].cumsum(1), ((0, 0), (1, 0))), orders)
    assert found.curve == pytest.approx(np.linspace(0, 7, 6), abs=0.2)
    assert found.identity == pytest.approx(1.0)


def test_covariances_average_to_what_their_sum_forces_them_to() -> None:
    scores = np.random.default_rng(0).normal(size=(50, 7)).cumsum(1)
    scores[:, 0], scores[:, -1] = 0.0, 4.0
    found = allocation(scores, random_orders(6, 50, seed=0))
    pairs = {True: 5, False: 10}  # of neighbours, and of moves further apart
    assert (pairs[True] * found.neighbours + pairs[False] * found.others) / 15 == pytest.approx(-1 / 5)


def test_two_groups_are_too_few() -> None:
    with pytest.raises(ValueError, match="at least 3 groups"):
        allocation(np.zeros((4, 3)), random_orders(2, 4, seed=0))
    with pytest.raises(ValueError, match="at least 3 groups"):
        simulate_bridge(2, 1.0, 0.0)


def test_random_orders_are_followed_on_the_net_itself(part: ImagePart) -> None:
    found = RandomOrders(DIGITS, FEW, orders=5).measure(part).numbers
    for image, walks in enumerate(manipulations(part, FEW)):
        credits = [
            true_credits(part, image, tuple(order.tolist()), rising=True)
            for order in random_orders(4, 5, part.seed + image)
        ]
        assert found["curve to_image"][image][1:] == pytest.approx(np.mean(credits, 0).cumsum(), abs=1e-4)
        assert found["spread to_image"][image] == pytest.approx(np.var(credits, 0, ddof=1), rel=1e-3, abs=1e-6)
        assert walks["to_image"].groups == 4


def theory_numbers(bend: float) -> Results:
    steps = np.linspace(0, 1, 50)
    columns: dict[str, list[Any]] = {}
    for direction in ("to_baseline", "to_image"):
        columns[f"curve {direction}"] = [(scale * steps ** (1 + bend)).tolist() for scale in (1.0, 2.0, 3.0) * 10]
        columns[f"spread {direction}"] = [[1.0] * 49] * 30
        columns[f"neighbours {direction}"] = [-1 / 48] * 30
        columns |= {f"kurtosis {direction}": [9.0, 8.0, 10.0] * 10, f"identity {direction}": [0.05, None, 0.2] * 10}
    return results_of({RandomOrders(DIGITS, THEORY.cut): columns})


@pytest.mark.parametrize(("bend", "state"), [(0.0, "holds"), (1.0, "fails")])
def test_where_ass_1_fails_the_section_says_so(bend: float, state: str) -> None:
    section = THEORY.section(theory_numbers(bend), [DIGITS], NOWHERE)
    found = states(section)
    assert found["the expected score is a straight line"] == found["a straight line fits the expected score"] == state
    assert found["late moves vary as early ones"] == found["neighbouring moves covary by −σ/d"] == "holds"
    assert found["credits are Gaussian"] == "fails"
    assert found["all groups are alike"] == "open"
    (plainly,) = [block.text for block in section.blocks if isinstance(block, Paragraph) and "fails" in block.text]
    assert ("straight" in plainly) == (state == "fails")
    assert "that credits are Gaussian (twenty digits, slim CNN: image to black; " in plainly
    assert_even(section)


# ---- transfer ----


def test_judged_by_its_own_net_a_map_is_what_it_was(part: ImagePart) -> None:
    found = TransferCurves(DIGITS, "ig", "mnist-slim").measure(part).numbers
    own = MethodCurves(DIGITS, "ig").measure(part).numbers
    for column in ("deletion", "insertion"):
        assert found[column] == pytest.approx(own[column], abs=1e-6)


def test_another_net_judges_the_class_that_the_map_explains(part: ImagePart) -> None:
    torch.manual_seed(1)
    other = nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).eval()
    judged = replace(part, other_net=lambda name: (other, part.x / 2))
    found = TransferCurves(DIGITS, "ig", "other").measure(judged).numbers["difference"]
    maps = samp.explain(part.net, part.x, target=part.target, method="ig").map
    expected = deletion_insertion(other, part.x / 2, maps, part.target, "mnist").difference.tolist()
    assert [math.nan if value is None else value for value in found] == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_a_judge_of_another_size_is_refused(part: ImagePart) -> None:
    with pytest.raises(ValueError, match="same input size"):
        TransferCurves(DIGITS, "ig", "mnist-slim-56").measure(part)


@pytest.mark.parametrize(("shift", "state"), [(0.0, "holds"), (-0.02, "holds"), (-0.03, "open"), (-0.1, "fails")])
def test_the_margin_is_asked_of_the_whole_interval(shift: float, state: str) -> None:
    photos, judge = parse_setup("imagenet:even/mobilenet_v2"), "squeezenet1_1"
    base, wobble = np.linspace(0, 1, 40), 0.01 * np.cos(np.arange(40.0))
    numbers: dict[Measurement, dict[str, list[float]]] = {
        TRANSFER.measurement(photos, "SAMP++", judge): {"difference": base.tolist()},
        TRANSFER.measurement(photos, "coupled", judge): {"difference": (base + shift + wobble).tolist()},
    }
    section = TRANSFER.section(results_of(numbers), [photos], NOWHERE)
    assert states(section) == {"coupled less SAMP++ is above −0.03, judged by SqueezeNet 1.1": state}
    assert_even(section)


def test_every_net_is_judged_by_every_other() -> None:
    pairs = {(cell.setup.net, cell.judge) for cell in TRANSFER.measurements([parse_setup(b) for b in TRANSFER.setups])}  # type: ignore[attr-defined]  # all cells here have a judge
    assert len(pairs) == 6
    assert all(net != judge for net, judge in pairs)


# ---- budgets ----


@pytest.mark.parametrize("row", BUDGET.methods)
def test_methods_keep_about_to_their_budgets(part: ImagePart, row: str) -> None:
    spent = [
        samp.explain(part.net, part.x, target=part.target, method=BUDGET.methods[row](budget)).gradients.double().mean()
        for budget in BUDGETS[:4]
    ]
    for gradients, budget in zip(spent, BUDGETS, strict=False):
        least = 0.4 if row in ("SAMP", "coupled") else 0.8  # black pixels of a digit are at their end from the start
        assert least * budget <= gradients <= 1.1 * budget


def budget_results(at_7: float) -> Results:
    base = np.linspace(0, 1, 20)
    numbers: dict[Measurement, dict[str, list[float]]] = {}
    for row in BUDGET.methods:
        for budget in BUDGETS:
            ahead = {"coupled": at_7 if budget == 7 else 0.1}.get(row, 0.0)
            numbers[BUDGET.measurement(DIGITS, row, budget)] = {
                "deletion": (base / 2).tolist(),
                "insertion": (base + ahead + 0.01 * base).tolist() if row == "coupled" else base.tolist(),
                "gradients": [float(budget)] * 20,
            }
    return results_of(numbers)


@pytest.mark.parametrize(("at_7", "state"), [(0.1, "holds"), (-0.2, "fails"), (-0.005, "open")])
def test_above_at_every_budget_means_every(at_7: float, state: str) -> None:
    section = BUDGET.section(budget_results(at_7), [DIGITS], NOWHERE)
    assert states(section) == {"coupled is above SAMP++ at every budget": state}
    assert_even(section)
    rows = {row[0]: row for row in grids(section)[0].rows}
    assert rows["coupled"][3] == "14.0"
    assert rows["coupled"][4].startswith("**")


# ---- end to end ----

SMALL: tuple[Experiment, ...] = (
    replace(BUDGET, budgets=(7, 14), methods={row: BUDGET.methods[row] for row in ("coupled", "SAMP++")}),
    replace(OPTIMUM, cuts={"9 patches": Squares(3)}),
    replace(THEORY, cut=Squares(3)),
)


@pytest.mark.parametrize("experiment", SMALL, ids=lambda e: e.name)
def test_measured_and_drawn_without_any_data(experiment: Experiment, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    options, store = ExperimentOptions(limit=3, part=2), Store(tmp_path)
    outcome = run_measurements(experiment.measurements([DIGITS]), options, store, "test", say=lambda line: None)
    assert not outcome.failed
    experiment.draw(FigureContext(outcome, store, Workspace(options), [DIGITS], tmp_path / "figures"))
    section = experiment.section(store.read(), [DIGITS], tmp_path / "figures")
    assert grids(section)
    assert section.verdicts
    assert_even(section)
    pictures = [block for block in section.blocks if isinstance(block, Picture)]
    assert len(pictures) == (experiment.name != "optimum")
    assert all((tmp_path / "figures" / one.file).read_bytes().startswith(b"\x89PNG") for one in pictures)


@pytest.mark.parametrize("experiment", [BUDGET, OPTIMUM, THEORY, TRANSFER], ids=lambda e: e.name)
def test_without_results_there_is_nothing_to_say(experiment: Experiment) -> None:
    assert experiment.section(results_of({}), [parse_setup(one) for one in experiment.setups], NOWHERE).blocks == ()


def test_two_nets_of_photos_see_the_same_pixels(data: Path, tmp_path: Path) -> None:
    options = ExperimentOptions(data=data, limit=1, models=tmp_path)
    photos = parse_setup("imagenet:even/squeezenet1_1")
    outcome = run_measurements(
        [TransferCurves(photos, "gradcam", "mobilenet_v2")], options, Store(tmp_path), "test", say=lambda line: None
    )
    assert not outcome.failed
    (found,) = outcome.results.entries.values()
    assert math.isfinite(found["numbers"]["difference"][0])
