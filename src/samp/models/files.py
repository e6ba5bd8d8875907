"""Nets from files: TorchScript, torch.export, and pickled nets. All of them are code, and ask for trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from samp.models.loaded_net import LoadedNet, NetAdapter
from samp.models.trust import file_kind, require_trust
from samp.models.weights import load_pickle


def read_file(path: Path, trust: bool) -> LoadedNet:
    """The net in a file, known by what is inside; without `trust` nothing of it is loaded.

    Raises FileNotFoundError where there is no such file, and ValueError for what is not trusted, is damaged, or holds
    no net.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: give a TorchScript or torch.export file as `model`.")
    kind = file_kind(path)
    if kind == "safetensors":
        raise _no_net_error(path)
    if kind in ("pickle", "unknown"):
        return LoadedNet(NetAdapter(_unpickle_net(path, trust)), path.name)
    require_trust(path, f"a {kind}", trust)
    return (
        LoadedNet(NetAdapter(_load_script(path)), path.name) if kind == "TorchScript program" else _load_program(path)
    )


def _load_script(path: Path) -> nn.Module:
    try:
        net: nn.Module = torch.jit.load(path, map_location="cpu").eval()  # type: ignore[no-untyped-call]  # torch's own
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path} is not a whole TorchScript file ({str(error).splitlines()[0]}).") from error
    return net


def _load_program(path: Path) -> LoadedNet:
    """An exported program: its graph says the shape it takes."""
    try:
        program = torch.export.load(path)
        net, shape = program.module(), _input_shape(program)
    except Exception as error:  # torch raises whatever its readers of JSON, zip and graphs raise
        raise ValueError(f"{path} is not a torch.export file that torch {torch.__version__} reads.") from error
    if shape is None or len(shape) != 4:
        raise ValueError(f"{path} does not take one b c h w input, but {shape or 'several'}: export it for one image.")
    rows, channels, *size = (side if isinstance(side, int) else None for side in shape)
    settings: dict[str, Any] = {}
    if all(size):
        settings["size"] = tuple(size)
    if channels == 1:
        settings |= {"channels": "grey"}
    for module in net.modules():
        module.training = False  # by hand: an exported program refuses eval(), being what it was when exported
    return LoadedNet(NetAdapter(net, rows), path.name, settings)


def _input_shape(program: torch.export.ExportedProgram) -> tuple[Any, ...] | None:
    names = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    return tuple(nodes[0].meta["val"].shape) if len(nodes) == 1 else None


def _unpickle_net(path: Path, trust: bool) -> nn.Module:
    found = load_pickle(path, trust)
    if isinstance(found, nn.Module):
        return found.eval()
    raise _no_net_error(path)


def _no_net_error(path: Path) -> ValueError:
    return ValueError(f"{path} holds weights and no net: name the net by `model` and give this file as `weights`.")
