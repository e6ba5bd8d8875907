"""What a walk leaves behind: curve, order of arrival, tape."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import samp
from laws import images, methods, net, seeds, tapes
from samp.engine.record import TapeRecorder


@given(seed=seeds, method=methods())
def test_score_at_arrival_is_the_score_of_the_point_where_the_group_arrived(seed: int, method: Any) -> None:
    model, x = net(seed), images(seed, 3, 12)
    x[0, :4] = 0
    result = samp.explain(model, x, target=1, method=method, keep_points=True)
    for direction, i, tape in tapes(result):
        order, scores = result.order[direction][i], result.scores[direction][i]
        for group in range(12):
            path = tape.points[:, group]
            if path[0] == path[-1]:
                assert int(order[group]) == -1
                continue
            arrival = int(order[group])
            assert (path[arrival:] == path[-1]).all()
            assert path[arrival - 1] != path[-1]
            score = model(tape.points[arrival][None])[0, 1]
            assert float(scores[arrival]) == pytest.approx(float(score.detach()), abs=1e-12)
    assert all(order.dtype == torch.int32 for order in result.order.values())


@given(seed=seeds, method=methods())
def test_the_curve_ends_where_the_walk_does(seed: int, method: Any) -> None:
    model, x = net(seed), images(seed, 3, 12)
    x[0, :9] = 0  # a shorter walk
    result = samp.explain(model, x, target=1, method=method)
    for direction, scores in result.scores.items():
        steps = result.steps[direction]
        assert scores.shape == (3, int(steps.max()) + 1)
        assert torch.equal((~scores.isnan()).sum(1), steps + 1)
        ends = scores[:, 0], scores.gather(1, steps[:, None]).squeeze(1)
        image, blank = ends[::-1] if direction == "to_image" else ends
        torch.testing.assert_close(image, model(x)[:, 1].detach())
        torch.testing.assert_close(result.score_change[direction], image - blank)


class Standing:
    """A Step of one row, for the recorder."""

    def __init__(self, number: int, ends: bool) -> None:
        self.number, self.steps_taken, self.rows = number, number, torch.tensor([0])
        self.x, self.moving = torch.tensor([[float(number)]]), torch.tensor([[not ends]])


@given(most=st.integers(1, 12), steps=st.integers(0, 100))
def test_a_tape_keeps_its_bound_its_ends_and_even_spaces(most: int, steps: int) -> None:
    recorder = TapeRecorder(1, most)
    for number in range(steps + 1):
        recorder.record(Standing(number, ends=number == steps))  # type: ignore[arg-type]  # all that it reads
        assert len(recorder.points[0]) <= max(most, 3)
    (tape,) = recorder.tapes()
    kept = tape.steps.tolist()
    assert (kept[0], kept[-1]) == (0, steps)
    assert len(kept) == len(set(kept)) <= max(most, 3)
    assert tape.points.squeeze(1).tolist() == kept
    spaces = {b - a for a, b in pairwise(kept[:-1])}  # only the end may fall between
    assert len(spaces) <= 1
    if steps + 1 <= max(most, 3):
        assert kept == list(range(steps + 1))


@pytest.mark.parametrize("allowed", [1, 200, 1000, 5000])
def test_tapes_hold_no_more_bytes_than_allowed_whatever_the_batch_size(allowed: int) -> None:
    model, x = net(1), images(1, 3, 12)
    results = [
        samp.explain(model, x, method=samp.SAMP(1, eta=0.05), keep_points=allowed, batch_size=size)
        for size in (1, 4, 64)
    ]
    most = max(allowed // (6 * 12 * 8), 3)  # six walks of 12 float64 numbers; three points at least
    for result in results:
        for direction, i, tape in tapes(result):
            assert len(tape.points) <= most
            assert (int(tape.steps[0]), int(tape.steps[-1])) == (0, int(result.steps[direction][i]))
            assert torch.equal(tape.steps, results[0].tapes[direction][i].steps)
            torch.testing.assert_close(tape.points, results[0].tapes[direction][i].points)


def test_a_tape_of_a_walk_that_ends_early_ends_there() -> None:
    x = images(2, 2, 12)
    x[0, 1:] = 0
    result = samp.explain(net(2), x, method=samp.SAMP(1), keep_points=True)
    assert result.tapes["to_image"][0].steps.tolist() == [0, 1]
    assert result.tapes["to_image"][1].steps.tolist() == list(range(13))


def test_nothing_is_taped_unless_asked_for() -> None:
    assert samp.explain(net(0), images(0, 1, 12)).tapes == {}


@pytest.mark.parametrize("points", [-1, "yes", 0.5, math.nan, None])
def test_keep_points_is_a_flag_or_a_number_of_bytes(points: Any) -> None:
    with pytest.raises(ValueError, match=r"keep_points is True, False or a number of bytes, not"):
        samp.explain(net(0), images(0, 1, 12), keep_points=points)


@pytest.mark.parametrize("record", [True, 10**5, False])
def test_the_former_name_of_keep_points_works_with_a_warning(record: bool | int) -> None:
    x = images(0, 1, 12)
    with pytest.warns(DeprecationWarning, match="keep_points=") as caught:
        former = samp.explain(net(0), x, record=record)
    assert caught[0].filename == __file__
    assert len(former.tapes) == len(samp.explain(net(0), x, keep_points=record).tapes)


def test_keep_points_and_its_former_name_together_are_refused() -> None:
    with pytest.raises(TypeError, match="both keep_points= and its former name record="):
        samp.explain(net(0), images(0, 1, 12), keep_points=True, record=True)
