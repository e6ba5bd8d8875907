"""`run`: explain a whole data set into a folder, and continue where an earlier run stopped."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import torch

from samp.batch.join_labels import join_labels
from samp.batch.labels import write_labels
from samp.batch.local import run_in_process
from samp.batch.lock import lock_folder
from samp.batch.messages import error_line
from samp.batch.models import Model, as_model
from samp.batch.outcomes import JobOutcome, collect_outcomes, find_unfinished
from samp.batch.prepare import RunSettings, make_plan, write_manifest
from samp.batch.progress import ProgressCallback, RunProgress, ShardProgress
from samp.batch.progress_files import ProgressFiles
from samp.batch.shard_plan import MAP_DTYPES, Job, RunPlan, make_jobs
from samp.batch.sources import Source, list_entries, source_of
from samp.batch.summary import BrokenRunError, Summary
from samp.batch.workers import Workers
from samp.engine.batches import Batches, BatchSize
from samp.engine.driver import RunOptions
from samp.lookup import look_up
from samp.methods import Method, resolve_method
from samp.models import Classifier


def run(
    data: Any,
    *,
    out: str | os.PathLike[str],
    model: str | Classifier | Model = "efficientnet_lite0",
    method: str | Method = "consensus",
    target: str | int | None = None,
    labels: Any = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    speed: str = "exact",
    shard_size: int = 128,
    map_dtype: str = "float16",
    workers: Workers | int | Sequence[str] = 0,
    keep_failed: bool = False,
    on_progress: ProgressCallback | None = None,
    crew: Workers | int | None = None,
    tell: ProgressCallback | None = None,
) -> Summary:
    """Explain every input of a data set: write a row of numbers and a map of each into the folder `out`.

    - `data`: a folder of photos, a CSV or Parquet list (`path`, and optionally `id` and `target`), WebDataset tars, a
      folder that Hugging Face's `save_to_disk` wrote, or any map-style data set of images or tensors.
    - `model`: a name for `samp.models.load`, a `Classifier`, or a `samp.batch.Model`, which has a device. Nets are
      explained in evaluation mode; of a net in training mode a copy is explained, with a warning.
    - `target`: a class by name or number, or "predicted"; None takes the data set's, else the predicted one.
    - `labels`: the true classes, of which the report makes accuracy and mistakes: a table with the columns `file` and
      `label`, "folder-names", "data-set" (the classes that it lists), a mapping from ids, or one label for each input.
      They decide nothing that is computed, so a run that is done takes others at once; None keeps those it has.
    - `batch_size`, `seed`, `speed`: as in `samp.explain`.
    - `shard_size`: how many inputs share a file. A shard that takes long is also written while it is unfinished, every
      ten seconds and on Ctrl-C.
    - `map_dtype`: "float16", "bfloat16" or "float32".
    - `workers`: 0 works in this process; devices such as ["cuda:0", "cuda:1"] have a process each; more are workers of
      Ray (extra `scale`). A `samp.batch.Workers` also takes the GPUs and CPUs of each and a cluster's address.
    - `keep_failed`: do not try failed inputs of an earlier run again.
    - `on_progress`: called with the counts so far when a batch or a shard is done (with workers: a shard).
    - `crew`, `tell`: the former names of `workers` and `on_progress`, deprecated.

    To continue a run that stopped for whatever reason, call it again with the same arguments: what is there is not done
    again; other arguments are refused with a ValueError. Inputs that cannot be explained are listed in the summary,
    each with its error. A run that breaks on the way raises `samp.batch.BrokenRunError`, which holds its summary.

    >>> import tempfile
    >>> from PIL import Image
    >>> from torch import nn
    >>> tiny = Classifier(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).eval(), "tiny", 2, 0.5, 0.5, ())
    >>> photos = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done, again = run(photos, out=folder, model=tiny), run(photos, out=folder, model=tiny)
    >>> done.explained, done.code, again.found
    (2, 0, 2)
    """
    started = time.monotonic()
    team = _as_workers(_rename("workers", workers, 0, "crew", crew))
    report = _rename("on_progress", on_progress, None, "tell", tell) or (lambda progress: None)
    _check_arguments(shard_size, map_dtype, speed)
    settings = RunSettings(_check_batch_size(batch_size), map_dtype, RunOptions(seed=seed).seed, speed, keep_failed)
    specified = as_model(model)
    team.check_device(specified.device)
    if team.devices:
        specified = replace(specified, device=team.devices[0])  # all are of one kind
    _warn_of_training(specified)
    source = source_of(data)
    entries, folder = list_entries(source), _make_folder(out)
    with lock_folder(folder):
        plan, preprocessor, outputs = make_plan(
            specified.with_absolute_paths(), resolve_method(method), source, folder, target, settings
        )
        joined = None if labels is None else join_labels(labels, source, entries, preprocessor, outputs)
        write_manifest(plan, preprocessor, source, entries, int(shard_size))
        whole = make_jobs(entries, int(shard_size))
        if joined is not None:
            write_labels(folder, joined.classes, joined.source, whole)
        plan.shards.make_folders()
        _clean(plan)
        progress = RunProgress(len(entries), concurrency=team.concurrency, inputs_per_batch=plan.inputs_per_batch)
        jobs = find_unfinished(plan, whole, progress)
        report(progress)
        if jobs:
            # Leaving this block ends its Ray, whatever happens.
            with _start_jobs(plan, source, preprocessor, jobs, team, progress, report) as outcomes:
                try:
                    collect_outcomes(plan, outcomes, jobs, progress, report)
                except Exception as error:
                    raise BrokenRunError(error_line(error), _summarise(folder, progress, started)) from error
            _clean(plan)  # after workers that died
    return _summarise(folder, progress, started)


def _start_jobs(
    plan: RunPlan,
    source: Source,
    preprocessor: Classifier,
    jobs: Sequence[Job],
    workers: Workers,
    progress: RunProgress,
    on_progress: ProgressCallback,
) -> AbstractContextManager[Iterable[JobOutcome]]:
    """Return a context that starts the workers, and in which each job's outcome can be iterated over."""

    def report(shard: int, done: ShardProgress) -> None:
        progress.update_shard(shard, done)
        on_progress(progress)

    if workers.in_process:
        return run_in_process(plan, source, preprocessor, jobs, report)
    progress.poll = ProgressFiles(plan.folder).read
    if workers.devices:
        from samp.batch.processes import run_on_devices

        return run_on_devices(plan, source, preprocessor, jobs, workers.devices)
    from samp.batch.ray import run_on_ray

    return run_on_ray(plan, source, preprocessor, jobs, workers)


def _clean(plan: RunPlan) -> None:
    plan.shards.clean()
    ProgressFiles(plan.folder).clear()


def _summarise(folder: Path, progress: RunProgress, started: float) -> Summary:
    counts = (progress.explained, progress.found, progress.failures, progress.lost)
    return Summary(folder, progress.inputs, *counts, seconds=time.monotonic() - started)


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


def _rename(name: str, value: Any, default: Any, former: str, former_value: Any) -> Any:
    """Return the value of an argument, given by its name or by its former one; raises TypeError if by both."""
    if former_value is None:
        return value
    if value is not default:
        raise TypeError(f"run() got both {name}= and its former name {former}=: pass {name}= alone.")
    warnings.warn(
        f"run({former}=) is called {name}= now; the former name goes in 0.3.", DeprecationWarning, stacklevel=3
    )
    return former_value


def _as_workers(workers: Any) -> Workers:
    if isinstance(workers, Workers):
        return workers
    if isinstance(workers, list | tuple) and workers and all(isinstance(name, str) for name in workers):
        return Workers(devices=tuple(workers))
    if isinstance(workers, bool) or not isinstance(workers, Integral):
        raise TypeError(f"workers is a whole number, a list of devices or a samp.batch.Workers, not {workers!r}.")
    if workers < 0:
        raise ValueError(f"workers is {workers}: give 0 or more.")
    return Workers(int(workers))


def _check_arguments(shard_size: Any, map_dtype: str, speed: str) -> None:
    look_up(speed, dict.fromkeys(("exact", "fast"), 0), "speed")
    look_up(map_dtype, dict.fromkeys(MAP_DTYPES, 0), "dtype of maps")
    if isinstance(shard_size, bool) or not isinstance(shard_size, Integral) or shard_size < 1:
        raise ValueError(f"a shard holds 1 input at least, a whole number, not {shard_size!r}.")


def _check_batch_size(batch_size: BatchSize) -> BatchSize:
    """Return the batch size as an int of Python, which JSON takes; raises ValueError if it is none."""
    Batches(batch_size, 1, torch.device("cpu"))
    return "auto" if batch_size == "auto" else int(batch_size)
