"""The benchmark of data sets counts right; how fast it is is not tested."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from torch import nn

from samp_lab.bench import pipeline
from samp_lab.bench.dataset_scaling import (
    RunMeasurement,
    Slope,
    fit_slope,
    measure,
    measure_bare_gradients,
    resident_mebibytes,
    table,
    worker_pids,
)
from samp_lab.commands import bench


def test_the_slope_is_that_of_least_squares_through_ten_means() -> None:
    noise = np.random.default_rng(0)
    x = np.arange(200.0)
    y = 3 + 0.25 * x + noise.normal(size=200)
    found = fit_slope(x.tolist(), y.tolist())
    means = [part.mean() for part in np.split(y, 10)], [part.mean() for part in np.split(x, 10)]
    slope, _ = np.polyfit(means[1], means[0], 1)
    assert found.per_thousand == pytest.approx(1000 * slope)
    assert abs(found.per_thousand - 250) < found.half
    assert not found.is_flat


def test_noise_without_a_slope_is_flat_nineteen_times_of_twenty() -> None:
    noise = np.random.default_rng(1)
    flat = [fit_slope(range(100), noise.normal(size=100).tolist()).is_flat for _ in range(400)]
    assert 0.92 < np.mean(flat) < 0.98  # three standard errors of 400 trials beside 0.95


def test_too_few_images_are_refused_rather_than_fitted() -> None:
    with pytest.raises(ValueError, match="16 images are too few to fit a line: take 960 at least"):
        measure(16, (0,))


def test_python_measures_as_many_images_as_the_command() -> None:
    (images,) = (option for option in bench.commands["dataset"].params if option.name == "images")
    assert inspect.signature(measure).parameters["images"].default == images.default == 5000


def test_the_table_has_a_row_for_each_run_and_says_what_is_flat() -> None:
    rows = [RunMeasurement(n, 2000, 10.0 * n, 1.0, 300.0, Slope(1.0, 0.5), Slope(-1.0, 0.5)) for n in (1, 2)]
    first, second = table(rows).splitlines()[2:4]
    assert "| 1 worker | 2000 | 10.0 | 1.00 |" in first
    assert "| 2 workers | 2000 | 20.0 | 2.00 |" in second
    assert "| +1.00 ± 0.50 (rising) | – | -1.00 ± 0.50 (falling) |" in second


def test_a_run_is_held_against_bare_gradients_which_grow_a_little_too() -> None:
    flat = Slope(0.0, 1.0)
    control = RunMeasurement(None, 2000, 40.0, 0.1, 200.0, Slope(0.7, 0.3), flat)
    runs = [RunMeasurement(1, 2000, 10.0, 1.0, 300.0, slope, flat) for slope in (Slope(1.0, 0.4), Slope(2.0, 0.4))]
    alike, leaking, bare = table([*runs, control]).splitlines()[2:5]
    assert "| +1.00 ± 0.40 (rising) | +0.30 ± 0.50 (flat) |" in alike
    assert "| +2.00 ± 0.40 (rising) | +1.30 ± 0.50 (rising) |" in leaking
    assert bare.startswith("| bare gradients | 2000 | 40.0 | 4.00 | 0.1 | 200 | +0.70 ± 0.30 (rising) | – |")


def test_bare_gradients_are_made_in_a_process_of_their_own_for_every_image() -> None:
    found = measure_bare_gradients(640, 1.2)
    assert (found.workers, found.images) == (None, 640)
    assert found.rate > 0
    assert found.memory > 10
    with pytest.raises(ValueError, match="16 images are too few"):
        measure_bare_gradients(16, 1)


def test_this_process_holds_memory_and_a_process_that_is_gone_holds_none() -> None:
    (mine,) = worker_pids(0)
    assert resident_mebibytes(mine) > 10
    assert resident_mebibytes(2**22 + 1) == 0.0  # above the largest number a process can have


def test_a_whole_run_is_held_against_its_method_alone() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(48, 3))
    found = pipeline.measure(net, pipeline.PipelineSettings(images=9, shard=3, method="ig", repeats=1), side=32)
    assert (len(found.alone), len(found.whole)) == (1, 1)
    assert found.ratios[0] > 0
    around = [(100.0, 300.0), (300.0, 100.0), (200.0, 200.0)]
    told = pipeline.PipelineResult(found.settings, alone=around, whole=[190.0, 180.0, 220.0])
    row = pipeline.table(told).splitlines()[2]
    assert row == "| ig | exact | 9 | 3 | 200.00 | 190.00 | **0.950** (0.900–1.100) |"


def test_a_run_of_two_shards_has_no_rate() -> None:
    with pytest.raises(ValueError, match="8 images are no three shards of 3"):
        pipeline.PipelineSettings(images=8, shard=3)
