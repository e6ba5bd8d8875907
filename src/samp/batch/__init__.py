"""Whole data sets: explained shard by shard into a folder, so that a run that stopped goes on where it was.

    sources   what a data set is: inputs with stable ids, each read when it is needed (tars: tars, tar_members)
    feeding   from an input to what the net is shown, or a sentence on why not
    explainer the net's side: a batch of inputs to one row of numbers and one map each
    tables    rows as Parquet or JSON lines
    shards    the folder: files written whole, receipts that say what is there
    manifest  how the run was made, so that another is not mixed into it
    plan      what workers are told, and which rows of an earlier run stand
    worker    what is done with a shard, batch by batch, and kept where it is interrupted
    counting  what is left to do, and what becomes of it
    crew      who does the work
    door      `run`, which puts them together; `samp.batch.ray` does the same work on many workers
    reading   a run read back: rows, columns, maps

Nothing here imports ray.
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
