"""The panel: maps of several methods before all judges, as one table (`samp.metrics.judges`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.engine.batches import BatchSize
from samp.engine.inputs import as_tensors
from samp.lookup import look_up
from samp.metrics.explain_maps import ExplainMaps
from samp.metrics.ground_truth import Labels, Truth
from samp.metrics.judge import CannotJudge, Criterion, Judge, PanelTask
from samp.metrics.judges import JUDGES
from samp.metrics.maps import Maps, resolve_target
from samp.metrics.masked_forward import ScoringOptions, open_scorer
from samp.metrics.panel_result import Panel
from samp.progress import JointBar
from samp.targets import Margin, Model, Target, TargetIndex


def panel(
    model: Model,
    images: Tensor,
    maps: Mapping[str, Maps],
    target: Target = None,
    *,
    others: Mapping[str, Model] | None = None,
    truth: Truth | None = None,
    labels: Labels = None,
    explain_maps: Mapping[str, ExplainMaps] | None = None,
    judges: Sequence[str | Judge] | None = None,
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> Panel:
    """Return what every judge says of every method's maps of the same b c h w images.

    - `maps`: {name of the method: its maps}, each b h w, b c h w or an `Attribution`.
    - `target`: the class that the maps explain, one for all images or one each. By default that of the attributions,
      else the predicted one.
    - `others`: {name: net} that take the same images, for transfer.
    - `truth`, `labels`: where the objects are, as in `pointing_game`.
    - `explain_maps`: {name of the method: function of (model, images, target, seed) that returns maps b h w}, for
      judges that explain again.
    - `judges`: keys of `samp.metrics.JUDGES`, or `Judge`s of your own; all by default. Those whose needs are not given
      are left out, and `Panel.left_out` says why; a judge that was asked for by name then raises ValueError.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3)).eval()
    >>> x = torch.rand(4, 1, 8, 8)
    >>> maps = {"exact": (net[1].weight[0].view(8, 8) * x[:, 0]).detach(), "flat": torch.ones(4, 8, 8)}
    >>> result = panel(net, x, maps, target=0, judges=["sds", "concentration"])
    >>> result.scores["sds"]["exact"].tolist(), result.ranks()["exact"]
    ([1.0, 1.0, 1.0, 1.0], {'sds': 1.0})
    """
    _check_maps(maps)
    settings = ScoringOptions(forward_args, batch_size, progress, seed)
    model, images = as_tensors(model, images)
    classes, details = _resolve_classes(model, images, _explained_target(maps, target), settings)
    task = PanelTask(model, images, classes, maps, others or {}, truth, labels, explain_maps or {}, settings)
    chosen, left_out = _choose_judges(task, judges)
    columns: dict[str, Criterion] = {}
    scores: dict[str, dict[str, Tensor]] = {}
    with JointBar(len(chosen) * len(maps), "verdict", bool(progress)) as bar:
        for judge in chosen:
            try:
                found = {name: _measure(task, judge, name, bar) for name in maps}
            except CannotJudge as error:
                if judges is not None:  # it was asked for
                    raise
                left_out[judge.key] = str(error)
                continue
            for name, verdicts in found.items():
                columns |= {criterion.key: criterion for criterion, _ in verdicts}
                for criterion, values in verdicts:
                    scores.setdefault(criterion.key, {})[name] = values.cpu()  # few numbers, on one device
    return Panel(tuple(columns.values()), scores, left_out, dict.fromkeys(columns, 0), (details,))


def _check_maps(maps: object) -> None:
    if not isinstance(maps, Mapping) or not all(isinstance(name, str) for name in maps):
        raise TypeError(f"maps is {{name of a method: its maps}}, not {type(maps).__name__}: name them by strings.")
    if not maps:
        raise ValueError("maps is empty: give {name of a method: its maps}, at least one.")


def _explained_target(maps: Mapping[str, Maps], target: Target) -> Target:
    """Return the target; where it is None, the classes that the attributions explain, all the same."""
    if target is not None:
        return target
    given = [resolve_target(one, None) for one in maps.values() if isinstance(one, Attribution)]
    if any(isinstance(one, Margin) for one in given):
        raise TypeError("a panel's target is a class for each image, not a margin of two: pass target=…, a class.")
    if not given:
        return target
    if any(list(one) != list(given[0]) for one in given):  # type: ignore[arg-type]  # lists of classes
        raise ValueError("the attributions explain different classes: pass target=…, the one that all should explain.")
    return given[0]


def _resolve_classes(
    model: Model, images: Tensor, target: Target, settings: ScoringOptions
) -> tuple[Tensor, dict[str, Any]]:
    """Return the class of each image (b), and what travels with the result; raise an error for other inputs."""
    if not isinstance(images, Tensor) or images.ndim != 4:
        came = f"shape {tuple(images.shape)}" if isinstance(images, Tensor) else type(images).__name__
        raise ValueError(f"a panel judges maps of b c h w images, not of {came}.")
    with open_scorer(model, images, target, None, "logit", replace(settings, progress=False)) as scorer:
        objective = scorer.problem.objective
        if not isinstance(objective, TargetIndex) or objective.index.shape[1] != 1:
            raise TypeError(f"a panel's target is a class for each image, not {target!r}: pass class numbers.")
        return objective.index[:, 0], {**scorer.problem.describe(), "seed": settings.seed, "images": len(images)}


def _choose_judges(task: PanelTask, given: Sequence[str | Judge] | None) -> tuple[list[Judge], dict[str, str]]:
    """Return the judges whose needs are met, and why the others are left out."""
    if isinstance(given, str):
        raise TypeError(f"judges are a list, such as [{given!r}], not one string.")
    asked = list(JUDGES) if given is None else [as_judge(one) for one in given]
    left_out = {judge.key: "; ".join(task.lacks(judge.needs)) for judge in asked if task.lacks(judge.needs)}
    if given is not None and left_out:
        key, reason = next(iter(left_out.items()))
        raise ValueError(f"the judge {key!r} cannot judge: {reason}.")
    chosen = [judge for judge in asked if judge.key not in left_out]
    if len({judge.key for judge in chosen}) != len(chosen) or not chosen:
        raise ValueError(f"give judges, each once: {', '.join(judge.key for judge in chosen) or 'there are none'}.")
    return chosen, left_out


def as_judge(given: object) -> Judge:
    """Return the judge of this key, or the given one; raise TypeError or ValueError if it is none.

    >>> as_judge("road").heading
    'ROAD'
    """
    if isinstance(given, Judge):
        return given
    if not isinstance(given, str):
        raise TypeError(f"a judge is a name such as 'road' or a samp.metrics.Judge, not {type(given).__name__}.")
    return look_up(given, {judge.key: judge for judge in JUDGES}, "judge")


def _measure(task: PanelTask, judge: Judge, name: str, bar: JointBar) -> list[tuple[Criterion, Tensor]]:
    """Return the judge's columns, each with its number per image; an error gets a note that names judge and method."""
    try:
        with bar.piece(f"{judge.key} on {name}", size=1):
            found = judge.measure(task, name)
        parts = found if isinstance(found, Mapping) else {"": found}
        return [(_criterion(judge, part), _as_scores(values, task, judge)) for part, values in parts.items()]
    except Exception as error:
        error.add_note(f"while {judge.key} judged {name}")
        raise


def _criterion(judge: Judge, part: str) -> Criterion:
    key, heading = (f"{judge.key}: {part}", f"{judge.heading}: {part}") if part else (judge.key, judge.heading)
    return Criterion(key, heading, judge.better, judge.meaning)


def _as_scores(values: object, task: PanelTask, judge: Judge) -> Tensor:
    if isinstance(values, np.ndarray):
        values = torch.from_numpy(values)
    if not isinstance(values, Tensor) or values.shape != (len(task.images),):
        came = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise ValueError(f"{judge.key} gave {came}: a judge gives one number for each of {len(task.images)} images.")
    return values.detach().cpu().double()
