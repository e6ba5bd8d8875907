"""A result as flat facts: each tensor a short digest with a few numbers of it, all else as JSON holds it."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

# What may differ from run to run or between machines, and is no behaviour.
UNSTABLE = {"versions", "seconds", "batch_size", "device"}
ATTRIBUTION = ("scores", "order", "steps", "score_change", "residual_by_direction", "blind")
FOLDER = re.escape(tempfile.gettempdir()) + r"/\w+"
Fact = Any  # a list for a tensor, else a string, a number, a truth value or None


def facts(result: Any, name: str = "") -> dict[str, Fact]:
    """Return every part of a result by its name, parts of parts as `whole/part`."""
    if isinstance(result, Tensor | np.ndarray):
        return {name or "values": tensor_fact(torch.as_tensor(result))}
    if callable(getattr(result, "save", None)) and hasattr(result, "group_values"):
        return _attribution(result, name)
    if isinstance(result, Mapping):
        return _joined({str(key): part for key, part in result.items()}, name)
    if isinstance(result, list | tuple) and not all(isinstance(one, str | int | None) for one in result):
        return _joined({str(number): part for number, part in enumerate(result)}, name)
    if is_dataclass(result) and not isinstance(result, type) and _holds_data(result):
        return _joined({part.name: getattr(result, part.name) for part in fields(result)}, name)
    return {name or "result": _plain(result)}


def tensor_fact(tensor: Tensor) -> list[Any]:
    """Return the digest, type and shape, sum, largest size, and the first four values of a tensor."""
    plain = tensor.detach().cpu()
    flat = torch.empty(plain.numel(), dtype=plain.dtype).copy_(plain.reshape(-1))  # whatever the strides were
    kind = f"{str(plain.dtype).removeprefix('torch.')} {'×'.join(map(str, plain.shape)) or 'scalar'}"
    content = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    digest = hashlib.sha256(f"{kind}\n".encode() + content).hexdigest()[:16]
    numbers = flat.double()
    finite = numbers[numbers.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return [digest, kind, _short(float(finite.sum())), _short(largest), *(_short(float(n)) for n in numbers[:4])]


def _attribution(result: Any, name: str) -> dict[str, Fact]:
    values = result.values if isinstance(result.values, tuple) else (result.values,)
    parts: dict[str, Any] = {f"values/{number}": value for number, value in enumerate(values)}
    if len(values) > 1 or not torch.equal(result.group_values, values[0].flatten(1)):
        parts["group_values"] = result.group_values
    parts |= {part: dict(getattr(result, part)) for part in ATTRIBUTION}
    parts |= {"gradients": result.gradients, "residual": result.residual, "method": result.method}
    parts |= {} if result.resolution is None else {"resolution": result.resolution}
    parts["details"] = dict(result.details)
    for direction, tapes in result.tapes.items():
        for sample, tape in enumerate(tapes):
            parts[f"tapes/{direction}/{sample}"] = {"steps": tape.steps, "points": tape.points}
    return _joined(parts, name)


def _joined(parts: Mapping[str, Any], name: str) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for key, part in parts.items():
        if key not in UNSTABLE:
            found |= facts(part, f"{name}/{key}" if name else key)
    return found


def _holds_data(result: Any) -> bool:
    """Return whether a dataclass is a result; settings, such as a protocol, are shown by their repr."""
    data = Tensor | np.ndarray | Mapping | float | int | tuple
    return any(isinstance(getattr(result, part.name), data) for part in fields(result)) and not hasattr(result, "auc")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value)  # NaN too
    if value is None or isinstance(value, str | bool | int):
        return _stable(value) if isinstance(value, str) else value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _stable(str(value) if isinstance(value, Path) else repr(value))


def _stable(words: str) -> str:
    """Return a text without addresses in memory, temporary folders, and the modules that names were defined in."""
    for pattern, instead in ((r" at 0x[0-9a-f]+", ""), (FOLDER, "FOLDER"), (r"samp\.[\w.]*\.(?=\w+)", "")):
        words = re.sub(pattern, instead, words)
    return words


def _short(number: float) -> float | str:
    return float(f"{number:.6g}") if np.isfinite(number) else repr(number)
