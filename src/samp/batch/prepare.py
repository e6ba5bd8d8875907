"""Prepare a run: load the model once to check it, choose how to work, and write the manifest."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image

from samp import __version__
from samp.batch import manifest, tables
from samp.batch.explainer import PREDICTED
from samp.batch.models import Model, fingerprint
from samp.batch.preprocess import floating_parameter, without_net
from samp.batch.recipe import make_recipe
from samp.batch.shard_plan import RunPlan
from samp.batch.sources import Entry, Items, Source
from samp.engine.batches import Batches, BatchSize
from samp.isolation import isolate, observe
from samp.methods import Method
from samp.models import Classifier

MOST_PER_BATCH = 128  # inputs of one call of `samp.explain`: memory does not grow with the shard


@dataclass(frozen=True)
class RunSettings:
    """The arguments of `samp.run` that go into the plan unchanged."""

    batch_size: BatchSize
    map_dtype: str
    seed: int
    speed: str
    keep_failed: bool


def make_plan(
    model: Model, method: Method, source: Source, folder: Path, target: str | int | None, settings: RunSettings
) -> tuple[RunPlan, Classifier, int]:
    """Return the plan of a run, the classifier without its net, by which readers prepare photos, and how many outputs
    the net has: `sys.maxsize` for a data set of tensors, for which that is not known yet.

    Raises ValueError if the model cannot be run on photos, or if it has no such target.
    """
    classifier, outputs = model.load("cpu"), sys.maxsize
    if not isinstance(source, Items):  # the tensors of a data set may have any shape, so a photo proves nothing
        classifier, outputs = _probe_outputs(classifier)
    name = None if target is None else str(target)
    if name is not None and name != PREDICTED:
        classifier.index(name, outputs)  # raises ValueError, with the classes that there are
    like = floating_parameter(classifier)
    device = torch.device(model.device or like.device)
    plan = RunPlan(
        model=model,
        weights=fingerprint(classifier.net),
        method=method,
        target=name,
        folder=folder,
        form=_choose_form(folder),
        device=device.type,
        dtype=str(like.dtype).removeprefix("torch."),
        inputs_per_batch=_inputs_per_batch(settings.batch_size, classifier, device),
        **vars(settings),
    )
    return plan, without_net(classifier), outputs


def write_manifest(
    plan: RunPlan, preprocessor: Classifier, source: Source, entries: Sequence[Entry], shard_size: int
) -> None:
    """Write the manifest of a new run, or check that an earlier run in the folder had the same settings."""
    fed = {name: getattr(preprocessor, name) for name in ("size", "mean", "std", "channels", "margin", "resample")}
    settings = {
        **manifest.method_settings(plan.method),
        "model": preprocessor.name,
        "weights": plan.weights,
        "target": plan.target or "the data set's, else predicted",
        "classes": manifest.digest_classes(preprocessor.classes),
        "fed": fed,
        "device": plan.device,
        "dtype": plan.dtype,
        "batch_size": plan.batch_size,
        "seed": plan.seed,
        "speed": plan.speed,
        "map_dtype": plan.map_dtype,
        "numbers": plan.form,
        "shard_size": shard_size,
        "inputs": len(entries),
        "ids": manifest.digest_entries(entries),
        "versions": {"samp": __version__, "torch": torch.__version__},
    }
    about = {
        "source": source.describe(),
        "threads": torch.get_num_threads(),
        "classes": list(preprocessor.classes),
        "recipe": make_recipe(plan.model, plan.method),
    }
    manifest.write_or_check(plan.folder, settings, about)


def _probe_outputs(classifier: Classifier) -> tuple[Classifier, int]:
    """Return the classifier with its classes matched to its outputs, and their number, by running it on a black photo.

    Raises ValueError if that fails: better once than for every input.
    """
    like = floating_parameter(classifier)
    blank = classifier.prepare(Image.new("RGB", classifier.shape[::-1])).to(like)
    try:
        with torch.no_grad(), isolate(classifier.net, like.device, seed=0):
            scores = observe(classifier.net, lambda: classifier.net(blank.clone()))
    except (RuntimeError, ValueError, TypeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"{classifier.name} cannot be run on an input of {tuple(blank.shape)} ({why}): set what it takes by "
            "`size` and `channels`."
        ) from error
    if not isinstance(scores, torch.Tensor) or scores.ndim != 2:
        came = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise ValueError(
            f"{classifier.name} gave {came} for one photo: a classifier gives one score per class, (1, n)."
        )
    return classifier.with_outputs(scores.shape[1]), scores.shape[1]


def _inputs_per_batch(batch_size: BatchSize, classifier: Classifier, device: torch.device) -> int:
    """Return as many inputs as the net takes at once: more of them together would not be faster."""
    elements = (1 if classifier.channels == "grey" else 3) * math.prod(classifier.shape)
    return min(Batches(batch_size, elements, device).size, MOST_PER_BATCH)


def _choose_form(folder: Path) -> str:
    """Return the form of files of rows: that of the run in this folder if there is one."""
    before = manifest.read(folder)
    form = str(before["settings"]["numbers"]) if before else tables.best_form()
    tables.check_form(form)
    return form
