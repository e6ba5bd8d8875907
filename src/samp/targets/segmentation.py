"""A class over a region: the target of segmentation nets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets._outputs import find_tensor
from samp.targets.objectives import TargetByName, TargetFromPrediction, check_batched
from samp.targets.per_sample import check_choice, check_count, largest, one_per_sample, read_integers, wrap_tensor


@dataclass(frozen=True)
class Segmentation:
    """A target: the score of class `of` over the pixels of a mask: their mean, or their sum (output b classes h w).

    `of` is one class for all samples or a list with one for each. `mask` is h w for all samples or b h w, at the
    output's resolution: true where pixels count, or their weights. None takes the pixels that the model gives this
    class in the sample itself, and keeps to them along the walk; where the output has one channel, those above 0. The
    output may also be a dict with "out" (torchvision) or "logits" (Hugging Face).

    Raises ValueError for a mask without pixels or of another shape, and if a sample has no pixel of its class.

    >>> import samp
    >>> net, x = torch.nn.Conv2d(1, 2, 1).eval(), torch.rand(3, 1, 4, 4)
    >>> mask = torch.zeros(4, 4, dtype=torch.bool)
    >>> mask[:2] = True
    >>> result = samp.explain(net, x, target=Segmentation(1, mask), method="ig")
    >>> change = (net(x) - net(0 * x))[:, 1, :2].mean((1, 2))
    >>> bool((result.map[:, 2:] == 0).all()), torch.allclose(result.map.sum((1, 2)), change, atol=1e-6)
    (True, True)
    """

    of: int | Sequence[int] | Tensor
    mask: Any = None
    reduce: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", read_integers("the class of a segmentation", self.of))
        check_choice("reduce", self.reduce, ("mean", "sum"))
        if self.mask is not None:
            object.__setattr__(self, "mask", wrap_tensor("the mask of a segmentation", self.mask))
            self._check_mask(self.mask.tensor)

    def resolve(self, batch: int, device: torch.device | str) -> TargetByName | TargetFromPrediction:
        """Return the objective; raise ValueError if there are not as many classes or masks as samples."""
        classes = one_per_sample("the class of a segmentation", self.of, batch, device)  # type: ignore[arg-type]  # read above
        if self.mask is None:
            return TargetFromPrediction(self, partial(self._predict, classes), lambda found: self._over(classes, found))
        mask = self.mask.tensor
        check_count("the mask of a segmentation", len(mask) if mask.ndim == 3 and len(mask) > 1 else None, batch)
        return self._over(classes, mask.to(device).expand(batch, *mask.shape[-2:]))

    def _over(self, classes: Tensor, mask: Tensor) -> TargetByName:
        empty = mask.flatten(1).sum(1) == 0
        if bool(empty.any()):
            sample = int(empty.nonzero()[0])
            why = "no pixel is given" if self.mask is None else "the mask has no pixel for"
            raise ValueError(
                f"{why} class {int(classes[sample])} in sample {sample}: pass another class, or a mask with pixels."
            )
        return TargetByName(self, partial(self._score, classes, mask))

    def _score(self, classes: Tensor, mask: Tensor, output: Any, samples: Tensor) -> Tensor:
        scores = self._class_maps(classes, output, samples)  # r h w
        if scores.shape[1:] != mask.shape[1:]:
            raise ValueError(
                f"the mask has {_by(mask)} pixels but the model's output {_by(scores)}: resize the mask to the output "
                f"with torch.nn.functional.interpolate(mask[:, None].float(), {tuple(scores.shape[1:])})[:, 0], or let "
                "the model resize its output."
            )
        weights = mask[samples].to(scores.dtype)
        total = (scores * weights).sum((1, 2))
        return total if self.reduce == "sum" else total / weights.sum((1, 2))  # r

    def _predict(self, classes: Tensor, output: Any, samples: Tensor) -> Tensor:
        """Return the pixels of each sample that are given its class (r h w)."""
        own = self._class_maps(classes, output, samples)
        maps = find_tensor(output, "Segmentation", "b classes h w")
        return own > 0 if maps.shape[1] == 1 else maps.argmax(1) == classes[samples, None, None]

    def _class_maps(self, classes: Tensor, output: Any, samples: Tensor) -> Tensor:
        """Return each sample's map of its class (r h w); raise TypeError or ValueError for any other output."""
        maps = find_tensor(output, "Segmentation", "b classes h w")
        if maps.ndim != 4:
            raise ValueError(
                f"Segmentation explains an output of shape b classes h w, but the model gave {tuple(maps.shape)}: pass "
                "a class number for a classifier, or a target function output -> b."
            )
        maps = check_batched(maps, len(samples))
        most = largest(self.of)  # type: ignore[arg-type]  # read above
        if most >= maps.shape[1]:
            raise ValueError(f"class {most} is out of range: the output has classes 0 to {maps.shape[1] - 1}.")
        return maps[torch.arange(len(samples), device=maps.device), classes[samples]]

    @staticmethod
    def _check_mask(mask: Tensor) -> None:
        if mask.ndim not in (2, 3):
            raise ValueError(f"the mask of a segmentation has shape h w or b h w, not {tuple(mask.shape)}.")
        if mask.dtype != torch.bool and bool((mask < 0).any()):
            raise ValueError("the mask of a segmentation holds weights of at least 0, but some are below.")


def _by(maps: Tensor) -> str:
    return f"{maps.shape[1]}×{maps.shape[2]}"
