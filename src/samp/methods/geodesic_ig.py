"""Geodesic IG: Integrated Gradients along the shortest way through a graph of points (Salek and Enguehard, 2025)."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, TensorBaseline, black, evaluate_baseline, label_baseline, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution
from samp.progress import open_bar

Edge = tuple[int, int]


@dataclass(frozen=True)
class GeodesicIG:
    """Integrated Gradients along straight edges from the baseline to the image, over points between them.

    Each point, the image and the baseline are linked to their nearest `neighbors` points, and an edge is as long as
    ‖xⱼ − xᵢ‖ ∫ ‖∇f‖ along it, so that the shortest way avoids steep regions. This is the k-nearest-neighbours variant
    of the authors' code (sina-salek/geodesic-ig), down to its counting a point as its own first neighbour, its links
    between separate parts of the graph (at their closest points), and Gauss–Legendre sums of `steps` gradients an edge.

    - `points`: the points, as a tensor like the inputs (m × an input's shape), such as samples of the training data:
      the authors' way, and the better the more there are. A number draws as many for each sample between baseline and
      image, element i at x⁰ᵢ + (tⱼ + `noise` · ε) (xᵢ − x⁰ᵢ), t evenly spaced, kept between the two: our own, for
      where there is no data.
    - `noise`: how far drawn points are from the straight line; given points do not use it.
    - `baseline`: one for the walk to the image.

    The authors' other variant, for larger models, moves the points of a line by variational inference. It is not here:
    the published energy, d − β‖∇f‖, is lower where gradients are larger, contrary to the text around it, and the
    published sum takes lengths of steps for the steps, which sums to no change of the score.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).eval()
    >>> result = samp.explain(net, torch.rand(2, 4), target=0, method=GeodesicIG(points=6, neighbors=3))
    >>> bool((result.residual.abs() < 1e-3).all())
    True
    """

    points: int | Tensor = 20
    neighbors: int = 5
    steps: int = 5
    noise: float = 0.1
    baseline: InputBaselines = black
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Salek and Enguehard, Using the Path of Least Resistance to Explain Deep Networks, 2025 (our points)",
        cost="steps gradients for each of about points · neighbors edges",
        complete="in the limit of many steps",
    )

    def __post_init__(self) -> None:
        check_counts(neighbors=self.neighbors, steps=self.steps)
        check_numbers(noise=self.noise)
        if not 0 <= self.noise < math.inf:
            raise ValueError(f"noise is a share of the way from baseline to image, at least 0, not {self.noise!r}.")
        if not isinstance(self.points, Tensor | TensorBaseline):
            check_counts(points=self.points)
        if isinstance(self.baseline, tuple):
            raise ValueError("GeodesicIG walks to the image only: give one baseline, not a tuple of two.")
        object.__setattr__(self, "points", wrap_tensors(self.points))
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the credit of every sample's shortest way; raises ValueError for points of another shape."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        start = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        drawn = self._draw(problem, run.seed)
        values, change, gradients = torch.zeros_like(problem.x), [], []
        with open_bar(problem.batch, "sample", run.progress) as bar:
            for sample, (low, high) in enumerate(zip(start, problem.x, strict=True)):
                given = drawn if self._has_data else torch.lerp(low, high, drawn)
                nodes = torch.cat([given, high[None], low[None]])  # m+2 n: the image and the baseline last
                edges = link_nearest(nodes.double().cpu(), min(int(self.neighbors), len(given)))
                walk = EdgeWalk(problem, batches, nodes, sample, int(self.steps))
                way = shortest_way(edges, walk.lengths(edges), len(nodes) - 1, len(nodes) - 2)
                values[sample], rise = walk.credit(way), walk.score(nodes[-2:])
                change.append(rise[0] - rise[1])
                gradients.append((len(edges) + len(way)) * self.steps)
                bar.update(1)
        label = replace(self, baseline=label_baseline(self.baseline), points=self._label_points())
        result = make_attribution(problem, values, label, run, change=torch.stack(change), forwards=2)
        return replace(result, gradients=torch.tensor(gradients, device=problem.x.device))

    @property
    def _has_data(self) -> bool:
        return isinstance(self.points, TensorBaseline)

    def _label_points(self) -> int:
        return label_baseline(self.points) if self._has_data else self.points  # type: ignore[return-value]  # a label

    def _draw(self, problem: Problem, seed: int) -> Tensor:
        """Return the given points (m n), or shares of the way from the baseline (m n), drawn on the CPU."""
        if isinstance(self.points, TensorBaseline):
            points = self.points.tensor
            wanted = tuple(problem.inputs[0].shape[1:])
            if len(problem.inputs) > 1 or tuple(points.shape[1:]) != wanted or not len(points):
                raise ValueError(
                    f"points has shape {tuple(points.shape)}: give m × {wanted} for a model of one input, or a number."
                )
            return points.reshape(len(points), -1).to(problem.x)
        generator, count = torch.Generator().manual_seed(seed), int(self.points)
        along = torch.arange(1, count + 1)[:, None] / (count + 1)
        jitter = torch.stack([torch.randn(problem.x.shape[1], generator=generator) for _ in range(count)])
        return (along + self.noise * jitter).clamp(0, 1).to(problem.x)


@dataclass(frozen=True, eq=False)
class EdgeWalk:
    """Gauss–Legendre sums of one sample's gradients along edges between nodes."""

    problem: Problem
    batches: Batches
    nodes: Tensor  # m n
    sample: int
    steps: int

    def lengths(self, edges: list[Edge]) -> list[float]:
        """Return ‖xⱼ − xᵢ‖ ∫ ‖∇f‖ along each edge."""
        _, weights = _quadrature(self.steps, self.nodes)

        def norms(first: int, last: int) -> Tensor:
            gradients = self._gradients(edges, first, last)
            return gradients.square().sum(1).sqrt()

        steep = torch.cat(list(self.batches.map_slices(len(edges) * self.steps, norms))).view(-1, self.steps)
        ends = torch.tensor(edges, device=self.nodes.device)
        far = torch.linalg.vector_norm(self.nodes[ends[:, 1]] - self.nodes[ends[:, 0]], dim=1)
        lengths: list[float] = (far * (steep * weights).sum(1)).tolist()
        return lengths

    def credit(self, way: list[Edge]) -> Tensor:
        """Return ∫ ∇f dx along these edges, one after the other (n)."""
        _, weights = _quadrature(self.steps, self.nodes)

        def part(first: int, last: int) -> Tensor:
            edge = torch.arange(first, last, device=self.nodes.device) // self.steps
            ends = torch.tensor(way, device=self.nodes.device)[edge]
            share = weights[torch.arange(first, last, device=self.nodes.device) % self.steps, None]
            return (share * self._gradients(way, first, last) * (self.nodes[ends[:, 1]] - self.nodes[ends[:, 0]])).sum(
                0
            )

        parts = list(self.batches.map_slices(len(way) * self.steps, part))
        return torch.stack(parts).sum(0)

    def score(self, x: Tensor) -> Tensor:
        """Return the score at these points (r)."""
        samples = torch.full((len(x),), self.sample, device=x.device)
        with torch.no_grad():
            return self.problem.score(self.problem.output(x, samples), samples)

    def _gradients(self, edges: list[Edge], first: int, last: int) -> Tensor:
        """Return the gradients (r n) at the rows (edge, place) from `first` to `last`."""
        places, _ = _quadrature(self.steps, self.nodes)
        rows = torch.arange(first, last, device=self.nodes.device)
        ends = torch.tensor(edges, device=self.nodes.device)[rows // self.steps]
        x = torch.lerp(self.nodes[ends[:, 0]], self.nodes[ends[:, 1]], places[rows % self.steps, None])
        return self.problem.gradient(x, torch.full_like(rows, self.sample))


def _quadrature(steps: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places and weights of Gauss and Legendre between 0 and 1."""
    places, weights = np.polynomial.legendre.leggauss(steps)
    return torch.tensor((1 + places) / 2).to(like), torch.tensor(weights / 2).to(like)


def link_nearest(nodes: Tensor, neighbors: int) -> list[Edge]:
    """Return the edges between nodes (m n) and their nearest points: all nodes but the last two, image and baseline.

    A point counts as its own first neighbour. Separate parts of the points are linked where they are closest.

    >>> link_nearest(torch.tensor([[1.0], [2.0], [8.0], [9.0], [10.0], [0.0]]), neighbors=2)
    [(0, 1), (0, 5), (1, 2), (1, 5), (2, 3), (2, 4), (3, 4)]
    """
    points = len(nodes) - 2
    apart = torch.cdist(nodes, nodes[:points], compute_mode="donot_use_mm_for_euclid_dist")  # m p
    near = apart.sort(dim=1, stable=True).indices[:, :neighbors].tolist()
    edges = {(min(i, j), max(i, j)) for i, row in enumerate(near) for j in row if i != j}
    parts = _separate_parts(points, [edge for edge in edges if max(edge) < points])
    for a, one in enumerate(parts):
        for other in parts[a + 1 :]:
            between = apart[one][:, other]
            i, j = divmod(int(between.argmin()), len(other))
            edges.add((min(one[i], other[j]), max(one[i], other[j])))
    return sorted(edges)


def _separate_parts(count: int, edges: list[Edge]) -> list[list[int]]:
    """Return the connected parts of a graph with `count` nodes, each in rising order."""
    part = list(range(count))
    for i, j in edges:
        old, new = max(part[i], part[j]), min(part[i], part[j])
        part = [new if p == old else p for p in part]
    return [[i for i in range(count) if part[i] == p] for p in sorted(set(part))]


def shortest_way(edges: list[Edge], lengths: list[float], start: int, end: int) -> list[Edge]:
    """Return the edges of the shortest way from start to end, in order and direction (Dijkstra).

    >>> shortest_way([(0, 1), (0, 2), (1, 2)], [1.0, 3.0, 1.5], 0, 2)
    [(0, 1), (1, 2)]
    """
    links: dict[int, list[tuple[int, float]]] = {}
    for (i, j), length in zip(edges, lengths, strict=True):
        links.setdefault(i, []).append((j, length))
        links.setdefault(j, []).append((i, length))
    came: dict[int, int] = {}
    queue: list[tuple[float, int, int]] = [(0.0, start, start)]
    while queue:
        far, here, before = heapq.heappop(queue)
        if here in came:
            continue
        came[here] = before
        if here == end:
            break
        for there, length in links[here]:
            if there not in came:
                heapq.heappush(queue, (far + length, there, here))
    way = []
    while end != start:
        way.append((came[end], end))
        end = came[end]
    return way[::-1]


METHODS = {"geodesicig": GeodesicIG()}
