"""|Γ_s|, the number of manipulation paths (Def. 2), by enumeration and by formula."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil, factorial

from samp_lab.sections import Grid


def paths(features: int, size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield every manipulation path: an order of steps, each of `size` features; the last has what is left.

    >>> list(paths(3, 2))
    [((0, 1), (2,)), ((0, 2), (1,)), ((1, 2), (0,))]
    """
    yield from _continue(tuple(range(features)), size)


def _continue(left: tuple[int, ...], size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    if not left:
        yield ()
    for step in combinations(left, min(size, len(left))) if left else ():
        rest = tuple(one for one in left if one not in step)
        yield from ((step, *later) for later in _continue(rest, size))


@cache
def count_paths(features: int, size: int) -> int:
    """Return the number of different paths, by enumeration.

    >>> count_paths(4, 2), count_paths(5, 2)
    (6, 30)
    """
    return len(set(paths(features, size)))


def papers_count(features: int, size: int) -> Fraction:
    """Return d!/(s!)^n for n = ⌈d/s⌉ steps; no whole number in some cases where s does not divide d.

    >>> papers_count(4, 2), papers_count(5, 3)
    (Fraction(6, 1), Fraction(10, 3))
    """
    return Fraction(factorial(features), factorial(size) ** ceil(features / size))


def general_count(features: int, size: int) -> int:
    """Return d!/((s!)^(n−1)·r!), where the last of n steps has r features.

    >>> general_count(4, 2), general_count(5, 3)
    (6, 10)
    """
    steps = ceil(features / size)
    last = features - (steps - 1) * size
    orders_within = int(factorial(size) ** (steps - 1)) * factorial(last)
    return factorial(features) // orders_within


def path_count_table() -> Grid:
    """Return a table of the number of paths: enumerated, by the paper's formula, and by the general one."""
    shown = [(d, s) for d in (4, 5, 6, 7) for s in (2, 3)]
    rows = tuple(
        (
            f"d = {d}, s = {s}",
            f"{count_paths(d, s):,}",
            f"{papers_count(d, s)}" + ("" if d % s == 0 else " (s does not divide d)"),
            f"{general_count(d, s):,}",
        )
        for d, s in shown
    )
    return Grid(("", "enumerated", "d!/(s!)^n", "d!/((s!)^(n−1)·r!)"), rows, "The number of paths")
