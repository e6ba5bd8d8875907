"""Watching walks: what is shown agrees with the result, changes nothing in it, and can stop the walk."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CountingModel, assert_same, images, net

WALKING = {
    "consensus": samp.Consensus("draft"),
    "coupled": samp.Coupled("draft"),
    "samp++": samp.SAMPPlusPlus(steps=6),
    "ig": samp.IG(steps=5),
    "one way": samp.Consensus("draft", direction="to_image", first_walk=3),
}


class Notes:
    """What a watcher saw of each walk: sample, walk and direction, with copies of what it was shown last."""

    def __init__(self) -> None:
        self.scores: dict[Any, list[float]] = defaultdict(list)
        self.progress: dict[Any, list[float]] = defaultdict(list)
        self.credit: dict[Any, Tensor] = {}
        self.points: dict[Any, Tensor] = {}

    def __call__(self, step: samp.WalkStep) -> None:
        rows = zip(step.samples.tolist(), step.walks.tolist(), step.directions, strict=True)
        credit, points = step.credit(), step.points()
        assert isinstance(credit, Tensor)
        assert isinstance(points, Tensor)
        for place, row in enumerate(rows):
            assert len(self.scores[row]) == step.number, "every step of a walk is shown, in order"
            self.scores[row].append(float(step.scores[place]))
            self.progress[row].append(float(step.progress[place]))
            self.credit[row], self.points[row] = credit[place].clone(), points[place].clone()


@pytest.mark.parametrize("name", WALKING)
@pytest.mark.parametrize("batch_size", [1, 3, "auto"])
def test_what_is_watched_adds_up_to_the_result(name: str, batch_size: Any) -> None:
    x, model, notes = images(0, 2, 3, 6, 6), net(0, 108), Notes()
    result = samp.explain(model, x, method=WALKING[name], batch_size=batch_size, on_step=notes)
    walks = {(sample, walk) for sample, walk, _ in notes.credit}
    assert len(walks) == 2 * (result.details.get("walks") or 1)
    shown = torch.zeros_like(x)
    for (sample, _, _), credit in notes.credit.items():
        shown[sample] += credit / (len(walks) / 2)
    torch.testing.assert_close(shown, result.values, rtol=1e-6, atol=1e-9)
    first = min(walk for _, walk in walks)
    for (sample, walk, direction), scores in notes.scores.items():
        assert len(scores) == int(result.steps[direction][sample]) + 1 or walk != first
        if walk == first:
            curve = result.scores[direction][sample]
            assert scores == curve[~curve.isnan()].tolist()
        progress = notes.progress[sample, walk, direction]
        assert progress == sorted(progress)
        assert (progress[0], progress[-1]) == (0.0, 1.0)
        end = notes.points[sample, walk, direction]
        assert torch.equal(end, x[sample]) == (direction == "to_image")


@pytest.mark.parametrize("name", WALKING)
def test_a_watcher_changes_nothing_to_the_bit(name: str) -> None:
    x, model = images(1, 3, 3, 6, 6), net(1, 108)
    plain = samp.explain(model, x, method=WALKING[name], keep_points=True)
    assert_same(plain, samp.explain(model, x, method=WALKING[name], keep_points=True, on_step=Notes()))


def test_credit_so_far_sums_to_the_score_s_change_so_far() -> None:
    """Of a complete credit: at every step, not at the end alone."""
    x, model = images(2, 1, 3, 6, 6), net(2, 108)
    seen = []

    def check(step: samp.WalkStep) -> None:
        credit = step.credit()
        assert isinstance(credit, Tensor)
        starts.setdefault("all", step.scores.clone())
        rise = (step.scores - starts["all"]) * torch.tensor([1 if d == "to_image" else -1 for d in step.directions])
        torch.testing.assert_close(credit.flatten(1).sum(1), rise, rtol=1e-6, atol=1e-9)
        seen.append(step.number)

    starts: dict[str, Tensor] = {}
    samp.explain(model, x, method="coupled", on_step=check)
    assert len(seen) > 5


def test_credit_of_patches_is_level_within_each_as_in_the_result() -> None:
    x, model, notes = images(3, 2, 3, 6, 6), net(3, 108), Notes()
    result = samp.explain(model, x, method="coupled", groups=samp.Patches(3), on_step=notes)
    shown = torch.stack([sum(c for (s, _, _), c in notes.credit.items() if s == sample) for sample in (0, 1)])
    torch.testing.assert_close(shown, result.values, rtol=1e-6, atol=1e-9)


def test_points_of_several_inputs_are_tuples_in_their_shapes() -> None:
    class Two(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return a.flatten(1).sum(1, keepdim=True) + b.flatten(1).sum(1, keepdim=True)

    shapes = []

    def look(step: samp.WalkStep) -> None:
        points, credit = step.points(), step.credit()
        shapes.append([tuple(part.shape) for part in (*points, *credit)])

    samp.explain(Two(), (torch.rand(2, 4), torch.rand(2, 1, 3, 3)), target=0, method="ig", on_step=look)
    assert shapes[0] == [(2, 4), (2, 1, 3, 3)] * 2


@pytest.mark.parametrize("name", WALKING)
def test_a_watcher_that_raises_stops_the_walk_at_once_and_the_model_is_as_it_was(name: str) -> None:
    class Enough(Exception):
        pass

    class Drawing(nn.Module):
        """Draws random numbers and counts its calls in a buffer: what an explanation has to put back."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.inner = net(0, 108)

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return self.inner(x) * (1 + 0 * torch.rand(()))

    def stop(step: samp.WalkStep) -> None:
        if step.number == 2:
            at.append(counted.rows)
            raise Enough

    at: list[int] = []
    model = Drawing().eval()
    counted = CountingModel(model)
    before = torch.get_rng_state()
    with pytest.raises(Enough):
        samp.explain(counted, images(0, 2, 3, 6, 6), method=WALKING[name], on_step=stop)
    assert counted.rows == at[0], "not one further evaluation"
    assert model.calls == 0
    assert torch.equal(torch.get_rng_state(), before)
    again = samp.explain(counted, images(0, 2, 3, 6, 6), method=WALKING[name])
    assert_same(again, samp.explain(model, images(0, 2, 3, 6, 6), method=WALKING[name]))


def test_methods_that_do_not_walk_never_call_it() -> None:
    def never(step: samp.WalkStep) -> None:
        raise AssertionError

    samp.explain(net(0, 27), images(0, 1, 3, 3, 3), method="gradientxinput", on_step=never)


def test_gradual_walks_are_numbered_through_all_rounds() -> None:
    seen: list[int] = []
    results = samp.explain_gradually(
        net(0, 27), images(0, 1, 3, 3, 3), rounds=(1, 2, 4), on_step=lambda step: seen.extend(step.walks.tolist())
    )
    for number, _ in enumerate(results):
        assert set(seen) == set(range((1, 2, 4)[number]))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="on_step is a function"):
        samp.explain(net(0, 27), images(0, 1, 3, 3, 3), on_step=True)  # type: ignore[arg-type]  # the mistake
