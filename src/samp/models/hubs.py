"""Nets of other packages, with the preprocessing of their own metadata.

Each package is imported by its loader only. The pure part, from metadata to the fields of a `Classifier`, is a function
of its own beside each loader.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from samp.models.classifier import suggest_names
from samp.models.cropping import ResizeThenCrop
from samp.models.fetching import fetch
from samp.models.loaded_net import LoadedNet

FILE = "give a checkpoint file as `weights`, which downloads nothing"


def load_torchvision(name: str, pretrained: bool) -> LoadedNet:
    """Return a classification net of torchvision with its default weights, downloaded on first use, if `pretrained`.

    Raises ImportError without torchvision, ValueError for an unknown name, HubError if the download fails.
    """
    zoo = import_package("torchvision.models", "torchvision")
    if name not in zoo.list_models(module=zoo):
        raise _unknown_model("torchvision", name, zoo.list_models(module=zoo))
    weights = zoo.get_model_weights(name).DEFAULT
    with fetch(f"torchvision:{name}", FILE, from_hub=False):
        net = zoo.get_model(name, weights=weights if pretrained else None)
    return LoadedNet(
        net.eval(), f"torchvision:{name}", torchvision_settings(weights.transforms()), tuple(weights.meta["categories"])
    )


def torchvision_settings(preset: Any) -> dict[str, Any]:
    """Return the preprocessing of a preset (weights.transforms()): resized to `resize_size`, centre of `crop_size`."""
    (crop, *_), (resized, *other) = preset.crop_size, preset.resize_size
    return {
        "size": crop,
        "mean": tuple(preset.mean),
        "std": tuple(preset.std),
        "channels": "rgb",
        "margin": crop / resized,
        "resample": preset.interpolation.value,
        "resizing": ResizeThenCrop((resized, *other) if other else resized, nearest=True),
    }


def load_timm(name: str, pretrained: bool) -> LoadedNet:
    """Return a net of timm with its pretrained weights, downloaded on first use, if `pretrained`.

    Raises ImportError without timm, ValueError for an unknown name or a net without a head, HubError if the download
    fails.
    """
    package = import_package("timm", "timm")
    if ":" not in name and not package.is_model(name):  # "hf-hub:OWNER/NAME" is not in its own list
        raise _unknown_model("timm", name, package.list_models())
    if ":" not in name and (known := package.get_pretrained_cfg(name)):
        _require_head(name, known.num_classes)  # before its trunk is downloaded for nothing
    with fetch(f"timm:{name}", FILE, from_hub=pretrained or ":" in name):
        net = package.create_model(name, pretrained=pretrained)
    _require_head(name, getattr(net, "num_classes", None))
    config = net.pretrained_cfg
    return LoadedNet(net.eval(), f"timm:{name}", timm_settings(config), tuple(config.get("label_names") or ()))


def _require_head(name: str, classes: int | None) -> None:
    """Raise ValueError for a net of timm that ends in features; `classes` is None where timm does not say."""
    if classes == 0:
        raise ValueError(
            f"timm:{name} has no head, and features are no classes: add a trained one in a function of your own and "
            "give that as `model`, as module:factory."
        )


def timm_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preprocessing of a `pretrained_cfg`: the centre of `crop_pct`, or the whole photo, at `input_size`."""
    channels, height, width = config["input_size"]
    share = config.get("crop_pct") or 0.875
    sides = (math.floor(height / share), math.floor(width / share))
    resizing = None  # of sides that differ, and with a border: the share alone
    if config.get("crop_mode") == "squash" or (height == width and config.get("crop_mode") != "border"):
        resizing = ResizeThenCrop(sides if config.get("crop_mode") == "squash" else sides[0], nearest=True)
    return {
        "size": (height, width),
        "mean": tuple(config["mean"]),
        "std": tuple(config["std"]),
        "channels": "grey" if channels == 1 else "rgb",
        "margin": None if config.get("crop_mode") == "squash" else share,
        "resample": config.get("interpolation") or "bicubic",
        "resizing": resizing,
    }


def import_package(module: str, package: str) -> ModuleType:
    """Return the module; raise ImportError with how to install its package if it cannot be imported."""
    try:
        return import_module(module)
    except (ImportError, RuntimeError) as error:  # torchvision beside a torch it was not built for raises RuntimeError
        reason = str(error).splitlines()[0]
        raise ImportError(
            f"{package} cannot be imported ({reason}): pip install {package}, in a build that fits your torch."
        ) from error


def _unknown_model(package: str, name: str, names: Iterable[str]) -> ValueError:
    return ValueError(
        f"{package} has no model {name!r}: {suggest_names(name, names) or 'its documentation lists them.'}"
    )
