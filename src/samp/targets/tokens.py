"""A token at a position: the target of language models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets._outputs import find_tensor
from samp.targets.objectives import TargetByName, check_batched
from samp.targets.per_sample import check_choice, largest, one_per_sample, read_integers


@dataclass(frozen=True)
class Token:
    """A target: the score of a token at a position of the output (b positions vocabulary), its "logit" or
    "log_probability".

    `position` and `id` are one for all samples or a list with one for each; a negative position counts from the end,
    where samples that are padded on the right have padding. In a causal language model the scores at a position are
    those of the token that *follows* it, so the last position scores the next token.

    >>> import samp
    >>> net, x = torch.nn.Linear(4, 5).eval(), torch.rand(2, 3, 4)
    >>> result = samp.explain(net, x, target=Token(-1, [3, 1]), method="ig")
    >>> torch.allclose(result.values[1, 2], net.weight[1] * x[1, 2], atol=1e-6), bool((result.values[:, :2] == 0).all())
    (True, True)
    """

    position: int | Sequence[int] | Tensor
    id: int | Sequence[int] | Tensor
    score: Literal["logit", "log_probability"] = "logit"

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", read_integers("the position of a token", self.position, least=None))
        object.__setattr__(self, "id", read_integers("the id of a token", self.id))
        check_choice("score", self.score, ("logit", "log_probability"))

    def resolve(self, batch: int, device: torch.device | str) -> TargetByName:
        """Return the objective; raise ValueError if there are not as many positions or ids as samples."""
        position = one_per_sample("the position of a token", self.position, batch, device)  # type: ignore[arg-type]  # read above
        token = one_per_sample("the id of a token", self.id, batch, device)  # type: ignore[arg-type]  # read above
        return TargetByName(self, partial(self._score, position, token))

    def _score(self, position: Tensor, token: Tensor, output: Any, samples: Tensor) -> Tensor:
        logits = find_tensor(output, "Token", "b positions vocabulary")
        if logits.ndim != 3:
            raise ValueError(
                f"Token explains an output of shape b positions vocabulary, but the model gave {tuple(logits.shape)}: "
                "if that is one row of scores per sample, pass the id alone, target=id."
            )
        logits = check_batched(logits, len(samples))
        length, words = logits.shape[1:]
        positions = self.position if isinstance(self.position, tuple) else (self.position,)
        wrong = [one for one in positions if not -length <= one < length]
        if wrong:
            raise ValueError(f"position {wrong[0]} is out of range: the output has {length} positions, from 0.")
        most = largest(self.id)  # type: ignore[arg-type]  # read above
        if most >= words:
            raise ValueError(f"token {most} is out of range: the output has ids 0 to {words - 1}.")
        row = logits[torch.arange(len(logits), device=logits.device), position[samples]]  # r vocabulary
        row = row if self.score == "logit" else row.log_softmax(1)
        return row.gather(1, token[samples, None])[:, 0]  # r
