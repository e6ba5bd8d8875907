"""Every method behind one signature: a frozen dataclass with `attribute(problem, run) -> Attribution`.

A name stands for the method with its published settings, or as tuned where it is ours ("coupled", the default);
`table()` says of each where it comes from, what it costs and what it promises.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from samp.attribution import Attribution
from samp.baselines import Blurred, black
from samp.follow import Run
from samp.method_names import method_name
from samp.methods import (
    blur_ig,
    cam,
    captum_adapters,
    coupled,
    gradient,
    guided_ig,
    idgi,
    ig2,
    propagation,
    random_map,
    rise,
    smoothgrad,
    spectral_ig,
    xrai,
)
from samp.methods.coupled import Coupled
from samp.methods.integrated_gradients import IG
from samp.methods.manipulation import SAMP, SAMPPlusPlus
from samp.methods.result import About
from samp.problem import Problem

__all__ = ["IG", "SAMP", "Coupled", "Method", "SAMPPlusPlus", "named", "names", "table"]


class Method(Protocol):
    """Explains a problem; its fields are its settings, its repr says how it was made."""

    about: ClassVar[About]

    def attribute(self, problem: Problem, run: Run) -> Attribution: ...


NAMED: dict[str, Method] = {
    **coupled.METHODS,
    "samp++": SAMPPlusPlus(),
    "samp": SAMP(),
    "ig": IG(),
    "ig-blurred": IG(baseline=Blurred()),
    "ig-both": IG(direction="both", baseline=(black, Blurred())),
    **idgi.METHODS,
    **blur_ig.METHODS,
    **guided_ig.METHODS,
    **spectral_ig.METHODS,
    **ig2.METHODS,
    **gradient.METHODS,
    **propagation.METHODS,
    **cam.METHODS,
    **smoothgrad.METHODS,
    **rise.METHODS,
    **xrai.METHODS,
    **captum_adapters.METHODS,
    **random_map.METHODS,
}


def names() -> list[str]:
    """The names that stand for methods with their published settings; the default comes first.

    >>> names()[:3]
    ['coupled', 'samp++', 'samp']
    """
    return list(NAMED)


def named(method: str | Method) -> Method:
    """The method of this name, or the method itself; "Grad-CAM" or "integrated_gradients" are understood too.

    >>> named("samp")
    SAMP(pixels_per_step=None, eta=None, momentum=0.0, credit='momentum', direction='both', baseline=None, steps=None)
    """
    if isinstance(method, str):
        return NAMED[method_name(method)]
    if not callable(getattr(method, "attribute", None)) or isinstance(method, type):
        raise TypeError(f"a method is a name or an object such as samp.SAMP(), not {method!r}.")
    return method


def table() -> str:
    """All methods as a Markdown table.

    >>> table().splitlines()[0]
    '| name | method and its settings | source | model calls per sample | sums to the score change | made by |'
    """
    head = "| name | method and its settings | source | model calls per sample | sums to the score change | made by |"
    rows = [head, "|---|---|---|---|---|---|"]
    for name, method in NAMED.items():
        about = method.about
        by = f"{about.implementation} ({about.licence})"
        rows.append(f"| `{name}` | `{method!r}` | {about.paper} | {about.cost} | {about.complete} | {by} |")
    return "\n".join(rows)
