"""What a judge is: how it is measured, what it needs, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from samp.metrics.deletion_insertion import GivenProtocol, deletion_insertion
from samp.metrics.explain_maps import ExplainMaps
from samp.metrics.ground_truth import Labels, Truth
from samp.metrics.maps import Maps
from samp.metrics.masked_forward import ScoringOptions
from samp.targets import Model

Result = TypeVar("Result")
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

    >>> import torch
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
    explain_maps: Mapping[str, ExplainMaps] = field(default_factory=dict)
    settings: ScoringOptions = field(default_factory=ScoringOptions)
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def share(self, key: str, make: Callable[[], Result]) -> Result:
        """Return what `make` returned when it was first asked for under this key.

        >>> import torch
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

    def explain_again(self, name: str) -> ExplainMaps:
        """Return the function that makes a method's maps again; maps of the task's own model and images are kept."""

        def explain(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
            make = self.explain_maps[name]
            same = images.data_ptr() == self.images.data_ptr() and images.shape == self.images.shape
            if model is not self.model or not same or not torch.equal(target, self.target):
                return make(model, images, target, seed)
            return self.share(f"map of {name} by seed {seed}", lambda: make(model, images, target, seed))

        return explain

    def lacks(self, needs: frozenset[str]) -> list[str]:
        """Return why the needs are not met, one sentence for each."""
        return [NEEDS[need] for need in sorted(needs) if getattr(self, need) is None or not len(getattr(self, need))]


@dataclass(frozen=True)
class Judge(Criterion):
    """A criterion with the way it is measured.

    >>> Judge("mean", "mean", None, "The mean credit.", lambda task, name: task.maps[name].mean((1, 2))).needs
    frozenset()
    """

    measure: Callable[[PanelTask, str], Tensor | Mapping[str, Tensor]]
    """(task, name of a method) → b numbers, NaN where an image has none; or a mapping of such, a column for each."""
    needs: frozenset[str] = frozenset()
    """Some of "truth", "others" and "explain_maps"; a panel without them leaves the judge out."""
