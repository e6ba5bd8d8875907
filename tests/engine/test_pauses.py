"""A path may stand still for some steps: the walk goes on, and what did not move earns nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from laws import CLOSE, images, net, tapes, travel
from samp.engine.credit import CREDITS, Shared
from samp.engine.fixed_paths import CurvePath
from samp.engine.walk import Route, Step

PLACES = (0.0, 0.5, 0.5, 0.5, 1.0)  # in quarters: half way, two pauses, and the rest
X = images(0, 3, 12)


def along(places: tuple[float, ...]) -> CurvePath:
    """The straight line, at these places after each step."""
    steps = len(places) - 1

    def point(route: Route, t: float) -> Tensor:
        return torch.lerp(route.start, route.end, places[round(t * steps)])

    return CurvePath(steps, point)


@dataclass(frozen=True)
class Impatient:
    """Another path that declares no pauses, whatever it does."""

    path: Any
    needs_start: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = False
    may_pause: bool = False

    def propose(self, step: Step, route: Route) -> Tensor:
        return self.path.propose(step, route)

    def least_steps(self, route: Route) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return self.path.most_steps(route)


@pytest.mark.parametrize("credit", CREDITS)
def test_a_walk_with_pauses_earns_what_the_same_walk_without_them_earns(credit: str) -> None:
    paused = travel(net(0), X, along(PLACES), credit=credit)
    straight = travel(net(0), X, along((0.0, 0.5, 1.0)), credit=credit)
    torch.testing.assert_close(paused.values, straight.values, **CLOSE)
    torch.testing.assert_close(paused.residual, straight.residual, **CLOSE)
    assert paused.values.isfinite().all()
    assert all((steps == 4).all() for steps in paused.steps.values())
    assert all((order == 4).all() for order in paused.order.values())
    assert all((blind == 0).all() for blind in paused.blind.values())


def test_the_record_of_a_pause_says_that_nothing_happened() -> None:
    result = travel(net(0), X, along(PLACES))
    for direction, sample, tape in tapes(result):
        assert tape.steps.tolist() == [0, 1, 2, 3, 4]
        assert torch.equal(tape.points[1], tape.points[3])
        scores = result.scores[direction][sample]
        assert scores[1] == scores[2] == scores[3] != scores[4]


@pytest.mark.parametrize("credit", CREDITS)
def test_a_step_without_movement_earns_nothing_though_its_score_came_out_different(credit: str) -> None:
    """On a GPU the same point asked for twice may get two scores, some rounding apart."""
    rows, gradient = torch.arange(1), torch.tensor([[3.0, -1.0]])
    before, after = (
        Step(number, rows, None, torch.ones(1, 2), torch.tensor([value]), gradient, gradient, rows == 0, rows == 0)
        for number, value in enumerate((1.0, 1.0001))
    )
    assert CREDITS[credit](before, after).tolist() == [[0.0, 0.0]]
    exact = CREDITS[credit]
    assert not isinstance(exact, Shared) or exact.blind(before, after).tolist() == [False]


def test_a_path_that_declares_no_pauses_and_stands_still_has_stalled() -> None:
    with pytest.raises(ValueError, match="the walk stands still at step 2"):
        travel(net(0), X, Impatient(along(PLACES)))


def test_a_path_that_pauses_for_good_is_an_error_and_not_an_endless_walk() -> None:
    forever = Impatient(CurvePath(1000, lambda route, t: route.start), may_pause=True)
    object.__setattr__(forever, "most_steps", lambda route: 5)
    with pytest.raises(ValueError, match="the walk stands still at step 13"):
        travel(net(0), X, forever)
