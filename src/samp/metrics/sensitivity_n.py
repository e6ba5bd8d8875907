"""Sensitivity-N, in the two senses of the literature.

- `sensitivity_n` (Ancona et al., ICLR 2018): does the credit of n features predict the loss of score without them?
- `completeness_check` (the SAMP paper's figure): does the credit of *all* features predict the gain of score over the
  baseline, as the steps of the walk grow shorter?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.baselines import black
from samp.checks import check_list, check_whole, is_number
from samp.engine.batches import BatchSize
from samp.engine.inputs import Inputs
from samp.engine.problem import Problem
from samp.explain import explain
from samp.groups import Groups
from samp.methods import Method, resolve_method
from samp.metrics.correlations import pearson
from samp.metrics.fills import Fill, describe_fill
from samp.metrics.maps import Maps, group_values, resolve_target
from samp.metrics.masked_forward import ScoringOptions, open_scorer
from samp.metrics.score_spaces import ScoreSpace
from samp.metrics.subsets import check_sizes, credit_and_scores, own_counts
from samp.targets import Model, Target

MOST_SIZES = 15
LARGEST_SHARE = 0.8
BETAS = (1, 2, 5, 10, 20, 50, 100, 200)


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityN:
    """What `sensitivity_n` returns.

    >>> net = torch.nn.Linear(4, 1).eval()
    >>> result = sensitivity_n(net, torch.rand(2, 4), torch.zeros(2, 4), sizes=[1, 2])
    >>> result.undefined_count  # a constant map correlates with nothing
    4
    """

    PER_SAMPLE: ClassVar = ("correlation",)

    sizes: Tensor
    """s: the numbers of features hidden together."""
    correlation: Tensor
    """b s: each sample's correlation at each size; NaN where its map or its score does not vary over the subsets."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, features, subsets, fill, score space, forwards per sample, seed, device, dtype and versions."""

    @property
    def mean(self) -> Tensor:
        """s: the mean over the samples whose correlation is defined."""
        return self.correlation.nanmean(0)

    @property
    def undefined_count(self) -> int:
        """How many of the correlations are NaN and left out of means."""
        return int(self.correlation.isnan().sum())

    def __repr__(self) -> str:
        series = ", ".join(f"{n}: {r:.3f}" for n, r in zip(self.sizes.tolist(), self.mean.tolist(), strict=True))
        return f"SensitivityN({series} over {len(self.correlation)} samples, {self.undefined_count} undefined)"


def sensitivity_n(
    model: Model,
    inputs: Inputs,
    maps: Maps,
    target: Target = None,
    *,
    sizes: Sequence[int] | None = None,
    subsets: int = 100,
    fill: Fill = black,
    groups: Groups | None = None,
    score: str | ScoreSpace = "logit",
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> SensitivityN:
    """Return Pearson's correlation, over random sets S of n features, of Σ_S a and f(x) − f(x with S filled), by n.

    - `maps`, `target`: as in `deletion_insertion`.
    - `sizes`: the n to test. `None` takes up to 15 from 1 to 80 % of all features, the published range, evenly spaced
      on a logarithmic scale (that spacing is a choice of this package).
    - `subsets`: how many sets of each size; 100 are published. Costs sizes × subsets forwards per sample.
    - `fill`: what a hidden feature shows; black, as published.
    - `groups`: what a feature is, as in `samp.explain`: pixels for images if `None`.
    - `score`: "logit", "probability", … or a callable, as in `Protocol`.

    >>> net, x = torch.nn.Linear(5, 1).eval(), torch.rand(3, 5)
    >>> result = sensitivity_n(net, x, net.weight * x)
    >>> result.sizes.tolist(), bool((result.correlation > 0.9999).all())  # the exact map of a linear model
    ([1, 2, 3, 4], True)
    """
    count = check_whole("subsets", subsets, 2)
    settings = ScoringOptions(forward_args, batch_size, progress, seed)
    with open_scorer(model, inputs, resolve_target(maps, target), groups, score, settings) as scorer:
        values = group_values(scorer.problem, maps)
        checked = check_sizes(scorer.problem, default_sizes(scorer.problem) if sizes is None else sizes)  # b s
        credit, scores = credit_and_scores(scorer, scorer.make_masker(fill), values, checked, count)
        details = scorer.describe(score, fill=describe_fill(fill), subsets=count, correlation="pearson")
        # f(x) is left out: a constant changes no correlation
        return SensitivityN(checked[0].cpu(), pearson(credit, -scores), details)


def default_sizes(problem: Problem) -> list[int]:
    """Up to 15 sizes of subsets, from 1 to 80 % of the features, evenly spaced on a logarithmic scale.

    >>> from samp.engine.problem import make_problem
    >>> default_sizes(make_problem(torch.nn.Flatten(), torch.rand(1, 1, 28, 28), 0))
    [1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 100, 158, 250, 396, 627]
    """
    least, most = (int(count) for count in own_counts(problem).aminmax())
    if least != most:
        raise ValueError(f"the samples have from {least} to {most} features, so no range serves all: pass sizes=[…].")
    end = max(round(LARGEST_SHARE * most), 1)
    return sorted({round(end ** (i / (MOST_SIZES - 1))) for i in range(MOST_SIZES)})


@dataclass(frozen=True, eq=False, repr=False)
class CompletenessCheck:
    """What `completeness_check` returns: per direction, the correlation of Σa and Δy over images at each β.

    >>> net, x = torch.nn.Linear(4, 1).eval(), torch.rand(3, 4)
    >>> completeness_check(net, x, betas=[1, 10])  # a linear model leaves nothing to miss
    CompletenessCheck(to_baseline: 1.000, 1.000; to_image: 1.000, 1.000 at β = 1, 10 over 3 samples)
    """

    betas: tuple[float, ...]
    correlation: Mapping[Direction, Tensor]
    """k for each direction: Pearson's correlation over samples; NaN if Σa or Δy is the same for all of them."""
    credit: Mapping[Direction, Tensor]
    """k b for each direction: Σa."""
    score_change: Mapping[Direction, Tensor]
    """k b for each direction: Δy = f(image) − f(baseline)."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The method at each β; target, features, seed, device, dtype and versions."""

    def __repr__(self) -> str:
        lines = [f"{d}: {', '.join(f'{r:.3f}' for r in series.tolist())}" for d, series in self.correlation.items()]
        samples = next(iter(self.credit.values())).shape[1]
        return f"CompletenessCheck({'; '.join(lines)} at β = {', '.join(map(str, self.betas))} over {samples} samples)"


def completeness_check(
    model: Model,
    inputs: Inputs,
    *,
    betas: Sequence[float] = BETAS,
    method: str | Method = "samp++",
    **settings: Any,
) -> CompletenessCheck:
    """The paper's Sensitivity-N check: Pearson's correlation over images of Σa and Δy, as β = ‖x‖₁/η grows.

    At each β, `samp.explain` walks with steps of at most 1/β of the walk's own ‖x^E − x^S‖₁, which is the paper's ‖x‖₁
    for a black baseline. `method` is one with an `eta`, which is replaced; `settings` are further arguments of
    `samp.explain` (`target`, `groups`, `batch_size`, `seed`, …). The cost is up to β + ⌈groups/s⌉ + 1 gradients for
    each image, direction and β. An exact credit, such as "shared", scores 1 by construction, at any β: the check tells
    something about the paper's credit and other plain ones only.

    >>> import samp
    >>> x = torch.tensor([[0.5, 1.0], [2.0, 1.0], [1.0, 3.0]])
    >>> check = completeness_check(lambda x: (x**3).sum(1), x, betas=[1, 100], method=samp.SAMP())
    >>> check.correlation["to_image"][1].item() > 0.999
    True
    """
    checked = check_list("betas", betas)
    if not checked or any(not is_number(beta) or beta <= 0 for beta in checked):
        raise ValueError(f"betas are numbers above 0, but these are {checked}.")
    chosen = resolve_method(method)
    if not is_dataclass(chosen) or "eta" not in {one.name for one in fields(chosen)}:
        raise ValueError(f"{chosen!r} has no eta to change: take samp.SAMP(), samp.SAMPPlusPlus() or samp.IG().")
    sums, methods = [], []
    for beta in checked:
        result = explain(model, inputs, method=replace(chosen, eta=1 / beta), **settings)
        sums.append(_credit_and_change([result]))
        methods.append(result.method)
    return CompletenessCheck(
        betas=tuple(checked),
        correlation={d: torch.stack([_correlate_over_images(*one[d]) for one in sums]) for d in sums[0]},
        credit={d: torch.stack([one[d][0] for one in sums]) for d in sums[0]},
        score_change={d: torch.stack([one[d][1] for one in sums]) for d in sums[0]},
        details={**result.details, "methods": methods},
    )


def completeness_correlation(results: Attribution | Sequence[Attribution]) -> dict[Direction, float]:
    """Pearson's correlation over images of Σa and Δy, per direction; several results are parts of one data set.

    An exact credit scores 1 by construction.

    >>> import samp
    >>> net = torch.nn.Linear(4, 1).eval()
    >>> parts = [samp.explain(net, torch.rand(3, 4), method="samp") for _ in range(2)]
    >>> {direction: round(r, 4) for direction, r in completeness_correlation(parts).items()}
    {'to_baseline': 1.0, 'to_image': 1.0}
    """
    sums = _credit_and_change(list(results) if isinstance(results, Iterable) else [results])
    return {direction: float(_correlate_over_images(credit, change)) for direction, (credit, change) in sums.items()}


def _credit_and_change(results: Sequence[Attribution]) -> dict[Direction, tuple[Tensor, Tensor]]:
    """(Σa, Δy), both b, of each direction."""
    for result in results:
        if not isinstance(result, Attribution):
            raise TypeError(f"the results are what samp.explain returned, not {type(result).__name__}.")
    if len({tuple(result.residual_by_direction) for result in results}) != 1:
        raise ValueError(
            "the results need walks in the same directions, all of them: give at least one, of one method."
        )
    if not results[0].residual_by_direction:
        raise ValueError(f"the credit of {results[0].method} is not meant to sum to a change of the score.")
    pairs: dict[Direction, tuple[Tensor, Tensor]] = {}
    for d in results[0].residual_by_direction:
        change = torch.cat([result.score_change[d] for result in results])
        pairs[d] = (change - torch.cat([result.residual_by_direction[d] for result in results]), change)
    return pairs


def _correlate_over_images(credit: Tensor, change: Tensor) -> Tensor:
    if len(credit) < 2:
        raise ValueError("a correlation over images needs at least 2 of them, but there is 1.")
    return pearson(credit, change)
