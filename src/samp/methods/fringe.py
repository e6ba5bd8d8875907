"""FRInGe: gradients along the way to a prediction that knows nothing (Martino and Tschiatschek, 2026)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from samp.attribution import Attribution
from samp.baselines import Blurred
from samp.checks import check_counts, check_numbers
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._classes import count_classes
from samp.methods._common import MethodInfo, make_attribution
from samp.model_output import extract_scores
from samp.progress import open_bar

SPARE = 1.1  # waypoints over those that the distance needs, as in the authors' code
TOLERANCE, SMALLEST = 1e-3, 1e-5  # of the residual of the linear system, relative and absolute, as theirs


@dataclass(frozen=True)
class FRInGe:
    """Integrated Gradients along a walk that leads the predicted probabilities to the even distribution.

    Waypoints lie on the Fisher–Rao geodesic, the great circle between √p and √(1/K), about √(2 `kl`) apart. To each
    leads one step −η v, with v the solution of (JᵀSJ + `damping` + `smooth_step` Δ²) v = g, by `iterations` of
    conjugate gradients: JᵀSJ is the Fisher metric of the probabilities pulled back to the input, g the gradient of
    1 − √p · waypoint plus `smooth_image` Δ²x, and η at most `eta_max`, as small as keeps the step within `kl` and
    within the Euclidean length `reach`. The credit is the mean gradient before and after each step, times the step.

    The settings are those of the authors' code (GabMartino/FRInGe) for ResNet-50 on ImageNet: they tuned other ones for
    each net, by the measures that they report. Δ² smooths images only, of at least 3 × 3 pixels; its preconditioner, a
    blur as theirs, is not quite symmetric: rounding grows with `iterations`, and at 20 the maps of two machines or
    batch sizes agree in outline and not in pixels. With both smoothings 0 there is no blur.

    The walk ends where it gets to, which need not be the even distribution. The values sum to f(image) − f(end), in the
    limit of small steps, and that is the result's `score_change`.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).eval()
    >>> result = samp.explain(net, torch.rand(2, 4), target=0, method=FRInGe(kl=1e-3))
    >>> bool((result.residual.abs() < 1e-2).all())
    True
    """

    kl: float = 0.0027031
    reach: float = 5.00773
    eta_max: float = 1.179
    damping: float = 0.00025802
    smooth_step: float = 0.009943
    smooth_image: float = 0.00094855
    iterations: int = 20
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Martino and Tschiatschek, FRInGe: Distribution-Space IG with Fisher–Rao Geometry, 2026",
        cost="up to 2 · iterations + 6 gradients for each of about 3.4 / √(2 kl) steps",
        complete="in the limit of small steps, to the end of the walk",
    )

    def __post_init__(self) -> None:
        check_counts(iterations=self.iterations)
        settings = {"kl": self.kl, "reach": self.reach, "eta_max": self.eta_max, "damping": self.damping}
        smoothing = {"smooth_step": self.smooth_step, "smooth_image": self.smooth_image}
        check_numbers(**settings, **smoothing)
        for name, value in settings.items():
            if not 0 < value < math.inf:
                raise ValueError(f"{name} is a number above 0, not {value!r}.")
        for name, value in smoothing.items():
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} is a number of at least 0, not {value!r}.")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the credit of every sample's walk; raises ValueError for a model without classes."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        count_classes(problem, self)
        smooths = (self.smooth_step or self.smooth_image) and Smoother.fits(problem)
        smoother = Smoother(problem.inputs[0].shape[1:]) if smooths else None
        parts = []
        with open_bar(problem.batch, "sample", run.progress) as bar:
            for part in batches.map_slices(
                problem.batch, lambda first, last: FisherWalk(problem, self, smoother, first, last).run()
            ):
                parts.append(part)
                bar.update(len(part[0]))
        values, change, gradients = (torch.cat(part) for part in zip(*parts, strict=True))
        result = make_attribution(problem, values, self, run, change=change)
        return replace(result, gradients=gradients)


class FisherWalk:
    """The walks of the samples from `first` to `last`; rows that have passed their last waypoint leave."""

    def __init__(self, problem: Problem, method: FRInGe, smoother: Smoother | None, first: int, last: int) -> None:
        self.problem, self.method, self.smoother = problem, method, smoother
        self.samples = torch.arange(first, last, device=problem.x.device)

    def run(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return credit (r n), the change of the score from the end to the image (r), and the gradients spent (r)."""
        x = self.problem.x[self.samples].clone()
        value, slope = self._score(x, self.samples)
        start, credit, guess = value.clone(), torch.zeros_like(x), torch.zeros_like(x)
        spent = torch.ones_like(self.samples)
        with torch.no_grad():
            output = extract_scores(self.problem.output(x, self.samples)).to(x.dtype)
            waypoints, counts = even_waypoints(output, self.method.kl)
        for number in range(1, int(counts.max())):
            rows = torch.where(counts > number)[0]
            fraction = number / (counts[rows] - 1).to(x)
            move, guess[rows], used = self._step(x[rows], rows, waypoints(rows, fraction), guess[rows], number > 1)
            there = x[rows] - move
            value[rows], after = self._score(there, self.samples[rows])
            credit[rows] += (slope[rows] + after) / 2 * move
            x[rows], slope[rows], spent[rows] = there, after, spent[rows] + used + 1
        return credit, start - value, spent

    def _score(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return the score (r) and its gradient (r n); counts scores that are not finite."""
        value, gradient = self.problem.value_and_gradient(x, samples)
        self.problem.count_failures(value, samples)
        return value, gradient

    def _step(
        self, x: Tensor, rows: Tensor, waypoint: Tensor, guess: Tensor, warm: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return η v (r n), v as the next system's first guess (r n), and the gradients spent (r)."""
        method, smoother = self.method, self.smoother
        # the metric takes derivatives of derivatives, which the fused kernels of attention do not have
        with torch.inference_mode(False), torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            leaf = x.detach().requires_grad_()
            output = extract_scores(self.problem.output(leaf, self.samples[rows])).to(x.dtype)
            p = output.softmax(1).clamp(min=1e-10)
            (g,) = torch.autograd.grad((1 - (p.sqrt() * waypoint).sum(1)).sum(), leaf, retain_graph=True)
            if smoother:
                g = g + method.smooth_image * smoother.bend(x)
            metric = pulled_back_metric(leaf, output, p.detach())

            def system(v: Tensor) -> Tensor:
                result = metric(v) + method.damping * v
                return result + method.smooth_step * smoother.bend(v) if smoother else result

            def invert(v: Tensor) -> Tensor:
                return (smoother.blur(v) if smoother else v) / method.damping

            v, iterations = solve(system, g, invert, guess if warm else None, int(method.iterations))
            steep = (v * metric(v)).sum(1).clamp_min(1e-12)
        with torch.no_grad():
            eta = torch.minimum((2 * method.kl / steep).sqrt(), method.reach / v.norm(dim=1).clamp_min(1e-12))
            return eta.clamp(max=method.eta_max)[:, None] * v, v, 1 + 2 * (iterations + 1 + int(warm))


def even_waypoints(output: Tensor, kl: float) -> tuple[Callable[[Tensor, Tensor], Tensor], Tensor]:
    """Return the geodesic from each row's √p to the even distribution's, and the number of its points (r).

    The geodesic is a function of rows and of fractions of the way; its points are about √(2 kl) apart.

    >>> at, counts = even_waypoints(torch.tensor([[4.0, 0.0, 0.0]]), kl=0.01)
    >>> counts.tolist(), [round(one, 3) for one in at(torch.tensor([0]), torch.tensor([1.0]))[0].square().tolist()]
    ([13], [0.333, 0.333, 0.333])
    """
    p = output.softmax(1).clamp(min=1e-8)
    start = (p / p.sum(1, keepdim=True)).sqrt()
    end = torch.full_like(start, start.shape[1] ** -0.5)
    angle = (start * end).sum(1).clamp(-1 + 1e-7, 1 - 1e-7).acos()
    counts = ((2 * angle / math.sqrt(2 * kl) * SPARE).ceil().long() + 1).clamp(min=2)

    def at(rows: Tensor, fraction: Tensor) -> Tensor:
        theta, t = angle[rows, None], fraction[:, None].to(angle)
        return (((1 - t) * theta).sin() * start[rows] + (t * theta).sin() * end[rows]) / theta.sin()

    return at, counts


def pulled_back_metric(x: Tensor, output: Tensor, p: Tensor) -> Callable[[Tensor], Tensor]:
    """Return v ↦ JᵀSJv (r n), with J = ∂output/∂x and S = diag(p) − ppᵀ; x has the graph of the output.

    The function raises NotImplementedError where the gradient cannot be differentiated again.
    """
    seed = torch.zeros_like(output, requires_grad=True)
    (back,) = torch.autograd.grad(output, x, seed, create_graph=True)  # Jᵀ seed, whose derivative by seed is J

    def metric(v: Tensor) -> Tensor:
        (forward,) = torch.autograd.grad(back, seed, v, retain_graph=True, allow_unused=True)
        if forward is None:  # the gradient of foreign code, say, which autograd does not see
            raise NotImplementedError(
                "FRInGe takes derivatives of the model's gradient, and this model's gradient has none: use a method "
                "that needs only gradients, such as 'consensus' or 'ig'."
            )
        weighted = p * forward
        (result,) = torch.autograd.grad(output, x, weighted - p * weighted.sum(1, keepdim=True), retain_graph=True)
        return result

    return metric


@torch.no_grad()
def solve(
    system: Callable[[Tensor], Tensor],
    right: Tensor,
    invert: Callable[[Tensor], Tensor],
    guess: Tensor | None,
    iterations: int,
) -> tuple[Tensor, Tensor]:
    """Return the solution (r n) of system(v) = right by preconditioned conjugate gradients, and each row's iterations.

    A row stops when its residual is small or its curvature not positive: rows do not depend on each other.

    >>> matrix = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> v, used = solve(lambda v: v @ matrix, torch.tensor([[3.0, 4.0]]), lambda v: v, None, 5)
    >>> [round(one, 4) for one in v[0].tolist()], used.tolist()
    ([1.0, 1.0], [2])
    """
    v = torch.zeros_like(right) if guess is None else guess.clone()
    residual = right.clone() if guess is None else right - system(v)
    limit = torch.clamp(TOLERANCE * right.norm(dim=1), min=SMALLEST)
    direction = toward = invert(residual)
    old = (residual * toward).sum(1)
    going, used = residual.norm(dim=1) > limit, torch.zeros(len(right), dtype=torch.long, device=right.device)
    for _ in range(iterations):
        if not bool(going.any()):
            break
        used += going
        image = system(direction)
        curvature = (direction * image).sum(1)
        curved = curvature > 1e-8
        length = torch.where(going & curved, old / torch.where(curved, curvature, 1), 0)[:, None]
        v, residual = v + length * direction, residual - length * image
        going = going & curved & (residual.norm(dim=1) > limit)
        toward = invert(residual)
        new = (residual * toward).sum(1)
        ratio = torch.where(going, new / torch.where(old.abs() > 1e-8, old, 1), 0)[:, None]
        direction, old = toward + ratio * direction, new
    return v, used


class Smoother:
    """Δ² and a blur of images that are flattened (r n), reflected at their borders."""

    def __init__(self, shape: torch.Size) -> None:
        self.shape = shape  # c h w
        stencil = torch.tensor([[0.0, -1, 0], [-1, 4, -1], [0, -1, 0]], dtype=torch.float64)
        self.stencil = stencil.expand(shape[0], 1, 3, 3)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Return whether the input is one image of at least 3 × 3 pixels."""
        image = problem.inputs[0]
        return len(problem.inputs) == 1 and image.ndim == 4 and min(image.shape[2:]) >= 3

    def bend(self, x: Tensor) -> Tensor:
        """Return Δ²x."""
        images = x.detach().view(-1, *self.shape)
        for _ in range(2):
            padded = F.pad(images, (1, 1, 1, 1), mode="reflect")
            images = F.conv2d(padded, self.stencil.to(x), groups=self.shape[0])
        return images.flatten(1)

    def blur(self, x: Tensor) -> Tensor:
        """Return x under a Gaussian of 5 pixels and σ = 2."""
        return Blurred(5, 2.0)(x.view(-1, *self.shape)).flatten(1)


METHODS = {"fringe": FRInGe()}
