"""Maps of attention weights: attention rollout, and the relevance of attention by its gradient (Chefer et al., 2021).

Both multiply up one n × n matrix per layer over the net's tokens and read the row of the token that the score reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_numbers
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import Method, MethodInfo
from samp.methods._token_maps import TokenGrid, check_grid
from samp.methods._token_relevance import find_token_layout, spread_tokens
from samp.methods.propagation.attention_maps import AttentionMaps, attention_maps, first_values
from samp.methods.propagation.forward_backward import Rows, attribute_in_batches
from samp.methods.propagation.mode import Propagation

Heads = Literal["mean", "max", "min"]
Grid = tuple[int, int]
FUSE: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda weights: weights.mean(1),
    "max": lambda weights: weights.amax(1),
    "min": lambda weights: weights.amin(1),
}


@dataclass(frozen=True)
class AttentionRollout:
    """The product over layers of residual·I + (1 − residual)·A, rows summing to 1 (Abnar & Zuidema, ACL 2020).

    arXiv:2005.00928 has residual 0.5 and the mean over heads. `heads` may also be "max" or "min", and `discard` sets
    that share of each layer's smallest weights to 0, as users of vision transformers do; the paper has neither. The map
    does not know the class: the score only tells which tokens it reads, usually the class token, else their mean.
    `token` names one; `grid` is the rows and columns of patches where they cannot be measured.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(24, 2))
    >>> result = samp.explain(net.eval(), torch.rand(2, 4, 6), method=AttentionRollout(), groups=samp.Elements())
    >>> torch.allclose(result.values.sum((1, 2)), torch.ones(2))
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo("Abnar & Zuidema 2020, arXiv:2005.00928", "1 gradient", "no")
    residual: float = 0.5
    heads: Heads = "mean"
    discard: float = 0.0
    token: int | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        check_numbers(residual=self.residual, discard=self.discard)
        if not (0 <= self.residual <= 1 and 0 <= self.discard < 1):
            raise ValueError(
                f"residual is from 0 to 1 and discard from 0 to below 1, not {self.residual}, {self.discard}."
            )
        if self.heads not in FUSE:
            raise ValueError(f"heads is 'mean', 'max' or 'min', not {self.heads!r}.")
        check_grid(self.grid)

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return every sample's rollout from the token that the score reads."""
        return _attribute(self, problem, run)

    def token_matrix(self, maps: AttentionMaps) -> Tensor:
        """Return how much each token (row) holds of each input token (column), b n n."""
        rolled = _identity(maps)
        for weights in maps.weights:
            layer = _discard_smallest(FUSE[self.heads](weights), self.discard)
            layer = self.residual * _identity(maps) + (1 - self.residual) * layer
            sums = layer.sum(-1, keepdim=True)
            rolled = torch.where(sums > 0, layer / sums, 0.0) @ rolled
        return rolled


@dataclass(frozen=True)
class AttentionRelevance:
    """R ← R + Ā·R from R = I, with Ā = mean over heads of (∇A ⊙ A)⁺ (Chefer et al., ICCV 2021, arXiv:2103.15679).

    ∇A is the gradient of the score by the attention weights, so the map knows the class. Self-attention only (Eq. 5
    and 6); relevance is the row of R − I of the token that the score reads, as the paper reads that of the class token;
    of several, their mean. That the 1 which each token starts with is taken off is our reading: it changes nothing for
    patches where a class token is read, and would drown the rest where their mean is. `token` names one; `grid` is the
    rows and columns of patches where they cannot be measured.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(24, 2))
    >>> result = samp.explain(net.eval(), torch.rand(2, 4, 6), method=AttentionRelevance())
    >>> bool((result.values >= 0).all())
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo("Chefer et al. 2021, arXiv:2103.15679", "1 gradient", "no")
    token: int | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        check_grid(self.grid)

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return every sample's relevance of the tokens for the token that the score reads."""
        return _attribute(self, problem, run)

    def token_matrix(self, maps: AttentionMaps) -> Tensor:
        """Return the relevance of each input token (column) for each token (row) beyond its own 1, b n n."""
        relevance = _identity(maps)
        for weights, gradient in zip(maps.weights, maps.gradients, strict=True):
            relevance = relevance + (weights * gradient).clamp(min=0).mean(1) @ relevance
        return relevance - _identity(maps)


METHODS: dict[str, Method] = {
    "attentionrollout": AttentionRollout(),
    "attentionrelevance": AttentionRelevance(),
}


def _attribute(method: AttentionRollout | AttentionRelevance, problem: Problem, run: RunOptions) -> Attribution:
    name = type(method).__name__
    layouts: list[TokenGrid | None] = []  # one for all batches

    def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
        maps, recorder = attention_maps(resolved, samples, name)
        if not layouts:
            count = maps.weights[0].shape[-1]
            probe = partial(first_values, resolved, method=name)
            layouts.append(find_token_layout(resolved, count, probe, method.grid, maps.grid, name))
        tokens = (method.token_matrix(maps) * _rows_read(maps, method.token)[:, :, None]).sum(1)  # b n
        values = spread_tokens(resolved, tokens, layouts[0])
        return {"values": values.reshape(len(samples), -1).to(resolved.x)}, recorder

    return attribute_in_batches(problem, run, method, work)


def _identity(maps: AttentionMaps) -> Tensor:
    first = maps.weights[0]
    return torch.eye(first.shape[-1], dtype=first.dtype, device=first.device).expand(len(first), -1, -1)


def _rows_read(maps: AttentionMaps, token: int | None) -> Tensor:
    """Return the share of each token in the reading (b n): all of it for the named one, else even among those read."""
    first = maps.weights[0]
    count = first.shape[-1]
    if token is None:
        reads = maps.reads.to(first)
        return reads / reads.sum(1, keepdim=True).clamp(min=1)
    if not -count <= token < count:
        raise ValueError(f"token is {token}, but the model has {count} tokens.")
    return (
        torch.nn.functional.one_hot(torch.tensor(token % count, device=first.device), count)
        .to(first)
        .expand(len(first), -1)
    )


def _discard_smallest(weights: Tensor, share: float) -> Tensor:
    """Return weights (b n n) with this share of each sample's smallest set to 0."""
    flat = weights.flatten(1)
    dropped = flat.argsort(dim=1, stable=True)[:, : int(share * flat.shape[1])]
    return flat.scatter(1, dropped, 0.0).view_as(weights)
