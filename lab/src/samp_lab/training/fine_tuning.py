"""A new last layer for a net that has its weights, as the paper did for the fine-grained grid of CUB birds."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from PIL import Image
from torch import Tensor, nn

from samp.models.classifier import Classifier
from samp_lab.training.loop import Progress, fit, repeatable
from samp_lab.training.outcome import TrainingResult
from samp_lab.training.recipes import Recipe


def fine_tune(
    classifier: Classifier,
    pictures: Sequence[Image.Image],
    labels: Sequence[int],
    recipe: Recipe,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a head for these pictures: a linear layer on the features of the net, which does not change.

    >>> from samp_lab.training import Head
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(12, 4)).eval()
    >>> pictures = [Image.new("RGB", (2, 2), colour) for colour in ("red", "blue")]
    >>> recipe = Recipe(Head("flat", 2), "colours", 2, epochs=50, batch=2, rate=0.1)
    >>> fine_tune(Classifier(net, "flat", 2, 0.5, 0.5, ()), pictures, [0, 1], recipe).train_accuracy
    1.0
    """
    started, count = time.perf_counter(), recipe.images
    if len(pictures) != count or len(labels) != count:
        raise ValueError(
            f"the recipe takes {count} pictures with a label each, not {len(pictures)} with {len(labels)}."
        )
    known, device = features(classifier, pictures), next(classifier.net.parameters()).device
    head, truth = _new_head(known.shape[1], recipe).to(device), torch.tensor(labels, device=device)

    def epoch() -> Iterator[tuple[Tensor, Tensor]]:
        yield known, truth  # so few pictures are one batch

    with repeatable():
        losses = fit(head, epoch, replace(recipe, batch=count), progress)
    with torch.no_grad():
        right = float((head(known).argmax(1) == truth).float().mean())
    state = {name: tensor.detach().cpu() for name, tensor in head.state_dict().items()}
    return TrainingResult(recipe, state, float("nan"), right, losses, time.perf_counter() - started, device=str(device))


@torch.no_grad()
def features(classifier: Classifier, pictures: Sequence[Image.Image], batch: int = 16) -> Tensor:
    """Return the inputs of the net's last linear layer for each picture: b features.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(12, 4)).eval()
    >>> features(Classifier(net, "flat", 2, 0.5, 0.5, ()), [Image.new("RGB", (2, 2))] * 3).shape
    torch.Size([3, 12])
    """
    net, heard = classifier.net.eval(), []
    device = next(net.parameters()).device
    hook = _last_linear(net)[1].register_forward_pre_hook(lambda _, given: heard.append(given[0].flatten(1)))
    try:
        with repeatable():
            for start in range(0, len(pictures), batch):
                net(torch.cat([classifier.prepare(picture) for picture in pictures[start : start + batch]]).to(device))
    finally:
        hook.remove()
    return torch.cat(heard)


def replace_head(
    classifier: Classifier, state: Mapping[str, Tensor], classes: tuple[str, ...], name: str
) -> Classifier:
    """Return a copy of the classifier that ends in this head; raise ValueError if it does not fit the features.

    >>> flat = Classifier(nn.Sequential(nn.Flatten(), nn.Linear(12, 4)), "flat", 2, 0.5, 0.5, ())
    >>> birds = replace_head(flat, {"weight": torch.zeros(3, 12), "bias": torch.zeros(3)}, ("a", "b", "c"), "birds")
    >>> birds.net(torch.zeros(1, 3, 2, 2)).shape, flat.net(torch.zeros(1, 3, 2, 2)).shape
    (torch.Size([1, 3]), torch.Size([1, 4]))
    """
    net = copy.deepcopy(classifier.net)
    place, last = _last_linear(net)
    if set(state) != {"weight", "bias"} or state["weight"].shape != (len(classes), last.in_features):
        raise ValueError(
            f"this head does not lead from {last.in_features} features of {classifier.name} to {len(classes)} classes: "
            "train it again for this net."
        )
    head = nn.Linear(last.in_features, len(classes))
    head.load_state_dict(dict(state))
    parent, _, own = place.rpartition(".")
    setattr(net.get_submodule(parent), own, head.to(last.weight.device))
    return replace(classifier, net=net.eval(), name=name, classes=classes)


def _new_head(width: int, recipe: Recipe) -> nn.Linear:
    head = nn.Linear(width, recipe.net.classes)
    generator = torch.Generator().manual_seed(recipe.seed)
    nn.init.normal_(head.weight, std=0.01, generator=generator)
    nn.init.zeros_(head.bias)
    return head


def _last_linear(net: nn.Module) -> tuple[str, nn.Linear]:
    found = [(name, module) for name, module in net.named_modules() if isinstance(module, nn.Linear)]
    if not found or not found[-1][0]:
        raise ValueError(f"{type(net).__name__} has no linear layer at its end to replace: take a net that has one.")
    return found[-1]
