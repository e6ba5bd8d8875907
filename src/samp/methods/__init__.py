"""Every method behind one signature: a frozen dataclass with `attribute(problem, run) -> Attribution`."""

from __future__ import annotations

from typing import Protocol

from samp.attribution import Attribution
from samp.follow import Run
from samp.methods.integrated_gradients import IG
from samp.methods.manipulation import SAMP, SAMPPlusPlus
from samp.names import look_up
from samp.problem import Problem

__all__ = ["IG", "SAMP", "Method", "SAMPPlusPlus", "named", "names"]


class Method(Protocol):
    """Explains a problem; its fields are its settings, its repr says how it was made."""

    def attribute(self, problem: Problem, run: Run) -> Attribution: ...


NAMED: dict[str, Method] = {"samp": SAMP(), "samp++": SAMPPlusPlus(), "ig": IG()}


def names() -> list[str]:
    """The names that stand for methods with their published settings.

    >>> "samp++" in names()
    True
    """
    return list(NAMED)


def named(method: str | Method) -> Method:
    """The method of this name, or the method itself.

    >>> named("ig")
    IG(steps=50, eta=None, credit='trapezoid', direction='to_image', baseline=Constant(value=0.0))
    """
    if isinstance(method, str):
        return look_up(method, NAMED, "method")
    if not callable(getattr(method, "attribute", None)) or isinstance(method, type):
        raise TypeError(f"a method is a name or an object such as samp.SAMP(), not {method!r}.")
    return method
