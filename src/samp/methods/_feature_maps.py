"""What the layers of a net give in one forward pass, and the score's gradient by the output of one of them.

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

from samp.engine.call_sizes import is_compiled
from samp.engine.problem import Problem
from samp.methods._channel_axis import ChannelTracker, Tag
from samp.methods._token_maps import CHANNELS_FIRST, Layout
from samp.targets import Model

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


@dataclass(frozen=True, eq=False)
class LayerCall:
    """The `call`-th call of a module in a forward pass, counted from 1: modules may be reused."""

    name: str
    module: nn.Module
    call: int
    layout: Layout = CHANNELS_FIRST


@dataclass(frozen=True, eq=False)
class ModuleOutput:
    """An output of four axes with more than one position, or of three (tokens), with the operations before it."""

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


def list_outputs(problem: Problem, modules: Mapping[str, nn.Module]) -> tuple[list[ModuleOutput], ChannelTracker]:
    """Return the outputs of these modules for the first sample, in the order of their calls, and the tracker."""
    outputs: list[ModuleOutput] = []
    calls = dict.fromkeys(modules, 0)
    convolved = False
    x = problem.x[:1].clone()
    tracker = ChannelTracker([x])

    def on_output(name: str, module: nn.Module, output: object) -> None:
        nonlocal convolved
        calls[name] += 1
        convolved = convolved or isinstance(module, CONVOLUTIONS)
        found = main_tensor(output)
        if found is not None and (found.ndim == 3 or (found is output and _has_positions(found))):
            place, counts = LayerCall(name, module, calls[name]), (tracker.products, tracker.on_tokens)
            outputs.append(ModuleOutput(place, tuple(found.shape), tracker.tag(found), *counts, convolved))

    hidden = isinstance(problem.model, nn.Module) and any(map(is_compiled, problem.model.modules()))
    with torch.no_grad(), hooks_of_this_thread(modules, on_output), nullcontext() if hidden else tracker:
        problem.output(x, torch.zeros(1, dtype=torch.long, device=x.device))
    return outputs, tracker


def _has_positions(output: Tensor) -> bool:
    return output.ndim == 4 and math.prod(output.shape[2:]) > 1


def main_tensor(output: object) -> Tensor | None:
    """Return a module's output, or the first entry of a tuple (attention weights may follow it); None if no tensor.

    >>> main_tensor((torch.ones(1), None)), main_tensor({}) is None
    (tensor([1.]), True)
    """
    first = output[0] if isinstance(output, tuple | list) and output else output
    return first if isinstance(first, Tensor) else None


def features_and_gradient(
    problem: Problem, place: LayerCall, samples: Tensor, scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return the layer's output for these samples, times `scale`, and the score's gradient there.

    The net continues with a copy, so that an in-place activation after the layer does not change the features. Raises
    ValueError if the score does not depend on them.
    """
    kept: list[Tensor] = []

    def keep(output: Tensor) -> Tensor:
        kept.append((output.detach() * scale).requires_grad_())
        return kept[-1].clone()

    with torch.inference_mode(False), torch.enable_grad(), replace_output(place, keep):
        score = problem.count_failures(problem.score(problem.output(problem.x[samples], samples), samples), samples)
        (gradient,) = torch.autograd.grad(score.sum(), kept, allow_unused=True) if score.requires_grad else (None,)
    if gradient is None:
        raise ValueError(f"the score does not depend on the output of layer {place.name!r}: pass another layer.")
    return kept[0].detach().to(problem.x.dtype), gradient.to(problem.x.dtype)


def capture_output(problem: Problem, place: LayerCall, image: Tensor) -> Tensor:
    """Return the layer's output for another image in place of the first sample's (1 c h w), without gradient."""
    kept: list[Tensor] = []

    def keep(output: Tensor) -> Tensor:
        kept.append(output.clone())
        return output

    first = torch.zeros(1, dtype=torch.long, device=problem.x.device)
    with torch.no_grad(), replace_output(place, keep):
        problem.output(problem.flatten([image]), first)
    return kept[0]


_REGISTERING = threading.Lock()  # torch counts hooks without one, and two of one number would replace each other


@contextmanager
def hooks_of_this_thread(
    modules: Mapping[str, nn.Module], on_output: Callable[[str, nn.Module, Any], Any]
) -> Iterator[None]:
    """Within this context, call `on_output(name, module, output)` for each call of these modules in this thread.

    What it returns, unless None, replaces the output. Other threads run the modules without it.

    >>> net, called = nn.ReLU(), []
    >>> with hooks_of_this_thread({"relu": net}, lambda name, module, output: called.append(name)):
    ...     _ = net(torch.ones(1))
    >>> called, len(net._forward_hooks)
    (['relu'], 0)
    """
    thread = threading.get_ident()

    def make_hook(name: str) -> Callable[..., Any]:
        def hook(module: nn.Module, inputs: object, output: object) -> Any:
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
    """Within this context, for one forward pass of this thread, replace the output of this call by `change` of it.

    Of a tuple, the first entry is replaced.
    """
    calls = 0

    def on_output(name: str, module: nn.Module, output: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls != place.call:
            return None
        return change(output) if isinstance(output, Tensor) else type(output)([change(output[0]), *output[1:]])

    with hooks_of_this_thread({place.name: place.module}, on_output):
        yield
