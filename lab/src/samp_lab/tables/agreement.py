"""How far a table is from the paper's: the mean difference of its values, and how alike the orders of its rows are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

import torch

from samp.metrics.correlations import spearman
from samp_lab.effects import Column
from samp_lab.setups import Setup
from samp_lab.statistics import kendall_tau
from samp_lab.store import Results
from samp_lab.tables.metric_cells import MetricCells

COLUMNS: tuple[Column, Column] = ("deletion", "insertion")
FEWEST = 3  # rows, of which an order can be told


def mean_gap(cells: MetricCells, results: Results, setup: Setup) -> float:
    """Return the mean |difference| to the paper over all measured rows that it has and both metrics; NaN without any.

    >>> import samp_lab.tables.table1 as table1
    >>> from samp_lab.setups import parse_setup
    >>> mean_gap(table1.TABLE1.cells, Results({}, {}), parse_setup("mnist"))
    nan
    """
    gaps = [
        abs(ours - theirs)
        for column in COLUMNS
        for ours, theirs in zip(*means_beside_paper(cells, results, setup, column), strict=True)
    ]
    return fmean(gaps) if gaps else math.nan


def rank_correlation(
    cells: MetricCells,
    results: Results,
    setup: Setup,
    column: Column,
    measure: Callable[[Sequence[float], Sequence[float]], float] | None = None,
) -> float:
    """Return Spearman's rank correlation of our means with the paper's over the rows that both have, or another
    `measure`, such as `samp_lab.statistics.kendall_tau`; NaN below three rows.

    >>> import samp_lab.tables.table1 as table1
    >>> from samp_lab.setups import parse_setup
    >>> rank_correlation(table1.TABLE1.cells, Results({}, {}), parse_setup("mnist"), "deletion")
    nan
    """
    ours, theirs = means_beside_paper(cells, results, setup, column)
    return (measure or spearman_rho)(theirs, ours) if len(ours) >= FEWEST else math.nan


def spearman_rho(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's ρ of two orders of the same rows; NaN where either does not vary.

    >>> spearman_rho([1, 2, 3, 4], [10, 30, 20, 40])
    0.8
    """
    return round(float(spearman(*(torch.tensor(values, dtype=torch.float64) for values in (a, b)))), 12)


def means_beside_paper(
    cells: MetricCells, results: Results, setup: Setup, column: Column
) -> tuple[list[float], list[float]]:
    """Return our means and the paper's, of the measured rows that have both."""
    ours, theirs = [], []
    for row in cells.present(results, setup):
        paper, mean = cells.paper(row, setup.data, column), cells.mean(results, row, setup, column)
        if paper is not None and not math.isnan(mean):
            ours.append(mean)
            theirs.append(paper[0])
    return ours, theirs


def agreement_sentence(cells: MetricCells, results: Results, setup: Setup) -> str:
    """Return a sentence on how a setup agrees with the paper, "" where the paper has no values."""
    rows = len(means_beside_paper(cells, results, setup, "deletion")[0])
    if not rows:
        return ""
    gap = mean_gap(cells, results, setup)
    words = f"mean |difference| to the paper {gap:.3f} over {rows} rows and both metrics"
    if rows < FEWEST:
        return f"{words}."
    orders = []
    for column in COLUMNS:
        rho, tau = (rank_correlation(cells, results, setup, column, one) for one in (spearman_rho, kendall_tau))
        orders.append(f"by {column} Spearman's ρ {rho:+.2f} and Kendall's τ {tau:+.2f}".replace("-", "−"))
    return f"{words}; order of the rows against the paper's: {', '.join(orders)}."
