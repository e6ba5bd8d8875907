"""One cell of the matrix: a method on a model, with what could be checked of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from torch import Tensor

import samp
from samp.methods import Method, resolve_method
from samp.methods.captum_adapters import LIME
from samp.methods.ig2 import IG2
from samp_lab.matrix.families import Family, encode_words
from samp_lab.matrix.peers import peer_values

State = Literal["sums", "agrees", "runs", "refuses", "wrong"]
SMALL = {"masks": 48, "samples": 16, "side": 32, "window": 8, "stride": 8, "walks": 2}
EXACT = ("consensus", "coupled", "idgi", "shapley", "deeplift", "deepshap")
"""Methods whose credit sums to the change of the score whatever the net; those of many steps only nearly do."""
ABSORBED = ("lrp", "attnlrp", "libragrad")
"""Methods whose credit sums to the score less what, by their own account, biases and ε have absorbed."""
SUM_BOUND, AGREE_BOUND = 1e-3, 1e-3
BATCH_BOUND = 1e-2
DRAWS_BY_BATCH = ("lime",)
"""Its random switchings depend on the largest number of superpixels among the images of one call."""
REFUSALS = (ValueError, TypeError, NotImplementedError)


@dataclass(frozen=True)
class Cell:
    """What a method gave on a family.

    `state`: "sums" (the credit sums to the change of the score, or to the score less what is absorbed), "agrees" (with
    Captum's own implementation, or the method's definition computed anew), "runs" (finite, not constant, and the same
    for a sample alone), "refuses" (`note` is the message), or "wrong" (`note` says how). `size` is the largest relative
    error of the check.
    """

    state: State
    note: str = ""
    size: float = float("nan")


def measure_cell(name: str, family: Family) -> Cell:
    """Return how the method of this name does on a family; only errors that are no refusal are "wrong".

    >>> from samp_lab.matrix.families import make_family
    >>> measure_cell("coupled", make_family("tabular")).state, measure_cell("cam", make_family("tabular")).state
    ('sums', 'refuses')
    """
    method = _cheaper(resolve_method(name))
    try:
        credit, residual, change = _explain(family, method, range(2))
    except REFUSALS as error:
        return Cell("refuses", " ".join(str(error).split()))
    except Exception as error:  # a crash is what the matrix is there to find
        return Cell("wrong", f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    return _check(name, family, method, credit, residual, change)


def _check(name: str, family: Family, method: Method, credit: list[Tensor], residual: Tensor, change: Tensor) -> Cell:
    if not all(bool(one.isfinite().all()) for one in credit):
        return Cell("wrong", "the credit is not finite")
    if any(float(one.std()) == 0 for one in credit):
        return Cell("wrong", "the credit is the same everywhere")
    alone = [_explain(family, method, [sample])[0][0] for sample in range(2)]
    gap = max(_relative(one, other) for one, other in zip(credit, alone, strict=True))
    if gap > BATCH_BOUND and name not in DRAWS_BY_BATCH:
        return Cell("wrong", "a sample alone gets another credit", gap)
    if name in (*EXACT, *ABSORBED):
        whole = change.abs() if name in EXACT else torch.stack([one.abs().sum() for one in credit])
        error = float((residual.abs() / whole.clamp_min(1e-6)).max())
        return Cell("sums", "", error) if error <= SUM_BOUND else Cell("wrong", "the credit does not sum", error)
    peer = peer_values(name, family)
    if peer is None:
        return Cell("runs", "", gap)
    error = max(_relative(one, other) for one, other in zip(credit, peer, strict=True))
    return Cell("agrees", "", error) if error <= AGREE_BOUND else Cell("wrong", "its peer has another credit", error)


def _explain(family: Family, method: Method, samples: Sequence[int]) -> tuple[list[Tensor], Tensor, Tensor]:
    """Return the credit of each of these samples, their residuals and their changes of the score."""
    if family.is_text:
        texts, targets = [family.texts[i] for i in samples], [family.target[i] for i in samples]
        results = samp.text.explain(
            family.model, encode_words, texts, target=targets, method=method, baseline="mean", seed=0
        )
        credit = [torch.as_tensor(one.scores) for one in results]
        residual = torch.tensor([float(one.residual) for one in results])
        return credit, residual, torch.tensor([float(one.score - one.baseline_score) for one in results])
    given = family.inputs if isinstance(family.inputs, tuple) else (family.inputs,)
    rows = tuple(one[list(samples)] for one in given if one is not None)
    target = [family.target[i] for i in samples] if isinstance(family.target, list) else family.target
    result = samp.explain(family.model, rows if len(rows) > 1 else rows[0], target=target, method=method, seed=0)
    parts = result.values if isinstance(result.values, tuple) else (result.values,)
    credit = list(torch.cat([one.flatten(1) for one in parts], 1))
    change = sum(result.score_change.values(), torch.zeros(len(credit)))
    return credit, result.residual, change


def _cheaper(method: Any) -> Method:
    """Return the method with few masks and samples, so that a cell takes about a second."""
    own = {field.name for field in fields(method)}
    if isinstance(method, LIME):  # of few samples its penalty leaves nothing
        return method
    # IG2's normalised gradients and FRInGe's solver amplify rounding from step to step
    small = SMALL | ({"steps": 21} if isinstance(method, IG2) else {"iterations": 3})
    cheaper: Method = replace(method, **{name: value for name, value in small.items() if name in own})
    return cheaper


def _relative(one: Tensor, other: Tensor) -> float:
    """Return the largest difference of two credits over the largest entry."""
    largest = max(float(one.abs().max()), float(other.abs().max()), 1e-12)
    return float((one - other).abs().max()) / largest
