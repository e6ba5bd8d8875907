"""Likeness to a given embedding: the target of encoders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets._outputs import find_tensor
from samp.targets.objectives import TargetByName, check_batched
from samp.targets.per_sample import check_choice, check_count, wrap_tensor

NAMES = ("embeddings", "image_embeds", "text_embeds", "pooler_output")


@dataclass(frozen=True)
class Similarity:
    """A target: how alike the model's embedding of a sample is to a given one, by "cosine" or "dot" product.

    `to` is one embedding for all samples (d) or one for each (b d). The model returns b d (axes of size 1 behind it are
    dropped), or one entry named "embeddings", "image_embeds", "text_embeds" or "pooler_output". Raises ValueError for
    another size, and for an embedding of zeros, which has no direction.

    >>> import samp
    >>> net, x = torch.nn.Linear(4, 3, bias=False).eval(), torch.rand(2, 4)
    >>> like = Similarity(torch.tensor([0.0, 1.0, 0.0]), measure="dot")
    >>> torch.allclose(samp.explain(net, x, target=like, method="ig").values, net.weight[1] * x, atol=1e-6)
    True
    """

    to: Any
    measure: Literal["cosine", "dot"] = "cosine"

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", wrap_tensor("the embedding", self.to))
        check_choice("measure", self.measure, ("cosine", "dot"))
        embedding = self.to.tensor
        if embedding.ndim not in (1, 2) or not embedding.is_floating_point():
            kind = f"{tuple(embedding.shape)} of {embedding.dtype}"
            raise ValueError(f"an embedding has shape d, or b d with one for each sample, in floats, not {kind}.")
        if bool((embedding == 0).all(-1).any()):
            raise ValueError("an embedding of zeros has no direction, so nothing is like it: give another.")

    def resolve(self, batch: int, device: torch.device | str) -> TargetByName:
        """Return the objective; raise ValueError if there are not as many embeddings as samples."""
        embedding = self.to.tensor
        check_count("the embedding", len(embedding) if embedding.ndim == 2 and len(embedding) > 1 else None, batch)
        return TargetByName(self, partial(self._score, embedding.to(device).expand(batch, -1)))

    def _score(self, to: Tensor, output: Any, samples: Tensor) -> Tensor:
        found = check_batched(find_tensor(output, "Similarity", "b d", NAMES), len(samples))
        embedding = found.flatten(1) if found[0].numel() == found.shape[1] else found
        if embedding.shape != (len(samples), to.shape[1]):
            raise ValueError(
                f"the model gave shape {tuple(found.shape)} for {len(samples)} samples, but the embedding to compare "
                f"with has {to.shape[1]} numbers: give one of the model's own, one vector for each sample."
            )
        given = to[samples].to(embedding.dtype)
        if self.measure == "dot":
            return (embedding * given).sum(1)  # r
        return torch.nn.functional.cosine_similarity(embedding, given)  # r
