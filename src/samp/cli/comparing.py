"""Comparing methods one after the other: what `samp compare` does between its options and its last line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from samp.atomic import whole
from samp.cli import debugging, sentence
from samp.cli.progress import Progress, expected_rows
from samp.cli.terminal import say
from samp.compare import Compared, Task, pose_task
from samp.extras import install_command
from samp.html.compare_page import page as page_of
from samp.methods import Method
from samp.metrics.masked_forward import Settings
from samp.models.prediction import Asked


def compare_all(
    asked: Asked, methods: Mapping[str, Method], protocol: str | None, seed: int
) -> tuple[Compared, dict[str, str]]:
    """The rows of the methods that worked, and a sentence for each that did not."""
    task = pose_task(asked.classifier.net, asked.x, asked.targets[0], protocol, settings=Settings(seed=seed))
    progress, rows, left_out = _progress(task, methods.values()), [], {}
    with progress.watch(asked.classifier.net, ""):
        for name, method in methods.items():
            progress.photo = name
            try:
                rows.append(task.measure(name, method))
            except Exception as error:
                if debugging():
                    raise
                left_out[name] = sentence(error)
    if not rows:
        raise ValueError(f"none of the methods worked: {', '.join(left_out)}.")
    return Compared(tuple(rows)), left_out


def write(page: Path, figure: Path, asked: Asked, compared: Compared, told: dict[str, Any]) -> list[Path]:
    """The page, and the figure where matplotlib is there to draw it; what was written."""
    with whole(page) as unfinished:
        unfinished.write_text(page_of(asked, compared, told), encoding="utf-8")
    try:
        from samp.plots.compare_figure import draw
    except ImportError:
        said = f"the page has no figure beside it, which needs matplotlib: {install_command('viz')}."
        say(f"samp: {said}", err=True)
        return [page]
    with whole(figure) as unfinished:
        notes = {"samp": json.dumps(told)}  # the numbers travel in the file, as with `samp explain`
        draw(asked, compared, told).savefig(unfinished, format="png", metadata=notes, pil_kwargs={"optimize": True})
    return [page, figure]


def _progress(task: Task, methods: Iterable[Method]) -> Progress:
    """A progress line that knows the evaluations of all methods and of their curves, as far as settings tell."""
    height, width = task.inputs.shape[2:] if isinstance(task.inputs, Tensor) else (0, 0)
    curves = 2 * len(task.protocol.counts(height * width))
    rows = (expected_rows(method, height, width) or int(getattr(method, "samples", 1)) for method in methods)
    return Progress(1, sum(one + curves for one in rows))
