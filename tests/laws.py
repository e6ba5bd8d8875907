"""What the tests measure the engine against: closed-form models, random nets, brute-force oracles, strategies.

All of it in float64, where a broken law stands out from rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from samp.attribution import DIRECTIONS, PER_DIRECTION, Attribution
from samp.engine.credit import CREDITS
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.fixed_paths import StraightPath
from samp.engine.paths import MaxL1, SalientPath, Unlimited
from samp.engine.problem import make_problem
from samp.engine.walk import Path, Route, Step, StepRule

PLAIN = ["momentum", "left", "right", "trapezoid"]
EXACT = ["shared", "shared_trapezoid"]

# Room for float64 rounding where sums of some hundred terms of order 1 are taken in different orders.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


# ---- models ----


def net(seed: int = 0, features: int = 12, classes: int = 3, activation: Callable[[], nn.Module] = nn.Tanh) -> Any:
    """A random classifier of flattened inputs, bent enough that paths matter."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        layers = [nn.Linear(features, 16), activation(), nn.Linear(16, 8), activation(), nn.Linear(8, classes)]
        for layer in layers[::2]:
            nn.init.normal_(layer.weight, std=2 * layer.in_features**-0.5)
    return nn.Sequential(nn.Flatten(), *layers).double().eval()


def images(seed: int, *shape: int) -> Tensor:
    """Random inputs between 0 and 1."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def uneven_images(seed: int, count: int, *shape: int) -> Tensor:
    """Random inputs of which each has another number of pixels to move, the first none."""
    x = images(seed, count, *shape).flatten(1)
    for i in range(count):
        x[i, : x.shape[1] - (5 * i) % (x.shape[1] + 1)] = 0
    return x.view(count, *shape)


class Recording(nn.Module):
    """A model that notes how many rows each of its calls has, and each of those with a gradient."""

    def __init__(self, inner: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = inner
        self.rows: list[int] = []
        self.gradient_rows: list[int] = []
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        self.rows.append(len(x))
        if torch.is_grad_enabled():
            self.gradient_rows.append(len(x))
        return self.inner(x)


def linear(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """f = w·x."""
    return lambda x: (x.flatten(1) * weight).sum(1)


def by_hand(x: Tensor) -> Tensor:
    """f = x₁x₂ + 2x₃ − x₄, the worked example of Algorithm 1."""
    return x[:, 0] * x[:, 1] + 2 * x[:, 2] - x[:, 3]


def blue_count(x: Tensor) -> Tensor:
    """A soft count of blue pixels (docs/paper.md#counting): 1 for (0, 0, 1), 0 for black, red, green and white."""
    red, green, blue = x.unbind(1)
    return (blue * (1 - red) * (1 - green)).flatten(1).sum(1)


class CountingModel(nn.Module):
    """Another model, with the rows it was given: all of them, and those with gradients."""

    def __init__(self, model: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.rows, self.rows_with_gradient, self.largest = model, 0, 0, 0
        self.eval()

    def forward(self, x: Tensor, *args: Any) -> Any:
        self.rows += len(x)
        self.rows_with_gradient += len(x) * torch.is_grad_enabled()
        self.largest = max(self.largest, len(x))
        return self.model(x, *args)


# ---- a path of the tests' own: paths are pluggable ----


@dataclass(frozen=True)
class IndexOrderPath:
    """Groups go to their end one by one, in index order, whatever the gradient says."""

    needs_start: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = False
    may_pause: ClassVar[bool] = False

    def propose(self, step: Step, route: Route) -> Tensor:
        first = step.moving & (step.moving.cumsum(1) == 1)
        return torch.where(route.groups.spread(first), route.end, step.x)

    def least_steps(self, route: Route) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return route.groups.count


# ---- running ----


def travel(
    model: Any, x: Tensor, path: Path, *, rule: StepRule | None = None, credit: str = "left", momentum: float = 0.0,
    baseline: Any = 0.0, directions: Sequence[str] = DIRECTIONS, **question: Any,
) -> Attribution:  # fmt: skip
    """`samp.explain` with any path and rule, put together by hand."""
    problem = make_problem(model, x, question.pop("target", 0), **question)
    made = torch.full_like(problem.x, baseline) if isinstance(baseline, float) else problem.flatten([baseline])
    plan = WalkPlan(path, rule or Unlimited(), momentum, CREDITS[credit], dict.fromkeys(directions, made), "by hand")
    return run_walks(problem, plan, RunOptions(tape_bytes=2**20))


def sample(result: Attribution, i: int) -> dict[str, Tensor]:
    """All that a result says of one sample, without the padding."""
    values = result.values if isinstance(result.values, tuple) else (result.values,)
    said = {f"values {n}": value[i] for n, value in enumerate(values)}
    said |= {"group_values": result.group_values[i], "gradients": result.gradients[i], "residual": result.residual[i]}
    for name in PER_DIRECTION:
        said |= {f"{name} {d}": tensor[i] for d, tensor in getattr(result, name).items()}
    for d, steps in result.steps.items():
        said[f"scores {d}"] = result.scores[d][i, : int(steps[i]) + 1]
        assert result.scores[d][i, int(steps[i]) + 1 :].isnan().all()
    return said


def assert_same(a: Attribution, b: Attribution, **tolerance: float) -> None:
    """Two results agree in everything but how they came about; to the bit unless a tolerance is given."""
    assert len(a.gradients) == len(b.gradients)
    for i in range(len(a.gradients)):
        assert_same_sample(a, i, b, i, **tolerance)


def assert_same_sample(a: Attribution, i: int, b: Attribution, j: int, **tolerance: float) -> None:
    tolerance = tolerance or {"rtol": 0, "atol": 0}
    ours, theirs = sample(a, i), sample(b, j)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], equal_nan=True, msg=lambda m, n=name: f"{n}: {m}", **tolerance)


def differs(a: Attribution, b: Attribution) -> bool:
    """Whether the attribution itself is another one."""
    return not torch.allclose(a.group_values, b.group_values)


# ---- oracles ----


@dataclass
class OneWalk:
    """What Algorithm 1 returns for one sample, and its score curve."""

    values: np.ndarray
    scores: list[float]
    arrival: list[int]


def algorithm_1(
    f: Any, start: Tensor, end: Tensor, pixels: list[list[int]], *, s: int, eta: float, lam: float, rising: bool
) -> OneWalk:
    """Algorithm 1 as the paper prints it: one sample, plain loops; `pixels` lists the elements that move together."""
    x, target = start.flatten().numpy().copy(), end.flatten().numpy()
    bound = eta * np.abs(target - x).sum()
    a, arrival = np.zeros_like(x), [-1] * len(pixels)
    score, g = value_and_gradient(f, x, start.shape)
    scores = [score]
    while (x != target).any():
        short = [j for j, pixel in enumerate(pixels) if (x[pixel] != target[pixel]).any()]
        alpha = {j: sum(g[i] * (target[i] - x[i]) for i in pixels[j]) for j in short}
        chosen = sorted(alpha, key=lambda j: (-alpha[j] if rising else alpha[j], j))[:s]
        dx = np.zeros_like(x)
        for j in chosen:
            dx[pixels[j]] = target[pixels[j]] - x[pixels[j]]
        whole = np.abs(dx).sum() <= bound * (1 + 1e-9)  # rounding must leave no crumbs
        dx *= 1 if whole else bound / np.abs(dx).sum()
        x = x + dx
        for j in chosen if whole else []:
            x[pixels[j]], arrival[j] = target[pixels[j]], len(scores)
        a += g * dx
        score, gradient = value_and_gradient(f, x, start.shape)
        g = lam * g + (1 - lam) * gradient
        scores.append(score)
    return OneWalk(a.reshape(start.shape), scores, arrival)


def value_and_gradient(f: Any, x: np.ndarray, shape: Sequence[int]) -> tuple[float, np.ndarray]:
    leaf = torch.tensor(x.reshape(1, *shape), requires_grad=True)
    score = f(leaf).reshape(())
    return float(score.detach()), torch.autograd.grad(score, leaf)[0].flatten().numpy()


def pixels_of(channels: int, count: int) -> list[list[int]]:
    """The elements of each pixel of a c h w image, laid out flat."""
    return [[channel * count + j for channel in range(channels)] for j in range(count)]


# ---- strategies ----

seeds = st.integers(0, 10_000)
numbers = st.floats(-4, 4).map(lambda number: round(number, 3))
ratios = st.sampled_from([None, 0.03, 0.1, 0.37, 1.0])
momenta = st.sampled_from([0.0, 0.5, 0.9])
directions = st.sampled_from([("to_baseline",), ("to_image",), DIRECTIONS])
rules = st.sampled_from([Unlimited(), MaxL1(0.07), MaxL1(0.3), MaxL1(1.0)])
fixed_paths = st.sampled_from([StraightPath(1), StraightPath(7), IndexOrderPath()])
paths = st.one_of(fixed_paths, st.sampled_from([SalientPath(1), SalientPath(3), SalientPath(100)]))


def vectors(size: int) -> st.SearchStrategy[Tensor]:
    """Rows of `size` numbers, zeros and repeats among them."""
    return st.lists(numbers, min_size=size, max_size=size).map(lambda row: torch.tensor([row], dtype=torch.float64))


@st.composite
def methods(draw: Any) -> Any:
    """Any method with any settings."""
    common = {
        "eta": draw(ratios),
        "credit": draw(st.sampled_from(list(CREDITS))),
        "direction": draw(st.sampled_from(["both", *DIRECTIONS])),
        "baseline": draw(st.sampled_from([None, "black", "white", "uniform", ("gaussian", 0.3)])),
    }
    if draw(st.booleans()):
        return samp.IG(steps=draw(st.sampled_from([1, 3, 8])), **common)
    return samp.SAMP(pixels_per_step=draw(st.sampled_from([None, 1, 2, 5])), momentum=draw(momenta), **common)


def tapes(result: Attribution) -> Iterator[tuple[str, int, Any]]:
    """(direction, sample, tape) of all tapes."""
    for direction, each in result.tapes.items():
        for i, tape in enumerate(each):
            yield direction, i, tape


def majorant(t: list[float], curve: list[float]) -> list[float]:
    """The least concave majorant of a curve by its definition: nowhere below a chord between points on either side."""

    def at(k: int) -> float:
        chords = [
            curve[a] + (curve[b] - curve[a]) * (t[k] - t[a]) / (t[b] - t[a])
            for a in range(k + 1)
            for b in range(k, len(t))
            if t[b] > t[a]
        ]
        return max([curve[k], *chords])

    return [at(k) for k in range(len(t))]
