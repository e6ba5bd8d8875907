"""What is left to do of a run, and what becomes of it, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from samp.batch.marks import Marks
from samp.batch.shard_plan import Job, Outcome, Plan
from samp.batch.summary import Count

Tell = Callable[[Count], None]


def find_unfinished(plan: Plan, jobs: Sequence[Job], count: Count) -> list[Job]:
    """Jobs that are not done yet, each with the ids whose rows stand; of these rows, the count."""
    with ThreadPoolExecutor() as pool:  # reading files to check them waits for the disk
        standing = list(pool.map(lambda job: plan.standing(plan.shards.outcomes(job.shard), job.ids), jobs))
    failures = {name: why for there in standing for name, why in there.items() if why is not None}
    count.found = count.explained = sum(map(len, standing)) - len(failures)
    count.failures, count.kept = failures, len(failures)
    known = [replace(job, kept=frozenset(there)) for job, there in zip(jobs, standing, strict=True)]
    return [job for job in known if len(job.kept) < len(job.entries)]


def take_in(plan: Plan, outcomes: Iterable[Outcome], jobs: Sequence[Job], count: Count, tell: Tell) -> None:
    """Take in what comes back; a full disk ends it, since no other shard would fit."""
    missing = {job.shard: job for job in jobs}
    why = "its reader died each time it was tried: run again to try once more."
    try:
        for outcome in outcomes:
            if outcome.hopeless:
                raise ValueError(outcome.error)
            _take_in_one(plan, outcome, missing.pop(outcome.shard), count)
            tell(count)
            if outcome.full:
                why = "there was no room left: make some and run again."
                break
    finally:
        for job in missing.values():
            _add_unfinished(plan, job, count)
    count.lost |= dict.fromkeys(sorted(missing), why)


def _take_in_one(plan: Plan, outcome: Outcome, job: Job, count: Count) -> None:
    Marks(plan.folder).forget(job.shard)
    if outcome.receipt is None:
        count.lost[job.shard] = outcome.error
        _add_unfinished(plan, job, count)
        return
    failures = outcome.receipt.failures
    count.finish(job.shard)
    count.first_took = count.first_took or outcome.seconds
    count.explained += outcome.receipt.rows - len(failures) - len(job.kept - failures.keys())
    count.failures |= failures


def _add_unfinished(plan: Plan, job: Job, count: Count) -> None:
    """Count what was written of a shard that was not finished."""
    count.finish(job.shard)
    receipt = plan.shards.receipt(job.shard, thorough=False)
    if receipt and receipt.rows < len(job.entries):
        count.explained += max(receipt.rows - len(receipt.failures) - len(job.kept - receipt.failures.keys()), 0)
