"""Where class activation maps take their features: the last b c h w feature map of a net, or of the layer named.

Hooks are set for one forward pass and removed again, and hear the thread that set them only: others may be running
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
from samp.methods._channel_axis import Lineage, Tag
from samp.methods.propagation.hidden_operations import is_compiled, is_script

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
INSTEAD = "a method that needs no feature map, such as 'coupled', 'samp++' or 'ig'"
LIKE_THE_IMAGE = 1.5  # height over width of a map may differ from the image's by this factor: small maps are rounded


@dataclass(frozen=True, eq=False)
class LayerCall:
    """Where features are taken: the `call`-th call of this module in a forward pass (modules may be reused)."""

    name: str
    module: nn.Module
    call: int


@dataclass(frozen=True, eq=False)
class ModuleOutput:
    """A 4-D output of more than one position, and how far the net had come by then."""

    place: LayerCall
    shape: tuple[int, ...]
    tag: Tag
    products: int
    on_tokens: int
    convolved: bool


def unwrap_compiled(model: Any) -> Any:
    """The module that `torch.compile` was given, where this is what it made of one: hooks would compile it anew.

    >>> net = nn.ReLU()
    >>> unwrap_compiled(torch.compile(net)) is net, unwrap_compiled(net) is net
    (True, True)
    """
    return getattr(model, "_orig_mod", model) if is_compiled(model) else model


def find_layer_call(problem: Problem, layer: str | None, method: str) -> LayerCall:
    """The named layer, else the last module that gives a feature map; found by a forward pass of one sample.

    Raises ValueError where there is none, or none that shows what the net has recognised, as in a transformer.
    """
    model = problem.model
    if not isinstance(model, nn.Module):
        raise ValueError(f"{method} looks inside the model, which must be an nn.Module, not {type(model).__name__}.")
    named = dict(model.named_modules())
    layer = None if layer is None else layer.removeprefix("_orig_mod.")  # so a compiled net names its modules
    chosen = named if layer is None else {layer: look_up(layer, named, "layer")}
    if any(map(is_script, chosen.values())):
        raise ValueError(
            f"{method} looks inside the model, but {type(model).__name__} is TorchScript, or holds some, which hides "
            f"its layers: use the nn.Module that it was made from, or {INSTEAD}."
        )
    seen, lineage = _list_outputs(problem, chosen)
    if layer is not None:
        return _find_named(layer, seen, problem)
    return _find_last(seen, lineage, problem, method)


def _find_named(layer: str, seen: list[ModuleOutput], problem: Problem) -> LayerCall:
    if not seen:
        raise ValueError(f"layer {layer!r} gives no b k h w feature map: name a convolution or what follows one.")
    fitting = [one for one in seen if one.tag.channels == 1 or _looks_like_a_map(one, problem)]
    if not fitting:
        shape = " × ".join(map(str, seen[-1].shape))
        why = "have their channels last" if seen[-1].tag.channels == 3 else "are no map of the image"
        raise ValueError(
            f"layer {layer!r} gives {shape} numbers, which {why}: "
            f"name a module that gives b×c×h×w maps, or use {INSTEAD}."
        )
    return fitting[-1].place


def _find_last(seen: list[ModuleOutput], lineage: Lineage, problem: Problem, method: str) -> LayerCall:
    def is_map(one: ModuleOutput) -> bool:
        if one.tag.channels is not None:
            return one.tag.channels == 1
        return one.products == lineage.products and _looks_like_a_map(one, problem)

    maps = [one for one in seen if one.convolved and one.place.name and is_map(one)]
    net = type(problem.model).__name__
    if not maps:
        raise ValueError(
            f"{method} found no convolution layer with a b k h w feature map in {net}: "
            f"name one by layer=..., or use {INSTEAD}."
        )
    last = maps[-1]
    products, on_tokens = lineage.products - last.products, lineage.on_tokens - last.on_tokens
    # one attention may pool a convolutional net's last map; behind the first convolution none may, nor any token layer
    if products > 2 or (last.tag.depth <= 1 and (products or on_tokens)):
        raise ValueError(
            f"{method} needs the last feature map of a convolutional net, but in {net} layers on tokens follow the "
            f"last b×c×h×w map, that of layer {last.place.name!r}, as in a transformer: use {INSTEAD}, "
            "or name by layer=... a module that gives b×c×h×w maps."
        )
    return last.place


def _looks_like_a_map(one: ModuleOutput, problem: Problem) -> bool:
    """Whether an output of unknown origin has one row per sample, and height to width about as the image."""
    (image,) = problem.inputs
    samples, _, height, width = one.shape
    ratio = height * image.shape[3] / (width * image.shape[2])
    alike = 1 / LIKE_THE_IMAGE <= ratio <= LIKE_THE_IMAGE
    return samples == 1 and alike and one.tag.channels is None and not one.tag.weights


def _list_outputs(problem: Problem, modules: Mapping[str, nn.Module]) -> tuple[list[ModuleOutput], Lineage]:
    """The 4-D outputs of these modules for the first sample, in order of their calls."""
    seen: list[ModuleOutput] = []
    calls = dict.fromkeys(modules, 0)
    convolved = False
    x = problem.x[:1].clone()
    lineage = Lineage([x])

    def on_output(name: str, module: nn.Module, output: Any) -> None:
        nonlocal convolved
        calls[name] += 1
        convolved = convolved or isinstance(module, CONVOLUTIONS)
        if isinstance(output, Tensor) and output.ndim == 4 and math.prod(output.shape[2:]) > 1:
            place, counts = LayerCall(name, module, calls[name]), (lineage.products, lineage.on_tokens)
            seen.append(ModuleOutput(place, tuple(output.shape), lineage.tag(output), *counts, convolved))

    hidden = isinstance(problem.model, nn.Module) and any(map(is_compiled, problem.model.modules()))
    with torch.no_grad(), hooks_of_this_thread(modules, on_output), nullcontext() if hidden else lineage:
        problem.output(x, torch.zeros(1, dtype=torch.long, device=x.device))
    return seen, lineage


_REGISTERING = threading.Lock()  # torch counts hooks without one, and two of one number would replace each other


@contextmanager
def hooks_of_this_thread(
    modules: Mapping[str, nn.Module], on_output: Callable[[str, nn.Module, Any], Any]
) -> Iterator[None]:
    """While this lasts, `on_output(name, module, output)` is called for each call of these modules in this thread.

    What it returns replaces the output, unless it is None. Other threads run the modules undisturbed.

    >>> net, heard = nn.ReLU(), []
    >>> with hooks_of_this_thread({"relu": net}, lambda name, module, output: heard.append(name)):
    ...     _ = net(torch.ones(1))
    >>> heard, len(net._forward_hooks)
    (['relu'], 0)
    """
    thread = threading.get_ident()

    def listener(name: str) -> Callable[..., Any]:
        def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
            return on_output(name, module, output) if threading.get_ident() == thread else None

        return hook

    with _REGISTERING:
        handles = [module.register_forward_hook(listener(name)) for name, module in modules.items()]
    try:
        yield
    finally:
        with _REGISTERING:
            for handle in handles:
                handle.remove()


@contextmanager
def replace_output(place: LayerCall, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """For one forward pass of this thread: the output of this call of the module goes through `change`."""
    calls = 0

    def on_output(name: str, module: nn.Module, output: Any) -> Any:
        nonlocal calls
        calls += 1
        return change(output) if calls == place.call else None

    with hooks_of_this_thread({place.name: place.module}, on_output):
        yield
