"""Weights from a file into a net."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from samp.models.trust import file_kind, require_trust

INSIDE = ("state_dict", "model", "model_state_dict")  # where training scripts put the weights in a checkpoint
MOST_NAMES = 3  # weights that a message names of those that do not fit


def load_weights(net: nn.Module, checkpoint: str | os.PathLike[str], trust: bool = False) -> nn.Module:
    """Return the net in evaluation mode with the weights of a file; `num_batches_tracked` may be missing there.

    Raises ValueError with the first names and shapes that do not fit, and leaves the net unchanged then; also raises as
    `read_weights`.
    """
    copy_weights(net, read_weights(checkpoint, trust), checkpoint)
    return net.eval()


def copy_weights(net: nn.Module, weights: Mapping[str, Tensor], checkpoint: str | os.PathLike[str]) -> None:
    """Copy weights by name, which are those of a file, into a net; raise ValueError if they do not fit."""
    check_fit(net, weights, checkpoint)
    try:
        net.load_state_dict(weights, strict=False)
    except (RuntimeError, NotImplementedError) as error:  # tensors of the right shape without numbers, or sparse
        reason = str(error).splitlines()[-1].strip()
        raise ValueError(f"{checkpoint} cannot be copied into {type(net).__name__} ({reason}).") from error


def check_fit(net: nn.Module, weights: Mapping[str, Tensor], checkpoint: str | os.PathLike[str]) -> None:
    """Raise ValueError with the first differences unless the weights have the names and shapes of the net's.

    >>> check_fit(nn.Linear(2, 1), {"weight": torch.ones(1, 3), "bias": torch.ones(1)}, "net.pth")
    Traceback (most recent call last):
    ...
    ValueError: net.pth does not fit Linear: 1 of 2 weights has another shape (weight: the net has (1, 2), the file
    (1, 3)). Give a checkpoint of that very net as `weights`.
    """
    own = net.state_dict()
    missing = [name for name in own if name not in weights and not name.endswith("num_batches_tracked")]
    unknown = [name for name in weights if name not in own]
    shapes = [
        f"{name}: the net has {tuple(own[name].shape)}, the file {tuple(tensor.shape)}"
        for name, tensor in weights.items()
        if name in own and own[name].shape != tensor.shape
    ]
    wrong = [
        f"{len(names)} of {of} {'weights' if of > 1 else 'weight'} {'has' if len(names) == 1 else 'have'} {what} "
        f"({_list_first(names)})"
        for names, of, what in (
            (shapes, len(weights), "another shape"),
            (missing, len(own), "no value in the file"),
            (unknown, len(weights), "no place in the net"),
        )
        if names
    ]
    if wrong:
        raise ValueError(
            f"{checkpoint} does not fit {type(net).__name__}: {'; '.join(wrong)}. "
            "Give a checkpoint of that very net as `weights`."
        )


def read_weights(checkpoint: str | os.PathLike[str], trust: bool = False) -> dict[str, Tensor]:
    """Return tensors by name from a safetensors file or a checkpoint of torch; only with `trust` may a pickle run code.

    Raises FileNotFoundError if there is no such file, and ValueError for one that is damaged, holds no weights, or
    holds more than tensors without `trust`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"state_dict": {"module.bias": torch.ones(1)}}, f"{folder}/checkpoint.pth")
    ...     read_weights(f"{folder}/checkpoint.pth")
    {'bias': tensor([1.])}
    """
    if not Path(checkpoint).is_file():
        raise FileNotFoundError(f"{checkpoint} is not a file: give a checkpoint as `weights`.")
    kind = file_kind(checkpoint)
    if kind == "safetensors":
        try:
            return load_file(checkpoint)
        except SafetensorError as error:
            raise ValueError(f"{checkpoint} is not a whole safetensors file ({error}): get it again.") from error
    if kind not in ("pickle", "unknown"):
        raise ValueError(f"{checkpoint} holds a {kind}, not weights: give it as `model`.")
    return _find_tensors(load_pickle(checkpoint, trust), checkpoint)


def load_pickle(path: str | os.PathLike[str], trust: bool) -> Any:
    """Return what torch.save wrote: only tensors and plain containers, unless the maker of the file is trusted.

    Raises ValueError for a file that holds more than those without trust, or cannot be read. With trust, modules of the
    current folder can be imported too, as by the script that saved its net there.
    """
    if file_kind(path) != "pickle":
        raise ValueError(f"{path} is not a file that torch.save wrote: give one, or a safetensors file.")
    try:
        with _current_folder_on_path(trust):
            return torch.load(path, map_location="cpu", weights_only=not trust)
    except Exception as error:  # torch raises whatever its readers meet, and a trusted pickle whatever it calls
        if trust and isinstance(error, ImportError | AttributeError):
            raise ValueError(
                f"{path} needs the code that it was saved with ({error}): run in the folder of that code, or give the "
                "net as `model` (module:factory) and its state_dict() as `weights`."
            ) from error
        if _names_code(error) and _is_intact(path):
            require_trust(path, "a pickle of more than tensors", trust)
        raise ValueError(f"{path} cannot be read as a file of torch ({_reason(error)}): get it again.") from error


def _reason(error: Exception) -> str:
    """Return the first sentence of an error, without torch's advice to open the file in a mode that runs code."""
    message = str(error).rpartition("WeightsUnpickler error: ")[2].strip() or type(error).__name__
    return message.splitlines()[0].partition(". ")[0]


def _names_code(error: Exception) -> bool:
    """Return whether torch refused a pickle for the code that it names, and not because it is damaged."""
    message = str(error)
    return any(part in message for part in ("GLOBAL", "Unsupported class", "Can only", "reduce", "legacy .tar"))


def _is_intact(path: str | os.PathLike[str]) -> bool:
    """Return whether the pickle in an archive has its checksum; damage can look like the name of a function."""
    if not zipfile.is_zipfile(path):
        return True  # files of the older formats have no checksum
    try:
        with zipfile.ZipFile(path) as archive:
            return all(archive.read(name) for name in archive.namelist() if name.endswith("/data.pkl"))
    except Exception:  # zipfile raises errors of many types for damaged archives
        return False


@contextmanager
def _current_folder_on_path(trust: bool) -> Iterator[None]:
    """Within this context, if trusted, let modules of the current folder be imported, after all others."""
    here = os.getcwd() if trust else None
    if here is None or here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _find_tensors(content: object, checkpoint: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the weights in a checkpoint, under any of the keys `INSIDE` and without the prefix of DataParallel.

    Raises ValueError if there are none.
    """
    for key in INSIDE:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not content or not all(isinstance(t, Tensor) for t in content.values()):
        raise ValueError(f"{checkpoint} does not hold weights by name: save the net's state_dict().")
    return {str(name).removeprefix("module."): tensor for name, tensor in content.items()}


def _list_first(names: list[str]) -> str:
    return "; ".join(names[:MOST_NAMES]) + ("; …" if len(names) > MOST_NAMES else "")
