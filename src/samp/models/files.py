"""Nets from files: TorchScript, torch.export, and whole pickled nets of makers one trusts."""

from __future__ import annotations

import io
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from torch import nn

from samp.models.found import Adapted, Found
from samp.models.weights import unpickled

PLAIN = ("archive_format", "archive_version", "version", "byteorder", "serialization_id")  # read as text
FORCED = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"  # torch's own switch


def read_file(path: Path, trust: bool) -> Found:
    """The net in a file, known by what is inside; a pickle that may run code is opened with `trust` alone."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: give a TorchScript or torch.export file by --model.")
    inside = _members(path)
    if any("/code/" in name for name in inside):
        return Found(Adapted(_script(path)), path.name)
    if any(name.endswith((".json", "archive_format")) for name in inside):
        return _exported(path, trust)
    return Found(Adapted(_pickled(path, trust)), path.name)


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except zipfile.BadZipFile:
        return []


def _script(path: Path) -> nn.Module:
    try:
        net: nn.Module = torch.jit.load(path, map_location="cpu").eval()  # type: ignore[no-untyped-call]  # torch's own
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path} is not a whole TorchScript file ({str(error).splitlines()[0]}).") from error
    return net


def _exported(path: Path, trust: bool) -> Found:
    """An exported program: its graph says the shape it takes."""
    if not trust:
        _check_pickles(path)
    try:
        with _pickles_of_tensors(not trust):
            program = torch.export.load(path)
    except Exception as error:  # torch raises whatever its readers of JSON, zip and graphs raise
        raise ValueError(f"{path} is not a torch.export file that torch {torch.__version__} reads.") from error
    shape = _input_shape(program)
    if shape is None or len(shape) != 4:
        raise ValueError(f"{path} does not take one b c h w input, but {shape or 'several'}: export it for one image.")
    rows, channels, *size = (side if isinstance(side, int) else None for side in shape)
    settings: dict[str, Any] = {}
    if all(size):
        settings["size"] = tuple(size)
    if channels == 1:
        settings |= {"channels": "grey"}
    net = program.module()
    for module in net.modules():
        module.training = False  # by hand: an exported program refuses eval(), being what it was when exported
    return Found(Adapted(net, rows), path.name, settings)


def _input_shape(program: torch.export.ExportedProgram) -> tuple[Any, ...] | None:
    names = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    return tuple(nodes[0].meta["val"].shape) if len(nodes) == 1 else None


@contextmanager
def _pickles_of_tensors(only: bool) -> Iterator[None]:
    """While inside, torch.load refuses whatever may run code, even where its caller asks for it."""
    before = os.environ.get(FORCED)
    if only:
        os.environ[FORCED] = "1"
    try:
        yield
    finally:
        if only:
            os.environ.pop(FORCED)
            if before is not None:
                os.environ[FORCED] = before


def _check_pickles(path: Path) -> None:
    """A sentence if the archive holds a pickle of more than tensors: torch.export.load would run it."""
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
        if len(set(members)) < len(members):  # torch may read another of them than the one that is checked here
            raise ValueError(f"{path} holds two members of the same name: pass --trust if you trust its maker.")
        raw, pickles = _payloads(archive)
        for name in members:
            place = PurePosixPath(name)
            if place.name in raw or name.endswith("/"):
                continue
            if place.name not in pickles and (place.suffix == ".json" or place.name in PLAIN):
                continue  # no table names it, so torch reads it as text; a pickle may go by any name at all
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of the protocol of a pickle that is about to be refused
                    torch.load(io.BytesIO(archive.read(name)), weights_only=True)
            except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
                raise ValueError(
                    f"{path} holds a pickle ({place.name}) that may run code of its maker's: "
                    "pass --trust if you trust them."
                ) from error


def _payloads(archive: zipfile.ZipFile) -> tuple[set[str], set[str]]:
    """Names that the archive's own tables say are bare numbers and never pickles, and all others in the tables."""
    bare, pickles = set[str](), set[str]()
    for name in archive.namelist():
        if name.endswith("_config.json"):
            for entry in json.loads(archive.read(name)).get("config", {}).values():
                (pickles if entry.get("use_pickle") else bare).add(PurePosixPath(entry.get("path_name", "")).name)
    raw = {name for name in bare - pickles if name.startswith(("weight_", "tensor_"))}
    return raw, (bare | pickles) - raw


def _pickled(path: Path, trust: bool) -> nn.Module:
    found = unpickled(path, trust)
    if isinstance(found, nn.Module):
        return found.eval()
    raise ValueError(f"{path} holds weights and no net: name the net by --model and give this file by --weights.")
