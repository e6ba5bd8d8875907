"""What is left to do of a run, and what becomes of it, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from samp.batch.progress_files import ProgressFiles
from samp.batch.shard_plan import Job, JobOutcome, RunPlan
from samp.batch.summary import RunProgress

ProgressCallback = Callable[[RunProgress], None]


def find_unfinished(plan: RunPlan, jobs: Sequence[Job], count: RunProgress) -> list[Job]:
    """Jobs that are not done yet, each with the ids whose rows stand; of these rows, the count."""
    with ThreadPoolExecutor() as pool:  # reading files to check them waits for the disk
        standing = list(pool.map(lambda job: plan.reusable_rows(plan.shards.errors_by_id(job.shard), job.ids), jobs))
    failures = {name: why for there in standing for name, why in there.items() if why is not None}
    count.found = count.explained = sum(map(len, standing)) - len(failures)
    count.failures, count.kept = failures, len(failures)
    known = [replace(job, kept=frozenset(there)) for job, there in zip(jobs, standing, strict=True)]
    return [job for job in known if len(job.kept) < len(job.entries)]


def collect_outcomes(
    plan: RunPlan,
    outcomes: Iterable[JobOutcome],
    jobs: Sequence[Job],
    count: RunProgress,
    on_progress: ProgressCallback,
) -> None:
    """Take in what comes back; a full disk ends it, since no other shard would fit."""
    missing = {job.shard: job for job in jobs}
    why = "its reader died each time it was tried: run again to try once more."
    try:
        for outcome in outcomes:
            if outcome.hopeless:
                raise ValueError(outcome.error)
            _collect_outcome(plan, outcome, missing.pop(outcome.shard), count)
            on_progress(count)
            if outcome.full:
                why = "there was no room left: make some and run again."
                break
    finally:
        for job in missing.values():
            _add_unfinished(plan, job, count)
    count.lost |= dict.fromkeys(sorted(missing), why)


def _collect_outcome(plan: RunPlan, outcome: JobOutcome, job: Job, count: RunProgress) -> None:
    ProgressFiles(plan.folder).forget(job.shard)
    if outcome.receipt is None:
        count.lost[job.shard] = outcome.error
        _add_unfinished(plan, job, count)
        return
    failures = outcome.receipt.failures
    count.finish_shard(job.shard)
    count.first_seconds = count.first_seconds or outcome.seconds
    count.explained += outcome.receipt.rows - len(failures) - len(job.kept - failures.keys())
    count.failures |= failures


def _add_unfinished(plan: RunPlan, job: Job, count: RunProgress) -> None:
    """Count what was written of a shard that was not finished."""
    count.finish_shard(job.shard)
    receipt = plan.shards.receipt(job.shard, thorough=False)
    if receipt and receipt.rows < len(job.entries):
        count.explained += max(receipt.rows - len(receipt.failures) - len(job.kept - receipt.failures.keys()), 0)
