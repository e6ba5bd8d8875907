"""Random calls of the public functions, and the law they all keep: a finite result, or an error of ours.

What a model or a target function of the caller's raises by itself, whoever calls it, is theirs and may pass.

An error is ours if a `raise` statement in samp's own source made it: its innermost frame lies in the package, on a line
of such a statement. What torch, NumPy or Python raised has its innermost frame elsewhere, or on another statement.
"""

from __future__ import annotations

import ast
import contextlib
import io
import random
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

import odd_values as odd
import samp
from odd_values import Pool
from samp import metrics, plots
from samp.methods.captum_adapters import LIME, Occlusion
from samp.methods.rise import RISE
from samp.methods.smoothgrad import SmoothGrad

PACKAGE = Path(samp.__file__).parent
USUAL = 0.75  # how often an argument is the first, good value of its pool
LEFT_OUT = 0.35  # how often an argument with a default is left out


@dataclass(frozen=True, eq=False)
class Target:
    """A function, the pools of its arguments (those in `needed` are always given), and what a good result is."""

    function: Callable[..., Any]
    pools: dict[str, Pool]
    needed: int
    good: Callable[[Any], bool]


@dataclass(frozen=True, eq=False)
class Call:
    """One call, by the labels of its values."""

    name: str
    labels: dict[str, str]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={label!r}' for key, label in self.labels.items())})"


def draw(rng: random.Random, name: str) -> Call:
    """A random call of this function: most arguments good, some odd."""
    target = TARGETS[name]
    labels = {}
    for number, (key, pool) in enumerate(target.pools.items()):
        if number >= target.needed and rng.random() < LEFT_OUT:
            continue
        labels[key] = next(iter(pool)) if rng.random() < USUAL else rng.choice(list(pool))
    return Call(name, labels)


def complaint(call: Call) -> str:
    """What is wrong with the outcome of this call; nothing where it is a good result or an error of ours."""
    target = TARGETS[call.name]
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        values = {key: target.pools[key][label]() for key, label in call.labels.items()}
        try:
            result = target.function(**values)
        except Exception as error:
            return "" if is_ours(error) or is_the_callers(error, values) else f"{call}: {_words(error)}"
    return "" if target.good(result) else f"{call}: not finite: {result!r}"


def is_ours(error: BaseException) -> bool:
    """Whether a raise statement of samp made this error, and it says something."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    inside = Path(last.filename).is_relative_to(PACKAGE)
    return inside and last.lineno in _raising_lines(last.filename) and bool(str(error).strip())


def is_the_callers(error: BaseException, values: dict[str, Any]) -> bool:
    """Whether this came out of the target function, or of a model that refuses the inputs by itself too."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(PACKAGE)]
    where = (Path(ours[-1].filename).name, ours[-1].name) if ours else ("", "")
    if where == ("objectives.py", "__call__"):
        return "function" in (ours[-1].line or "")
    return where == ("problem.py", "_call") and _refuses(values)


def _refuses(values: dict[str, Any]) -> bool:
    given = values["inputs"]
    inputs = given if isinstance(given, tuple | list) else [given]
    try:
        values["model"](*inputs)
    except Exception:
        return True
    return False


@lru_cache
def _raising_lines(file: str) -> frozenset[int]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return frozenset(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise))


def _words(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(PACKAGE)]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} at {where}: {str(error).splitlines()[0] if str(error) else ''}"


def finite(*values: Any) -> bool:
    """Whether all of these tensors, arrays and numbers are finite."""
    return all(bool(torch.as_tensor(value).isfinite().all()) for value in values)


def _is_good_attribution(result: samp.Attribution) -> bool:
    values = result.values if isinstance(result.values, tuple) else (result.values,)
    return finite(*values, result.group_values) and bool(repr(result))


def _are_good_curves(curves: metrics.Curves) -> bool:
    """NaN for samples that could not be normalised, which are counted, and for no other."""
    missing = curves.deletion.isnan() | curves.insertion.isnan()
    known = [curves.deletion[~missing], curves.insertion[~missing]]
    return finite(*known) and int(missing.sum()) <= curves.unnormalised


def _is_good_comparison(compared: samp.Compared) -> bool:
    return bool(compared.table()) and all(
        _is_good_attribution(row.attribution) and _are_good_curves(row.curves) for row in compared.rows
    )


def _is_good_correlation(result: Any) -> bool:
    """NaN where nothing varies, which is counted."""
    return finite(result.correlation[~result.correlation.isnan()]) and int(result.correlation.isnan().sum()) == (
        result.undefined_count
    )


def _is_good_summary(summary: metrics.Summary) -> bool:
    known = [summary.mean] if summary.count == 1 else [summary.mean, summary.sd, summary.low, summary.high]
    return not summary.count or finite(*known)


def _is_good_pair(found: metrics.Comparison) -> bool:
    known = [found.difference, found.p, found.rank_biserial]
    return not found.pairs or finite(*known, *([found.low, found.high] if found.pairs > 1 else []))


def _are_good_ps(ps: list[float]) -> bool:
    return all(np.isnan(p) or 0 <= p <= 1 for p in ps)


def _is_good_method(method: Any) -> bool:
    """A method with these settings explains a photo, or refuses to."""
    return _is_good_attribution(samp.explain(odd.image_net(), odd.photos(), target=0, method=method))


def _make_and_explain(kind: Callable[..., Any]) -> Callable[..., Any]:
    def ask(**settings: Any) -> samp.Attribution:
        return samp.explain(odd.image_net(), odd.photos(), target=0, method=kind(**settings))

    return ask


EXPLAIN_POOLS: dict[str, Pool] = {
    "model": odd.MODELS,
    "inputs": odd.INPUTS,
    "target": odd.TARGETS,
    "groups": odd.GROUPS,
    "forward_args": odd.ARGUMENTS,
    "batch_size": odd.BATCH_SIZES,
    "progress": odd.FLAGS,
    "seed": odd.SEEDS,
}
METRIC_POOLS = {"model": odd.MODELS, "inputs": odd.INPUTS, "maps": odd.MAPS, **dict(list(EXPLAIN_POOLS.items())[2:])}
WITHOUT_GROUPS = {name: pool for name, pool in METRIC_POOLS.items() if name != "groups"}
FEW: Pool = {"4": lambda: 4, **odd.ANYTHING}

TARGETS: dict[str, Target] = {
    "explain": Target(
        samp.explain,
        {**EXPLAIN_POOLS, "method": odd.METHODS, "keep_points": odd.KEPT_POINTS, "speed": odd.SPEEDS},
        2,
        _is_good_attribution,
    ),
    "compare": Target(
        samp.compare,
        {"model": odd.MODELS, "inputs": odd.INPUTS, "methods": odd.METHOD_LISTS, "protocol": odd.PROTOCOLS}
        | dict(list(EXPLAIN_POOLS.items())[2:]),
        4,
        _is_good_comparison,
    ),
    "IG": Target(
        _make_and_explain(samp.IG),
        {"steps": FEW, "eta": odd.SHARES, "direction": odd.BETTER, "baseline": odd.BASELINES, "credit": odd.BETTER},
        1,
        _is_good_attribution,
    ),
    "SAMP": Target(
        _make_and_explain(samp.SAMP),
        {
            "pixels_per_step": FEW,
            "eta": odd.SHARES,
            "momentum": odd.SHARES,
            "baseline": odd.BASELINES,
            "steps": odd.FLAGS,
        },
        1,
        _is_good_attribution,
    ),
    "Coupled": Target(
        _make_and_explain(samp.Coupled),
        {"quality": {"draft": lambda: "draft", **odd.ANYTHING}, "eta": odd.SHARES, "baseline": odd.BASELINES}
        | {"momentum": odd.SHARES, "growth": odd.SHARES, "weight": odd.SHARES},
        1,
        _is_good_attribution,
    ),
    "Consensus": Target(
        _make_and_explain(samp.Consensus),
        {"quality": {"draft": lambda: "draft", **odd.ANYTHING}, "walks": FEW, "steps": FEW, "noise": odd.SHARES}
        | {"softness": odd.SHARES, "momentum": odd.SHARES, "growth": odd.SHARES, "weight": odd.SHARES}
        | {"first_walk": FEW, "baseline": odd.BASELINES},
        1,
        _is_good_attribution,
    ),
    "RISE": Target(
        _make_and_explain(RISE),
        {"masks": FEW, "cells": odd.SIZES, "p": odd.SHARES, "baseline": odd.BASELINES},
        1,
        _is_good_attribution,
    ),
    "SmoothGrad": Target(_make_and_explain(SmoothGrad), {"samples": FEW, "noise": odd.SHARES}, 1, _is_good_attribution),
    "LIME": Target(
        _make_and_explain(LIME),
        {
            "samples": {"8": lambda: 8, **odd.ANYTHING},
            "superpixels": FEW,
            "alpha": odd.SHARES,
            "kernel_width": odd.SHARES,
        }
        | {"baseline": odd.BASELINES},
        2,
        _is_good_attribution,
    ),
    "Occlusion": Target(
        _make_and_explain(Occlusion),
        {"window": FEW, "stride": odd.COUNTS, "baseline": odd.BASELINES},
        1,
        _is_good_attribution,
    ),
    "deletion_insertion": Target(
        metrics.deletion_insertion, {**WITHOUT_GROUPS, "protocol": odd.PROTOCOLS}, 3, _are_good_curves
    ),
    "sensitivity_n": Target(
        metrics.sensitivity_n,
        {**METRIC_POOLS, "subsets": FEW, "sizes": {"two": lambda: [1, 2], **odd.ANYTHING}, "fill": odd.BASELINES},
        4,
        _is_good_correlation,
    ),
    "mu_fidelity": Target(
        metrics.mu_fidelity,
        {**METRIC_POOLS, "subsets": FEW, "share": odd.SHARES, "size": odd.COUNTS, "fill": odd.BASELINES},
        4,
        _is_good_correlation,
    ),
    "infidelity": Target(
        metrics.infidelity,
        {**METRIC_POOLS, "perturbations": FEW, "normalise": odd.FLAGS},
        4,
        lambda r: finite(r.infidelity),
    ),
    "concentration": Target(
        metrics.concentration, {"maps": odd.MAPS}, 1, lambda r: finite(r.variance, r.gini, r.top_share)
    ),
    "top_share": Target(metrics.top_share, {"maps": odd.MAPS, "share": odd.SHARES}, 1, finite),
    "completeness": Target(
        metrics.completeness,
        {"maps": odd.MAPS, "change": {"two": lambda: [1.0, 2.0], **odd.SCORES}},
        2,
        lambda r: not bool(r.relative.isnan().any()),
    ),
    "pointing_game": Target(
        metrics.pointing_game,
        {"maps": odd.MAPS, "truth": odd.TRUTHS, "labels": odd.LABELS, "tolerance": odd.SIZES, "difficult": odd.LABELS},
        2,
        lambda r: bool(repr(r)),
    ),
    "segmentation": Target(
        metrics.segmentation,
        {"maps": odd.MAPS, "truth": odd.TRUTHS, "labels": odd.LABELS, "threshold": odd.THRESHOLDS},
        2,
        lambda r: finite(r.iou[~r.iou.isnan()]),
    ),
    "localisation": Target(
        metrics.localisation,
        {"maps": odd.MAPS, "truth": odd.TRUTHS, "labels": odd.LABELS, "threshold": odd.THRESHOLDS},
        2,
        lambda r: finite(r.iou[~r.iou.isnan()]),
    ),
    **{
        name: Target(
            getattr(metrics, name),
            {"maps": odd.MAPS, "truth": odd.TRUTHS, "labels": odd.LABELS},
            2,
            lambda r: all(finite(v[~v.isnan()]) for v in ((r,) if isinstance(r, Tensor) else (r.share, r.lift))),
        )
        for name in ("auroc", "energy", "precision")
    },
    "sds": Target(
        metrics.sds, {**WITHOUT_GROUPS, "patches": odd.COUNTS, "fill": odd.BASELINES}, 4, _is_good_correlation
    ),
    "grid": Target(
        metrics.grid, {"height": odd.SIZES, "width": odd.SIZES, "cells": odd.COUNTS}, 2, lambda r: isinstance(r, Tensor)
    ),
    "summarise": Target(metrics.summarise, {"scores": odd.SCORES, "bootstrap": odd.BOOTSTRAPS}, 1, _is_good_summary),
    "paired": Target(
        metrics.compare_pairs,
        {"a": odd.SCORES, "b": odd.SCORES, "better": odd.BETTER, "bootstrap": odd.BOOTSTRAPS},
        3,
        _is_good_pair,
    ),
    "table": Target(
        metrics.table,
        {"scores": odd.TABLES, "better": odd.BETTER, "against": odd.AGAINST, "bootstrap": odd.BOOTSTRAPS},
        2,
        lambda r: isinstance(r, str),
    ),
    "holm": Target(metrics.holm, {"ps": odd.SCORES}, 1, _are_good_ps),
    "Bootstrap": Target(
        metrics.Bootstrap, {"confidence": odd.SHARES, "resamples": odd.COUNTS, "seed": odd.SEEDS}, 0, lambda r: True
    ),
    "Protocol": Target(
        metrics.Protocol,
        {"step": odd.COUNTS, "fill": odd.BASELINES, "start": odd.BASELINES, "score": odd.BETTER, "auc": odd.BETTER}
        | {"normalise": odd.BETTER, "absolute": odd.FLAGS},
        0,
        lambda r: bool(repr(r)),
    ),
    "method_grid": Target(
        plots.method_grid,
        {"photos": odd.PHOTO_LISTS, "results": odd.RESULTS, "labels": odd.LABELS, "shade": odd.SHADES}
        | {"title": {"a title": lambda: "t", **odd.ANYTHING}},
        2,
        lambda r: isinstance(r, Figure),
    ),
}
