"""The layer whose b c h w feature map class activation maps weight: the last of a net, or the layer that is named.

Hooks are registered for one forward pass and act in the thread that registered them only, since other threads may run
the same net.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from samp.engine.problem import Problem
from samp.lookup import look_up
from samp.methods._channel_axis import ChannelTracker, Tag
from samp.methods.propagation.hidden_operations import is_compiled, is_script
from samp.targets import Model

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
INSTEAD = "a method that needs no feature map, such as 'consensus', 'samp++' or 'ig'"
ASPECT_TOLERANCE = 1.5  # height over width of a map may differ from the image's by this factor: small maps are rounded


@dataclass(frozen=True, eq=False)
class LayerCall:
    """The `call`-th call of a module in a forward pass, counted from 1: modules may be reused."""

    name: str
    module: nn.Module
    call: int


@dataclass(frozen=True, eq=False)
class ModuleOutput:
    """A 4-D output of more than one position, with the counts of operations before it."""

    place: LayerCall
    shape: tuple[int, ...]
    tag: Tag
    products: int
    on_tokens: int
    convolved: bool


def unwrap_compiled(model: Model) -> Model:
    """Return the module that `torch.compile` was given, and any other model unchanged: hooks would compile it anew.

    >>> net = nn.ReLU()
    >>> unwrap_compiled(torch.compile(net)) is net, unwrap_compiled(net) is net
    (True, True)
    """
    original: Model = getattr(model, "_orig_mod", model) if is_compiled(model) else model
    return original


def find_layer_call(problem: Problem, layer: str | None, method: str) -> LayerCall:
    """Return the call of the named layer, else of the last module whose output is a feature map.

    Runs a forward pass of one sample. Raises ValueError if there is no such map, or if layers on tokens follow the last
    one, as in a transformer, so that it does not show what the net has recognised.
    """
    model = problem.model
    if not isinstance(model, nn.Module):
        raise ValueError(f"{method} looks inside the model, which must be an nn.Module, not {type(model).__name__}.")
    named = dict(model.named_modules())
    layer = None if layer is None else layer.removeprefix("_orig_mod.")  # how a compiled net names its modules
    chosen = named if layer is None else {layer: look_up(layer, named, "layer")}
    if any(map(is_script, chosen.values())):
        raise ValueError(
            f"{method} looks inside the model, but {type(model).__name__} is TorchScript, or holds some, which hides "
            f"its layers: use the nn.Module that it was made from, or {INSTEAD}."
        )
    outputs, tracker = _list_outputs(problem, chosen)
    if layer is not None:
        return _find_named(layer, outputs, problem)
    return _find_last(outputs, tracker, problem, method)


def _find_named(layer: str, outputs: list[ModuleOutput], problem: Problem) -> LayerCall:
    if not outputs:
        raise ValueError(f"layer {layer!r} gives no b k h w feature map: name a convolution or what follows one.")
    fitting = [one for one in outputs if one.tag.channels == 1 or _looks_like_a_map(one, problem)]
    if not fitting:
        shape = " × ".join(map(str, outputs[-1].shape))
        why = "have their channels last" if outputs[-1].tag.channels == 3 else "are no map of the image"
        raise ValueError(
            f"layer {layer!r} gives {shape} numbers, which {why}: "
            f"name a module that gives b×c×h×w maps, or use {INSTEAD}."
        )
    return fitting[-1].place


def _find_last(outputs: list[ModuleOutput], tracker: ChannelTracker, problem: Problem, method: str) -> LayerCall:
    def is_map(one: ModuleOutput) -> bool:
        if one.tag.channels is not None:
            return one.tag.channels == 1
        return one.products == tracker.products and _looks_like_a_map(one, problem)

    maps = [one for one in outputs if one.convolved and one.place.name and is_map(one)]
    net = type(problem.model).__name__
    if not maps:
        raise ValueError(
            f"{method} found no convolution layer with a b k h w feature map in {net}: "
            f"name one by layer=..., or use {INSTEAD}."
        )
    last = maps[-1]
    products, on_tokens = tracker.products - last.products, tracker.on_tokens - last.on_tokens
    # one attention may pool a convolutional net's last map; behind the first convolution none may, nor any token layer
    if products > 2 or (last.tag.depth <= 1 and (products or on_tokens)):
        raise ValueError(
            f"{method} needs the last feature map of a convolutional net, but in {net} layers on tokens follow the "
            f"last b×c×h×w map, that of layer {last.place.name!r}, as in a transformer: use {INSTEAD}, "
            "or name by layer=... a module that gives b×c×h×w maps."
        )
    return last.place


def _looks_like_a_map(one: ModuleOutput, problem: Problem) -> bool:
    """Return whether an output of unknown channel axis has one row per sample and about the image's aspect ratio."""
    (image,) = problem.inputs
    samples, _, height, width = one.shape
    ratio = height * image.shape[3] / (width * image.shape[2])
    alike = 1 / ASPECT_TOLERANCE <= ratio <= ASPECT_TOLERANCE
    return samples == 1 and alike and one.tag.channels is None and not one.tag.weights


def _list_outputs(problem: Problem, modules: Mapping[str, nn.Module]) -> tuple[list[ModuleOutput], ChannelTracker]:
    """Return the 4-D outputs of these modules for the first sample, in the order of their calls, and the tracker."""
    outputs: list[ModuleOutput] = []
    calls = dict.fromkeys(modules, 0)
    convolved = False
    x = problem.x[:1].clone()
    tracker = ChannelTracker([x])

    def on_output(name: str, module: nn.Module, output: object) -> None:
        nonlocal convolved
        calls[name] += 1
        convolved = convolved or isinstance(module, CONVOLUTIONS)
        if isinstance(output, Tensor) and output.ndim == 4 and math.prod(output.shape[2:]) > 1:
            place, counts = LayerCall(name, module, calls[name]), (tracker.products, tracker.on_tokens)
            outputs.append(ModuleOutput(place, tuple(output.shape), tracker.tag(output), *counts, convolved))

    hidden = isinstance(problem.model, nn.Module) and any(map(is_compiled, problem.model.modules()))
    with torch.no_grad(), hooks_of_this_thread(modules, on_output), nullcontext() if hidden else tracker:
        problem.output(x, torch.zeros(1, dtype=torch.long, device=x.device))
    return outputs, tracker


_REGISTERING = threading.Lock()  # torch counts hooks without one, and two of one number would replace each other


@contextmanager
def hooks_of_this_thread(
    modules: Mapping[str, nn.Module], on_output: Callable[[str, nn.Module, Any], Tensor | None]
) -> Iterator[None]:
    """Within this context, call `on_output(name, module, output)` for each call of these modules in this thread.

    A tensor that it returns replaces the output. Other threads run the modules without it.

    >>> net, called = nn.ReLU(), []
    >>> with hooks_of_this_thread({"relu": net}, lambda name, module, output: called.append(name)):
    ...     _ = net(torch.ones(1))
    >>> called, len(net._forward_hooks)
    (['relu'], 0)
    """
    thread = threading.get_ident()

    def make_hook(name: str) -> Callable[..., Tensor | None]:
        def hook(module: nn.Module, inputs: object, output: object) -> Tensor | None:
            return on_output(name, module, output) if threading.get_ident() == thread else None

        return hook

    with _REGISTERING:
        handles = [module.register_forward_hook(make_hook(name)) for name, module in modules.items()]
    try:
        yield
    finally:
        with _REGISTERING:
            for handle in handles:
                handle.remove()


@contextmanager
def replace_output(place: LayerCall, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Within this context, for one forward pass of this thread, replace the output of this call by `change` of it."""
    calls = 0

    def on_output(name: str, module: nn.Module, output: Tensor) -> Tensor | None:
        nonlocal calls
        calls += 1
        return change(output) if calls == place.call else None

    with hooks_of_this_thread({place.name: place.module}, on_output):
        yield
