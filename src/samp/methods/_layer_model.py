"""What a net makes of its input on the way: the activations that enter or leave one of its layers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from samp.engine.problem import Problem
from samp.lookup import look_up


def problem_at_layer(problem: Problem, layer: str | nn.Module | None) -> tuple[Problem, str]:
    """The same samples, the model's output replaced by what it makes of them at a layer, and that layer in words.

    `layer` is a module of the model or its name, whose output is taken; the model itself, or "", means its output.
    `None` takes what enters the last linear layer, if the model is a module that ends in one, else its output. Raises
    ValueError for a layer that the model has not, or does not call.

    >>> from samp.engine.problem import make_problem
    >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).eval()
    >>> inner, words = problem_at_layer(make_problem(net, torch.rand(4, 3)), None)
    >>> words, inner.output(inner.x, torch.arange(4)).shape
    ("input of '2'", torch.Size([4, 5]))
    """
    model = problem.model
    if layer is None:
        last = last_linear(problem)
        return (
            (problem, "output")
            if last is None
            else (_with_layer_model(problem, *last, "input"), f"input of {last[0]!r}")
        )
    if layer is model or layer == "":
        return problem, "output"
    name, module = _find_module(model, layer)
    return _with_layer_model(problem, name, module, "output"), name


def last_linear(problem: Problem) -> tuple[str, nn.Linear] | None:
    """The linear layer that a forward pass calls last, and its name, if its output has the shape of the model's.

    So a soft-max may follow it, but no pooling, and nothing that goes on to another layer.
    """
    if not isinstance(problem.model, nn.Module):
        return None
    called: list[tuple[str, nn.Linear, torch.Size]] = []
    thread = threading.get_ident()

    def listener(name: str, module: nn.Linear) -> Callable[..., None]:
        def hook(_: nn.Module, inputs: Any, output: Any) -> None:
            if threading.get_ident() == thread and isinstance(output, Tensor):
                called.append((name, module, output.shape))

        return hook

    first = torch.zeros(1, dtype=torch.long, device=problem.x.device)
    with ExitStack() as hooks, torch.no_grad():
        for name, module in problem.model.named_modules():
            if isinstance(module, nn.Linear):
                hooks.callback(module.register_forward_hook(listener(name, module)).remove)
        output = problem.output(problem.x[:1], first)
    if not called or not isinstance(output, Tensor) or called[-1][2] != output.shape:
        return None
    return called[-1][:2]


def _find_module(model: Any, layer: str | nn.Module) -> tuple[str, nn.Module]:
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
    """A model that returns what enters or leaves one of its modules, at its last call.

    Others may use the model in other threads: what they do is not heard, and the module is left without hooks.
    """

    model: Callable[..., Any]
    name: str
    module: nn.Module
    side: Literal["input", "output"]

    def __call__(self, *args: Any) -> Tensor:
        kept: list[Any] = []
        thread = threading.get_ident()

        def keep(value: Any) -> None:
            if threading.get_ident() == thread:
                # a copy: what follows may work in place
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

    def _check_output(self, kept: list[Any], rows: int) -> Tensor:
        if not kept:
            raise ValueError(f"the model does not call its layer {self.name!r}: pass another layer.")
        if not isinstance(kept[0], Tensor):
            raise TypeError(f"layer {self.name!r} gives {type(kept[0]).__name__} and not a tensor: pass another layer.")
        if kept[0].ndim == 0 or len(kept[0]) != rows:
            raise ValueError(
                f"layer {self.name!r} gives shape {tuple(kept[0].shape)} for {rows} samples: pass a layer whose output "
                "has one entry per sample."
            )
        return kept[0]
