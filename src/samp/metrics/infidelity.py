"""Infidelity (Yeh et al., NeurIPS 2019), by Captum (extra `compare`): the mean of (Iᵀa − (f(x) − f(x − I)))².

The perturbations I are drawn by `Hidden`, for maps of credit, or by `Noise`, for maps of slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from samp.baselines import InputBaselines, black, evaluate_baseline, wrap_tensors
from samp.checks import check_flag, check_share, check_whole, is_number
from samp.devices import widen
from samp.engine.batches import BatchSize
from samp.engine.inputs import Inputs
from samp.extras import install_command
from samp.groups import Elements, Groups
from samp.metrics.fills import Fill, depends_on_visible
from samp.metrics.maps import Maps, group_values, resolve_target
from samp.metrics.masked_forward import MaskedScorer, ScoringOptions, open_scorer
from samp.metrics.score_spaces import ScoreSpace
from samp.metrics.subsets import Subsets, sizes_for_share
from samp.targets import Model, Target


@dataclass(frozen=True, eq=False)
class PreparedPerturbation:
    """A perturbation of the samples of one scorer, in features: groups (b g) or single elements (b n)."""

    start: Tensor
    """b g: what is perturbed."""
    draw: Callable[[range], tuple[Tensor, Tensor]]
    """Perturbations by number: the weights of the map's values, and what is left of `start`; both b k g."""
    points: Callable[[Tensor, Tensor], Tensor]
    """(what is left: r g, samples: r) → r n: the points at which the model is called."""


class Perturbation(Protocol):
    """Draws the perturbations that infidelity is the mean over."""

    def groups(self, given: Groups | None) -> Groups | None:
        """Return the grouping to use where the caller gave this one; raise ValueError if it cannot be."""
        ...

    def prepare(self, scorer: MaskedScorer) -> PreparedPerturbation:
        """Return this perturbation of the scorer's samples."""
        ...


@dataclass(frozen=True)
class Hidden:
    """Replaces random features, exactly `share` of them, by `fill`; Iᵀa is then the sum of their credit.

    For maps of credit, whose values sum to a change of the score.

    >>> _ = import_module("pytest").importorskip("captum")
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(2, 3)
    >>> result = infidelity(net, x, net.weight * x, perturbation=Hidden(share=0.5))
    >>> bool((result.infidelity < 1e-10).all())
    True
    """

    share: float = 0.2
    fill: Fill = black

    def __post_init__(self) -> None:
        check_share(self.share)
        object.__setattr__(self, "fill", wrap_tensors(self.fill))

    def groups(self, given: Groups | None) -> Groups | None:
        """Any grouping will do."""
        return given

    def prepare(self, scorer: MaskedScorer) -> PreparedPerturbation:
        """The features are switches: 1 shows the sample's own elements, 0 the fill's."""
        problem, hide = scorer.problem, scorer.make_masker(self.fill)
        sizes = sizes_for_share(problem, self.share)[:, None]
        samples = torch.arange(problem.batch, device=problem.x.device)

        def draw(numbers: range) -> tuple[Tensor, Tensor]:
            subsets, count = Subsets.draw(problem, sizes, numbers, scorer.seed), len(numbers)
            rows = samples.repeat_interleave(count), torch.arange(count).to(samples).repeat(len(samples))
            hidden = subsets.membership(*rows).view(problem.batch, count, -1).to(problem.x)
            return hidden, 1 - hidden

        start = torch.ones(problem.batch, problem.features.count).to(problem.x)
        return PreparedPerturbation(start, draw, lambda switches, samples: hide(switches < 0.5, samples))


@dataclass(frozen=True)
class Noise:
    """Subtracts Gaussian noise of standard deviation `sigma` from every element: Iᵀa is the noise times the map.

    For maps of slopes, such as gradients. With a `fill`, the map is credit for the difference to that fill, and the
    noise is divided by the difference (0 where there is none).

    >>> _ = import_module("pytest").importorskip("captum")
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(2, 3)
    >>> result = infidelity(net, x, net.weight.expand(2, 3), perturbation=Noise(sigma=0.5))
    >>> bool((result.infidelity < 1e-10).all())
    True
    """

    sigma: float = 0.2
    fill: InputBaselines | None = None

    def __post_init__(self) -> None:
        if not is_number(self.sigma) or self.sigma <= 0:
            raise ValueError(f"sigma is a standard deviation above 0, not {self.sigma!r}.")
        if depends_on_visible(self.fill):
            raise ValueError(
                f"the fill of Noise is a baseline to take the difference to, such as 0.0, and {self.fill!r} is none: "
                "it is made of what is not hidden. Take Hidden(fill=…)."
            )
        object.__setattr__(self, "fill", wrap_tensors(self.fill))

    def groups(self, given: Groups | None) -> Groups | None:
        """Noise is drawn for single elements."""
        if given is not None:
            raise ValueError("Noise perturbs single elements: leave groups out, or take Hidden().")
        return Elements()

    def prepare(self, scorer: MaskedScorer) -> PreparedPerturbation:
        """The elements, less noise that is the same for every sample."""
        x = scorer.problem.x
        unit = torch.ones_like(x)
        if self.fill is not None:
            difference = x - scorer.problem.flatten(evaluate_baseline(self.fill, scorer.problem.inputs, scorer.seed))
            unit = torch.where(difference == 0, 0, 1 / difference)

        def draw(numbers: range) -> tuple[Tensor, Tensor]:
            rows = [np.random.default_rng([scorer.seed % 2**64, i]).standard_normal(x.shape[1]) for i in numbers]
            noise = torch.from_numpy(np.stack(rows) * self.sigma).to(x)  # k n
            return noise * unit[:, None], x[:, None] - noise

        return PreparedPerturbation(x, draw, lambda points, samples: points)


@dataclass(frozen=True, eq=False, repr=False)
class Infidelity:
    """What `infidelity` returns.

    >>> _ = import_module("pytest").importorskip("captum")
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(2, 3)
    >>> infidelity(net, x, torch.zeros(2, 3)).infidelity.shape
    torch.Size([2])
    """

    PER_SAMPLE: ClassVar = ("infidelity",)

    infidelity: Tensor
    """b: the mean squared error of each sample, in the score's unit squared; lower is better."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, features, perturbation and how many, forwards per sample, seed, device, dtype and versions."""

    def __repr__(self) -> str:
        mean = float(self.infidelity.mean())
        return f"Infidelity({mean:.4g} over {len(self.infidelity)} samples; {self.details.get('perturbation')})"


def infidelity(
    model: Model,
    inputs: Inputs,
    maps: Maps,
    target: Target = None,
    *,
    perturbation: Perturbation | None = None,
    perturbations: int = 100,
    normalise: bool = False,
    groups: Groups | None = None,
    score: str | ScoreSpace = "logit",
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> Infidelity:
    """Return the mean squared difference between a map's prediction for perturbations and the change of the score.

    - `maps`, `target`, `groups`, `score`: as in `sensitivity_n`.
    - `perturbation`: `Hidden()` if `None`, for maps of credit; `Noise()` for maps of slopes.
    - `perturbations`: how many of each sample; the error of the mean falls with their number.
    - `normalise`: scale the map of each sample first so that its error is smallest, as the authors' code does, for
      maps without a unit. The scale may be negative: a map and its reverse then score the same.

    >>> _ = import_module("pytest").importorskip("captum")
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(2, 3)
    >>> exact = net.weight * x  # of a linear model
    >>> bool((infidelity(net, x, exact).infidelity < infidelity(net, x, -exact).infidelity).all())
    True
    >>> bool((infidelity(net, x, 7 * exact, normalise=True).infidelity < 1e-10).all())
    True
    """
    number = check_whole("perturbations", perturbations, 1)
    check_flag("normalise", normalise)
    chosen = Hidden() if perturbation is None else perturbation
    if not callable(getattr(chosen, "prepare", None)) or isinstance(chosen, type):
        raise TypeError(f"a perturbation is an object such as Hidden() or Noise(), not {chosen!r}.")
    settings = ScoringOptions(forward_args, batch_size, progress, seed)
    with open_scorer(model, inputs, resolve_target(maps, target), chosen.groups(groups), score, settings) as scorer:
        values = group_values(scorer.problem, maps)
        error = _captum_infidelity(scorer, chosen.prepare(scorer), values, number, normalise)
        drawn = {"perturbation": repr(chosen), "perturbations": number, "normalise": normalise}
        return Infidelity(error, scorer.describe(score, **drawn))


def _captum_infidelity(
    scorer: MaskedScorer, prepared: PreparedPerturbation, values: Tensor, number: int, normalise: bool
) -> Tensor:
    """b: Captum's infidelity of these values (b g), with as many perturbations at a time as make a batch."""
    batch, x = scorer.problem.batch, scorer.problem.x
    scorer.expect(number + 1)
    own = widen(scorer.scores(lambda _, samples: x[samples], 1, lambda samples, _: samples).flatten())
    numbers = iter(range(number))

    def perturb(rows: Tensor) -> tuple[Tensor, Tensor]:
        first, *others = islice(numbers, len(rows) // batch)
        weights, left = prepared.draw(range(first, first + len(others) + 1))
        return weights.flatten(0, 1), left.flatten(0, 1)

    def forward(rows: Tensor) -> Tensor:
        if rows is prepared.start:  # Captum scores it with every batch; once is enough
            return own
        left = rows.view(batch, -1, rows.shape[1])
        return scorer.scores(prepared.points, left.shape[1], lambda samples, numbers: left[samples, numbers]).flatten()

    at_once = min(max(scorer.batches.size // batch, 1), number) * batch
    error: Tensor = _import_captum().infidelity(
        forward,
        perturb,
        prepared.start,
        widen(values),
        n_perturb_samples=number,
        max_examples_per_batch=at_once,
        normalize=normalise,
    )
    return error


def _import_captum() -> Any:
    try:
        return import_module("captum.metrics")
    except ImportError as error:
        raise ImportError(f"infidelity is Captum's, which is not installed: {install_command('compare')}.") from error
