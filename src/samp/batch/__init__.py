"""Explain whole data sets shard by shard into a folder; a run that stopped continues where it was.

The files in reading order:

    run          `samp.run`, which puts the others together
    sources      data sets: inputs with stable ids, read when needed (hugging_face; tars with tar_members)
    prepare      load and check the model, plan the run, write its manifest (models, manifest, manifest_schema, recipe)
    join_labels  the true class of each input; `labels` keeps them beside the shards
    shard_plan   what workers get: the plan, the jobs, and which rows of an earlier run are reused
    workers      who does the work: `local` in this process, `ray` on many workers (ray_session)
    worker       what a worker does with a shard: explain batch by batch, save, report
    preprocess   from an input of a data set to the net's input
    explainer    from a batch of inputs to a row of numbers and a map of each
    shards       the folder: files written atomically, a receipt of each (tables, stored_maps, receipts, lock)
    outcomes     jobs that are left to do, and what came of them (progress, progress_files, summary)
    results      `load`: rows, columns and maps of a run, read back (columns)

Only `ray` and `ray_session` import Ray, when workers are used.
"""

from __future__ import annotations

import warnings
from typing import Any

from samp.batch.models import Model
from samp.batch.results import RunResults, load
from samp.batch.run import run
from samp.batch.summary import BrokenRunError, Summary
from samp.batch.workers import Workers

__all__ = ["BrokenRunError", "Model", "RunResults", "Summary", "Workers", "load", "run"]


def __getattr__(name: str) -> Any:
    if name != "Crew":
        raise AttributeError(f"module 'samp.batch' has no attribute {name!r}")
    warnings.warn(
        "samp.batch.Crew is called Workers now, and its workers= count=; the former name goes in 0.3.",
        DeprecationWarning,
        stacklevel=2,
    )
    return Workers
