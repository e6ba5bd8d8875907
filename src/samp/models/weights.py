"""Weights from a file into a net, with a sentence where they do not fit."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

INSIDE = ("state_dict", "model", "model_state_dict")  # where training scripts put the weights in a checkpoint


def with_weights(net: nn.Module, checkpoint: str | os.PathLike[str], trust: bool = False) -> nn.Module:
    """The net in evaluation mode with these weights in float32; counters of batches seen in training may be missing."""
    weights = {name: tensor.float() for name, tensor in read_weights(checkpoint, trust).items()}
    missing, unknown = net.load_state_dict(weights, strict=False) if _fits(net, weights) else (["shapes"], [])
    if unknown or any(not name.endswith("num_batches_tracked") for name in missing):
        raise ValueError(
            f"{checkpoint} does not hold the weights of {type(net).__name__}: give a checkpoint of that net."
        )
    return net.eval()


def read_weights(checkpoint: str | os.PathLike[str], trust: bool = False) -> dict[str, Tensor]:
    """Tensors by name, from a safetensors file or a checkpoint of torch; only with `trust` may its pickle run code.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"state_dict": {"module.bias": torch.ones(1)}}, f"{folder}/checkpoint.pth")
    ...     read_weights(f"{folder}/checkpoint.pth")
    {'bias': tensor([1.])}
    """
    if not Path(checkpoint).is_file():
        raise FileNotFoundError(f"{checkpoint} is not a file: give a checkpoint by --weights.")
    if Path(checkpoint).suffix == ".safetensors":
        try:
            return load_file(checkpoint)
        except SafetensorError as error:
            raise ValueError(f"{checkpoint} is not a whole safetensors file ({error}).") from error
    return _tensors(unpickled(checkpoint, trust), checkpoint)


def unpickled(path: str | os.PathLike[str], trust: bool) -> Any:
    """What torch.save wrote: tensors and plain containers alone, unless the maker of the file is trusted."""
    try:
        return torch.load(path, map_location="cpu", weights_only=not trust)
    except pickle.UnpicklingError as error:
        if trust:
            raise ValueError(f"{path} is not a whole file of torch ({error}): save it again.") from error
        raise ValueError(
            f"{path} is no file of torch, or a pickle of more than weights that may run code of its maker's: "
            "pass --trust if you trust them, or ask for a safetensors file."
        ) from error
    except (RuntimeError, EOFError, AttributeError, ImportError, LookupError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} cannot be read as a file of torch ({said}): save it again.") from error


def _tensors(found: Any, checkpoint: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The weights in a checkpoint, wherever the training script put them and whatever wrapper named them."""
    for key in INSIDE:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    if not isinstance(found, Mapping) or not found or not all(isinstance(t, Tensor) for t in found.values()):
        raise ValueError(f"{checkpoint} does not hold weights by name: save the net's state_dict().")
    return {name.removeprefix("module."): tensor for name, tensor in found.items()}


def _fits(net: nn.Module, weights: Mapping[str, Tensor]) -> bool:
    own = net.state_dict()
    return all(name not in own or own[name].shape == tensor.shape for name, tensor in weights.items())
