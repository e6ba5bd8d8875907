"""μFidelity (Bhatt, Weller & Moura, IJCAI 2020): credit against loss of score over random subsets of one size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.baselines import black
from samp.checks import check_share, check_whole
from samp.engine.batches import BatchSize
from samp.engine.inputs import Inputs, as_tensors
from samp.engine.problem import Problem
from samp.groups import Groups, looks_channels_last
from samp.metrics import correlations
from samp.metrics.fills import Fill, describe_fill
from samp.metrics.maps import Maps, group_values, resolve_target
from samp.metrics.masked_forward import ScoringOptions, open_scorer
from samp.metrics.score_spaces import ScoreSpace
from samp.metrics.subsets import check_sizes, credit_and_scores, sizes_for_share
from samp.targets import Model, Target

CELLS = 9


@dataclass(frozen=True, eq=False, repr=False)
class MuFidelity:
    """What `mu_fidelity` returns.

    >>> net = torch.nn.Linear(4, 1).eval()
    >>> result = mu_fidelity(net, torch.rand(2, 4), torch.zeros(2, 4))
    >>> result.correlation.tolist(), result.undefined_count  # a constant map correlates with nothing
    ([nan, nan], 2)
    """

    PER_SAMPLE: ClassVar = ("correlation",)

    correlation: Tensor
    """b: each sample's; higher is better. NaN where its map or its score does not vary over the subsets."""
    sizes: Tensor
    """b: how many features were hidden together."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, features, subsets, correlation, fill, score space, forwards per sample, seed, device, dtype, versions."""

    @property
    def mean(self) -> float:
        """Over the samples whose correlation is defined."""
        return float(self.correlation.nanmean())

    @property
    def undefined_count(self) -> int:
        """How many samples are NaN and left out of means."""
        return int(self.correlation.isnan().sum())

    def __repr__(self) -> str:
        how = f"{self.details.get('correlation')}, {self.details.get('subsets')} subsets"
        return (
            f"MuFidelity({self.mean:.4f} over {len(self.correlation)} samples, {self.undefined_count} undefined; {how})"
        )


def mu_fidelity(
    model: Model,
    inputs: Inputs,
    maps: Maps,
    target: Target = None,
    *,
    share: float = 0.2,
    size: int | None = None,
    subsets: int = 200,
    correlation: str | correlations.CorrelationFunction = "spearman",
    fill: Fill = black,
    groups: Groups | None = None,
    score: str | ScoreSpace = "logit",
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> MuFidelity:
    """Return the correlation, over random subsets S of one size, of Σ_S a and f(x) − f(x with S filled).

    The SAMP paper gives no settings and cites Novello et al. (NeurIPS 2022), who measured with Xplique. The defaults
    are those: 200 subsets of 20 % of a 9 × 9 grid, black fill, Spearman's correlation. Bhatt et al. define it with
    Pearson's, on features as they come: `correlation="pearson", groups=samp.Pixels()`. Single pixels of a large image
    are mostly noise: a random fifth of them blurs every image alike.

    - `maps`, `target`: as in `deletion_insertion`; a feature's credit is the sum over its elements.
    - `share`: of a sample's features, rounded, at least 1; every subset has exactly that size. `size` gives it as a
      number. (Xplique 0.4 hides one cell more, and later versions a random number of cells.)
    - `correlation`: "spearman" (ties share their mean rank), "pearson", or a callable (a, b) → one number per row.
    - `groups`: what a feature is. `None` is a 9 × 9 grid for images, and single elements for any other input.
    - `score`: "logit", "probability", … or a callable, as in `Protocol`.

    >>> net, x = torch.nn.Linear(5, 1).eval(), torch.rand(3, 5)
    >>> exact = net.weight * x  # of a linear model
    >>> mu_fidelity(net, x, exact, correlation="pearson").mean > 0.9999
    True
    >>> mu_fidelity(net, x, -exact, correlation="pearson").mean < -0.9999
    True
    """
    count, part = check_whole("subsets", subsets, 2), check_share(share)
    correlate = correlations.get_correlation(correlation)
    settings = ScoringOptions(forward_args, batch_size, progress, seed)
    model, inputs = as_tensors(model, inputs)
    cells = _cells(inputs) if groups is None else groups
    with open_scorer(model, inputs, resolve_target(maps, target), cells, score, settings) as scorer:
        values = group_values(scorer.problem, maps)
        sizes = _sizes(scorer.problem, part, size)  # b 1
        credit, scores = credit_and_scores(scorer, scorer.make_masker(fill), values, sizes, count)
        name = correlation if isinstance(correlation, str) else repr(correlation)
        details = scorer.describe(score, fill=describe_fill(fill), subsets=count, correlation=name)
        if groups is None and cells is not None:
            details["groups"] = f"grid of {scorer.problem.features.count} cells"
        # f(x) is left out: a constant changes no correlation
        return MuFidelity(correlate(credit[:, 0], -scores[:, 0]), sizes[:, 0].cpu(), details)


def grid(height: int, width: int, cells: int = CELLS) -> Tensor:
    """h w: the number of the cell that each pixel lies in; cells × cells of them, as equal as possible.

    >>> grid(2, 5, cells=2).tolist()
    [[0, 0, 0, 1, 1], [2, 2, 2, 3, 3]]
    """
    height, width = check_whole("height", height, 1), check_whole("width", width, 1)
    cells = check_whole("cells", cells, 1)
    rows, columns = min(cells, height), min(cells, width)
    row, column = torch.arange(height) * rows // height, torch.arange(width) * columns // width
    return row[:, None] * columns + column


def _cells(inputs: object) -> Tensor | None:
    """The grid for one b c h w image input; None for other inputs, and for b h w c, which `make_problem` refuses."""
    given = list(inputs) if isinstance(inputs, tuple | list) else [inputs]
    shape = tuple(getattr(given[0], "shape", ())) if len(given) == 1 else ()
    if len(shape) != 4 or 0 in shape or looks_channels_last(shape):
        return None
    return grid(*shape[2:])


def _sizes(problem: Problem, share: float, size: int | None) -> Tensor:
    return sizes_for_share(problem, share)[:, None] if size is None else check_sizes(problem, [size])
