"""Deletion and Insertion (Petsiuk et al., 2018): the score as features go, or come, in the order of their credit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from samp.data_frames import make_frame
from samp.engine.batches import BatchSize
from samp.engine.inputs import Inputs, as_tensors
from samp.metrics import protocols
from samp.metrics.maps import Maps, group_values, ranks, resolve_target
from samp.metrics.masked_forward import MaskedScorer, ScoringOptions, open_scorer
from samp.metrics.protocols import Protocol
from samp.metrics.subsets import own_counts
from samp.targets import Model, Target

if TYPE_CHECKING:
    from pandas import DataFrame

GivenProtocol = str | Protocol | None


@dataclass(frozen=True, eq=False, repr=False)
class Curves:
    """What `deletion_insertion` returns; samples that cannot be normalised are NaN.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2)).eval()
    >>> curves = deletion_insertion(net, torch.rand(2, 1, 4, 4), torch.rand(2, 4, 4), protocol="rise")
    >>> curves.insertion_curve.shape, curves.unnormalised
    (torch.Size([2, 2]), 0)
    """

    PER_SAMPLE: ClassVar = ("deletion", "insertion", "difference", "deletion_curve", "insertion_curve")

    deletion: Tensor
    """b: area under the deletion curve; lower is better."""
    insertion: Tensor
    """b: area under the insertion curve; higher is better."""
    deletion_curve: Tensor
    """b k"""
    insertion_curve: Tensor
    """b k"""
    shares: Tensor
    """k: the share of features changed at each point."""
    unnormalised: int
    """How many samples cannot be normalised, since the score to divide by is not above 0."""
    protocol: Protocol
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, features, forwards per sample, seed, device, dtype and versions."""

    @property
    def difference(self) -> Tensor:
        """b: insertion − deletion, one number to rank by (DiffID's)."""
        return self.insertion - self.deletion

    def __repr__(self) -> str:
        means = f"deletion {float(self.deletion.nanmean()):.4f}, insertion {float(self.insertion.nanmean()):.4f}"
        return f"Curves({means} over {len(self.deletion)} samples, {self.unnormalised} left out; {self.protocol.label})"

    def _repr_html_(self) -> str:
        from samp.display import curves_html

        return curves_html(self)

    def to_pandas(self) -> DataFrame:
        """Return the areas under the curves as a table of pandas, a line for each sample."""
        names = ("deletion", "insertion", "difference")
        columns = [getattr(self, name).double().cpu().tolist() for name in names]
        return make_frame([dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)])


def deletion_insertion(
    model: Model,
    inputs: Inputs,
    maps: Maps,
    target: Target = None,
    protocol: GivenProtocol = None,
    *,
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> Curves:
    """Return the deletion and insertion scores of any maps; the result names the protocol.

    - `maps`: b h w, b c h w, the inputs' own shape, or an `Attribution`; tensors or NumPy arrays, on any device.
    - `target`: as in `samp.explain`; if left out, the class that an `Attribution` explains, else the predicted one.
    - `protocol`: "mnist", "cifar10", "imagenet" (the paper's; with "-authors" behind them, as its authors blur),
      "rise", "diffid", "diffid-channel-means", "diffid-signed", "road", or a `Protocol`; `None` takes the paper's by
      the size of the image. Features of equal credit change in the order of their index.

    >>> net = torch.nn.Linear(3, 1, bias=False).eval()
    >>> net.weight.data = torch.tensor([[1.0, 2.0, 1.0]])
    >>> best = torch.tensor([[1.0, 2.0, 1.0]])
    >>> curves = deletion_insertion(net, torch.ones(1, 3), best, protocol=Protocol(step=1, normalise="image"))
    >>> curves.deletion_curve.tolist(), curves.deletion.item()
    ([[1.0, 0.5, 0.25, 0.0]], 0.4375)
    """
    model, inputs = as_tensors(model, inputs)
    chosen = _resolve_protocol(protocol, inputs)
    settings = ScoringOptions(forward_args, batch_size, progress, seed)
    with open_scorer(model, inputs, resolve_target(maps, target), chosen.unit, chosen.score, settings) as scorer:
        values = group_values(scorer.problem, maps)
        places = ranks(scorer.problem, values.abs() if chosen.absolute else values)  # b g
        return _measure_curves(scorer, chosen, places)


def _resolve_protocol(given: GivenProtocol, inputs: object) -> Protocol:
    tensors = inputs if isinstance(inputs, tuple | list) else [inputs]
    return protocols.get_protocol(given, [getattr(tensor, "shape", ()) for tensor in tensors])


def _measure_curves(scorer: MaskedScorer, chosen: Protocol, places: Tensor) -> Curves:
    """Both curves: deletion hides the first n features, insertion all but the first n."""
    shares, counts = _counts(scorer, chosen)
    points = counts.shape[1]

    def is_deleted(samples: Tensor, numbers: Tensor) -> Tensor:
        return places[samples] < counts[samples, numbers][:, None]

    def is_not_inserted(samples: Tensor, numbers: Tensor) -> Tensor:
        return places[samples] >= counts[samples, numbers][:, None]

    scorer.expect(2 * points)
    down = scorer.scores(scorer.make_masker(chosen.fill), points, is_deleted)
    up = scorer.scores(scorer.make_masker(chosen.start), points, is_not_inserted)
    deletion = _normalise(down, down[:, :1], down[:, -1:], chosen)
    insertion = _normalise(up, up[:, -1:], up[:, :1], chosen)
    failed = deletion.isnan() | insertion.isnan()
    if points > len(shares):  # the ends were measured to normalise by, and are no points of the curves
        deletion, insertion = deletion[:, 1:-1], insertion[:, 1:-1]
    return Curves(
        deletion=chosen.area(deletion),
        insertion=chosen.area(insertion),
        deletion_curve=deletion,
        insertion_curve=insertion,
        shares=shares,
        unnormalised=int(failed.any(1).sum()),
        protocol=chosen,
        details={**scorer.problem.describe(), "forwards": scorer.forwards, "seed": scorer.seed},
    )


def _counts(scorer: MaskedScorer, chosen: Protocol) -> tuple[Tensor, Tensor]:
    """The shares of features at each point of the curves (k), and how many of each sample's features that is (b k).

    Where normalising needs them, the counts also hold both ends (b k+2). Numbers that a mask does not use are no
    features, so that neither the numbering nor the other samples matter.
    """
    own = own_counts(scorer.problem).cpu()
    least, most = int(own.min()), int(own.max())
    if least < most and not isinstance(chosen.step, tuple):
        raise ValueError(
            f"the samples have from {least} to {most} features, so their curves differ in length: pass a protocol "
            "whose step is a tuple of shares, such as (0, 0.25, 0.5, 0.75, 1), or judge them one by one."
        )
    counts = torch.stack([chosen.counts(count) for count in own.tolist()])
    shares = torch.tensor(chosen.step) if isinstance(chosen.step, tuple) else counts[0] / most
    if chosen.normalise and isinstance(chosen.step, tuple):
        counts = torch.cat([torch.zeros_like(own)[:, None], counts, own[:, None]], 1)
    return shares, counts.int().to(scorer.problem.x.device)


def _normalise(curve: Tensor, image: Tensor, filled: Tensor, chosen: Protocol) -> Tensor:
    """b k: the curve on the protocol's scale, by the scores at its ends (b 1); NaN where the divisor is not above 0."""
    if chosen.normalise is None:
        return curve
    floor = filled if chosen.normalise == "change" else torch.zeros_like(filled)
    scale = image - floor
    return (curve - floor) / torch.where(scale > 0, scale, torch.nan)
