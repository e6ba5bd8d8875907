"""The rows and tables of `samp bench speed`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BareRate:
    """Gradients per second of one way to call the net, at one batch size, with the peak of allocated memory."""

    way: str
    batch: int
    rate: float
    peak: int


@dataclass(frozen=True)
class WalkRate:
    """Images per second of a method at one speed, with gradients per second and the speed it reports."""

    method: str
    speed: str
    images: int
    rows: int
    seconds: float
    gradients: float
    peak: int
    used: str

    @property
    def rate(self) -> float:
        """Gradients per second."""
        return self.images * self.gradients / self.seconds


@dataclass(frozen=True)
class CostLine:
    """Seconds against one quantity, and how well a straight line fits them."""

    quantity: str
    amounts: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def fit(self) -> tuple[float, float, float]:
        """Return slope, intercept and R² by least squares.

        >>> [round(number, 6) for number in CostLine("steps", (1.0, 2.0, 3.0), (3.0, 5.0, 7.0)).fit]
        [2.0, 1.0, 1.0]
        """
        slope, intercept = statistics.linear_regression(self.amounts, self.seconds)
        return slope, intercept, statistics.correlation(self.amounts, self.seconds) ** 2


def bare_table(rows: Sequence[BareRate]) -> str:
    """Return a table of bare calls."""
    lines = ["| bare calls | batch | gradients/s | ms a call | peak MiB |", "|---|---|---|---|---|"]
    lines += [
        f"| {r.way} | {r.batch} | {r.rate:,.1f} | {1000 * r.batch / r.rate:.2f} | {_mebibytes(r.peak)} |" for r in rows
    ]
    return "\n".join(lines)


def walk_table(rows: Sequence[WalkRate], bare: Sequence[BareRate]) -> str:
    """Return a table of walks beside the fastest bare calls: of all, and of those with as many rows and this speed."""
    fastest = max(b.rate for b in bare)
    lines = [
        "| method | speed | images | rows a call | gradients an image | images/s | gradients/s "
        "| of the fastest bare rate | of the best at this batch | peak MiB | of one bare call |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        same = [b for b in bare if b.batch == row.rows and (row.speed == "fast" or b.way.startswith("float32"))]
        best = max(same, key=lambda b: b.rate, default=BareRate("none was measured", row.rows, math.inf, 0))
        lines.append(
            f"| {row.method} | {row.used} | {row.images} | {row.rows} | {row.gradients:.1f} "
            f"| {row.images / row.seconds:.2f} | {row.rate:,.1f} "
            f"| **{row.rate / fastest:.1%}** | {row.rate / best.rate:.1%} | {_mebibytes(row.peak)} "
            f"| {f'{row.peak / best.peak:.2f}' if best.peak else '–'} |"
        )
    return "\n".join(lines)


def lines_table(found: Iterable[CostLine]) -> str:
    """Return a table of quantities with the lines that fit them."""
    lines = ["| seconds against | at | seconds | slope | intercept | R² |", "|---|---|---|---|---|---|"]
    for line in found:
        slope, intercept, fit = line.fit
        at, seconds = ", ".join(f"{a:,.0f}" for a in line.amounts), ", ".join(f"{s:.3f}" for s in line.seconds)
        lines.append(f"| {line.quantity} | {at} | {seconds} | {slope:.3g} | {intercept:.3g} | {fit:.4f} |")
    return "\n".join(lines)


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:.0f}" if count else "–"
