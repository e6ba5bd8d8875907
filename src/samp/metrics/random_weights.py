"""Nets with random weights: a copy of a model whose layers are initialised anew, from the top down.

**Layers** are the modules that hold parameters, in the order in which a forward pass reaches them; a normalisation
belongs to the layer before it. A module that is never called by itself stands where the module around it does.

**Weights** of convolutions and linear layers are drawn by He's rule (normal, variance 2 / fan-in), biases are 0, and
normalisations are set to 1 and 0. Running statistics of BatchNorms are then measured again on noise, as they would be
before the first step of training. With torch's defaults (`initialise="torch"`, which Quantus takes) the signal vanishes
with depth: between four images, logits of 1e-2 differ by 1e-9 in MobileNetV2, by 4e-9 in SqueezeNet and by 4e-4 in
ResNet-50 (three seeds each), so in the first two float32 leaves a walk nothing to explain. By He's rule they differ by
0.1, 0.04 and 6, of 0.5, 0.7 and 90.

Other modules are reset by `reset_parameters`; bare parameters are drawn from a normal distribution with their own mean
and deviation.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.instancenorm import _InstanceNorm

from samp.isolation import isolate

NORMS = (_BatchNorm, _InstanceNorm, nn.GroupNorm, nn.LayerNorm, nn.LocalResponseNorm)
NOISE_IMAGES = 8  # on which BatchNorm statistics are measured


def layers_from_the_top(model: nn.Module, image: Tensor) -> list[list[str]]:
    """Return the names of the modules of each layer, the last layer first; raise ValueError for a model without any.

    >>> net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).eval()
    >>> layers_from_the_top(net, torch.rand(1, 1, 4, 4))
    [['4'], ['0', '1']]
    """
    order = _call_order(model, image)
    layers: list[list[str]] = []
    for name in sorted(order, key=lambda name: order[name]):
        module = model.get_submodule(name)
        if not any(True for _ in module.parameters(recurse=False)):
            continue
        if isinstance(module, NORMS) and layers:
            layers[-1].append(name)
        else:
            layers.append([name])
    if not layers:
        raise ValueError(f"{type(model).__name__} has no parameters that could be randomised.")
    return layers[::-1]


def randomised_models(
    model: nn.Module, image: Tensor, layers: Sequence[Sequence[str]], depths: Sequence[int], initialise: str, seed: int
) -> Iterator[nn.Module]:
    """Yield, for each of these rising depths, a copy of the model whose first so many layers are random.

    A layer gets the same weights at every depth and on every device. The model itself is left as it is.
    """
    source, done = copy.deepcopy(model).cpu(), 0
    for depth in depths:
        # the shared generator, from which reset_parameters draws, is restored
        with isolate(nn.Identity(), torch.device("cpu"), seed, exclusive=True), torch.no_grad():
            for layer in layers[done:depth]:
                for name in layer:
                    torch.manual_seed(_seed_of(name, seed))
                    _initialise(source.get_submodule(name), initialise)
        done = depth
        copied = copy.deepcopy(source).to(image.device)
        if initialise == "he":
            _measure_statistics(copied, [name for layer in layers[:depth] for name in layer], image, seed)
        yield copied


def _call_order(model: nn.Module, image: Tensor) -> dict[str, int]:
    """Return when each module is called first; one that is never called takes the number of the module around it."""
    first: dict[str, int] = {}

    def make_hook(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: object) -> None:
            first.setdefault(name, len(first))

        return hook

    probe = copy.deepcopy(model)  # hooks are not put on a model that other threads may run
    for name, module in probe.named_modules():
        module.register_forward_pre_hook(make_hook(name))
    with torch.no_grad():
        probe(image[:1])
    for name, _ in model.named_modules():  # parents come first
        first.setdefault(name, first[name.rpartition(".")[0]])
    return first


def _initialise(module: nn.Module, how: str) -> None:
    if how == "he" and isinstance(module, _ConvNd | nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif callable(getattr(module, "reset_parameters", None)):
        module.reset_parameters()  # type: ignore[operator]  # of BatchNorms also the statistics
    else:
        for parameter in module.parameters(recurse=False):
            parameter.normal_(float(parameter.mean()), float(parameter.std(correction=0)))


def _measure_statistics(model: nn.Module, names: Sequence[str], image: Tensor, seed: int) -> None:
    """Set the running statistics of these BatchNorms to those of one batch of standard normal noise."""
    norms = [m for m in map(model.get_submodule, names) if isinstance(m, _BatchNorm) and m.track_running_stats]
    if not norms:
        return
    generator = torch.Generator().manual_seed(_seed_of("noise", seed))
    noise = torch.randn(NOISE_IMAGES, *image.shape[1:], generator=generator).to(image)
    modes = [(norm, norm.training, norm.momentum) for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.train().momentum = None  # the mean over all batches, here of one
    with torch.no_grad():
        model(noise)
    for norm, training, momentum in modes:
        norm.train(training).momentum = momentum


def _seed_of(name: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7, key=str(seed).encode()).digest())
