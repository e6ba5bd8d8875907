"""Keras' ResNet-50: files of TensorFlow.js are read, and the converted layers do what Keras' do, by plain formulas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from samp.models.resnet import ResNet50
from samp_lab.datasets.download import SOURCES
from samp_lab.nets.checkpoints import STATED_LAYOUTS, find_checkpoint
from samp_lab.nets.keras_resnet50 import FILE, convert_resnet50, name_layers, read_layers_model, rename_resnet50

NORM = ("gamma", "beta", "moving_mean", "moving_variance")
BLOCKS = {2: 3, 3: 4, 4: 6, 5: 3}


def write_package(folder: Path, tensors: dict[str, Any], shard: int = 50, **entry: object) -> Path:
    """Write a TensorFlow.js folder whose shards are cut at so many bytes, wherever a tensor ends."""
    content = b"".join(np.asarray(tensor, "<f4").tobytes() for tensor in tensors.values())
    paths = [f"group1-shard{number}.bin" for number in range(-(-len(content) // shard))]
    for number, path in enumerate(paths):
        (folder / path).write_bytes(content[number * shard : (number + 1) * shard])
    listed = [
        {"name": name, "shape": list(np.shape(tensor)), "dtype": "float32", **entry} for name, tensor in tensors.items()
    ]
    manifest = {"modelTopology": {}, "weightsManifest": [{"paths": paths, "weights": listed}]}
    (folder / "model.json").write_text(json.dumps(manifest))
    return folder


def random_layers() -> dict[str, Any]:
    """Three of Keras' layers, with fewer channels: the first convolution, its BatchNorm, and the head."""
    draw = np.random.default_rng(0)
    norm = {name: draw.uniform(0.5, 2, 4).astype("f4") for name in NORM}
    norm["moving_variance"][0] = 2e-3  # where the two values of ε matter
    kernel, bias = draw.normal(size=(7, 7, 3, 4)).astype("f4"), draw.normal(size=4).astype("f4")
    head = {"kernel": draw.normal(size=(4, 5)).astype("f4"), "bias": draw.normal(size=5).astype("f4")}
    return {
        **{f"bn_conv1/{name}": tensor for name, tensor in norm.items()},
        "conv1/kernel": kernel,
        "conv1/bias": bias,
        **{f"fc1000/{name}": tensor for name, tensor in head.items()},
    }


def test_tensors_are_read_across_the_ends_of_shards(tmp_path: Path) -> None:
    given = random_layers()
    found = read_layers_model(write_package(tmp_path, given))
    assert list(found) == list(given)
    for name, tensor in given.items():
        np.testing.assert_array_equal(found[name], tensor)


def test_the_converted_layers_do_what_keras_do(tmp_path: Path) -> None:
    given = random_layers()
    convert_resnet50(write_package(tmp_path, given), tmp_path / "models")
    weights = load_file(tmp_path / "models" / FILE)

    photo = np.random.default_rng(1).uniform(0, 255, (7, 7, 3))  # RGB, of the size of the filter
    bgr = photo[:, :, ::-1]
    gamma, beta, mean, variance = (given[f"bn_conv1/{name}"].astype(float) for name in NORM)
    filtered = np.einsum("hwc,hwco->o", bgr, given["conv1/kernel"].astype(float)) + given["conv1/bias"]
    features = gamma * (filtered - mean) / np.sqrt(variance + 0.001) + beta
    logits = features @ given["fc1000/kernel"].astype(float) + given["fc1000/bias"]

    conv, norm, head = nn.Conv2d(3, 4, 7, bias=False), nn.BatchNorm2d(4), nn.Linear(4, 5)
    for layer, name in ((conv, "conv1"), (norm, "bn1"), (head, "fc")):
        own = {key.removeprefix(f"{name}."): w for key, w in weights.items() if key.startswith(f"{name}.")}
        layer.load_state_dict(own, strict=name != "bn1")  # which counts batches as well
    x = torch.from_numpy(photo).permute(2, 0, 1)[None]
    found = head.double()(norm.double().eval()(conv.double()(x)).flatten(1))[0]
    np.testing.assert_allclose(found.detach().numpy(), logits, rtol=1e-4)  # of a variance kept in float32


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda last: last.write_bytes(last.read_bytes()[:-4]), r"shards in .* end before fc1000/bias: download"),
        (lambda last: last.write_bytes(last.read_bytes() + b"more"), r"hold \d+ bytes, not \d+: download them again"),
    ],
)
def test_shards_of_another_length_are_refused(tmp_path: Path, spoil: Any, message: str) -> None:
    write_package(tmp_path, random_layers(), shard=10**6)
    spoil(tmp_path / "group1-shard0.bin")
    with pytest.raises(ValueError, match=message):
        read_layers_model(tmp_path)


@pytest.mark.parametrize("entry", [{"dtype": "int32"}, {"quantization": {"dtype": "uint8"}}])
def test_numbers_of_another_kind_are_refused(tmp_path: Path, entry: dict[str, object]) -> None:
    write_package(tmp_path, random_layers(), **entry)
    with pytest.raises(ValueError, match=r"bn_conv1/gamma in .* is not plain float32"):
        read_layers_model(tmp_path)


def test_a_missing_shard_is_said(tmp_path: Path) -> None:
    write_package(tmp_path, random_layers())
    (tmp_path / "group1-shard3.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"group1-shard3\.bin"):
        read_layers_model(tmp_path)


@pytest.mark.parametrize("name", ["res6a_branch1", "res2a_branch2d", "conv2"])
def test_layers_of_another_net_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is no layer of Keras' ResNet-50"):
        name_layers(name)


def keras_resnet50() -> dict[str, Any]:
    """Zeros of the names and shapes of Keras' ResNet-50, from its structure."""
    shapes: dict[str, tuple[int, ...]] = {"conv1": (7, 7, 3, 64), "fc1000": (2048, 1000)}
    channels = 64
    for stage, blocks in BLOCKS.items():
        width = 64 * 2 ** (stage - 2)
        for block in "abcdef"[:blocks]:
            at = f"res{stage}{block}_branch"
            if block == "a":
                shapes[f"{at}1"] = (1, 1, channels, 4 * width)
            shapes[f"{at}2a"], shapes[f"{at}2b"] = (1, 1, channels, width), (3, 3, width, width)
            shapes[f"{at}2c"], channels = (1, 1, width, 4 * width), 4 * width
    found: dict[str, Any] = {}
    for name, shape in shapes.items():
        found[f"{name}/kernel"], found[f"{name}/bias"] = np.zeros(shape, "f4"), np.zeros(shape[-1], "f4")
        norm = "bn_conv1" if name == "conv1" else name.replace("res", "bn")
        if name != "fc1000":
            found |= {f"{norm}/{kind}": np.zeros(shape[-1], "f4") for kind in NORM}
    return found


def shapes_of(weights: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(w.shape) for name, w in weights.items() if not name.endswith("num_batches_tracked")}


def test_names_and_shapes_are_those_of_the_net() -> None:
    given = keras_resnet50()
    assert len(given) == 320  # as in the package
    assert shapes_of(rename_resnet50(given)) == shapes_of(ResNet50(stride_first=True).state_dict())


def test_names_and_shapes_are_those_of_the_checkpoint_in_the_data_folder(data: Path) -> None:
    assert shapes_of(rename_resnet50(keras_resnet50())) == shapes_of(load_file(find_checkpoint("resnet50", data)))


def test_the_download_is_written_under_a_name_that_states_its_layout() -> None:
    assert SOURCES["resnet50"].proof == FILE
    assert re.fullmatch(STATED_LAYOUTS["resnet50_v1"], FILE)
