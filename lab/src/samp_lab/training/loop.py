"""The training loop: AdamW or SGD over seeded batches, reproducible on the same machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, OneCycleLR

from samp.models.five_layer import FiveLayer, initialise_net
from samp_lab.training.batches import Arrays, batches, bytes_on_device, pixels
from samp_lab.training.outcome import TrainingResult
from samp_lab.training.recipes import Recipe

Progress = Callable[[int, int, float], None]
"""Called after each epoch with the epochs done, all epochs, and the mean loss."""
WARM_UP = 0.2  # of the steps
SHOWN = 500  # images at once when accuracy is measured


def train(
    recipe: Recipe, arrays: Arrays, device: str | torch.device = "cpu", progress: Progress | None = None
) -> TrainingResult:
    """Train the recipe's five-layer CNN on the arrays.

    >>> from dataclasses import replace
    >>> from samp_lab.training import RECIPES
    >>> random = np.random.default_rng(0)
    >>> images, labels = random.integers(0, 256, (8, 28, 28)).astype(np.uint8), np.arange(8)
    >>> short = replace(RECIPES["mnist-slim"], images=8, epochs=1, batch=4)
    >>> len(train(short, Arrays(images, labels, images, labels)).losses)
    1
    """
    if not isinstance(recipe.net, FiveLayer):
        raise TypeError(f"train takes a recipe of a five-layer CNN, not of {recipe.net}: use fine_tuning for a head.")
    if arrays.channels != recipe.net.channels:
        raise ValueError(f"the images have {arrays.channels} channels but the net takes {recipe.net.channels}.")
    started, device, arrays = time.perf_counter(), check_device(device), arrays.first(recipe.images)
    generator = torch.Generator().manual_seed(recipe.seed)
    net: nn.Module = initialise_net(recipe.net, generator).to(device)
    if device.type == "cuda":
        net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # what a GPU's bfloat16 likes
    with repeatable():
        images, labels = bytes_on_device(arrays.images, device), prepare_labels(arrays.labels, recipe, device)
        losses = fit(net, lambda: batches(images, labels, recipe, generator), recipe, progress)
        return TrainingResult(
            recipe,
            {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()},
            accuracy(net, arrays.test_images, arrays.test_labels, centred=recipe.centred),
            accuracy(net, arrays.images, arrays.labels, centred=recipe.centred),
            losses,
            time.perf_counter() - started,
            test_images=len(arrays.test_images),
            device=torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        )


def check_device(device: str | torch.device) -> torch.device:
    """Return the device; raise ValueError if it is not available.

    >>> check_device("cpu")
    device(type='cpu')
    """
    try:
        return torch.zeros(0, device=device).device
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA asserts
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"there is no device {str(device)!r} here ({reason}): give another `device`, such as cpu."
        ) from error


def fit(
    net: nn.Module,
    epoch: Callable[[], Iterator[tuple[Tensor, Tensor]]],
    recipe: Recipe,
    progress: Progress | None = None,
) -> tuple[float, ...]:
    """Train a net in place on the batches that `epoch` yields, and return the mean loss of each epoch.

    >>> from samp_lab.training import Head
    >>> rows = (torch.eye(2), torch.tensor([1, 0]))
    >>> recipe = Recipe(Head("none", 2), "two rows", images=2, epochs=9, batch=2, rate=0.1)
    >>> losses = fit(nn.Linear(2, 2), lambda: iter([rows]), recipe)
    >>> losses[-1] < losses[0]
    True
    """
    optimiser = _optimiser(net, recipe)
    steps = recipe.epochs * max(recipe.images // recipe.batch, 1)
    schedule = _schedule(optimiser, recipe, steps)
    net.train()
    losses = []
    for done in range(1, recipe.epochs + 1):
        heard = [_train_step(net, batch, recipe, optimiser, schedule) for batch in epoch()]
        losses.append(float(torch.stack(heard).mean()))
        if not math.isfinite(losses[-1]):
            raise RuntimeError(f"the loss became {losses[-1]} in epoch {done}: take a smaller rate than {recipe.rate}.")
        if progress is not None:
            progress(done, recipe.epochs, losses[-1])
    net.eval()
    return tuple(losses)


def _train_step(
    net: nn.Module,
    batch: tuple[Tensor, Tensor],
    recipe: Recipe,
    optimiser: torch.optim.Optimizer,
    schedule: LRScheduler,
) -> Tensor:
    x, label = batch
    half = recipe.precision == "bfloat16" and x.is_cuda
    with torch.autocast(x.device.type, torch.bfloat16, enabled=half):
        scores = net(x)
    measure = functional.cross_entropy if recipe.labels == "one" else functional.binary_cross_entropy_with_logits
    loss = measure(scores.float(), label)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]  # torch's own
    nn.utils.clip_grad_norm_(net.parameters(), recipe.clip)
    optimiser.step()
    schedule.step()
    return loss.detach()


def _optimiser(net: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    if recipe.optimiser == "sgd":
        return torch.optim.SGD(net.parameters(), recipe.rate, momentum=0.9, weight_decay=recipe.decay)
    return torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=recipe.decay)


def _schedule(optimiser: torch.optim.Optimizer, recipe: Recipe, steps: int) -> LRScheduler:
    if recipe.schedule == "cosine":
        return CosineAnnealingLR(optimiser, steps)
    rise = max(WARM_UP, 1.5 / (steps + 1))  # torch divides by zero where the rise is a single step
    return OneCycleLR(optimiser, recipe.rate, total_steps=steps + 1, pct_start=rise, cycle_momentum=False)


def prepare_labels(labels: NDArray[np.int64], recipe: Recipe, device: torch.device) -> Tensor:
    """Return labels for the loss: classes, or 0.0 and 1.0 for each class; raise ValueError if they do not fit.

    >>> from samp_lab.training import RECIPES
    >>> prepare_labels(np.array([3, 9]), RECIPES["mnist-slim"], torch.device("cpu"))
    tensor([3, 9])
    """
    classes, wanted = recipe.net.classes, 1 if recipe.labels == "one" else 2
    most = labels.max() if wanted == 1 else labels.shape[-1] - 1
    if labels.ndim != wanted or labels.min() < 0 or most >= classes or (wanted == 2 and labels.max() > 1):
        raise ValueError(
            f"labels of shape {labels.shape} from {labels.min()} to {labels.max()} do not fit {classes} classes, "
            f"{recipe.labels} an image: give the classes' numbers, or n × {classes} zeros and ones for several."
        )
    return torch.from_numpy(labels).to(device, torch.int64 if wanted == 1 else torch.float32)


@torch.no_grad()
def accuracy(net: nn.Module, images: NDArray[np.uint8], labels: NDArray[np.int64], *, centred: bool = False) -> float:
    """Return the share of images that are wholly right: the class, or (labels n classes) all of several.

    `centred` is that of the recipe.

    >>> sure = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    >>> sure[1].bias.data = torch.tensor([0.0, 1.0])
    >>> accuracy(sure, np.zeros((4, 2, 2), np.uint8), np.array([1, 1, 1, 0]))
    0.75
    """
    device, right = next(net.parameters()).device, 0
    net.eval()
    for start in range(0, len(images), SHOWN):
        scores = net(pixels(bytes_on_device(images[start : start + SHOWN], device), centred))
        truth = torch.from_numpy(labels[start : start + SHOWN]).to(device)
        same = scores.argmax(1) == truth if truth.ndim == 1 else ((scores > 0) == (truth > 0)).all(1)
        right += int(same.sum())
    return right / len(images)


@contextmanager
def repeatable() -> Iterator[None]:
    """Within this context a GPU is deterministic and multiplies float32 in full precision, not as TF32.

    >>> with repeatable():
    ...     torch.backends.cudnn.deterministic
    True
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
