"""Which model a run explains, in a form that travels to workers: each makes or loads its own."""

from __future__ import annotations

import hashlib
import os
import sys
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from samp import models
from samp.isolation.model_state import modules_being_trained
from samp.models import Classifier
from samp.models.loading import is_file


@dataclass(frozen=True, eq=False)
class Model:
    """A name for `samp.models.load` or a classifier, and where it runs; `given` goes to `load` (size, mean, …).

    >>> Model("mobilenet_v2", weights="net.safetensors", device="cuda").device
    'cuda'
    """

    model: str | Classifier
    weights: str | os.PathLike[str] | None = None
    trust: bool = False
    classes: str | os.PathLike[str] | None = None
    device: str | None = None
    """None is the CPU for a name, and where it lies for a classifier."""
    dtype: str | None = None
    """None is float32 for a name, and as it is for a classifier."""
    given: dict[str, Any] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    """Where a factory's module may lie, on the machine that started the run."""

    def load(self, to: str | None = None) -> Classifier:
        """The classifier in evaluation mode, on its device or `to` another; the user's own is not touched."""
        sys.path.extend(place for place in self.modules if place not in sys.path)
        if isinstance(self.model, Classifier):
            if self.device is None and self.dtype is None:
                return replace(self.model, net=deepcopy(self.model.net).eval()) if self.is_training else self.model
            found = replace(self.model, net=deepcopy(self.model.net))
        else:
            found = models.load(self.model, self.weights, trust=self.trust, classes=self.classes, **self.given)
        try:
            found.net.eval().to(to or self.device, getattr(torch, self.dtype or "float32"))
        except (RuntimeError, AssertionError) as error:
            said = str(error).splitlines()[0].split(". ")[0]
            raise ValueError(f"device {self.device!r} cannot be used ({said}): try another `device`.") from error
        return found

    @property
    def is_training(self) -> bool:
        """Whether this is a classifier whose net, in training mode, answers otherwise than in evaluation mode.

        >>> tiny = Classifier(nn.Sequential(nn.Flatten(), nn.Dropout(0.5)), "tiny", 2, 0.5, 0.5, ())
        >>> Model(tiny).is_training, Model("squeezenet1_1").is_training
        (True, False)
        """
        return isinstance(self.model, Classifier) and bool(modules_being_trained(list(self.model.net.modules())))

    def with_absolute_paths(self) -> Model:
        """The same with paths that hold from anywhere."""
        model = self.model
        return replace(
            self,
            model=_absolute(model) if isinstance(model, str) and is_file(model) else model,
            weights=None if self.weights is None else _absolute(self.weights),
            classes=None if self.classes is None else _absolute(self.classes),
            modules=(os.getcwd(), *filter(None, sys.path)),
        )


def as_model(model: str | Classifier | nn.Module | Model) -> Model:
    """What the user calls a model as a `Model`.

    >>> as_model("squeezenet1_1").model
    'squeezenet1_1'
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, nn.Module):
        raise TypeError(
            "a bare net does not say how photos become its input: wrap it in samp.models.Classifier(net, name, size, "
            "mean, std, classes)."
        )
    if not isinstance(model, str | Classifier):
        raise TypeError(f"a model is a name or a samp.models.Classifier, not {type(model).__name__}.")
    return Model(model)


def fingerprint(net: nn.Module) -> str:
    """SHA-256 of the net's weights and buffers, their names, types and shapes.

    >>> fingerprint(nn.Identity())[:8]
    'e3b0c442'
    """
    digest = hashlib.sha256()
    for name, value in sorted(net.state_dict().items()):
        if isinstance(value, Tensor):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).resolve())
