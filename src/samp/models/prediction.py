"""The prediction for one photo: read it, run the model on it, and choose the classes to explain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from samp import images
from samp.devices import is_out_of_memory
from samp.models import Classifier
from samp.targets import Margin


class SameClassError(ValueError):
    """The class to explain is also the one that it is to be told from."""


@dataclass(frozen=True, eq=False)
class ClassifiedPhoto:
    """A photo with a model's prediction for it: all that a command needs to explain it."""

    path: Path
    photo: Image.Image
    """As it was read: upright RGB, not cropped."""
    classifier: Classifier
    """With the names of its classes known, where there are any."""
    x: Tensor
    """The net's input, 1 c h w, on the net's device and in its dtype."""
    scores: Tensor
    """The net's output for it: one score (logit) for each class, float64 on the CPU."""
    targets: tuple[int, ...]
    """Classes to explain: the requested one, else the best, best first."""
    against: int | None = None
    """The class that these are to be told from; None explains each for itself."""

    @property
    def question(self) -> list[int] | Margin:
        """The target of `samp.explain`: the classes, or their margins over the other."""
        return list(self.targets) if self.against is None else Margin(list(self.targets), self.against)

    @property
    def device(self) -> torch.device:
        return self.x.device

    @property
    def crop(self) -> Image.Image:
        """The part of the photo that the model sees."""
        return self.classifier.crop(self.photo)

    @property
    def crop_box(self) -> tuple[float, float, float, float]:
        """Where that part lies: left, top, right and bottom in pixels of the photo."""
        return self.classifier.crop_box(self.photo.size)


def classify_photo(
    path: Path, classifier: Classifier, target: str | None = None, top: int = 1, against: str | None = None
) -> ClassifiedPhoto:
    """Read the photo, run the model on it once, and choose the classes to explain: `target`, else the `top` best.

    `against` is a class that they are to be told from, by name or number as `target` is.

    Raises FileNotFoundError and UnreadableError as `images.read`, ValueError for an unknown class or a model that
    cannot be run on the photo, SameClassError if a class is to be told from itself, MemoryError if memory runs out.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 3)).eval()
    >>> classifier = Classifier(net, "tiny", 4, 0.5, 0.5, ("cup", "cat", "dog"))
    >>> photo = classify_photo(images.example_photo(), classifier, target="cat")
    >>> photo.targets, photo.x.shape, len(photo.scores)
    ((1,), torch.Size([1, 3, 4, 4]), 3)
    """
    return classify_image(images.read(path), path, classifier, target, top=top, against=against)


def classify_image(
    photo: Image.Image,
    path: Path,
    classifier: Classifier,
    target: str | None = None,
    *,
    top: int = 1,
    against: str | None = None,
) -> ClassifiedPhoto:
    """Return what `classify_photo` does for a photo that was read before; `path` is what it is called.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 3)).eval()
    >>> classify_image(Image.new("RGB", (9, 9)), Path("grey.png"), Classifier(net, "tiny", 4, 0.5, 0.5, ())).x.shape
    torch.Size([1, 3, 4, 4])
    """
    numbers = (p for p in classifier.net.parameters() if p.is_floating_point())
    x = classifier.prepare(photo).to(next(numbers, torch.empty(0)))
    scores = run_classifier(classifier, x)
    classifier = classifier.with_outputs(len(scores))
    best = scores.topk(min(top, len(scores))).indices.tolist()
    targets = best if target is None else [classifier.index(target, len(scores))]
    other = None if against is None else classifier.index(against, len(scores))
    if other is not None and other in targets:
        what = "the class to explain" if target is not None else f"a class that {classifier.name} sees in {path.name}"
        raise SameClassError(
            f"{classifier.label(other)!r} ({other}) is {what} and cannot be told from itself: "
            f"give another class as `against`{'' if target is not None else ', or a `target`'}."
        )
    return ClassifiedPhoto(path, photo, classifier, x, scores, tuple(targets), other)


def run_classifier(classifier: Classifier, x: Tensor) -> Tensor:
    """Return the net's scores for one input (n), float64 on the CPU.

    Raises ValueError if the net cannot be run on it or does not return one score per class, MemoryError if memory runs
    out.
    """
    try:
        with torch.no_grad():
            scores = classifier.net(x)
    except (RuntimeError, ValueError, AssertionError, TypeError) as error:
        if is_out_of_memory(error):
            raise MemoryError("memory ran out with one photo: try a smaller `size`, or another `device`.") from error
        height, width = x.shape[2:]
        # TorchScript puts the reason into the last line, after the stack trace; others have it in the first.
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        reason = lines[-1 if "TorchScript" in lines[0] else 0].removeprefix("RuntimeError: ")
        raise ValueError(
            f"{classifier.name} cannot be run on {x.shape[1]} channels of {height}×{width} pixels ({reason}): "
            "set what it takes by `size` and `channels`."
        ) from error
    if not isinstance(scores, Tensor) or scores.ndim != 2 or len(scores) != 1:
        came = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(
            f"{classifier.name} gave {came} for one photo: a classifier gives one score per class, (1, n)."
        )
    return scores[0].cpu().double()


def usable_device(name: str) -> torch.device:
    """Return the device of this name; raise ValueError if torch cannot compute on it.

    >>> usable_device("cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).tolist()  # "meta" has no numbers to compute with
    except (RuntimeError, AssertionError) as error:  # NotImplementedError is one of the former
        reason = str(error).splitlines()[0].split(". ")[0]
        raise ValueError(f"device {name!r} cannot be used ({reason}): try device='cpu'.") from error
    return device
