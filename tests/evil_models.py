"""Files of nets and weights that leave a `trace` if anything of them runs: a folder, or a file of zeros."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

SIDE = 8


def harmless() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)).eval()


class Evil:
    """Unpickled, it makes a folder."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.trace),)


def export_program(path: Path) -> Path:
    """An honest program of any batch."""
    shapes = ({0: torch.export.Dim("rows")},)
    torch.export.save(torch.export.export(harmless(), (torch.rand(2, 3, SIDE, SIDE),), dynamic_shapes=shapes), path)
    return path


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path: Path, parts: list[tuple[str, bytes]]) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)  # of two members of one name, where they are meant
        for name, content in parts:
            archive.writestr(name, content)
    return path


def evil_expression(path: Path, trace: Path) -> Path:
    """A shape that is an expression in Python, which torch evaluates while it loads."""
    parts = members(export_program(path))
    graph = next(name for name in parts if name.endswith("models/model.json"))
    said = json.dumps(f"__import__('os').mkdir({str(trace)!r})")
    parts[graph] = re.sub(r'("expr_str": ?)"[^"]*"', lambda found: found[1] + said, parts[graph].decode()).encode()
    return write_members(path, list(parts.items()))


def evil_constant(path: Path, trace: Path, name: str = "opaque_obj_x/weight_9") -> Path:
    """A constant that torch unpickles for how its path begins, though its base name is that of bare numbers."""
    parts = members(export_program(path))
    table = next(part for part in parts if part.endswith("_constants_config.json"))
    entry = {"path_name": name, "is_param": False, "use_pickle": True, "tensor_meta": None}
    parts[table] = json.dumps({"config": {"x": entry}}).encode()
    parts[f"{table.rpartition('/')[0]}/{name}"] = pickle.dumps(Evil(trace))
    return write_members(path, list(parts.items()))


class Writer(nn.Module):
    """A net that maps a file into memory and writes zeros into it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: Tensor) -> Tensor:
        mapped = torch.from_file(self.path, True, 4, dtype=torch.float32)
        mapped.fill_(0.0)
        return x.flatten(1)[:, :3] + mapped[0]


def evil_script(path: Path, trace: Path) -> Path:
    """TorchScript whose forward writes into the file `trace`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is on its way out, but its files are there
        torch.jit.script(Writer(str(trace))).save(path)
    return path


def evil_pickle(path: Path, trace: Path) -> Path:
    torch.save({"state_dict": Evil(trace)}, path)
    return path


def evil_old_pickle(path: Path, trace: Path) -> Path:
    """As torch wrote it before its archives."""
    torch.save({"state_dict": Evil(trace)}, path, _use_new_zipfile_serialization=False)
    return path


def evil_tar(path: Path, trace: Path) -> Path:
    """As torch wrote it before that."""
    with tarfile.open(path, "w") as tar:
        for name in ("storages", "tensors", "pickle", "sys_info"):
            content = pickle.dumps(Evil(trace), protocol=2)
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


Maker = Callable[[Path, Path], Path]
PICKLES: dict[str, Maker] = {"evil.pth": evil_pickle, "old.pt": evil_old_pickle, "tar.pt": evil_tar}
PROGRAMS: dict[str, Maker] = {
    "expression.pt2": evil_expression,
    "constant.pt2": evil_constant,
    "script.pth": evil_script,
}
EVIL = {**PICKLES, **PROGRAMS}
