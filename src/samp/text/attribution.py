"""What an explanation of a text holds: its tokens and words with their credit, and how it is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor

from samp.atomic import atomic_write
from samp.attribution import Attribution
from samp.text.batches import GroupName
from samp.text.pieces import Piece, format_bars, make_pieces
from samp.text.words import Span


@dataclass(frozen=True, eq=False, repr=False)
class TextAttribution:
    """The explanation of one text.

    Credit is the mean over the directions walked, so that it sums to `score` − `baseline_score` for methods that are
    complete; `residual` is what is missing.

    >>> import samp
    >>> words = "the film was good bad".split()
    >>> encode = lambda text: samp.text.Encoded(text, [words.index(w) for w in text.split()], text.split(), [False] * 4)
    >>> net = torch.nn.Sequential(torch.nn.Embedding(5, 3), torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    >>> result = samp.text.explain(net, encode, "the film was good", baseline="zero")
    >>> result.features, len(result.scores), len(result.top(2))
    (('the', 'film', 'was', 'good'), 4, 2)
    >>> print(result.text, result.groups, result.baseline)
    the film was good tokens zero
    """

    text: str
    features: tuple[str, ...]
    """The words or tokens that credit is given to, as they stand in the text."""
    scores: Tensor
    """The credit of each feature."""
    tokens: tuple[str, ...]
    """The tokens that were explained, by the tokenizer's names; special ones are in `fixed`."""
    token_scores: Tensor
    """The credit of each token: of a method that moves whole words, its share by its own gradient."""
    words: tuple[str, ...]
    """The words of the text; tokens where the tokenizer does not say where they stand."""
    word_scores: Tensor
    """The credit of each word, the sum over its tokens."""
    fixed: tuple[str, ...]
    """Special tokens that were kept as they are: they are no features and earn nothing."""
    target: str
    """What is explained: a class, a token, or one rather than another."""
    score: float
    """The score of the whole text."""
    baseline_score: float
    """The score with every feature at the baseline; the mean of both where there are two."""
    residual: float
    """`score` − `baseline_score` − the sum of the credit; NaN for methods whose credit is not meant to sum to it."""
    baseline: str
    groups: GroupName
    method: str
    """The method with all its settings."""
    answers: tuple[tuple[str, float], ...] = ()
    """The model's best answers and their probabilities."""
    spans: tuple[Span, ...] | None = None
    """The place of each feature in the text; None if the tokenizer does not say it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    attribution: Attribution | None = None
    """The result of `samp.explain` for the batch that the text was in."""
    sample: int = 0
    """The number of the text in that batch."""
    position: int | None = None
    """The token whose answer is explained, of a model that answers for each; None for others."""

    def top(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the n features of the largest credit, for or against the target, with their credit."""
        order = self.scores.abs().argsort(descending=True, stable=True)[:n].tolist()
        return [(self.features[place], float(self.scores[place])) for place in order]

    @property
    def pieces(self) -> list[Piece]:
        """The whole text in parts, each with its credit or None for what earns nothing."""
        return make_pieces(self.text, self.features, self.scores.tolist(), self.spans)

    def record(self) -> dict[str, Any]:
        """Return the explanation as plain data, for JSON; what is not a number is None."""
        names = ("text", "target", "score", "baseline_score", "residual", "baseline", "groups", "method")
        numbers = {name: _plain(getattr(self, name)) for name in names}
        pairs = zip(self.features, self.scores.tolist(), strict=True)
        return {
            **numbers,
            "features": [{"text": name, "credit": _plain(credit)} for name, credit in pairs],
            "fixed": list(self.fixed),
            "answers": [{"answer": name, "probability": share} for name, share in self.answers],
            "seed": self.details.get("seed"),
            "versions": self.details.get("versions"),
        }

    def page(self) -> str:
        """Return a self-contained HTML page."""
        return TextAttributions([self]).page()

    def save_page(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        return TextAttributions([self]).save_page(path)

    def __str__(self) -> str:
        return format_bars(self)

    def __repr__(self) -> str:
        best = ", ".join(f"{name!r} {credit:+.3g}" for name, credit in self.top(3))
        return (
            f"TextAttribution({self.target}: {best}; {len(self.features)} {self.groups}, residual {self.residual:.2g})"
        )

    def _repr_html_(self) -> str:
        from samp.html.text_page import notebook_html

        return notebook_html([self.display()])

    def display(self) -> dict[str, Any]:
        """Return what a page shows of it."""
        return {
            **self.record(),
            "pieces": [(piece.text, piece.credit, piece.label) for piece in self.pieces],
            "sums": _describe_sum(self),
        }


class TextAttributions(Sequence[TextAttribution]):
    """The explanations of several texts, in their order.

    >>> import samp
    >>> words = "the film was good bad".split()
    >>> encode = lambda text: samp.text.Encoded(text, [words.index(w) for w in text.split()], text.split(), [False] * 4)
    >>> net = torch.nn.Sequential(torch.nn.Embedding(5, 3), torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    >>> results = samp.text.explain(net, encode, ["the film was good", "the film was bad"], baseline="zero")
    >>> len(results), results[1].text, results.residual.shape
    (2, 'the film was bad', torch.Size([2]))
    """

    def __init__(self, results: Sequence[TextAttribution]) -> None:
        self._results = tuple(results)

    @overload
    def __getitem__(self, place: int) -> TextAttribution: ...
    @overload
    def __getitem__(self, place: slice) -> TextAttributions: ...
    def __getitem__(self, place: int | slice) -> TextAttribution | TextAttributions:
        found = self._results[place]
        return TextAttributions(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[TextAttribution]:
        return iter(self._results)

    @property
    def residual(self) -> Tensor:
        """What the credit of each text misses of its score change."""
        return torch.tensor([one.residual for one in self])

    def page(self) -> str:
        """Return a self-contained HTML page of all texts."""
        from samp.html.text_page import text_page

        return text_page([one.display() for one in self])

    def save_page(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        with atomic_write(Path(path)) as unfinished:
            unfinished.write_text(self.page(), encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"TextAttributions([{', '.join(map(repr, self))}])"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        from samp.html.text_page import notebook_html

        return notebook_html([one.display() for one in self])


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not torch.isfinite(torch.tensor(value)) else value


def _describe_sum(one: TextAttribution) -> str:
    change = one.score - one.baseline_score
    words = f"score {one.score:.3f}, without these {one.groups} ({one.baseline}) {one.baseline_score:.3f}"
    if one.residual != one.residual:
        return f"{words}. The credit of this method is not meant to sum to the difference."
    return f"{words}; the credit sums to {float(one.scores.double().sum()):.3f} of {change:.3f}"
