"""Image classifiers of the Hugging Face hub or of a folder, fed as their own image processor would feed them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image
from torch import nn

from samp.models.classifier import Classifier
from samp.models.cropping import ResizeThenCrop
from samp.models.fetching import HubError, fetch, is_folder
from samp.models.hubs import import_package
from samp.models.loaded_net import LoadedNet, NetAdapter

FOLDER = "give a copy from another machine as hf:FOLDER (and a checkpoint file as `weights` if it holds none)"
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
ALIKE = 0.05  # mean difference of inputs, in standard deviations, up to which two ways to resize are the same


def load_huggingface(name: str, pretrained: bool) -> LoadedNet:
    """Return an image classification net of the Hugging Face hub (downloaded on first use) or a local folder.

    Its weights are random unless `pretrained`. Raises ImportError without transformers, HubError if the download fails,
    the name is unknown, the model is no image classifier or brings Python code of its own, and ValueError if weights of
    its head are missing in the checkpoint. Warns if its own image
    processor feeds it otherwise.
    """
    package = import_package("transformers", "transformers")
    nets = package.AutoModelForImageClassification
    folder = is_folder(name)
    with fetch(f"hf:{name}", None if folder else FOLDER, from_hub=not folder):
        config = package.AutoConfig.from_pretrained(name, trust_remote_code=False)
        _check_kind(package, config, name)
        net, missing = _read_net(nets, name) if pretrained else (nets.from_config(config), [])
        stated, processor = _read_processor(package, name)
    if missing:
        raise ValueError(
            f"hf:{name} has no trained head: its checkpoint lacks {list_names(missing)}, which would be random. Give "
            "one that was trained to classify, or a checkpoint of it as `weights`."
        )
    settings = huggingface_settings(stated)
    if "size" not in settings and isinstance(size := getattr(config, "image_size", None), int):
        settings["size"] = size
    if processor is not None:
        _compare_with_processor(processor, settings, name)
    labels = getattr(config, "id2label", None) or {}
    names = tuple(str(labels[index]) for index in sorted(labels, key=int))
    return LoadedNet(NetAdapter(net.eval()), f"hf:{name}", settings, names)


def _check_kind(package: ModuleType, config: Any, name: str) -> None:
    """Raise HubError for a config that the package has no image classifier for."""
    known = getattr(package, "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING", None)
    if known is None or type(config) in known or getattr(config, "auto_map", None):
        return
    kind = (getattr(config, "architectures", None) or [config.model_type])[0]
    raise HubError(
        f"hf:{name} is no image classifier but {kind}: give one for photos; samp.text.explain (on the command line "
        "`text=…`) takes texts."
    )


def _read_net(nets: Any, name: str) -> tuple[nn.Module, list[str]]:
    """Return the net, and the names of weights that its checkpoint lacks: the package leaves those random."""
    net, report = nets.from_pretrained(name, trust_remote_code=False, output_loading_info=True)
    return net, sorted(report["missing_keys"])


def list_names(names: list[str]) -> str:
    """Return the first name, and how many others there are.

    >>> list_names(["head.weight"]), list_names(["head.bias", "head.weight"])
    ('head.weight', 'head.bias and 1 more')
    """
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _read_processor(package: ModuleType, name: str) -> tuple[Mapping[str, Any], Any]:
    """Return the settings of the image processor and itself; of one that cannot be made here, what its file states.

    A folder without such a file has no settings.
    """
    if Path(name).is_dir() and not any((Path(name) / file).is_file() for file in PROCESSORS):
        return {}, None
    try:
        processor = package.AutoImageProcessor.from_pretrained(name, trust_remote_code=False)
        return processor.to_dict(), processor  # with what the file leaves to the defaults of its class
    except (ImportError, AttributeError, RuntimeError, ValueError, TypeError):  # it needs torchvision, or is not known
        stated, _ = package.ImageProcessingMixin.get_image_processor_dict(name)
        return stated, None


def _compare_with_processor(processor: Any, settings: Mapping[str, Any], name: str) -> None:
    """Warn if the processor makes another input of a photo than these settings: some do more than they state."""
    if not {"size", "mean", "std"} <= set(settings):
        return
    rows, columns = np.mgrid[:300, :400]
    checks = (rows // 30 + columns // 30) % 2 * 255
    photo = Image.fromarray(np.stack([rows * 0.8, columns * 0.6, checks], 2).astype("u1"))
    own = Classifier(nn.Identity(), name, classes=(), **settings).prepare(photo).numpy()
    try:
        theirs = np.asarray(processor(images=photo, return_tensors="np")["pixel_values"])
    except Exception:  # it may want more than a photo
        theirs = np.empty(0)
    if own.shape != theirs.shape or float(np.abs(own - theirs).mean()) > ALIKE:
        warnings.warn(
            f"hf:{name} has an image processor that does more than its settings say, so samp may feed the net "
            "otherwise: check its answer, or give a function that returns a samp Classifier as module:factory.",
            stacklevel=2,
        )


def huggingface_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preprocessing of a preprocessor_config.json: resized, perhaps cropped, scaled and normalised."""
    settings: dict[str, Any] = {"channels": "bgr" if config.get("do_flip_channel_order") else "rgb"}
    settings |= _crop_settings(config)
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


def _crop_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return size, margin and resizing as the package's image processors do it; nothing if no size is stated."""
    resized, cropped = _sides(config.get("size")), _sides(config.get("crop_size"))
    by_edge = isinstance(config.get("size"), Mapping) and "shortest_edge" in config["size"]
    if config.get("do_center_crop") and cropped:
        sides: int | tuple[int, int] = resized or cropped
        if by_edge and resized:
            # LeViT's resizes to a little more than it states
            levit = "Levit" in str(config.get("image_processor_type", config.get("feature_extractor_type")))
            sides = int(256 / 224 * resized[0]) if levit else resized[0]
        margin = min(cropped) / (sides if isinstance(sides, int) else min(sides))
        return {"size": cropped, "margin": margin, "resizing": ResizeThenCrop(sides)}
    if resized is None:
        return {}
    if not by_edge:
        return {"size": resized, "margin": None, "resizing": ResizeThenCrop(resized)}
    share = config.get("crop_pct")
    if share and resized[0] >= 384:  # ConvNeXt's rule: from 384 pixels on the whole photo is squeezed
        return {"size": resized, "margin": None, "resizing": ResizeThenCrop(resized)}
    return {"size": resized, "margin": share or 1.0, "resizing": ResizeThenCrop(int(resized[0] / (share or 1.0)))}


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
