"""What a loader finds: a net and as much of how it is fed as its package or file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class LoadedNet:
    """A net in evaluation mode, its name, the fields of a `Classifier` that its metadata settles, and its classes."""

    net: nn.Module
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] = ()


class NetAdapter(nn.Module):
    """A net whose output is the scores alone, and that takes any number of rows though its own may be fixed.

    It passes the rows on `rows` at a time (the last ones filled up), as an exported program with a fixed batch needs,
    and looks like any other module to what follows: a script's own takes no hooks, an exported one has no eval().

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


def extract_scores(output: Any) -> Tensor:
    """The scores in an output: itself, its `logits`, or the first of several.

    >>> extract_scores((torch.zeros(1, 2), "aux")).shape
    torch.Size([1, 2])
    """
    if isinstance(output, Tensor):
        return output
    if isinstance(output, Mapping) and "logits" in output:
        output = output["logits"]
    elif hasattr(output, "logits"):
        output = output.logits
    elif isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, Tensor):
        raise TypeError(f"the model returns {type(output).__name__}, in which no scores of classes were found.")
    return output
