"""What a model says of a photo, for the page."""

from __future__ import annotations

from typing import Any

from samp.app.pictures import draw_photo, draw_point
from samp.app.removal import describe_guess
from samp.models.answers import Guess, probabilities
from samp.models.prediction import ClassifiedPhoto

TOP = 5


def describe_prediction(classified: ClassifiedPhoto) -> dict[str, Any]:
    """Return the best classes, the photo, which part of it the model is shown, and that part as it is shown it."""
    scores, classifier = classified.scores, classified.classifier
    known = probabilities(scores[None])
    best = scores.topk(min(TOP, len(scores))).indices.tolist()
    guesses = [
        Guess(classifier.label(index), index, float(scores[index]), None if known is None else float(known[0, index]))
        for index in best
    ]
    return {
        "top": [describe_guess(guess) for guess in guesses],
        "preview": draw_photo(classified.photo),
        "crop": list(classified.crop_box),
        "picture": draw_point(classified.x[0], classifier),
        "size": list(classifier.shape[::-1]),
    }
