"""The report: our results beside the paper's, as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from samp.atomic import atomic_write
from samp_lab.store import Store

if TYPE_CHECKING:
    from samp_lab.experiment import Experiment


def write_report(store: Store, experiments: Iterable[Experiment] | None = None) -> tuple[Path, Path]:
    """Write report.md and report.html from results.json, timing.json, figures and remarks alone; return both paths.

    It has a section for every registered experiment, unless `experiments` are given. The same files give the same
    report, byte for byte. OUT/remarks/NAME.md is shown below the experiment NAME, OUT/remarks/summary.md after page
    one, whose claims are explained by OUT/remarks/claims.md (`key: sentence`). Raises FileNotFoundError if there are
    no results, ValueError if remarks explain a claim that there is none of.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     _ = store.results_file.write_text('{"about": {}, "commands": [], "cells": {}, "failed": {}}')
    ...     [path.name for path in write_report(store, [])]
    ['report.md', 'report.html']
    """
    from samp_lab.registry import load_experiments
    from samp_lab.report.contents import gather_report
    from samp_lab.report.html_page import render_html
    from samp_lab.report.markdown import render_markdown

    if not store.results_file.is_file():
        raise FileNotFoundError(
            f"there are no results in {store.folder}: measure some first, as `samp bench table1` does."
        )
    report = gather_report(store, load_experiments() if experiments is None else experiments)
    written = store.folder / "report.md", store.folder / "report.html"
    for path, text in zip(written, (render_markdown(report), render_html(report)), strict=True):
        with atomic_write(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return written
