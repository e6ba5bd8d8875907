"""Nets from files: TorchScript, torch.export, and pickled nets. All of them are code, and need trust."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from samp.models.loaded_net import LoadedNet, NetAdapter
from samp.models.trust import file_kind, require_trust
from samp.models.weights import load_pickle


def read_file(path: Path, trust: bool) -> LoadedNet:
    """Return the net in a file, whose kind is recognised by its content.

    Raises FileNotFoundError if there is no such file, and ValueError without `trust`, in which case nothing is loaded,
    and for a file that is damaged or holds no net.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: give a TorchScript or torch.export file as `model`.")
    kind = file_kind(path)
    if kind == "safetensors":
        raise _no_net_error(path)
    if kind in ("pickle", "unknown"):
        return LoadedNet(NetAdapter(_unpickle_net(path, trust)), path.name)
    require_trust(path, f"a {kind}", trust)
    if kind == "TorchScript program":
        return LoadedNet(NetAdapter(_load_script(path)), path.name)
    return _load_program(path)


def _load_script(path: Path) -> nn.Module:
    """Return the TorchScript module in a file; raise ValueError if it is damaged."""
    try:
        net: nn.Module = torch.jit.load(path, map_location="cpu").eval()  # type: ignore[no-untyped-call]  # torch's own
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path} is not a whole TorchScript file ({str(error).splitlines()[0]}).") from error
    return net


def _load_program(path: Path) -> LoadedNet:
    """Return the exported program in a file, with the input size that its graph has.

    Raises ValueError for a file that this torch does not read, or a program that does not take one b c h w input.
    """
    try:
        program = torch.export.load(path)
        net, shape = program.module(), _input_shape(program)
    except Exception as error:  # torch raises whatever its readers of JSON, zip and graphs raise
        raise ValueError(f"{path} is not a torch.export file that torch {torch.__version__} reads.") from error
    if shape is None or len(shape) != 4:
        raise ValueError(f"{path} does not take one b c h w input, but {shape or 'several'}: export it for one image.")
    rows, channels, *size = (side if isinstance(side, int) else None for side in shape)
    settings: dict[str, object] = {}
    if all(size):
        settings["size"] = tuple(size)
    if channels == 1:
        settings |= {"channels": "grey"}
    for module in net.modules():
        module.training = False  # an exported program refuses eval(), since its mode is fixed by the export
    return LoadedNet(NetAdapter(net, rows), path.name, settings)


def _input_shape(program: torch.export.ExportedProgram) -> tuple[int | torch.SymInt, ...] | None:
    """Return the shape of the program's one input, or None if it has several."""
    names = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    return tuple(nodes[0].meta["val"].shape) if len(nodes) == 1 else None


def _unpickle_net(path: Path, trust: bool) -> nn.Module:
    """Return the pickled module in a file; raise ValueError if it holds something else, and as `load_pickle`."""
    net = load_pickle(path, trust)
    if isinstance(net, nn.Module):
        return net.eval()
    raise _no_net_error(path)


def _no_net_error(path: Path) -> ValueError:
    return ValueError(f"{path} holds weights and no net: name the net by `model` and give this file as `weights`.")
