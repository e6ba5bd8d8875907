"""A model cut off at one of its layers: its output is what enters or leaves that layer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from samp.engine.problem import Problem
from samp.lookup import look_up
from samp.model_output import extract_scores
from samp.targets import Model


def problem_at_layer(problem: Problem, layer: str | nn.Module | None) -> tuple[Problem, str]:
    """Return the problem with its model cut off at a layer, and the name of that layer for people.

    `layer` is a module of the model or its name, whose output is taken; the model itself, or "", means its output.
    `None` takes what enters the last linear layer, if the model is a module that ends in one, else the model's output.
    Raises ValueError for a layer that is not in the model. A layer that the model does not call raises at the first
    forward pass.

    >>> from samp.engine.problem import make_problem
    >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).eval()
    >>> inner, name = problem_at_layer(make_problem(net, torch.rand(4, 3)), None)
    >>> name, inner.output(inner.x, torch.arange(4)).shape
    ("input of '2'", torch.Size([4, 5]))
    """
    model = problem.model
    if layer is None:
        last = find_last_linear(problem)
        if last is None:
            return problem, "output"
        return _with_layer_model(problem, *last, "input"), f"input of {last[0]!r}"
    if layer is model or layer == "":
        return problem, "output"
    name, module = _find_module(model, layer)
    return _with_layer_model(problem, name, module, "output"), name


def find_last_linear(problem: Problem) -> tuple[str, nn.Linear] | None:
    """Return the linear layer that a forward pass calls last and its name, or None if the model does not end in it.

    The model ends in it if its output has the layer's shape: a soft-max may follow, but no pooling.
    """
    if not isinstance(problem.model, nn.Module):
        return None
    called: list[tuple[str, nn.Linear, torch.Size]] = []
    thread = threading.get_ident()

    def make_hook(name: str, module: nn.Linear) -> Callable[..., None]:
        def hook(_: nn.Module, inputs: object, output: object) -> None:
            if threading.get_ident() == thread and isinstance(output, Tensor):
                called.append((name, module, output.shape))

        return hook

    first = torch.zeros(1, dtype=torch.long, device=problem.x.device)
    with ExitStack() as hooks, torch.no_grad():
        for name, module in problem.model.named_modules():
            if isinstance(module, nn.Linear):
                hooks.callback(module.register_forward_hook(make_hook(name, module)).remove)
        output = extract_scores(problem.output(problem.x[:1], first))
    if not called or called[-1][2] != output.shape:
        return None
    return called[-1][:2]


def _find_module(model: Model, layer: str | nn.Module) -> tuple[str, nn.Module]:
    """Return the name and module of a layer; raise ValueError if the model has none such."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"layer needs a model that is an nn.Module, not {type(model).__name__}: leave it out.")
    named = dict(model.named_modules())
    if isinstance(layer, str):
        return layer, look_up(layer, named, "layer")
    for name, module in named.items():
        if module is layer:
            return name, module
    raise ValueError(f"layer is a {type(layer).__name__} that is no part of the model: pass one of its modules.")


def _with_layer_model(problem: Problem, name: str, module: nn.Module, side: Literal["input", "output"]) -> Problem:
    # without the fast copy: that is of the whole model, and has other modules
    return replace(problem, model=LayerModel(problem.model, name, module, side), fast=None)


@dataclass(frozen=True, eq=False)
class LayerModel:
    """A model that returns what enters or leaves one of its modules, at the last call of that module.

    The module has a hook during a call only, which ignores other threads that use the model. Raises ValueError if the
    model does not call the module or its value has not one row per sample, and TypeError if it is no tensor.
    """

    model: Model
    name: str
    module: nn.Module
    side: Literal["input", "output"]

    def __call__(self, *args: Tensor) -> Tensor:
        kept: list[object] = []
        thread = threading.get_ident()

        def keep(value: object) -> None:
            if threading.get_ident() == thread:
                # a copy: a later operation may work in place
                kept[:] = [value.clone() if isinstance(value, Tensor) else value]

        if self.side == "input":
            handle = self.module.register_forward_pre_hook(lambda module, inputs: keep(inputs[0] if inputs else None))
        else:
            handle = self.module.register_forward_hook(lambda module, inputs, output: keep(output))
        try:
            self.model(*args)
        finally:
            handle.remove()
        return self._check_output(kept, len(args[0]))

    def _check_output(self, kept: list[object], rows: int) -> Tensor:
        if not kept:
            raise ValueError(f"the model does not call its layer {self.name!r}: pass another layer.")
        (value,) = kept
        if not isinstance(value, Tensor):
            raise TypeError(f"layer {self.name!r} gives {type(value).__name__} and not a tensor: pass another layer.")
        if value.ndim == 0 or len(value) != rows:
            raise ValueError(
                f"layer {self.name!r} gives shape {tuple(value.shape)} for {rows} samples: pass a layer whose output "
                "has one entry per sample."
            )
        return value
