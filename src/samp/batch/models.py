"""The model of a run, in a form that can be sent to workers: each of them loads its own."""

from __future__ import annotations

import os
import sys
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from samp import models
from samp.hashing import hash_tensors
from samp.isolation.model_state import modules_being_trained
from samp.models import Classifier
from samp.models.loading import is_file


@dataclass(frozen=True, eq=False)
class Model:
    """A name for `samp.models.load` or a classifier, and its device; `given` are further arguments of `load` (size, …).

    >>> Model("mobilenet_v2", weights="net.safetensors", device="cuda").device
    'cuda'
    """

    model: str | Classifier
    weights: str | os.PathLike[str] | None = None
    trust: bool = False
    classes: str | os.PathLike[str] | None = None
    device: str | None = None
    """None is the CPU for a name, and the present device of a classifier."""
    dtype: str | None = None
    """None is float32 for a name, and the present dtype of a classifier."""
    given: dict[str, Any] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    """Folders that are added to `sys.path` to import a factory's module, as on the machine that started the run."""

    def load(self, to: str | None = None) -> Classifier:
        """Return the classifier in evaluation mode, on `device` or on `to`; a classifier of the caller is not changed.

        Raises ValueError if the device cannot be used.
        """
        sys.path.extend(place for place in self.modules if place not in sys.path)
        if isinstance(self.model, Classifier):
            if self.device is None and self.dtype is None:
                return replace(self.model, net=deepcopy(self.model.net).eval()) if self.is_training else self.model
            classifier = replace(self.model, net=deepcopy(self.model.net))
        else:
            classifier = models.load(self.model, self.weights, trust=self.trust, classes=self.classes, **self.given)
        try:
            classifier.net.eval().to(to or self.device, getattr(torch, self.dtype or "float32"))
        except (RuntimeError, AssertionError) as error:
            why = str(error).splitlines()[0].split(". ")[0]
            raise ValueError(f"device {self.device!r} cannot be used ({why}): try another `device`.") from error
        return classifier

    @property
    def is_training(self) -> bool:
        """Whether this is a classifier with a net in training mode whose outputs depend on that mode.

        >>> tiny = Classifier(nn.Sequential(nn.Flatten(), nn.Dropout(0.5)), "tiny", 2, 0.5, 0.5, ())
        >>> Model(tiny).is_training, Model("squeezenet1_1").is_training
        (True, False)
        """
        return isinstance(self.model, Classifier) and bool(modules_being_trained(list(self.model.net.modules())))

    def with_absolute_paths(self) -> Model:
        """Return the same model with absolute paths, for workers in other folders."""
        model = self.model
        return replace(
            self,
            model=_absolute(model) if isinstance(model, str) and is_file(model) else model,
            weights=None if self.weights is None else _absolute(self.weights),
            classes=None if self.classes is None else _absolute(self.classes),
            modules=(os.getcwd(), *filter(None, sys.path)),
        )


def as_model(model: str | Classifier | nn.Module | Model) -> Model:
    """Return what the caller gave as a `Model`; raises TypeError for a bare net or anything else.

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
    """Return the SHA-256 of a net's parameters and buffers, with their names, dtypes and shapes.

    >>> fingerprint(nn.Identity())[:8]
    'e3b0c442'
    """
    tensors = {name: value for name, value in net.state_dict().items() if isinstance(value, Tensor)}
    return hash_tensors(tensors, header="{name} {dtype} {shape}")


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).resolve())
