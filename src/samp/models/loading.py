"""A classifier by its name: a net that comes with samp, another package's, the user's own, or a file.

Its preprocessing is what the caller gives, else what its metadata has, else `IMAGENET`; the classifier's `assumed`
lists the fields of the last kind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import nn

from samp.lookup import look_up
from samp.models import hubs, huggingface
from samp.models.classifier import IMAGENET, IMAGENET_GREY, Classifier
from samp.models.files import read_file
from samp.models.loaded_net import LoadedNet, NetAdapter
from samp.models.untrained import Initialisations, warn_of_random
from samp.models.weights import load_weights

HUBS: dict[str, Callable[[str, bool], LoadedNet]] = {
    "torchvision": hubs.load_torchvision,
    "timm": hubs.load_timm,
    "hf": huggingface.load_huggingface,
}
WITH_WEIGHTS = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2", "mnist_slim")
OWN_NETS = (*WITH_WEIGHTS, "mobilenet_v2", "squeezenet1_1", "resnet50", "resnet50_v1", "dinov2_vits14")
IN_TORCHVISION = ("mobilenet_v2", "squeezenet1_1", "resnet50")
FILES = (".pt", ".pth", ".pt2", ".ts", ".jit", ".safetensors")


def load(
    model: str,
    weights: str | os.PathLike[str] | None = None,
    *,
    trust: bool = False,
    classes: str | os.PathLike[str] | None = None,
    **given: Any,
) -> Classifier:
    """Return the classifier of this name, in evaluation mode on the CPU.

    - `model`: "efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2", "mnist_slim"; "mobilenet_v2",
      "squeezenet1_1", "resnet50", "resnet50_v1" (Keras'), "dinov2_vits14" (with a head in its checkpoint) with
      `weights`; "torchvision:NAME", "timm:NAME", "hf:NAME" (these download their weights unless `weights` gives them);
      "package.module:factory", a function that returns an `nn.Module` or a `Classifier`; or a file with a whole net
      (TorchScript, torch.export, a pickled net).
    - `weights`: a safetensors file or a checkpoint of torch.
    - `trust`: open files that are code too: those with a whole net, and checkpoints of more than tensors. Such a file
      can run any code. Safetensors and state dicts are data and need no trust.
    - `classes`: a file with one class name a line.
    - `given`: `size`, `mean`, `std`, `channels` in place of those in the metadata.

    Raises ValueError for an unknown name or for files and settings that do not fit, FileNotFoundError for a missing
    file, ImportError for a package that is not installed, TypeError for a factory that returns something else, and
    `HubError` (an OSError) if a download fails. Warns if a factory's net seems untrained.

    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    ...     torch.export.save(torch.export.export(net, (torch.rand(1, 3, 4, 4),)), f"{folder}/net.pt2")
    ...     classifier = load(f"{folder}/net.pt2", trust=True, mean=0.5, std=0.5)
    >>> classifier.name, classifier.size, classifier.assumed
    ('net.pt2', (4, 4), ('channels',))
    """
    loaded = _load_net(model, weights, trust)
    overrides = {name: _unwrap_single(value) for name, value in given.items() if value is not None}
    if classes is not None:
        overrides["classes"] = _read_class_names(classes)
    if isinstance(loaded, Classifier):
        return replace(loaded, **overrides)
    known = {**loaded.settings, **overrides}
    if "size" in overrides:  # what the package resizes to is for its own size
        known.pop("resizing", None)
    usual = IMAGENET_GREY if known.get("channels") == "grey" else IMAGENET
    settings = {**usual, **known}
    assumed = tuple(name for name in usual if name not in known)
    return Classifier(loaded.net, loaded.name, **{"classes": loaded.classes, **settings}, assumed=assumed)


def _load_net(model: str, weights: str | os.PathLike[str] | None, trust: bool) -> LoadedNet | Classifier:
    """Return the net of this name with its weights; raises are those of `load`."""
    prefix, colon, name = model.partition(":")
    if prefix.endswith(".py"):
        raise _source_file_error(prefix, name)
    if is_file(model) or (Path(model).suffix in FILES and not colon):
        if weights is not None:
            raise ValueError(f"{model} holds its own weights: leave out `weights`.")
        return read_file(Path(model), trust)
    if prefix in HUBS and colon:
        return _apply_weights(HUBS[prefix](name, weights is None), weights, trust)
    if colon:
        return _load_from_factory(prefix, name, weights, trust)
    return _load_own(model, weights, trust)


def is_file(model: str) -> bool:
    """Return whether `model` is the path of a file; the name of a net that comes with samp is never taken for a path.

    >>> is_file("mnist_slim"), is_file(__file__)
    (False, True)
    """
    return model not in OWN_NETS and Path(model).is_file()


def _apply_weights(
    loaded: LoadedNet | Classifier, weights: str | os.PathLike[str] | None, trust: bool
) -> LoadedNet | Classifier:
    """Return the same, with these weights in its net if there are any; raise as `load_weights`."""
    if weights is not None:
        load_weights(_unwrap_net(loaded), weights, trust)
    return loaded


def _unwrap_net(loaded: LoadedNet | Classifier) -> nn.Module:
    return loaded.net.net if isinstance(loaded.net, NetAdapter) else loaded.net


def _load_own(name: str, weights: str | os.PathLike[str] | None, trust: bool) -> Classifier:
    """Return one of the nets that come with samp; raise ValueError for another name, or if it needs weights."""
    from samp import models

    make: Callable[..., Classifier] = look_up(name, {name: getattr(models, name) for name in OWN_NETS}, "model")
    if name in WITH_WEIGHTS:
        classifier = make()
        _apply_weights(classifier, weights, trust)
        return classifier
    if weights is None:
        other = f", or use torchvision:{name}" if name in IN_TORCHVISION else ""
        raise ValueError(f"{name} comes without weights: give a checkpoint as `weights`{other}.")
    classifier = make(weights, trust=trust)
    if getattr(classifier.net, "head", classifier.net) is None:
        raise ValueError(
            f"{weights} holds no head.weight and head.bias, and features are no classes: save a trained linear head in "
            f"it, or pass the head to samp.models.{name}."
        )
    return classifier


def _load_from_factory(
    module: str, factory: str, weights: str | os.PathLike[str] | None, trust: bool
) -> LoadedNet | Classifier:
    """Return what the user's own function returns, with these weights; without any, warn if it seems untrained."""
    with Initialisations() as initialisations:
        loaded = _call_factory(module, factory)
    net = _unwrap_net(loaded)
    if weights is None:
        warn_of_random(initialisations.find_random(net), net, f"{module}:{factory}")
    return _apply_weights(loaded, weights, trust)


def _call_factory(module: str, factory: str) -> LoadedNet | Classifier:
    """Return what the user's own function returns; its module may be in the current folder.

    Raises ValueError if there is no such module or function, ImportError if it needs a module that is not installed,
    TypeError if it returns neither a module nor a classifier.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        made = getattr(import_module(module), factory)()
    except ModuleNotFoundError as error:
        raise _missing_module_error(module, factory, error) from error
    except AttributeError as error:
        raise ValueError(f"{module}:{factory} could not be made ({error}).") from error
    if isinstance(made, Classifier):
        return made
    if not isinstance(made, nn.Module):
        raise TypeError(f"{module}:{factory} returned {type(made).__name__}, not an nn.Module or a samp Classifier.")
    return LoadedNet(NetAdapter(made.eval()), f"{module}:{factory}")


def _source_file_error(path: str, name: str) -> ValueError:
    """Return the error for Python source, which is imported by its module's name, so that its own imports work."""
    module = ".".join(Path(path).with_suffix("").parts).strip("./") or "mynet"
    return ValueError(
        f"{path} is Python source: name its module and what in it makes the net, as {module}:{name or 'Net'} (a class "
        "or a function without arguments), from the folder that the module lies in."
    )


def _missing_module_error(module: str, factory: str, error: ModuleNotFoundError) -> Exception:
    """Return the error for a module (or package around it) that does not exist, or that imports a missing one."""
    if error.name is not None and f"{module}.".startswith(f"{error.name}."):
        return ValueError(
            f"there is no module {error.name!r} for the model {module}:{factory}: write package.module:factory, "
            "torchvision:NAME, timm:NAME or hf:NAME."
        )
    return ImportError(f"{module}:{factory} needs the module {error.name!r}, which is not installed: install it.")


def _unwrap_single(value: Any) -> Any:
    """Return the entry of a sequence of one, and any other value unchanged."""
    return value[0] if isinstance(value, tuple | list) and len(value) == 1 else value


def _read_class_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the lines of a text file; raise ValueError if it cannot be read."""
    try:
        return tuple(Path(path).read_text(encoding="utf-8-sig").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as class names: give a text file with one name a line.") from error
