"""Comparing methods one after the other: what `samp compare` does between its options and its last line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from samp.atomic import atomic_write
from samp.cli import error_sentence, is_debugging
from samp.cli.progress import PhotoProgress, expected_rows
from samp.cli.terminal import say
from samp.compare import Compared, Task, make_task
from samp.extras import install_command
from samp.html.compare_page import comparison_page as page_of
from samp.methods import Method
from samp.metrics.masked_forward import ScoringOptions
from samp.models.prediction import ClassifiedPhoto


def compare_all(
    classified: ClassifiedPhoto, methods: Mapping[str, Method], protocol: str | None, seed: int
) -> tuple[Compared, dict[str, str]]:
    """The rows of the methods that worked, and a sentence for each that did not."""
    task = make_task(
        classified.classifier.net, classified.x, classified.targets[0], protocol, settings=ScoringOptions(seed=seed)
    )
    progress, rows, left_out = _make_progress(task, methods.values()), [], {}
    with progress.watch(classified.classifier.net, ""):
        for name, method in methods.items():
            progress.photo = name
            try:
                rows.append(task.measure(name, method))
            except Exception as error:
                if is_debugging():
                    raise
                left_out[name] = error_sentence(error)
    if not rows:
        raise ValueError(f"none of the methods worked: {', '.join(left_out)}.")
    return Compared(tuple(rows)), left_out


def write_comparison(
    page: Path, figure: Path, classified: ClassifiedPhoto, compared: Compared, record: dict[str, Any]
) -> list[Path]:
    """The page, and the figure where matplotlib is there to draw it; what was written."""
    with atomic_write(page) as unfinished:
        unfinished.write_text(page_of(classified, compared, record), encoding="utf-8")
    try:
        from samp.plots.compare_figure import draw
    except ImportError:
        said = f"the page has no figure beside it, which needs matplotlib: {install_command('viz')}."
        say(f"samp: {said}", err=True)
        return [page]
    with atomic_write(figure) as unfinished:
        notes = {"samp": json.dumps(record)}  # the numbers travel in the file, as with `samp explain`
        draw(classified, compared, record).savefig(
            unfinished, format="png", metadata=notes, pil_kwargs={"optimize": True}
        )
    return [page, figure]


def _make_progress(task: Task, methods: Iterable[Method]) -> PhotoProgress:
    """A progress line that knows the evaluations of all methods and of their curves, as far as settings tell."""
    height, width = task.inputs.shape[2:] if isinstance(task.inputs, Tensor) else (0, 0)
    curves = 2 * len(task.protocol.counts(height * width))
    rows = (expected_rows(method, height, width) or int(getattr(method, "samples", 1)) for method in methods)
    return PhotoProgress(1, sum(one + curves for one in rows))
