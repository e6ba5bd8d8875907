"""A result as the page gets it: numbers, sentences, curves and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from samp.app.pictures import draw_result
from samp.attribution import Attribution
from samp.html.facts import ExplainedPhoto, lines
from samp.plots.answer_rows import answer_sentence, part_sentences, region_rows, region_sentence
from samp.region import Region

MISSED = 0.1  # of the score change: credit that misses more does not add up to it, whatever it is good for
NO_SUM = "Its credit does not add up to the score change: compare pixels with each other, not credit with the score."


def describe_result(explained: ExplainedPhoto, region: Region, number: int, final: bool) -> dict[str, Any]:
    """Return the result of a round; the model's answers to the parts of the photo are those of the final one alone."""
    (record,), (answers,) = explained.records, explained.answers
    words, adds_up = lines(record), _adds_up(record)
    return {
        "label": record["class"],
        "index": record["index"],
        "score": record["score"],
        "score_is": record["score_is"],
        "probability": answers.explained.probability,
        "residual": record["residual"],
        "residual_words": words["residual"],
        "adds_up": adds_up,
        "gradients": record["gradients"],
        "forwards": record["forwards"],
        "seconds": record["seconds"],
        "walks": record["walks"],
        "resolution": record["resolution"],
        "method": record["method"],
        "sentences": [
            answer_sentence(answers, record["model"]),
            region_sentence(region),
            *(part_sentences(answers) if final and not region.is_empty else []),
        ],
        "asked": f"How likely it finds {record['class']} in",
        "parts": [asdict(row) for row in region_rows(answers)] if final else [],
        "notes": [*explained.notes(0), *([] if adds_up else [NO_SUM])],
        "pictures": draw_result(explained, region),
        "curve": curves(explained.result),
        "round": number,
        "final": final,
    }


def _adds_up(record: Mapping[str, Any]) -> bool:
    """Return whether the credit sums to the score change, about; so it does where the method says nothing of it."""
    residual, change = record["residual"], record["score_change"]
    if residual is None or change is None:
        return True
    return abs(float(residual)) <= MISSED * max(abs(float(change)), 0.01)  # shown with three decimals


def curves(result: Attribution) -> dict[str, list[float]]:
    """Return the score at each point of the walk of each direction; nothing of a method that does not walk."""
    return {
        direction: [score for score in scores[0].double().cpu().tolist() if math.isfinite(score)]
        for direction, scores in result.scores.items()
    }
