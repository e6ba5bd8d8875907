"""The judges that explain again: is the map the same twice, and another one for another class or random weights?"""

from __future__ import annotations

from torch import Tensor, nn

from samp.metrics.correlations import spearman
from samp.metrics.judge import CannotJudge, Judge, PanelTask
from samp.metrics.map_entropy import map_entropy
from samp.metrics.maps import pixel_maps
from samp.metrics.random_weights import layers_from_the_top, randomised_models
from samp.metrics.randomisation import random_logit
from samp.metrics.stability import stability

REGION = 14  # pixels, the side of the regions over which stability is measured besides single pixels
AGAIN = frozenset({"explain_maps"})


def _stability(task: PanelTask, name: str) -> dict[str, Tensor]:
    pools = (1, REGION) if min(task.images.shape[2:]) >= 2 * REGION else (1,)
    model, seed = _module(task), task.settings.seed
    found = stability(model, task.images, task.explain_again(name), task.target, pools=pools, seed=seed)
    return {"pixels" if pool == 1 else f"{pool} px": found.pearson[:, i] for i, pool in enumerate(pools)}


def _class_change(task: PanelTask, name: str) -> Tensor:
    """b: one less the rank correlation of the sizes of the maps of two classes, whatever its sign."""
    model, seed = _module(task), task.settings.seed
    return 1 - random_logit(model, task.images, task.explain_again(name), task.target, seed=seed).spearman.abs()


def _weights_change(task: PanelTask, name: str) -> dict[str, Tensor]:
    """Return how much the map changes, and how much more complex it gets, when all weights are random (b each)."""
    seed, again = task.settings.seed, task.explain_again(name)
    net = task.share("random net", lambda: _random_net(task))
    trained = pixel_maps(again(_module(task), task.images, task.target, seed))
    random = pixel_maps(again(net, task.images, task.target, seed))
    before, after = (map_entropy(maps, 100) for maps in (trained, random))
    return {
        "change": 1 - spearman(trained.abs().flatten(1), random.abs().flatten(1)).abs(),
        "complexity rise": ((after - before) / before).where(before > 0, float("nan")),
    }


def _random_net(task: PanelTask) -> nn.Module:
    model = _module(task)
    layers = layers_from_the_top(model, task.images)
    (net,) = randomised_models(model, task.images, layers, [len(layers)], "he", task.settings.seed)
    return net


def _module(task: PanelTask) -> nn.Module:
    if not isinstance(task.model, nn.Module):
        raise CannotJudge("the model is explained again, copied or with noise, so it has to be an nn.Module.")
    if task.settings.forward_args != ():
        raise CannotJudge("the model is explained again, which this judge does without further arguments.")
    return task.model


REPEAT_JUDGES: list[Judge] = [
    Judge(
        "stability",
        "same twice",
        "higher",
        "Correlation of the map with that of the image plus noise of 1e-6 of its span, which is rounding: by single "
        "pixels, and by the means of regions.",
        _stability,
        AGAIN,
    ),
    Judge(
        "random-logit",
        "another class",
        "higher",
        "How much the map changes for another class: 1 − the size of the rank correlation of both (Sixt et al., 2020).",
        _class_change,
        AGAIN,
    ),
    Judge(
        "random-weights",
        "random weights",
        "higher",
        "The net with random weights (MPRT, Adebayo et al., 2018; eMPRT, Hedström et al., 2024): how much "
        "the map changes, and how much more complex it gets.",
        _weights_change,
        AGAIN,
    ),
]
