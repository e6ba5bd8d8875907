"""Protocols of Deletion and Insertion: everything on which published numbers differ, as data.

A protocol is a frozen dataclass. `PROTOCOLS` holds the published ones by name; change a field for one of your own:

>>> from dataclasses import replace
>>> replace(PROTOCOLS["rise"], score="logit").score
'logit'
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from numbers import Integral
from typing import Literal

import torch
from torch import Tensor

from samp.baselines import Blurred, TensorBaseline, black
from samp.checks import check_flag, is_one_of
from samp.groups import Elements, Groups
from samp.lookup import look_up
from samp.metrics.fills import ChannelMeans, Fill, RemainingMean, RISEBlur, resolve_fill
from samp.metrics.imputation import NoisyLinear
from samp.metrics.score_spaces import ScoreSpace, get_score_space

AUC = Literal["mean", "trapezoid"] | Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False, repr=False)
class Protocol:
    """How Deletion and Insertion are measured. Deletion hides the features of most credit first; Insertion shows them.

    - `step`: how many features change at a time; the series then has K+1 points, both ends included. A tuple of
      shares, such as (0.1, 0.5), measures at just those.
    - `fill`: what a deleted feature shows; `start`: what a feature shows before it is inserted. Any baseline of
      `samp.baselines`, a number, a tensor, a callable, or a fill made of what is visible
      (`samp.metrics.NoisyLinear()`, `samp.metrics.RemainingMean()`).
    - `unit`: what a feature is, as `groups` of `samp.explain`: pixels for images if `None`.
    - `score`: "logit", "probability", "log-probability", "accuracy", or a callable on the model's output.
    - `normalise`: "image" divides each series by the score of the image, "change" maps f(fill) … f(image) to 0 … 1,
      `None` leaves it. A sample whose divisor is not above 0 cannot be normalised; its numbers are NaN.
    - `auc`: the plain "mean" of the points, "trapezoid" (a smaller last step counts as a whole one, as RISE has it), or
      a callable b k → b.
    - `absolute`: rank features by the size of their credit instead of its value.

    >>> Protocol(step=2, fill="black", start="blurred").counts(5).tolist()
    [0, 2, 4, 5]
    >>> Protocol(step=(0.1, 0.5)).counts(10).tolist()
    [1, 5]
    """

    step: int | tuple[float, ...] = 1
    fill: Fill = black
    start: Fill = black
    unit: Groups | None = None
    score: str | ScoreSpace = "logit"
    normalise: Literal["image", "change"] | None = None
    auc: AUC = "mean"
    absolute: bool = False
    name: str = "own"

    def __post_init__(self) -> None:
        _check_step(self.step)
        get_score_space(self.score)
        for name in ("fill", "start"):
            object.__setattr__(self, name, resolve_fill(getattr(self, name)))
        check_flag("absolute", self.absolute)
        if self.normalise is not None and not is_one_of(self.normalise, ("image", "change")):
            raise ValueError(f"normalise is 'image', 'change' or None, not {self.normalise!r}.")
        if not is_one_of(self.auc, ("mean", "trapezoid")) and not callable(self.auc):
            raise ValueError(f"auc is 'mean', 'trapezoid' or a callable b k → b, not {self.auc!r}.")

    def counts(self, groups: int) -> Tensor:
        """k: how many features have changed at each point."""
        if isinstance(self.step, tuple):
            return torch.tensor([round(share * groups) for share in self.step])
        points = math.ceil(groups / self.step) + 1
        return (torch.arange(points) * self.step).clamp(max=groups)

    def area(self, curve: Tensor) -> Tensor:
        """b: the area under b k curves over a length of 1."""
        if callable(self.auc):
            return self._own_area(self.auc, curve)
        if self.auc == "mean" or curve.shape[1] == 1:
            return curve.mean(1)
        if isinstance(self.step, tuple):
            shares = torch.tensor(self.step, dtype=curve.dtype, device=curve.device)
            return torch.trapezoid(curve, shares, dim=1) / (shares[-1] - shares[0])
        return (curve.sum(1) - (curve[:, 0] + curve[:, -1]) / 2) / (curve.shape[1] - 1)

    def _own_area(self, auc: Callable[[Tensor], Tensor], curve: Tensor) -> Tensor:
        areas = auc(curve)
        if not isinstance(areas, Tensor) or areas.shape != curve.shape[:1]:
            came = f"shape {tuple(areas.shape)}" if isinstance(areas, Tensor) else type(areas).__name__
            raise ValueError(f"auc gave {came} for curves of shape {tuple(curve.shape)}: return one area for each.")
        return areas

    @property
    def label(self) -> str:
        """The name, with the fields that differ from the published protocol: `rise with score='logit'`."""
        published = PROTOCOLS.get(self.name, Protocol())._describe_fields()
        changed = [f"{key}={value}" for key, value in self._describe_fields().items() if value != published[key]]
        return self.name + (f" with {', '.join(changed)}" if changed else "")

    def _describe_fields(self) -> dict[str, str]:
        """The repr of each field but the name; two protocols are equal if these are."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        return {name: _describe_value(value) for name, value in values.items()}

    def __repr__(self) -> str:
        return f"Protocol({self.label})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Protocol) and (self.name, self._describe_fields()) == (
            other.name,
            other._describe_fields(),
        )

    def __hash__(self) -> int:
        return hash((self.name, *self._describe_fields().values()))


def _describe_value(value: object) -> str:
    """The repr of a field's value; a tensor, also inside a baseline, by its shape and a hash of its bytes."""
    tensor = value.tensor if isinstance(value, TensorBaseline) else value
    if isinstance(tensor, Tensor):
        content = hashlib.sha256(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()[:8]
        return f"tensor of shape {tuple(tensor.shape)}, {tensor.dtype}, sha256 {content}"
    if isinstance(value, list):
        return repr([_describe_value(one) for one in value])
    return repr(value)


def _check_step(step: object) -> None:
    if isinstance(step, tuple):
        numbers = all(isinstance(share, int | float) and 0 <= share <= 1 for share in step)
        if not step or not numbers or any(b <= a for a, b in pairwise(step)):
            raise ValueError(f"step as a tuple holds rising shares from 0 to 1, not {step}.")
    elif isinstance(step, bool) or not isinstance(step, Integral) or step < 1:
        raise ValueError(f"step is a whole number of at least 1 or a tuple of shares, not {step!r}.")


def _paper_protocol(name: str, step: int, start: Blurred | RISEBlur) -> Protocol:
    """The paper's (docs/paper.md#curves): signed ranks, logit over the image's, plain mean of K+1 points."""
    return Protocol(step=step, fill=black, start=start, normalise="image", name=name)


def _diffid_protocol(name: str, fill: Fill, absolute: bool = True) -> Protocol:
    """DiffID (Yang et al., Local Path Integration, AAAI 2023) on single values, as in the code of Spectral IG."""
    return Protocol(
        step=tuple(i / 10 for i in range(1, 10)),
        fill=fill,
        start=fill,
        unit=Elements(),
        score="accuracy",
        absolute=absolute,
        name=name,
    )


PROTOCOLS: dict[str, Protocol] = {
    "mnist": _paper_protocol("mnist", 10, Blurred(11, 5.0)),
    "cifar10": _paper_protocol("cifar10", 10, Blurred(11, 5.0)),
    "imagenet": _paper_protocol("imagenet", 224 * 8, Blurred(31, 5.0)),
    # as its authors' benchmark blurs (docs/paper.md#two-readings)
    "mnist-authors": _paper_protocol("mnist-authors", 10, RISEBlur(11, 5.0)),
    "cifar10-authors": _paper_protocol("cifar10-authors", 10, RISEBlur(11, 5.0)),
    "imagenet-authors": _paper_protocol("imagenet-authors", 224 * 8, RISEBlur(31, 5.0)),
    "rise": Protocol(
        step=224, fill=black, start=RISEBlur(), score="probability", auc="trapezoid", name="rise"
    ),  # Petsiuk et al., BMVC 2018, and its code
    "diffid": _diffid_protocol("diffid", RemainingMean()),
    "diffid-channel-means": _diffid_protocol("diffid-channel-means", ChannelMeans()),  # ours: one fill at all points
    "diffid-signed": _diffid_protocol("diffid-signed", RemainingMean(), absolute=False),  # ours: negative credit last
    # Rong et al., ICML 2022: deletion is most relevant first (MoRF), insertion keeps the most relevant, which is least
    # relevant first (LeRF). The shares are even, so that both remove the same: the authors have seven of them, plot the
    # accuracies and take no area
    "road": Protocol(
        step=tuple(i / 10 for i in range(1, 10)),
        fill=NoisyLinear(),
        start=NoisyLinear(),
        score="accuracy",
        name="road",
    ),
}


def get_protocol(given: str | Protocol | None, shapes: Sequence[Sequence[int]]) -> Protocol:
    """Return the protocol of this name, or the given one; `None` takes the paper's for images of these shapes.

    That is "cifar10" up to 32 pixels and "imagenet" at 224 × 224. The paper has no others: at any other size the
    protocol has as many steps as at 224 (28) and the blur that `samp.baselines.Blurred` takes for that size.

    >>> [get_protocol(None, [(1, 3, size, size)]).name for size in (28, 64, 224)]
    ['cifar10', '28 steps', 'imagenet']
    """
    if isinstance(given, Protocol):
        return given
    if isinstance(given, str):
        return look_up(given, PROTOCOLS, "protocol")
    if given is not None:
        raise TypeError(f"a protocol is a name or a samp.metrics.Protocol, not {type(given).__name__}.")
    if len(shapes) != 1 or len(shapes[0]) != 4:
        raise ValueError("the paper's protocols are for b c h w images: pass a Protocol(step=…, fill=…, start=…).")
    height, width = shapes[0][2:]
    if max(height, width) <= 32:
        return PROTOCOLS["cifar10"]
    if (height, width) == (224, 224):
        return PROTOCOLS["imagenet"]
    step, start = math.ceil(height * width / 28), Blurred.for_image(height, width)
    return Protocol(step=step, fill=black, start=start, normalise="image", name="28 steps")
