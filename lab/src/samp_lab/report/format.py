"""Numbers as reports write them."""

from __future__ import annotations


def percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent.

    >>> percent(0.186), percent(-0.004, 1)
    ('19 %', '−0.4 %')
    """
    return f"{100 * share:.{digits}f} %".replace("-", "−")


def p_value(p: float) -> str:
    """Return a p-value with two digits, and a power of ten only if it is tiny.

    >>> p_value(0.0784), p_value(1.4e-18)
    ('p = 0.078', 'p = 1.4e−18')
    """
    return f"p = {p:.2g}".replace("-", "−")
