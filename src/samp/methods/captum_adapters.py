"""Perturbation methods that Captum computes: Shapley sampling, LIME, Occlusion and feature ablation (extra `compare`).

Captum explains all samples at once (LIME: one by one) and, except for Occlusion, never sees them: its input is one
switch per group, 1 for the sample's own elements and 0 for the baseline's. Random orders are shared by all samples and
drawn from the seed, so that a sample's result does not depend on its neighbours; the generator is one of our own, where
Captum's own code would draw from the one that the whole process shares. Elements share their group's value equally.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import Baseline, black, resolve_baseline, wrap_tensors
from samp.checks import check_counts, check_numbers, check_optional_counts
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.extras import install_command
from samp.methods._common import MethodInfo, make_attribution, require_image, spread_over_channels
from samp.methods._perturbation import CountedForward, Score, patch_groups, patch_side, superpixels


def _captum_info(paper: str, cost: str, complete: str = "no") -> MethodInfo:
    return MethodInfo(paper, cost, complete, implementation="Captum 0.9", licence="BSD-3-Clause")


@dataclass(frozen=True)
class Shapley:
    """Shapley sampling (ApproShapley; Castro et al., 2009), by Captum.

    Groups enter one by one in `samples` random orders; a group's value is the mean change of the score when it enters,
    so that the values sum to f(image) − f(baseline). 25 orders are Captum's default; the paper does not fix a number.

    - `patch`: explain an image in patches of this side. `None` takes the problem's groups, except for images of more
      than 1,024 pixels, whose patches are then a 14th of the longer side (16 at 224 pixels, where pixels would cost
      50,176 forwards an order). The result's `method` has the side that was used.
    - `baseline`: the values of a group before it enters.

    >>> _ = import_module("pytest").importorskip("captum")
    >>> import samp
    >>> result = samp.explain(torch.nn.Linear(3, 1).eval(), torch.rand(2, 3), method=Shapley(samples=4))
    >>> bool((result.residual.abs() < 1e-5).all()), result.details["forwards"]
    (True, 15)
    """

    about: ClassVar[MethodInfo] = _captum_info("Castro et al., 2009", "25 forwards per group", "yes")
    samples: int = 25
    patch: int | None = None
    baseline: Baseline = black

    def __post_init__(self) -> None:
        check_counts(samples=self.samples)
        check_optional_counts(patch=self.patch)
        object.__setattr__(self, "baseline", resolve_baseline(wrap_tensors(self.baseline)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return Captum's ShapleyValueSampling of every sample; raise ImportError without Captum."""
        method = replace(self, patch=self.patch or patch_side(problem))
        groups = patch_groups(problem, method.patch)

        def explain(score: Score, at_once: int, switches: Tensor) -> Tensor:
            peer = _captum().ShapleyValueSampling(score)
            peer.permutation_generator = partial(_draw_orders, run.seed)
            values: Tensor = peer.attribute(switches, n_samples=self.samples, perturbations_per_eval=at_once)
            return values

        scorer = CountedForward(problem, run, self.baseline, self.samples * groups.count + 3)
        change, values = scorer.score_change(), scorer.explain_groups(groups, explain)
        return make_attribution(scorer.problem, values, method, run, forwards=scorer.forwards, change=change)


@dataclass(frozen=True)
class Ablation:
    """Feature ablation, by Captum: a group's value is the score's loss when this group alone is the baseline's.

    Occlusion (Zeiler & Fergus, ECCV 2014) by groups. `patch` and `baseline` are as in `Shapley`.

    >>> _ = import_module("pytest").importorskip("captum")
    >>> import samp
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(1, 3)
    >>> torch.allclose(samp.explain(net, x, method=Ablation()).values, net.weight * x, atol=1e-6)
    True
    """

    about: ClassVar[MethodInfo] = _captum_info("Zeiler & Fergus, ECCV 2014", "1 forward per group")
    patch: int | None = None
    baseline: Baseline = black

    def __post_init__(self) -> None:
        check_optional_counts(patch=self.patch)
        object.__setattr__(self, "baseline", resolve_baseline(wrap_tensors(self.baseline)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return Captum's FeatureAblation of every sample; raise ImportError without Captum."""
        method = replace(self, patch=self.patch or patch_side(problem))
        groups = patch_groups(problem, method.patch)

        def explain(score: Score, at_once: int, switches: Tensor) -> Tensor:
            values: Tensor = _captum().FeatureAblation(score).attribute(switches, perturbations_per_eval=at_once)
            return values

        scorer = CountedForward(problem, run, self.baseline, groups.count + 1)
        values = scorer.explain_groups(groups, explain)
        return make_attribution(scorer.problem, values, method, run, forwards=scorer.forwards)


@dataclass(frozen=True)
class LIME:
    """LIME (Ribeiro et al., KDD 2016), by Captum: a linear model of the score, fitted to `samples` random switchings.

    Samples weigh exp(−d²/2w²), d the cosine distance of their switches to all ones and w the `kernel_width`; the model
    is a Lasso, and a group's value its weight. Published (the authors' code for images): 1,000 samples, width 0.25.

    - `superpixels`: images in pixels are explained in about this many SLIC superpixels, each image in its own; the
      authors' quickshift makes as many at 224 pixels. Other inputs are explained in the problem's groups.
    - `segmenter`: "slic", or "quickshift" with the settings of the authors' code, which finds its own number.
    - `alpha`: of the Lasso, in standard deviations of the scores. Captum's 0.01, in the score's own unit, would set all
      weights of small scores to 0.
    - `baseline`: the values of a group that is switched off.

    >>> _ = [import_module("pytest").importorskip(name) for name in ("captum", "sklearn")]
    >>> import samp
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(1, 3)
    >>> torch.allclose(samp.explain(net, x, method=LIME(samples=99, alpha=0)).values, net.weight * x, atol=1e-5)
    True
    """

    about: ClassVar[MethodInfo] = _captum_info("Ribeiro et al., KDD 2016", "1,000 forwards")
    samples: int = 1000
    superpixels: int = 100
    alpha: float = 0.01
    kernel_width: float = 0.25
    baseline: Baseline = black
    segmenter: Literal["slic", "quickshift"] = "slic"

    def __post_init__(self) -> None:
        check_counts(samples=self.samples, superpixels=self.superpixels)
        check_numbers(alpha=self.alpha, kernel_width=self.kernel_width)
        if not 0 <= self.alpha < math.inf or not 0 < self.kernel_width < math.inf:
            raise ValueError("alpha is at least 0 and kernel_width above 0, both finite.")
        if self.segmenter not in ("slic", "quickshift"):
            raise ValueError(f"segmenter is 'slic' or 'quickshift', not {self.segmenter!r}.")
        object.__setattr__(self, "baseline", resolve_baseline(wrap_tensors(self.baseline)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return Captum's Lime of every sample; raise ImportError without Captum."""
        count = None if self.segmenter == "quickshift" else self.superpixels
        groups = superpixels(problem.inputs[0], count) if problem.paper_settings else problem.features

        def explain(score: Score, at_once: int, switches: Tensor) -> Tensor:
            peer = _captum().Lime(
                score,
                interpretable_model=ScaledLasso(float(self.alpha)),
                similarity_func=self._similarity,
                perturb_func=partial(_draw_switches, torch.Generator().manual_seed(run.seed)),
            )
            values: Tensor = peer.attribute(switches, n_samples=self.samples, perturbations_per_eval=at_once)
            return values

        scorer = CountedForward(problem, run, self.baseline, self.samples)
        values = scorer.explain_groups(groups, explain, one_by_one=True)  # Captum fits one sample at a time
        result = make_attribution(scorer.problem, values, self, run, forwards=scorer.forwards)
        return replace(result, details={**result.details, "explained in": groups.label})

    def _similarity(self, original: Tensor, perturbed: Tensor, switches: Tensor, **_: object) -> float:
        distance = 1 - float(switches.float().mean()) ** 0.5  # the cosine to all ones is √(part switched on)
        return float(np.exp(-(distance**2) / (2 * self.kernel_width**2)))


@dataclass(frozen=True)
class Occlusion:
    """Occlusion (Zeiler & Fergus, ECCV 2014), by Captum: the score's loss under a square that slides over the image.

    A pixel's value is the mean over the squares that hide it. `None` scales a `window` of 15 at a `stride` of 8 for 224
    pixels (Captum's tutorial; the paper names none) to the image's longer side. The result's `method` has both.

    >>> _ = import_module("pytest").importorskip("captum")
    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2)).eval()
    >>> samp.explain(net, torch.rand(1, 1, 8, 8), method=Occlusion(window=4)).method
    'Occlusion(window=4, stride=1, baseline=Constant(value=0.0))'
    """

    about: ClassVar[MethodInfo] = _captum_info("Zeiler & Fergus, ECCV 2014", "785 forwards at 224 pixels")
    window: int | None = None
    stride: int | None = None
    baseline: Baseline = black

    def __post_init__(self) -> None:
        check_optional_counts(window=self.window, stride=self.stride)
        object.__setattr__(self, "baseline", resolve_baseline(wrap_tensors(self.baseline)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return Captum's Occlusion of every sample; raise ImportError without Captum."""
        image = require_image(problem, self)
        window, stride = self._resolve_window(image)
        windows = [-((window - side) // stride) + 1 for side in image.shape[2:]]  # rounded up
        scorer = CountedForward(problem, run, self.baseline, windows[0] * windows[1] + 1)
        settings = {
            "sliding_window_shapes": (image.shape[1], window, window),
            "strides": (image.shape[1], stride, stride),
        }

        def explain(score: Score, at_once: int, x: Tensor, baseline: Tensor) -> Tensor:
            peer = _captum().Occlusion(lambda points: score(points.flatten(1)))
            x, baseline = (t.view(-1, *image.shape[1:]) for t in (x, baseline))
            values: Tensor = peer.attribute(x, baselines=baseline, perturbations_per_eval=at_once, **settings)
            return values[:, 0]  # all channels are hidden together

        values = spread_over_channels(problem, scorer.explain_points(explain))
        method = replace(self, window=window, stride=stride)
        return make_attribution(scorer.problem, values, method, run, forwards=scorer.forwards)

    def _resolve_window(self, image: Tensor) -> tuple[int, int]:
        """Return window and stride for this image; raise ValueError if the stride is larger than the window."""
        longest = max(image.shape[2:])
        window = min(self.window or max(round(longest * 15 / 224), 1), *image.shape[2:])
        stride = self.stride or min(max(round(longest * 8 / 224), 1), window)
        if stride > window:
            raise ValueError(f"a stride of {stride} leaves pixels out: take at most the window, {window}.")
        return window, stride


METHODS: dict[str, Shapley | LIME | Occlusion | Ablation] = {
    "shapley": Shapley(),
    "lime": LIME(),
    "occlusion": Occlusion(),
    "ablation": Ablation(),
}


class ScaledLasso:
    """A Lasso whose α is in standard deviations of the scores that it fits; Captum's interface of a linear model."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def fit(self, samples: Any) -> None:
        """Fit the data (switches, scores, weights) of Captum's loader."""
        # not by iterating over the loader, which would draw from torch's shared generator
        switches, scores, weights = (t.double().numpy() for t in samples.dataset[:])
        mean = np.average(scores, weights=weights)
        spread = np.sqrt(np.average((scores - mean) ** 2, weights=weights)) or 1.0
        linear = import_module("sklearn.linear_model")
        # features are updated in turn, so the state has no effect on the result, but None would move NumPy's shared one
        model = linear.Lasso(alpha=self.alpha, random_state=0) if self.alpha else linear.LinearRegression()
        model.fit(switches, (scores - mean) / spread, sample_weight=weights)
        self.weights = torch.from_numpy(model.coef_ * spread)

    def representation(self) -> Tensor:
        return self.weights


def _draw_orders(seed: int, features: int, samples: int) -> Iterator[list[int]]:
    """Yield so many random orders of the features."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(samples):
        yield torch.randperm(features, generator=generator).tolist()


def _draw_switches(generator: torch.Generator, original: Tensor, **settings: Any) -> Tensor:
    """Return a switch for each feature (1 × features), on with probability 1/2."""
    half = torch.full((1, settings["num_interp_features"]), 0.5)
    return torch.bernoulli(half, generator=generator).to(original.device).long()


def _captum() -> ModuleType:
    """Return the module `captum.attr`; raise ImportError if Captum is not installed."""
    try:
        return import_module("captum.attr")
    except ImportError as error:
        message = f"this method is Captum's, which is not installed: {install_command('compare')}."
        raise ImportError(message) from error
