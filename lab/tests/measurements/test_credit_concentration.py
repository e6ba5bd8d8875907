"""Concentration of credit by hand: variances of maps at sum 1, and of true score changes along an order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.models import Classifier
from samp_lab.measurements.base import name_of
from samp_lab.measurements.credit_concentration import (
    CreditConcentration,
    credit_order,
    exact_variance,
    path_order,
    pixels_per_step,
    relative_variance,
    step_variance,
    walk_ends,
)
from samp_lab.sections import Verdict
from samp_lab.setups import parse_setup
from samp_lab.store import Results
from samp_lab.tables.concentration import CONCENTRATION, PATH, measurement_of
from samp_lab.workspace import ExperimentOptions, ImagePart, Workspace

MNIST = parse_setup("mnist")


class Weighted(nn.Module):
    """A score that is the sum of weights times pixels, plus the square of the first pixel."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return ((flat * self.weights).sum(1) + flat[:, 0] ** 2)[:, None]


def part_of(net: nn.Module, x: Tensor) -> ImagePart:
    classifier = Classifier(net.eval(), "small", x.shape[-1], 0.0, 1.0, ())
    return ImagePart(net.eval(), classifier, x, net(x).argmax(1), (), 0, lambda _: (net, x))


def test_the_variance_of_a_map_at_sum_1_does_not_depend_on_its_scale() -> None:
    maps = torch.tensor([[[3.0, 1.0], [0.0, 0.0]]])
    share = np.array([0.75, 0.25, 0.0, 0.0])
    for scale in (1.0, -2.0, 1e6):
        assert relative_variance(maps * scale).item() == pytest.approx(16 * share.var())


def test_steps_share_their_change_evenly_among_their_pixels() -> None:
    credit, sizes = torch.tensor([6.0, -2.0, 1.0]), torch.tensor([3, 2, 1])
    pixels = np.array([2.0, 2.0, 2.0, -1.0, -1.0, 1.0, 0.0, 0.0])
    assert step_variance(credit, sizes, 8).item() == pytest.approx(pixels.var())


def test_exact_credits_along_an_order_are_the_true_changes_of_the_score() -> None:
    x = torch.ones(1, 1, 6, 5)
    x[0, 0, 5, :4] = 0.0  # four pixels that are the same at both ends, and never move
    weights = torch.arange(30.0)
    part = part_of(Weighted(weights), x)
    order = torch.arange(29, -1, -1)[None]
    found, change = exact_variance(part, torch.zeros_like(x), x, order)
    moved = [i for i in order[0].tolist() if x.flatten()[i]]  # 26 pixels in steps of 10, 10 and 6
    credits = np.zeros(30)
    for first in range(0, 26, 10):
        step = moved[first : first + 10]
        credits[step] = (weights[step].sum().item() + (0 in step)) / len(step)
    assert found.item() == pytest.approx(credits.var(), rel=1e-6)
    assert change.item() == pytest.approx(credits.sum(), rel=1e-6)


def test_an_order_that_moves_what_counts_in_one_step_has_the_larger_variance() -> None:
    """The change over the walk is the same for every order; who earns it is not."""
    x = torch.ones(1, 1, 4, 10)
    weights = torch.zeros(40)
    weights[:10] = 1.0
    part = part_of(Weighted(weights), x)
    together = torch.arange(40)[None]
    apart = torch.cat([torch.arange(start, 40, 4) for start in range(4)])[None]
    (first, change), (second, same) = (exact_variance(part, torch.zeros_like(x), x, o) for o in (together, apart))
    assert first.item() > 2 * second.item()
    torch.testing.assert_close(change, same)


def test_the_order_of_samps_path_has_the_scores_of_its_own_walk() -> None:
    setup = parse_setup("digits/mnist-slim")
    _, make = next(iter(Workspace(ExperimentOptions(limit=3)).parts(setup, None)))
    part = make()
    result = samp.explain(part.net, part.x, target=part.target, method="samp", seed=part.seed)
    found, _ = exact_variance(part, part.x, torch.zeros_like(part.x), path_order(result, "to_baseline"))
    for image in range(3):
        steps = int(result.steps["to_baseline"][image])
        scores = result.scores["to_baseline"][image, : steps + 1].double()
        arrival = result.order["to_baseline"][image]
        sizes = torch.bincount(arrival[arrival > 0].long() - 1, minlength=steps)
        assert found[image].item() == pytest.approx(step_variance(scores.diff(), sizes, 784).item(), rel=1e-4)


def test_methods_that_do_not_move_pixels_are_ordered_by_their_credit() -> None:
    x = torch.rand(2, 1, 3, 3)
    result = samp.explain(nn.Sequential(nn.Flatten(), nn.Linear(9, 2)).eval(), x, target=0, method="ig")
    order = credit_order(result)
    assert (result.map.flatten(1).gather(1, order).diff(dim=1) <= 0).all()


def test_a_measurement_holds_every_measure_for_every_image() -> None:
    setup = parse_setup("digits/mnist-slim")
    _, make = next(iter(Workspace(ExperimentOptions(limit=2)).parts(setup, None)))
    for method in ("samp++", "random"):
        numbers = CreditConcentration(setup, method).measure(make()).numbers
        assert {"map variance", "gini", "top10", f"{PATH} to_baseline", f"{PATH} to_image"} <= set(numbers)
        assert all(len(column) == 2 and None not in column for column in numbers.values())


def test_a_step_is_samps() -> None:
    assert (pixels_per_step(28, 28), pixels_per_step(32, 32), pixels_per_step(224, 224)) == (10, 10, 224 * 16)


def verdicts_of(images: int, tmp_path: Path) -> Sequence[Verdict]:
    noise = np.random.default_rng(0).normal(0, 0.01, images)
    level = {"SAMP": 1.0, "SAMP++": 0.5, "IG": 0.5, "random order": 0.0}
    entries = {}
    for row, value in level.items():
        columns = {f"{PATH} to_baseline": value, f"{PATH} to_image": value, "map variance": value}
        columns |= {"gini": -value, "top10": 0.5}
        shift = noise if row == "SAMP" else 0 * noise
        numbers = {name: (middle + shift).tolist() for name, middle in columns.items()}
        entries[name_of(measurement_of(row, MNIST))] = {"numbers": numbers}
    return CONCENTRATION.section(Results(entries, {}), [MNIST], tmp_path).verdicts


def test_each_measure_is_judged_by_itself_for_each_pair(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    found = verdicts_of(40, tmp_path)
    states = {(v.claim.split(":")[0], v.claim.split(": ")[1][:8]): v.state for v in found}
    assert states["SAMP more concentrated than IG", "log10 Va"] == "holds"
    assert states["SAMP more concentrated than IG", "Gini of "] == "fails"
    assert states["SAMP++ more concentrated than IG", "log10 Va"] == "open"
    assert states["SAMP more concentrated than random order", "log10 Va"] == "holds"
    assert len(found) == 8  # four paths (Guided IG and Blur IG are not in these results) and two maps by two measures
    assert {(v.part, v.reading) for v in found} == {("concentration", "text"), ("sparse", "text")}
    assert all(("Var" in v.claim) == (v.part == "concentration") for v in found)


def test_nothing_is_judged_on_few_images(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    assert {v.state for v in verdicts_of(19, tmp_path)} == {"missing"}


def test_walks_end_at_the_fills_of_the_readings_protocol() -> None:
    x = torch.rand(1, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    text, authors = (walk_ends(x, name) for name in ("mnist", "mnist-authors"))
    for ends in (text, authors):
        assert torch.equal(ends["to_baseline"][0], x)
        assert torch.equal(ends["to_image"][1], x)
        assert not ends["to_baseline"][1].any()
    assert not torch.equal(text["to_image"][0], authors["to_image"][0])  # another blur
