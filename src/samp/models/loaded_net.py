"""What a loader returns: a net, and as much of its preprocessing as its package or file has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from samp.model_output import extract_scores


@dataclass(frozen=True, eq=False)
class LoadedNet:
    """A net in evaluation mode, its name, the fields of a `Classifier` that its metadata has, and its classes."""

    net: nn.Module
    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    classes: tuple[str, ...] = ()


class NetAdapter(nn.Module):
    """A net with the scores alone as its output and a batch of any size as its input.

    An exported program may have a fixed batch: it gets `rows` rows at a time, the last ones padded. The adapter is a
    usual module, while a TorchScript module takes no hooks and an exported one has no eval(). Raises as
    `extract_scores`.

    >>> class Pair(nn.Module):
    ...     def forward(self, x):
    ...         return {"logits": x.sum(1, keepdim=True), "rows": len(x)}
    >>> NetAdapter(Pair(), rows=2)(torch.ones(3, 4)).flatten().tolist()
    [4.0, 4.0, 4.0]
    """

    def __init__(self, net: nn.Module, rows: int | None = None) -> None:
        super().__init__()
        self.net, self.rows, self.training = net, rows, False

    def forward(self, x: Tensor) -> Tensor:
        if self.rows is None or len(x) == self.rows:
            return extract_scores(self.net(x))
        parts = [extract_scores(self.net(self._pad_rows(part)))[: len(part)] for part in torch.split(x, self.rows)]
        return torch.cat(parts)

    def _pad_rows(self, part: Tensor) -> Tensor:
        missing = (self.rows or 0) - len(part)
        return torch.cat([part, part[:1].expand(missing, *part.shape[1:])]) if missing > 0 else part
