"""The pointing game: does the highest pixel of a map lie on the object it explains?

Zhang et al., "Top-down Neural Attention by Excitation Backprop" (ECCV 2016, IJCV 2018). One map is made for every class
of every photo. It hits if its maximum lies on an object of that class or within 15 pixels (Euclidean) of one. The
accuracy of a class is hits / (hits + misses), and the number in tables is the mean over classes. In the paper maps are
enlarged to the photo, so the 15 pixels are of the photo at full resolution; in a picture shrunk to a model's input they
reach further. The ground truth is boxes for VOC and masks for COCO. Objects marked "difficult" in VOC count as others
do, but a class that has no other object in the photo is not played.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.annotations.boxes import Annotation
from samp.checks import check_dense, is_number
from samp.metrics.ground_truth import GroundTruth, Labels, Truth, ground_truths, stack_masks
from samp.metrics.maps import Maps, pixel_maps

TOLERANCE = 15.0  # pixels, as published
SMALL = 0.25  # of the photo: what objects of the "difficult" subset stay below
NAMED = 5  # how many of the classes that were not played `repr` names


@dataclass(frozen=True, eq=False, repr=False)
class PointingGame:
    """Hits and misses of each sample (b); `accuracy` is the mean over classes, as tables give it.

    >>> game = PointingGame(torch.zeros(3, 2), torch.tensor([True, False, True]), torch.ones(3).bool(), ("a", "a", "b"))
    >>> game.per_class, game.accuracy, round(game.overall, 3)
    ({'a': 0.5, 'b': 1.0}, 0.75, 0.667)
    """

    points: Tensor
    """b 2: row and column of the maximum."""
    hits: Tensor
    """b: whether it hit."""
    played: Tensor
    """b: False for samples without an object of the class, or with VOC-difficult ones only (see `unplayed_counts`)."""
    labels: tuple[Hashable, ...]
    difficult: Tensor | None = None
    """b: which samples are in the difficult subset; None if unknown."""
    tolerance: float = TOLERANCE

    @property
    def per_class(self) -> dict[Hashable, float]:
        """Hits over samples played, for each class."""
        tally: dict[Hashable, list[bool]] = {}
        for label, hit, played in zip(self.labels, self.hits.tolist(), self.played.tolist(), strict=True):
            if played:
                tally.setdefault(label, []).append(hit)
        return {label: sum(hits) / len(hits) for label, hits in tally.items()}

    @property
    def accuracy(self) -> float:
        """The mean over classes of hits / (hits + misses); NaN if none was played."""
        scores = self.per_class.values()
        return sum(scores) / len(scores) if scores else math.nan

    @property
    def overall(self) -> float:
        """Hits over samples, whatever their class; NaN if none was played."""
        count = int(self.played.sum())
        return int((self.hits & self.played).sum()) / count if count else math.nan

    @property
    def unplayed_counts(self) -> dict[Hashable, int]:
        """How many samples of each class were not played, for classes with any.

        This is no error, since a crop may lose the object. But a label that the annotations spell otherwise ("Dog" for
        "dog") is never played: look for it here, or in the `repr`.
        """
        without = [label for label, played in zip(self.labels, self.played.tolist(), strict=True) if not played]
        return dict(Counter(without))

    @property
    def difficult_subset(self) -> PointingGame:
        """The same game on the difficult samples alone."""
        if self.difficult is None:
            raise ValueError("which samples are difficult is not known: give the truth as Annotations, or `difficult`.")
        hard = self.difficult
        labels = tuple(label for label, is_hard in zip(self.labels, hard.tolist(), strict=True) if is_hard)
        return PointingGame(self.points[hard], self.hits[hard], self.played[hard], labels, hard[hard], self.tolerance)

    def __repr__(self) -> str:
        hits, played = int((self.hits & self.played).sum()), int(self.played.sum())
        names = [str(label) for label in self.unplayed_counts]
        which = f" ({', '.join(names[:NAMED])}{', …' if len(names) > NAMED else ''})" if names else ""
        return (
            f"PointingGame({hits} of {played} hit, mean of {len(self.per_class)} classes {self.accuracy:.3f}, "
            f"tolerance {self.tolerance:g} pixels, {len(self.hits) - played} not played{which})"
        )


def pointing_game(
    maps: Maps,
    truth: Truth,
    labels: Labels = None,
    *,
    tolerance: float = TOLERANCE,
    difficult: Sequence[bool] | Tensor | None = None,
) -> PointingGame:
    """Return whether the maximum of each map hits its object; of equal maxima, the first in reading order counts.

    - `truth`: for each sample a boolean mask, the object's boxes, or the photo's `Annotation`.
    - `labels`: the class that each map explains; without them all samples are of one class. A sample whose annotation
      has no box of its label is not played (`PointingGame.unplayed_counts` counts these by class).
    - `difficult`: which samples are in the difficult subset; by default `is_difficult` of the annotations.

    >>> from samp.annotations.boxes import Box
    >>> maps = torch.zeros(2, 40, 40)
    >>> maps[0, 30, 30] = 1
    >>> box = [Box("dog", 20, 20, 40, 40)]
    >>> pointing_game(maps, [box, box], ["dog", "dog"])
    PointingGame(1 of 2 hit, mean of 1 classes 0.500, tolerance 15 pixels, 0 not played)
    """
    if not is_number(tolerance) or tolerance < 0:
        raise ValueError(f"the tolerance is a number of pixels of at least 0, not {tolerance!r}.")
    heat = pixel_maps(maps)
    objects = ground_truths(truth, heat, labels)
    masks = stack_masks(objects, heat)
    highest = heat.flatten(1).argmax(1)  # the first of equal ones
    points = torch.stack([highest // heat.shape[2], highest % heat.shape[2]], 1)  # b 2
    return PointingGame(
        points=points.cpu(),
        hits=(_near(points, masks, tolerance) & masks).flatten(1).any(1).cpu(),
        played=torch.tensor([_is_playable(one) for one in objects]),
        labels=tuple("object" if one.label is None else one.label for one in objects),
        difficult=_difficult_flags(objects) if difficult is None else _as_flags(difficult, len(heat)),
        tolerance=tolerance,
    )


def is_difficult(annotation: Annotation, label: str) -> bool:
    """Whether the pair of photo and class is in Zhang et al.'s difficult subset.

    It is if the boxes of the class have a total area below a quarter of the photo and there is an object of another
    class. The published subset is of whole photos: a cropped annotation may have lost either condition.

    >>> from samp.annotations.boxes import Box
    >>> park = Annotation((Box("dog", 0, 0, 4, 4), Box("person", 0, 0, 10, 9)), size=(10, 10))
    >>> is_difficult(park, "dog"), is_difficult(park, "person")
    (True, False)
    """
    area = sum(box.area for box in annotation.of(label))
    return 0 < area < SMALL * math.prod(annotation.size) and len(annotation.labels) > 1


def join_games(games: Iterable[PointingGame]) -> PointingGame:
    """Return several games as one, since photos of different sizes are played one by one.

    >>> box = torch.tensor([[[True, False]]])
    >>> games = [pointing_game(torch.ones(1, 1, 2), box), pointing_game(torch.eye(2)[None, 1:], box, tolerance=15)]
    >>> join_games(games)
    PointingGame(2 of 2 hit, mean of 1 classes 1.000, tolerance 15 pixels, 0 not played)
    """
    parts = list(games)
    if len({game.tolerance for game in parts}) != 1:
        raise ValueError(f"games are joined at one tolerance, not {sorted({game.tolerance for game in parts})}.")
    known = [game.difficult for game in parts if game.difficult is not None]
    return PointingGame(
        points=torch.cat([game.points for game in parts]),
        hits=torch.cat([game.hits for game in parts]),
        played=torch.cat([game.played for game in parts]),
        labels=tuple(label for game in parts for label in game.labels),
        difficult=torch.cat(known) if len(known) == len(parts) else None,
        tolerance=parts[0].tolerance,
    )


def _near(points: Tensor, masks: Tensor, tolerance: float) -> Tensor:
    """b h w: the pixels at most `tolerance` away from each sample's point."""
    rows, columns = (torch.arange(count, device=points.device) for count in masks.shape[1:])
    down, across = (rows - points[:, :1]) ** 2, (columns - points[:, 1:]) ** 2  # b h, b w
    return down[:, :, None] + across[:, None] <= float(tolerance) ** 2


def _is_playable(truth: GroundTruth) -> bool:
    only_difficult = truth.annotation is not None and all(box.difficult for box in truth.boxes)
    return bool(truth.mask.any()) and not only_difficult


def _difficult_flags(objects: Sequence[GroundTruth]) -> Tensor | None:
    flags = [is_difficult(one.annotation, str(one.label)) for one in objects if one.annotation is not None]
    return torch.tensor(flags) if len(flags) == len(objects) else None


def _as_flags(difficult: Sequence[bool] | Tensor, batch: int) -> Tensor:
    try:
        flags = torch.as_tensor(difficult)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise TypeError(f"`difficult` is a list of True and False, not {type(difficult).__name__}.") from error
    check_dense(flags, "`difficult`")
    flags = flags.bool().cpu()
    if flags.shape != (batch,):
        raise ValueError(f"there are {batch} maps but `difficult` has shape {tuple(flags.shape)}: give one for each.")
    return flags
