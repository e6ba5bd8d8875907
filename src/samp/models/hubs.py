"""Nets of other packages, with the preprocessing of their own metadata.

Each package is imported by its loader only. The pure part, from metadata to the fields of a `Classifier`, is a function
of its own beside each loader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from PIL import Image

from samp.models.classifier import suggest_names
from samp.models.fetching import fetch
from samp.models.loaded_net import LoadedNet, NetAdapter

FILE = "give a checkpoint file as `weights`, which downloads nothing"
FOLDER = "give a copy from another machine as hf:FOLDER (and a checkpoint file as `weights` if it holds none)"


def load_torchvision(name: str, pretrained: bool) -> LoadedNet:
    """Return a classification net of torchvision with its default weights, downloaded on first use, if `pretrained`.

    Raises ImportError without torchvision, ValueError for an unknown name, HubError if the download fails.
    """
    zoo = _import_package("torchvision.models", "torchvision")
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
    (crop, *_), (resized, *_) = preset.crop_size, preset.resize_size
    return {
        "size": crop,
        "mean": tuple(preset.mean),
        "std": tuple(preset.std),
        "channels": "rgb",
        "margin": crop / resized,
        "resample": preset.interpolation.value,
    }


def load_timm(name: str, pretrained: bool) -> LoadedNet:
    """Return a net of timm with its pretrained weights, downloaded on first use, if `pretrained`.

    Raises ImportError without timm, ValueError for an unknown name, HubError if the download fails.
    """
    package = _import_package("timm", "timm")
    if ":" not in name and not package.is_model(name):  # "hf-hub:OWNER/NAME" is not in its own list
        raise _unknown_model("timm", name, package.list_models())
    with fetch(f"timm:{name}", FILE, from_hub=pretrained or ":" in name):
        net = package.create_model(name, pretrained=pretrained)
    config = net.pretrained_cfg
    return LoadedNet(net.eval(), f"timm:{name}", timm_settings(config), tuple(config.get("label_names") or ()))


def timm_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preprocessing of a `pretrained_cfg`: the centre of `crop_pct`, or the whole photo, at `input_size`."""
    channels, height, width = config["input_size"]
    return {
        "size": (height, width),
        "mean": tuple(config["mean"]),
        "std": tuple(config["std"]),
        "channels": "grey" if channels == 1 else "rgb",
        "margin": None if config.get("crop_mode") == "squash" else config.get("crop_pct") or 0.875,
        "resample": config.get("interpolation") or "bicubic",
    }


def load_huggingface(name: str, pretrained: bool) -> LoadedNet:
    """Return an image classification net of the Hugging Face hub (downloaded on first use) or a local folder.

    Its weights are random unless `pretrained`. Raises ImportError without transformers, HubError if the download fails,
    the name is unknown or the model brings Python code of its own.
    """
    package = _import_package("transformers", "transformers")
    nets = package.AutoModelForImageClassification
    with fetch(f"hf:{name}", FOLDER, from_hub=not Path(name).is_dir()):
        config = package.AutoConfig.from_pretrained(name, trust_remote_code=False)
        net = nets.from_pretrained(name, trust_remote_code=False) if pretrained else nets.from_config(config)
        settings, _ = package.ImageProcessingMixin.get_image_processor_dict(name)
    labels = getattr(config, "id2label", None) or {}
    names = tuple(str(labels[index]) for index in sorted(labels, key=int))
    return LoadedNet(NetAdapter(net.eval()), f"hf:{name}", huggingface_settings(settings), names)


def huggingface_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preprocessing of a preprocessor_config.json: resized, perhaps cropped, scaled and normalised."""
    settings: dict[str, Any] = {"channels": "bgr" if config.get("do_flip_channel_order") else "rgb"}
    size, margin = _huggingface_crop(config)
    if size:
        settings |= {"size": size, "margin": margin}
    if config.get("do_normalize", True) and "image_mean" in config and "image_std" in config:
        settings |= {"mean": tuple(config["image_mean"]), "std": tuple(config["image_std"])}
    elif config.get("do_normalize") is False:
        settings |= {"mean": 0.0, "std": 1.0}
    # a Classifier normalises pixels in [0, 1], the package those times 255 × factor
    largest = 255 * config.get("rescale_factor", 1 / 255) if config.get("do_rescale", True) else 255
    settings |= {name: _divide_by(settings[name], largest) for name in ("mean", "std") if name in settings}
    if isinstance(config.get("resample"), int):
        settings["resample"] = Image.Resampling(config["resample"]).name.lower()
    return settings


def _huggingface_crop(config: Mapping[str, Any]) -> tuple[tuple[int, int] | None, float | None]:
    """Return height and width of the input, and the share of the shorter side in it (None: the photo squeezed)."""
    resized, cropped = _sides(config.get("size")), _sides(config.get("crop_size"))
    if config.get("do_center_crop") and cropped:
        return cropped, min(cropped) / min(resized or cropped)
    if not isinstance(config.get("size"), Mapping) or "shortest_edge" not in config["size"]:
        return resized, None
    if resized and config.get("crop_pct"):  # ConvNeXt's rule: from 384 pixels on the whole photo is squeezed
        return resized, None if resized[0] >= 384 else config["crop_pct"]
    return resized, 1.0


def _sides(size: object) -> tuple[int, int] | None:
    """Return height and width of a size in any of the forms of a preprocessor_config.json; None if it has neither."""
    if isinstance(size, int):
        return size, size
    if isinstance(size, Mapping):
        edge = size.get("shortest_edge")
        height, width = size.get("height", edge), size.get("width", edge)
        return (height, width) if height and width else None
    return None


def _divide_by(value: float | tuple[float, ...], largest: float) -> float | tuple[float, ...]:
    return tuple(v / largest for v in value) if isinstance(value, tuple) else value / largest


def _import_package(module: str, package: str) -> ModuleType:
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
