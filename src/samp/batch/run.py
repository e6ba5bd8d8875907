"""`run`: explain a whole data set into a folder, and go on where an earlier run stopped."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from numbers import Integral
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from samp import __version__
from samp.batch import manifest, tables
from samp.batch.counting import ProgressCallback, collect_outcomes, find_unfinished
from samp.batch.explainer import PREDICTED
from samp.batch.local import run_in_process
from samp.batch.lock import lock_folder
from samp.batch.marks import ProgressFiles
from samp.batch.models import Model, as_model, fingerprint
from samp.batch.preprocess import without_net
from samp.batch.shard_plan import MAP_DTYPES, Job, JobOutcome, RunPlan, error_line, make_jobs
from samp.batch.sources import Entry, Items, Source, list_entries, source_of
from samp.batch.summary import BrokenRunError, RunProgress, ShardProgress, Summary
from samp.batch.workers import Workers
from samp.engine.driver import Batches, BatchSize, RunOptions
from samp.isolation import isolate, observe
from samp.lookup import look_up
from samp.methods import Method, resolve_method
from samp.models import Classifier

MOST_PER_BATCH = 128  # inputs of one `samp.explain`: memory does not grow with the shard


def run(
    data: Any,
    *,
    out: str | os.PathLike[str],
    model: str | Classifier | Model = "efficientnet_lite0",
    method: str | Method = "coupled",
    target: str | int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    speed: str = "exact",
    shard_size: int = 128,
    map_dtype: str = "float16",
    crew: Workers | int = 0,
    keep_failed: bool = False,
    tell: ProgressCallback | None = None,
) -> Summary:
    """Explain every input of a data set: a row of numbers and a map of each, in the folder `out`.

    - `data`: a folder of photos, a CSV or Parquet list (`path`, and if need be `id`, `target`), WebDataset tars, a
      folder that Hugging Face's `save_to_disk` wrote, or any map-style data set of images or tensors.
    - `model`: a name for `samp.models.load`, a `Classifier`, or a `samp.batch.Model` that says where it runs. Nets are
      explained in evaluation mode: of one in training mode a copy, with a warning.
    - `target`: a class by name or number, or "predicted"; None takes what the data set says, else the predicted one.
    - `batch_size`, `seed`, `speed`: as `samp.explain` takes them.
    - `shard_size`: inputs of one file. A shard that takes long is written unfinished every ten seconds and on Ctrl-C.
    - `crew`: 0 works in this process; more are workers of Ray (extra `scale`), or a `Workers` with a cluster's address.
    - `keep_failed`: leave shards with failed inputs as they are; else they are tried again.
    - `tell`: called with the counts so far, whenever a batch or a shard is done (with workers: a shard).

    A run that stopped, by whatever means, is called again with the same arguments: what is there is not done again, and
    with other arguments it refuses. What cannot be explained is listed in the summary, with its reason. A run that
    breaks under way raises a `samp.batch.BrokenRunError`, which says how far it came.

    >>> import tempfile
    >>> from torch import nn
    >>> tiny = Classifier(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).eval(), "tiny", 2, 0.5, 0.5, ())
    >>> photos = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done, again = run(photos, out=folder, model=tiny), run(photos, out=folder, model=tiny)
    >>> done.explained, done.code, again.found
    (2, 0, 2)
    """
    started = time.monotonic()
    _check_arguments(shard_size, map_dtype, speed, crew)
    Batches(batch_size, 1, torch.device("cpu"))  # what is wrong with it is said before all else
    # NumPy's whole numbers become Python's, which JSON and torch take.
    seed, shard_size = RunOptions(seed=seed).seed, int(shard_size)
    batch_size = "auto" if batch_size == "auto" else int(batch_size)
    crew, known = crew if isinstance(crew, Workers) else Workers(int(crew)), as_model(model)
    crew.check_device(known.device)
    _warn_of_training(known)
    source = source_of(data)
    entries, folder = list_entries(source), _make_folder(out)
    with lock_folder(folder):
        how = {
            "batch_size": batch_size,
            "map_dtype": map_dtype,
            "seed": seed,
            "speed": speed,
            "keep_failed": keep_failed,
        }
        photos = not isinstance(source, Items)  # tensors of a data set may have any shape
        plan, feeding = _make_plan(
            known.with_absolute_paths(), resolve_method(method), folder, target, photos=photos, **how
        )
        _write_manifest(plan, feeding, source, entries, shard_size)
        plan.shards.make_folders()
        _clean(plan)
        count = RunProgress(len(entries), concurrency=crew.concurrency, inputs_per_batch=plan.inputs_per_batch)
        todo = find_unfinished(plan, make_jobs(entries, shard_size), count)
        tell = tell or (lambda count: None)
        tell(count)
        if todo:
            with _outcomes(plan, source, feeding, todo, crew, count, tell) as outcomes:  # ends its Ray, however it ends
                try:
                    collect_outcomes(plan, outcomes, todo, count, tell)
                except Exception as error:
                    raise BrokenRunError(error_line(error), _summary(folder, count, started)) from error
            _clean(plan)  # after workers that died
    return _summary(folder, count, started)


def _make_plan(
    model: Model,
    method: Method,
    folder: Path,
    target: str | int | None,
    *,
    photos: bool,
    **how: Any,
) -> tuple[RunPlan, Classifier]:
    """The plan, and how photos are fed; the model is loaded here once, so that what is wrong with it is said early."""
    classifier, outputs = _probe_outputs(model.load("cpu")) if photos else (model.load("cpu"), sys.maxsize)
    asked = None if target is None else str(target)
    if asked is not None and asked != PREDICTED:
        classifier.index(asked, outputs)  # says which there are
    like = next((p for p in classifier.net.parameters() if p.is_floating_point()), torch.empty(0))
    plan = RunPlan(
        model=model,
        weights=fingerprint(classifier.net),
        method=method,
        target=asked,
        folder=folder,
        form=_choose_form(folder),
        device=torch.device(model.device or like.device).type,
        dtype=str(like.dtype).removeprefix("torch."),
        inputs_per_batch=_inputs_per_batch(how["batch_size"], classifier, model.device or like.device),
        **how,
    )
    return plan, without_net(classifier)


def _inputs_per_batch(batch_size: BatchSize, feeding: Classifier, device: torch.device | str) -> int:
    """Inputs of a batch: as many as the net is given at once, so that more of them together would not be faster."""
    elements = (1 if feeding.channels == "grey" else 3) * math.prod(feeding.shape)
    return min(Batches(batch_size, elements, torch.device(device)).size, MOST_PER_BATCH)


def _probe_outputs(classifier: Classifier) -> tuple[Classifier, int]:
    """The classifier with its outputs known and counted, or a sentence on why it cannot be fed what it says it takes.

    Said here once, rather than of every input.
    """
    like = next((p for p in classifier.net.parameters() if p.is_floating_point()), torch.empty(0))
    blank = classifier.prepare(Image.new("RGB", classifier.shape[::-1])).to(like)
    try:
        with torch.no_grad(), isolate(classifier.net, like.device, seed=0):
            scores = observe(classifier.net, lambda: classifier.net(blank.clone()))
    except (RuntimeError, ValueError, TypeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"{classifier.name} cannot be run on an input of {tuple(blank.shape)} ({said}): set what it takes by "
            "`size` and `channels`."
        ) from error
    if not isinstance(scores, torch.Tensor) or scores.ndim != 2:
        came = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise ValueError(
            f"{classifier.name} gave {came} for one photo: a classifier gives one score per class, (1, n)."
        )
    return classifier.with_outputs(scores.shape[1]), scores.shape[1]


def _choose_form(folder: Path) -> str:
    """What rows are written as: as they were, where a run goes on."""
    before = manifest.read(folder)
    form = str(before["settings"]["numbers"]) if before else tables.best_form()
    tables.check_form(form)
    return form


def _write_manifest(
    plan: RunPlan, feeding: Classifier, source: Source, entries: Sequence[Entry], shard_size: int
) -> None:
    fed = {name: getattr(feeding, name) for name in ("size", "mean", "std", "channels", "margin", "resample")}
    settings = {
        **manifest.method_settings(plan.method),
        "model": feeding.name,
        "weights": plan.weights,
        "target": plan.target or "the data set's, else predicted",
        "classes": manifest.digest_classes(feeding.classes),
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
    about = {"source": source.describe(), "threads": torch.get_num_threads(), "classes": list(feeding.classes)}
    manifest.write_or_check(plan.folder, settings, about)


def _outcomes(
    plan: RunPlan,
    source: Source,
    feeding: Classifier,
    jobs: list[Job],
    workers: Workers,
    count: RunProgress,
    on_progress: ProgressCallback,
) -> AbstractContextManager[Iterable[JobOutcome]]:
    """What becomes of each job; entering it starts who does the work, so that what hinders that is known by then."""

    def report(shard: int, progress: ShardProgress) -> None:
        count.update_shard(shard, progress)
        on_progress(count)

    if workers.in_process:
        return run_in_process(plan, source, feeding, jobs, report)
    from samp.batch.ray import run_on_ray

    count.poll = ProgressFiles(plan.folder).read
    return run_on_ray(plan, source, feeding, jobs, workers)


def _clean(plan: RunPlan) -> None:
    plan.shards.clean()
    ProgressFiles(plan.folder).clear()


def _summary(folder: Path, count: RunProgress, started: float) -> Summary:
    told = (count.explained, count.found, count.failures, count.lost)
    return Summary(folder, count.inputs, *told, seconds=time.monotonic() - started)


def _make_folder(out: str | os.PathLike[str]) -> Path:
    if not os.fspath(out):
        raise ValueError("the folder to write into has no name: give one, or . for this one.")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"the folder {folder} cannot be made ({error.strerror}): choose another `out`.") from error
    return folder.resolve()


def _warn_of_training(model: Model) -> None:
    if model.is_training:
        warnings.warn(
            "the classifier's net is in training mode, in which a row would depend on chance and on its neighbours: a "
            "copy of it in evaluation mode is explained; call net.eval() first to say so yourself.",
            stacklevel=3,
        )


def _check_arguments(shard_size: Any, map_dtype: str, speed: str, workers: Any) -> None:
    look_up(speed, dict.fromkeys(("exact", "fast"), 0), "speed")
    look_up(map_dtype, dict.fromkeys(MAP_DTYPES, 0), "dtype of maps")
    if isinstance(shard_size, bool) or not isinstance(shard_size, Integral) or shard_size < 1:
        raise ValueError(f"a shard holds 1 input at least, a whole number, not {shard_size!r}.")
    if isinstance(workers, bool) or not isinstance(workers, Integral | Workers):
        raise TypeError(f"a crew is a number of workers or a samp.batch.Crew, not {workers!r}.")
