"""The judges of a panel: each gives every map one number per image, by a published definition.

To add a judge, write the metric in a file of its own and append a `Judge` to `JUDGES`: its `measure` gets the task
(model, images and all that was given to `samp.metrics.panel`) and the name of a method. One that explains again, for
another class, other weights or another seed, says `needs=frozenset({"explain_maps"})` and calls
`task.explain_maps[name](model, images, target, seed)`, which returns new maps (b h w). One that gives several numbers
returns a mapping of them, and each becomes a column. One that cannot judge this model or these images raises
`samp.metrics.judge.CannotJudge` with the reason, and is left out of the panel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from samp.metrics.concentration import gini
from samp.metrics.credit_on_objects import auroc, energy, precision
from samp.metrics.deletion_insertion import GivenProtocol
from samp.metrics.ground_truth import Truth
from samp.metrics.judge import NEEDS, Judge, PanelTask
from samp.metrics.maps import pixel_maps
from samp.metrics.pointing_game import pointing_game
from samp.metrics.repeat_judges import REPEAT_JUDGES
from samp.metrics.single_deletion import patch_drops
from samp.metrics.transfer import transfer


def _curve_judge(key: str, heading: str, protocol: GivenProtocol, meaning: str) -> Judge:
    return Judge(key, heading, "higher", meaning, lambda task, name: task.difference(name, protocol))


def _correlate_patches(task: PanelTask, name: str) -> Tensor:
    drops = task.share("sds", lambda: patch_drops(task.model, task.images, task.target, settings=task.settings))
    return drops.correlate(task.maps[name])


def _transfer(task: PanelTask, name: str) -> dict[str, Tensor]:
    curves = transfer(task.others, task.images, task.maps[name], task.target, **vars(task.settings))
    return {net: one.difference for net, one in curves.items()}


def _hits(task: PanelTask, name: str) -> Tensor:
    game = pointing_game(task.maps[name], _truth(task), task.labels, tolerance=0)
    return game.hits.double().where(game.played, torch.nan)


def _truth(task: PanelTask) -> Truth:
    if task.truth is None:  # as `needs` prevents
        raise ValueError(NEEDS["truth"])
    return task.truth


TRUTH = frozenset({"truth"})
JUDGES: list[Judge] = [
    _curve_judge(
        "paper",
        "paper",
        None,
        "Insertion − Deletion by the SAMP paper's protocol: how fast the logit rises, and falls, as pixels come, and "
        "go, in the map's order.",
    ),
    _curve_judge("rise", "RISE", "rise", "Insertion − Deletion by RISE's protocol: the same on the probability."),
    _curve_judge(
        "diffid",
        "DiffID",
        "diffid",
        "Accuracy with the largest credit shown less that with it hidden, whatever its sign; hidden values show the "
        "mean of the others.",
    ),
    _curve_judge(
        "diffid-signed", "DiffID signed", "diffid-signed", "The same with values ranked by their signed credit (ours)."
    ),
    _curve_judge(
        "road",
        "ROAD",
        "road",
        "Accuracy with the least relevant pixels removed first less that with the most relevant first; what is removed "
        "is imputed from its neighbours.",
    ),
    Judge(
        "sds",
        "SDS",
        "higher",
        "Single deletion score: rank correlation of the credit of 4 × 4 patches with the loss of the logit when each "
        "is removed alone.",
        _correlate_patches,
    ),
    Judge(
        "transfer",
        "transfer",
        "higher",
        "Insertion − Deletion by the SAMP paper's protocol on another net, for the same class: a map that is "
        "adversarial to its own net fails.",
        _transfer,
        frozenset({"others"}),
    ),
    Judge(
        "energy",
        "energy",
        "higher",
        "Share of the positive credit that lies on the object, over the object's share of the picture.",
        lambda task, name: energy(task.maps[name], _truth(task), task.labels).lift,
        TRUTH,
    ),
    Judge(
        "auroc",
        "AUROC",
        "higher",
        "The chance that a pixel of the object has more credit than one beside it.",
        lambda task, name: auroc(task.maps[name], _truth(task), task.labels),
        TRUTH,
    ),
    Judge("pointing", "pointing", "higher", "Whether the pixel with the most credit lies on the object.", _hits, TRUTH),
    Judge(
        "precision",
        "precision",
        "higher",
        "Of as many pixels as the object has, those with the most credit: the share that lies on the object.",
        lambda task, name: precision(task.maps[name], _truth(task), task.labels),
        TRUTH,
    ),
    Judge(
        "concentration",
        "concentration",
        None,
        "Gini coefficient of the positive credit: 0 if all pixels have the same, near 1 if few have it all. It "
        "describes a map and does not rank it.",
        lambda task, name: gini(pixel_maps(task.maps[name]).clamp(min=0)),
    ),
    *REPEAT_JUDGES,
]
