"""What a model says of a photo, of the region of a map alone, and of the photo without that region.

Pixels are removed by blurring them, as the baselines of the walks do. How little is left when all are blurred is part
of the answer: where the blurred photo is still recognised, its region proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.baselines import Blurred
from samp.models.classifier import Classifier
from samp.models.outputs import is_within_unit
from samp.models.prediction import ClassifiedPhoto, run_classifier
from samp.region import Region

TOP = 3


@dataclass(frozen=True)
class Guess:
    """A class, with the model's score for it and its probability.

    The probability is None for a net with a single output, and where the net gives NaN.
    """

    label: str
    index: int
    score: float
    probability: float | None


@dataclass(frozen=True)
class Reply:
    """What the model says of one picture: its best class, and the class that is explained."""

    best: Guess
    explained: Guess

    @property
    def agrees(self) -> bool:
        """Whether the explained class is the best one."""
        return self.best.index == self.explained.index


@dataclass(frozen=True)
class Answers:
    """What the model says of the photo and of its parts, all for one explained class."""

    top: tuple[Guess, ...]
    """The best classes of the photo, best first."""
    explained: Guess
    """The explained class of the photo."""
    alone: Reply | None
    """Of the region, with all else blurred; None if there is no region."""
    without: Reply | None
    """Of the photo with the region blurred; None if there is no region."""
    blurred: Reply | None
    """Of the photo with everything blurred; None if there is no region."""

    @property
    def agrees(self) -> bool:
        """Whether the explained class is the model's own answer."""
        return self.top[0].index == self.explained.index


def ask_about_region(classified: ClassifiedPhoto, region: Region, target: int) -> Answers:
    """Run the model on the region alone, on the photo without it and on the blurred photo, one after the other.

    Raises ValueError if the net cannot be run on them, MemoryError if memory runs out.

    >>> from samp import images
    >>> from samp.models.prediction import classify_photo
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 3)).eval()
    >>> photo = classify_photo(images.example_photo(), Classifier(net, "tiny", 4, 0.5, 0.5, ("cup", "cat", "dog")))
    >>> whole = Region(torch.ones(4, 4, dtype=torch.bool), torch.ones(4, 4), 0.5, 0.0)
    >>> answers = ask_about_region(photo, whole, target=1)
    >>> answers.explained.label, answers.alone.explained.score == answers.explained.score
    ('cat', True)
    """
    classifier, (_, *others) = classified.classifier, pictures_to_ask(classified.x, region)
    # one after the other, as some nets take one picture at a time
    outputs = [classified.scores, *(run_classifier(classifier, picture) for picture in others)]
    return read_answers(classifier, torch.stack(outputs), target)


def pictures_to_ask(x: Tensor, region: Region) -> list[Tensor]:
    """Return a photo (1 c h w) and, if there is a region, that alone, the photo without it, and all of it blurred."""
    return [x] if region.is_empty else [x, *split_by_region(x, region.mask), Blurred()(x)]


def read_answers(classifier: Classifier, outputs: Tensor, target: int) -> Answers:
    """Return the answers by a net's outputs for `pictures_to_ask`: 4 n, or 1 n if there is no region."""
    guesses = _guesses(classifier, outputs)
    top, explained = _best(guesses[0], TOP), guesses[0][target]
    if len(guesses) == 1:
        return Answers(top, explained, None, None, None)
    alone, without, blurred = (Reply(_best(row, 1)[0], row[target]) for row in guesses[1:])
    return Answers(top, explained, alone, without, blurred)


def split_by_region(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return images (b c h w) with all but the mask (h w) blurred, and with the mask blurred.

    >>> x = torch.rand(1, 3, 8, 8)
    >>> alone, without = split_by_region(x, torch.ones(8, 8, dtype=torch.bool))
    >>> bool((alone == x).all()), bool((without == Blurred()(x)).all())
    (True, True)
    """
    blurred, inside = Blurred()(x), mask.to(x.device)
    return torch.where(inside, x, blurred), torch.where(inside, blurred, x)


def probabilities(outputs: Tensor) -> Tensor | None:
    """Return the probability of each class (k n) by a net's outputs (k n): these if they are such, else their softmax.

    They are taken for probabilities if all of the first row, that of the photo, lie from 0 to 1: what the model says of
    the photo must not depend on what it is asked next. A single output has none: its softmax would always be 1.

    >>> probabilities(torch.tensor([[-1.0, -1.0]])), probabilities(torch.tensor([[3.0]]))
    (tensor([[0.5000, 0.5000]]), None)
    """
    if outputs.shape[1] < 2:
        return None
    return outputs if is_within_unit(outputs[:1]) else outputs.softmax(1)


def _guesses(classifier: Classifier, outputs: Tensor) -> list[list[Guess]]:
    """Return a guess for each class, one list for each row of outputs (k n)."""
    known = probabilities(outputs)
    chances = torch.full_like(outputs, math.nan) if known is None else known
    return [
        [
            Guess(classifier.label(index), index, score, chance if math.isfinite(chance) else None)
            for index, (score, chance) in enumerate(zip(*row, strict=True))
        ]
        for row in zip(outputs.tolist(), chances.tolist(), strict=True)
    ]


def _best(guesses: list[Guess], count: int) -> tuple[Guess, ...]:
    return tuple(sorted(guesses, key=lambda guess: -guess.score)[:count])  # of equal ones, the first
