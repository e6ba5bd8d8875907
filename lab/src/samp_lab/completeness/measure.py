"""|Σ credit − what it should sum to| / |what it should sum to|, for every method on every net."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import torch
from torch import Tensor

import samp
from samp import methods
from samp_lab.completeness.nets import Bed
from samp_lab.completeness.peers import CAPTUM, SHAP

SumsTo = Literal["change", "score", "score less absorbed"]
LIBRARIES = ("torch", "captum", "shap", "transformers", "scikit-learn", "numpy")


@dataclass(frozen=True)
class Row:
    """One method on one net: the gap over all inputs, or why there is none."""

    net: str
    library: str
    method: str
    sums_to: SumsTo
    median: float | None = None
    largest: float | None = None
    inputs: int = 0
    seconds: float = 0.0
    """For one input, the median."""
    refusal: str = ""


@dataclass(frozen=True)
class Contender:
    """A method: returns the credit of one input (1 *d) from a baseline (1 *d), and what it says is absorbed."""

    library: str
    method: str
    sums_to: SumsTo
    attribute: Callable[[Bed, Tensor, Tensor, int], tuple[Tensor, float]]


def contenders() -> list[Contender]:
    """Return all methods of the table, ours first.

    >>> [one.method for one in contenders()][:3]
    ['consensus', 'coupled', 'samp++']
    """
    ours = [_our_method(name, "change") for name in ("consensus", "coupled", "samp++", "ig", "deeplift")]
    ours += [
        _our_method(name, to) for name in ("lrp", "attnlrp", "libragrad") for to in ("score", "score less absorbed")
    ]
    peers = [("captum", CAPTUM), ("shap", SHAP)]
    theirs = [
        Contender(library, name, "score" if name == "LRP" else "change", _plain(peer))
        for library, group in peers
        for name, peer in group.items()
    ]
    return [*ours, *theirs]


def _plain(peer: Any) -> Callable[[Bed, Tensor, Tensor, int], tuple[Tensor, float]]:
    return lambda bed, x, start, target: (peer(bed.net, x, start, target), 0.0)


def _our_method(name: str, sums_to: SumsTo) -> Contender:
    method: Any = samp.IG(steps=50) if name == "ig" else methods.resolve_method(name)
    if any(field.name == "baseline" for field in fields(method)):
        method = replace(method, baseline=0.0)  # the same for all

    def attribute(bed: Bed, x: Tensor, start: Tensor, target: int) -> tuple[Tensor, float]:
        groups = samp.Elements() if bed.tokens else None
        result = samp.explain(bed.net, x, target=target, method=method, groups=groups)
        absorbed = result.details.get("absorbed", [0.0])[0]
        values = result.values if isinstance(result.values, Tensor) else torch.cat([v.flatten() for v in result.values])
        # walks in both directions earn the change twice
        return values / max(1, len(result.score_change)), absorbed if sums_to == "score less absorbed" else 0.0

    label = "ig (steps=50)" if name == "ig" else name
    return Contender("samp", label, sums_to, attribute)


def measure(bed: Bed, chosen: Sequence[Contender]) -> Iterator[Row]:
    """Yield a row for each method on this net."""
    for contender in chosen:
        yield _measure_one(bed, contender)


def _measure_one(bed: Bed, contender: Contender) -> Row:
    head = (bed.name, contender.library, contender.method, contender.sums_to)
    gaps, seconds = [], []
    for i, target in enumerate(bed.targets):
        x = bed.inputs[i : i + 1]
        start = torch.zeros_like(x)
        began = time.perf_counter()
        try:
            values, absorbed = contender.attribute(bed, x, start, target)
        except ModuleNotFoundError as error:
            return Row(*head, refusal=f"not installed: {error.name}")
        except Exception as error:  # whatever another library raises is a fact of the table
            return Row(*head, refusal=f"{type(error).__name__}: {_first_sentence(error)}")
        seconds.append(time.perf_counter() - began)
        gaps.append(relative_gap(bed, x, start, target, values, absorbed, contender.sums_to))
    return Row(*head, statistics.median(gaps), max(gaps), len(gaps), statistics.median(seconds))


def relative_gap(
    bed: Bed, x: Tensor, start: Tensor, target: int, values: Tensor, absorbed: float, sums_to: SumsTo
) -> float:
    """Return |Σ values + absorbed − f| / |f|, where f is the score, or its change from the baseline."""
    with torch.no_grad():
        score = float(bed.net(x)[0, target])
        low = float(bed.net(start)[0, target]) if sums_to == "change" else 0.0
    total = float(values.double().sum()) + absorbed
    return abs(total - (score - low)) / abs(score - low)


def _first_sentence(error: Exception) -> str:
    words = " ".join(str(error).split())
    return words if len(words) < 200 else words[:200] + "…"


def library_versions() -> dict[str, str]:
    """Return the versions of what was measured; "not installed" for what is not here."""
    found = {"samp": samp.__version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
