"""The judges of a panel: each gives every map one number per image, by a published definition.

To add a judge, write the metric in a file of its own and append a `Judge` to `JUDGES`: its `measure` gets the task
(model, images and all that was given to `samp.metrics.panel`) and the name of a method. One that explains again, for
another class, other weights or another seed, says `needs=frozenset({"explain_maps"})` and calls
`task.explain_maps[name](model, images, target, seed)`, which returns new maps (b h w). One that gives several numbers
returns a mapping of them, and each becomes a column. One that cannot judge this model or these images raises
`CannotJudge` with the reason, and is left out of the panel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from samp.metrics.concentration import gini
from samp.metrics.credit_on_objects import auroc, energy, precision
from samp.metrics.deletion_insertion import GivenProtocol, deletion_insertion
from samp.metrics.ground_truth import Labels, Truth
from samp.metrics.maps import Maps, pixel_maps
from samp.metrics.masked_forward import ScoringOptions
from samp.metrics.pointing_game import pointing_game
from samp.metrics.single_deletion import patch_drops
from samp.metrics.transfer import transfer
from samp.targets import Model

Result = TypeVar("Result")
ExplainAgain = Callable[[Model, Tensor, Tensor, int], Tensor]  # model, images, target (b), seed → maps (b h w)
NEEDS = {
    "truth": "no truth was given: pass truth=…, the masks, boxes or annotations of the images",
    "others": "no other nets were given: pass others={name: net}",
    "explain_maps": "maps cannot be made again: pass explain_maps={method: function of (model, images, target, seed)}",
}


class CannotJudge(ValueError):
    """Raised by a judge that has nothing to say of this model or these images; the message is the reason."""


@dataclass(frozen=True)
class Criterion:
    """What a column of a panel is: its key, its heading, which direction is better, and what it means.

    >>> Criterion("road", "ROAD", "higher", "…").heading_with_arrow
    'ROAD ↑'
    """

    key: str
    heading: str
    better: Literal["higher", "lower"] | None
    """None for a number that describes a map and does not rank it."""
    meaning: str
    """A sentence for readers."""

    @property
    def heading_with_arrow(self) -> str:
        """The heading, followed by ↓ if lower is better and by ↑ if higher is."""
        return self.heading + {"lower": " ↓", "higher": " ↑", None: ""}[self.better]


@dataclass(frozen=True, eq=False)
class PanelTask:
    """What every judge may look at; `share` keeps what several maps or judges need.

    >>> task = PanelTask(torch.nn.Flatten(), torch.rand(1, 1, 2, 2), torch.tensor([0]), {"flat": torch.ones(1, 2, 2)})
    >>> task.lacks(frozenset({"others"}))
    ['no other nets were given: pass others={name: net}']
    """

    model: Model
    images: Tensor
    target: Tensor
    """b: the class that the maps explain."""
    maps: Mapping[str, Maps]
    others: Mapping[str, Model] = field(default_factory=dict)
    truth: Truth | None = None
    labels: Labels = None
    explain_maps: Mapping[str, ExplainAgain] = field(default_factory=dict)
    settings: ScoringOptions = field(default_factory=ScoringOptions)
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def share(self, key: str, make: Callable[[], Result]) -> Result:
        """Return what `make` returned when it was first asked for under this key.

        >>> task = PanelTask(torch.nn.Flatten(), torch.rand(1, 1, 2, 2), torch.tensor([0]), {})
        >>> task.share("drops", lambda: [1]) is task.share("drops", lambda: [2])
        True
        """
        if key not in self.kept:
            self.kept[key] = make()
        kept: Result = self.kept[key]
        return kept

    def difference(self, name: str, protocol: GivenProtocol) -> Tensor:
        """b: insertion − deletion of a method's maps by a protocol of `samp.metrics.deletion_insertion`."""
        options = vars(self.settings)
        return deletion_insertion(self.model, self.images, self.maps[name], self.target, protocol, **options).difference

    def lacks(self, needs: frozenset[str]) -> list[str]:
        """Return why the needs are not met, one sentence for each."""
        return [NEEDS[need] for need in sorted(needs) if getattr(self, need) is None or not len(getattr(self, need))]


@dataclass(frozen=True)
class Judge(Criterion):
    """A criterion with the way it is measured.

    >>> [judge.key for judge in JUDGES][:6]
    ['paper', 'rise', 'diffid', 'diffid-signed', 'road', 'sds']
    """

    measure: Callable[[PanelTask, str], Tensor | Mapping[str, Tensor]]
    """(task, name of a method) → b numbers, NaN where an image has none; or a mapping of such, a column for each."""
    needs: frozenset[str] = frozenset()
    """Some of "truth", "others" and "explain_maps"; a panel without them leaves the judge out."""


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
]
