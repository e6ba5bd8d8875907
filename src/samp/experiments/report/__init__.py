"""The report: what was measured beside what the paper says, as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from samp.experiments.store import Store
from samp.files import whole

if TYPE_CHECKING:
    from samp.experiments.experiment import Experiment


def write_report(store: Store, experiments: Iterable[Experiment] | None = None) -> tuple[Path, Path]:
    """Write report.md and report.html from results.json, timing.json, figures and remarks alone; return both paths.

    All experiments of the paper are asked for their sections unless others are given. The same files give the same
    report, byte for byte. OUT/remarks/NAME.md is shown below the experiment NAME, OUT/remarks/summary.md at the top.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     _ = store.results_file.write_text('{"about": {}, "commands": [], "cells": {}, "failed": {}}')
    ...     [path.name for path in write_report(store, [])]
    ['report.md', 'report.html']
    """
    from samp.experiments.registry import EXPERIMENTS
    from samp.experiments.report.contents import gather
    from samp.experiments.report.markdown import markdown
    from samp.experiments.report.page import page

    if not store.results_file.is_file():
        raise FileNotFoundError(
            f"there are no results in {store.folder}: measure some first, by samp bench table1 --out {store.folder}."
        )
    report = gather(store, EXPERIMENTS.values() if experiments is None else experiments)
    written = store.folder / "report.md", store.folder / "report.html"
    for path, text in zip(written, (markdown(report), page(report)), strict=True):
        with whole(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return written
