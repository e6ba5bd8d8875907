"""What labels say of a run: its accuracy, and which classes it confuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from samp.batch.columns import TRUE, Columns
from samp.batch.results import RunResults
from samp.html.facts import Record

MOST_CONFUSIONS = 12  # shown
MOST_MISTAKES = 12


@dataclass(frozen=True)
class LabelFacts:
    """Accuracy and confusions of the inputs that have a label and an answer."""

    judged: int
    mistakes: int
    source: str
    confusions: Sequence[Record]
    """The most frequent pairs of a true class and what the model says instead: `true`, `predicted`, names, `inputs`."""

    @property
    def accuracy(self) -> float | None:
        """The share of right answers, None without any label."""
        return 1 - self.mistakes / self.judged if self.judged else None

    @property
    def sentence(self) -> str:
        """Accuracy in words.

        >>> LabelFacts(1000, 250, "labels.csv", ()).sentence
        'accuracy 75.0 %: 250 mistakes in 1,000 labelled inputs.'
        """
        if self.accuracy is None:
            return "no input has both a label and an answer."
        return f"accuracy {100 * self.accuracy:.1f} %: {self.mistakes:,} mistakes in {self.judged:,} labelled inputs."

    def to_dict(self) -> Record:
        """Return the numbers as values that JSON can hold."""
        counts = {"labelled": self.judged, "mistakes": self.mistakes, "accuracy": self.accuracy}
        return {**counts, "labels": self.source, "confusions": list(self.confusions)}


def label_facts(run: RunResults, columns: Columns | None = None, most: int = MOST_CONFUSIONS) -> LabelFacts | None:
    """Return accuracy and the most frequent confusions of a run, None if it has no labels."""
    header = run.labels_header
    if header is None:
        return None
    known = run.columns() if columns is None else columns
    pairs = confusions(known, most)
    names = {number: known.labels.get(number) or run.class_name(number) for pair in pairs for number in pair[:2]}
    named = [
        {"true": true, "predicted": said, "true_label": names[true], "predicted_label": names[said], "inputs": count}
        for true, said, count in pairs
    ]
    return LabelFacts(int(known.is_judged.sum()), int(known.wrong.sum()), header.source, named)


def confusions(columns: Columns, most: int) -> list[tuple[int, int, int]]:
    """Return the most frequent pairs of a true and a predicted class that differ, each with its number of inputs.

    >>> rows = [{"true": 1, "predicted": said} for said in (0, 0, 1, 2)]
    >>> confusions(Columns.from_rows(rows), 5)
    [(1, 0, 2), (1, 2, 1)]
    """
    wrong = columns.wrong
    both = np.stack([columns[TRUE][wrong], columns["predicted"][wrong]], 1).astype(np.int64)
    pairs, counts = np.unique(both, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [(int(pairs[i, 0]), int(pairs[i, 1]), int(counts[i])) for i in order]


def surest_mistakes(columns: Columns, most: int = MOST_MISTAKES) -> list[int]:
    """Return positions of mistakes that have a map, those of which the model was surest first; none without labels.

    >>> rows = [{"true": 1, "predicted": 0, "gini": 0.5, "confidence": sure} for sure in (0.2, None, 0.9)]
    >>> surest_mistakes(Columns.from_rows(rows))
    [2, 0, 1]
    """
    found = np.flatnonzero(columns.wrong & ~columns.failed)
    sure = np.nan_to_num(columns["confidence"][found], nan=-1.0)
    positions: list[int] = found[np.argsort(-sure, kind="stable")][:most].tolist()
    return positions
