"""Explaining photos one after the other: what `samp explain` does between its options and its last line."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import samp
from samp.atomic import UnwritableError
from samp.attribution import Attribution
from samp.cli import replace_surrogates
from samp.cli.output import write_explanation
from samp.cli.progress import PhotoProgress, expected_rows
from samp.cli.terminal import say
from samp.fast import Speed
from samp.html.facts import facts
from samp.images import UnreadableError
from samp.methods import Method
from samp.models import Classifier
from samp.models.prediction import ClassifiedPhoto, classify_photo


@dataclass(frozen=True, eq=False)
class PhotoExplainer:
    """A model and a method, and which classes to explain by them."""

    classifier: Classifier
    method: Method
    seed: int
    target: str | None
    top: int
    speed: Speed = "exact"

    def make_progress(self, photos: int) -> PhotoProgress:
        """A progress line for this many photos."""
        rows = expected_rows(self.method, *self.classifier.shape)
        return PhotoProgress(photos, rows and rows * self.top)

    def explain(self, path: Path, progress: PhotoProgress) -> tuple[ClassifiedPhoto, Attribution, list[dict[str, Any]]]:
        """The question, the answer and its numbers, one entry for each class."""
        classified = classify_photo(path, self.classifier, self.target, self.top)
        x = classified.x.expand(len(classified.targets), -1, -1, -1)
        started = time.perf_counter()
        # to watch a net takes a hook, and a net with hooks is explained exactly
        watched = progress.watch(self.classifier.net, click.format_filename(path.name))
        with watched if self.speed == "exact" else nullcontext():
            result = samp.explain(
                self.classifier.net,
                x,
                target=list(classified.targets),
                method=self.method,
                seed=self.seed,
                speed=self.speed,
            )
        seconds = time.perf_counter() - started
        return classified, result, [facts(classified, result, sample, seconds) for sample in range(len(x))]


def explain_all(
    explainer: PhotoExplainer,
    jobs: Sequence[tuple[Path, Path]],
    form: str,
    on_result: Callable[[list[dict[str, Any]]], None],
) -> int:
    """Explain each photo into its file and tell its numbers; one that cannot be read or written is told and skipped.

    Returns how many were explained. A full disk ends it: no other file would fit.
    """
    progress, done = explainer.make_progress(len(jobs)), 0
    for path, file in jobs:
        try:
            classified, result, told = explainer.explain(path, progress)
            write_explanation(file, form, classified, result, told)
        except (UnreadableError, FileNotFoundError, UnwritableError, samp.NonFiniteError) as error:
            if isinstance(error, UnwritableError) and error.full:
                raise
            if not isinstance(error, UnwritableError):
                progress.photos -= 1  # one that costs nothing is not to come
            said = replace_surrogates(error)
            say(f"samp: {said}", err=True)
            on_result([{"photo": click.format_filename(path), "error": said}])
        else:
            on_result([{**one, "out": click.format_filename(file)} for one in told])
            done += 1
    return done
