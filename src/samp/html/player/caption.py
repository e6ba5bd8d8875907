"""The texts around the pictures: what is explained, what is shown, how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samp.attribution import Attribution, describe_walks
from samp.html.facts import describe_method
from samp.html.player.film import COARSE, TOLERANCE, Film
from samp.html.player.likely import ClassProbabilities
from samp.models import Classifier
from samp.models.question import margin_kind
from samp.plots.shading import FULL_WHITE_QUANTILE
from samp.result_words import format_residual, score_source


@dataclass(frozen=True)
class Question:
    """Which score of which model is explained, and what it is for the photo itself."""

    model: str
    label: str
    index: int | None
    """The class, where the score is one of a class."""
    score: float
    kind: str
    """What the score is: "logit" or "probability" of a class, or a "score" where that is not known."""

    def sentence(self, name: str) -> str:
        """Return what the model makes of the photo.

        >>> Question("Net", "cup", 3, 11.5, "logit").sentence("photo.jpg")
        'Net gives photo.jpg a logit of 11.500 for cup.'
        """
        of_class = "" if self.index is None else f" for {self.label}"
        return f"{self.model} gives {name or 'the photo'} a {self.kind} of {_number(self.score)}{of_class}."


def make_question(result: Attribution, classifier: Classifier, kind: str, sample: int) -> Question:
    """Return the question that this result answers; `kind` is what the model's outputs are."""
    up = "to_image" in result.scores
    scores = result.scores["to_image" if up else "to_baseline"][sample]
    score = float(scores[int(result.steps["to_image"][sample])] if up else scores[0])
    target = result.details.get("target")
    sides = [target["of"], target["against"]] if isinstance(target, dict) else [target]
    indices = [side[sample] for side in sides if isinstance(side, list) and isinstance(side[sample], int)]
    if len(indices) < len(sides):
        return Question(classifier.name, "this score", None, score, "score")
    label = " rather than ".join(map(classifier.label, indices))
    return Question(classifier.name, label, indices[0], score, kind if len(indices) == 1 else margin_kind(kind))


def top_heading(likely: ClassProbabilities) -> str:
    """Return the heading above the most likely classes at a point."""
    return f"Top {likely.top_count} at this point" if likely.top_count else "At this point"


def legend(result: Attribution, films: Sequence[Film], likely: ClassProbabilities) -> list[tuple[str, str]]:
    """Return what each part of the page shows, by the name of the part."""
    both = ", summed over both walks," if len(films) > 1 else ""
    estimate = ", to first order in the noise" if "walks" in result.details else ""
    outputs = "The model's outputs" if likely.given else "The softmax of the model's outputs"
    top = (
        f"Top {likely.top_count}",
        f"{outputs} at this point; the explained class stands out where it is among them.",
    )
    return [
        ("Point", f"{_describe_point(result)} {_describe_drawing(films)}"),
        (
            "Credit so far",
            f"The final map{both} with each pixel's credit weighted by the fraction of its way that the pixel has "
            f"gone in this walk. Brightest at the {100 * FULL_WHITE_QUANTILE:.0f}th percentile of the positive "
            "credit of all pixels in the final map; black is none, negative, or not yet moved.",
        ),
        ("Curve", f"The explained score at every step of the walk{estimate}; the dot is where you are."),
        *([top] if likely.top_count else []),
        ("Way", "The L1 distance from the start of the walk over that plus the distance still to go."),
    ]


def facts(result: Attribution, question: Question, zero: str, sample: int) -> list[tuple[str, str]]:
    """Return how the result was made and what its credit misses, by label; `zero` is the colour of input 0."""
    change = sum(float(c[sample]) for c in result.score_change.values())
    residual = float(result.residual[sample])
    details = result.details
    versions = ", ".join(f"{name} {version}" for name, version in details.get("versions", {}).items())
    walks = describe_walks(result, sample)
    number = "" if question.index is None else f" ({question.index})"
    return [
        ("Class", f"{question.label}{number}"),
        ("Score", f"{_number(question.score)} ({score_source(question.kind, question.model)})"),
        ("Residual", format_residual(residual, change).replace("-", "−")),
        *([("Map", f"{walks[0].upper()}{walks[1:]}")] if walks else []),
        ("Gradients", str(int(result.gradients[sample]))),
        ("Method and baselines", describe_method({"method": result.method, "zero": zero})),
        ("Made with", f"{versions}; {details.get('device')}, {details.get('dtype')}, seed {details.get('seed')}"),
    ]


def _describe_point(result: Attribution) -> str:
    """Return what a picture of the film is; a map that is a mean of walks comes with points of the first of them."""
    walks = result.details.get("walks")
    if walks is None:
        return "A real point of the walk: what the model was fed there, as pixels."
    mean = f"the first of {walks} walks, whose mean the map is" if walks > 1 else "the walk"
    return f"A real point of {mean}, as pixels; its gradient was taken with a little noise added."


def _describe_drawing(films: Sequence[Film]) -> str:
    exact = f"Redrawn from the walk's two ends and each pixel's fraction, to {TOLERANCE} of 255 levels."
    stored = f"Stored as JPEG, and each pixel's fraction in {COARSE + 1} levels."
    kinds = {film.is_straight for film in films}
    return exact if kinds == {True} else stored if kinds == {False} else f"{stored} Or else: {exact}"


def _number(value: float) -> str:
    """Return the value with three decimals and a true minus sign."""
    return f"{value:.3f}".replace("-", "−")
