"""A photo put to a model: reading, feeding, and settling which class to explain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from samp import images
from samp.devices import is_out_of_memory
from samp.models import Classifier


@dataclass(frozen=True, eq=False)
class ClassifiedPhoto:
    """A photo put to a model: all that a command needs to explain it."""

    path: Path
    photo: Image.Image
    """As it was read: upright RGB, not cut."""
    classifier: Classifier
    """With the names of its classes known, where there are any."""
    x: Tensor
    """The net's input, 1 c h w, on the net's device and in its dtype."""
    scores: Tensor
    """The net's output for it: one score (logit) for each class, float64 on the CPU."""
    targets: tuple[int, ...]
    """Classes to explain: the one asked for, else the best, best first."""

    @property
    def device(self) -> torch.device:
        return self.x.device

    @property
    def crop(self) -> Image.Image:
        """What the model is shown of the photo."""
        return self.classifier.crop(self.photo)


def classify_photo(path: Path, classifier: Classifier, target: str | None = None, top: int = 1) -> ClassifiedPhoto:
    """Read the photo, run the model on it once, and settle the classes to explain: `target`, else the `top` best.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 3)).eval()
    >>> classifier = Classifier(net, "tiny", 4, 0.5, 0.5, ("cup", "cat", "dog"))
    >>> photo = classify_photo(images.example_photo(), classifier, target="cat")
    >>> photo.targets, photo.x.shape, len(photo.scores)
    ((1,), torch.Size([1, 3, 4, 4]), 3)
    """
    photo = images.read(path)
    numbers = (p for p in classifier.net.parameters() if p.is_floating_point())
    x = classifier.prepare(photo).to(next(numbers, torch.empty(0)))
    scores = run_classifier(classifier, x)
    classifier = classifier.with_outputs(len(scores))
    best = scores.topk(min(top, len(scores))).indices.tolist()
    targets = best if target is None else [classifier.index(target, len(scores))]
    return ClassifiedPhoto(path, photo, classifier, x, scores, tuple(targets))


def run_classifier(classifier: Classifier, x: Tensor) -> Tensor:
    """The net's scores for one input, or a sentence on why it cannot be fed this."""
    try:
        with torch.no_grad():
            scores = classifier.net(x)
    except (RuntimeError, ValueError, AssertionError, TypeError) as error:
        if is_out_of_memory(error):
            raise MemoryError("memory ran out with one photo: try a smaller `size`, or another `device`.") from error
        height, width = x.shape[2:]
        # A script's error has what happened in its last line, below where; others have it in the first.
        told = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        said = told[-1 if "TorchScript" in told[0] else 0].removeprefix("RuntimeError: ")
        raise ValueError(
            f"{classifier.name} cannot be run on {x.shape[1]} channels of {height}×{width} pixels ({said}): "
            "set what it takes by `size` and `channels`."
        ) from error
    if not isinstance(scores, Tensor) or scores.ndim != 2 or len(scores) != 1:
        came = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(
            f"{classifier.name} gave {came} for one photo: a classifier gives one score per class, (1, n)."
        )
    return scores[0].cpu().double()


def usable_device(name: str) -> torch.device:
    """The device of this name, if torch can reach it.

    >>> usable_device("cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).tolist()  # "meta" has no numbers, so nothing can be computed on it
    except (RuntimeError, AssertionError) as error:  # NotImplementedError is one of the former
        said = str(error).splitlines()[0].split(". ")[0]
        raise ValueError(f"device {name!r} cannot be used ({said}): try device='cpu'.") from error
    return device
