"""The jobs that are left to do, and what came of them, counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from samp.batch.progress import ProgressCallback, RunProgress
from samp.batch.progress_files import ProgressFiles
from samp.batch.receipts import Receipt
from samp.batch.shard_plan import Job, RunPlan

MOST_DEATHS = 3  # of workers over one shard, which may kill its worker every time; then it is given up


@dataclass(frozen=True)
class JobOutcome:
    """What came of a job: the receipt of its shard, or why there is none."""

    shard: int
    receipt: Receipt | None = None
    error: str = ""
    full: bool = False
    """Whether it failed because the disk is full, so that no other shard can be written either."""
    hopeless: bool = False
    """Whether its worker cannot do any job."""
    seconds: float = 0.0
    """Time spent on it."""


def outcome_of_deaths(shard: int) -> JobOutcome:
    """Return the outcome of a shard that is given up, since its worker died each time."""
    return JobOutcome(shard, error=f"its worker died {MOST_DEATHS} times over it: look for an input that does this.")


def find_unfinished(plan: RunPlan, jobs: Sequence[Job], progress: RunProgress) -> list[Job]:
    """Return the jobs that are not done yet, each with the ids of rows that are reused; count these in `progress`."""
    with ThreadPoolExecutor() as pool:  # checking files waits for the disk
        reusable = list(pool.map(lambda job: plan.reusable_rows(plan.shards.errors_by_id(job.shard), job.ids), jobs))
    failures = {name: error for rows in reusable for name, error in rows.items() if error is not None}
    progress.found = progress.explained = sum(map(len, reusable)) - len(failures)
    progress.failures, progress.kept = failures, len(failures)
    known = [replace(job, kept=frozenset(rows)) for job, rows in zip(jobs, reusable, strict=True)]
    return [job for job in known if len(job.kept) < len(job.entries)]


def collect_outcomes(
    plan: RunPlan,
    outcomes: Iterable[JobOutcome],
    jobs: Sequence[Job],
    progress: RunProgress,
    on_progress: ProgressCallback,
) -> None:
    """Count the outcome of each job as it comes in; jobs without one are counted as lost.

    Stops at a full disk, since no other shard would fit. Raises ValueError if a worker cannot do any job.
    """
    missing = {job.shard: job for job in jobs}
    why = "its reader died each time it was tried: run again to try once more."
    try:
        for outcome in outcomes:
            if outcome.hopeless:
                raise ValueError(outcome.error)
            _collect_outcome(plan, outcome, missing.pop(outcome.shard), progress)
            on_progress(progress)
            if outcome.full:
                why = "there was no room left: make some and run again."
                break
    finally:
        for job in missing.values():
            _count_unfinished(plan, job, progress)
    progress.lost |= dict.fromkeys(sorted(missing), why)


def _collect_outcome(plan: RunPlan, outcome: JobOutcome, job: Job, progress: RunProgress) -> None:
    ProgressFiles(plan.folder).forget(job.shard)
    if outcome.receipt is None:
        progress.lost[job.shard] = outcome.error
        _count_unfinished(plan, job, progress)
        return
    failures = outcome.receipt.failures
    progress.finish_shard(job.shard)
    progress.first_seconds = progress.first_seconds or outcome.seconds
    progress.explained += outcome.receipt.rows - len(failures) - len(job.kept - failures.keys())
    progress.failures |= failures


def _count_unfinished(plan: RunPlan, job: Job, progress: RunProgress) -> None:
    """Count the rows that were written of a shard that was not finished."""
    progress.finish_shard(job.shard)
    receipt = plan.shards.receipt(job.shard, thorough=False)
    if receipt and receipt.rows < len(job.entries):
        progress.explained += max(receipt.rows - len(receipt.failures) - len(job.kept - receipt.failures.keys()), 0)
