"""A run in a process for each device of this machine, without Ray.

    jobs ─► this process hands them out ─► read, explain and write (a process for each device) ─► outcomes

Each process does what a run in one process does (`samp.batch.local`) with the jobs that it asks for. Whoever dies is
replaced; the jobs it held are then done one by one in processes of their own, so that the one which kills is found.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NoReturn

from samp.batch.explainer import BrokenDeviceError
from samp.batch.local import run_in_process
from samp.batch.messages import error_line
from samp.batch.outcomes import MOST_DEATHS, JobOutcome, outcome_of_deaths
from samp.batch.parcel import Parcel
from samp.batch.progress_files import ProgressFiles
from samp.batch.shard_plan import Job, RunPlan
from samp.batch.sources import Source
from samp.models import Classifier
from samp.threads import wait_settings

PATIENCE = 30.0  # seconds for a process that was told to end; it saves its finished rows before


@contextmanager
def run_on_devices(
    plan: RunPlan, source: Source, preprocessor: Classifier, jobs: Sequence[Job], devices: Sequence[str]
) -> Iterator[Iterable[JobOutcome]]:
    """Yield an iterator over the outcomes of jobs, in any order; leaving it ends all processes.

    Raises TypeError if the data set or the model cannot be sent to them.
    """
    parcels = [Parcel.pack(plan.model, _plan_on(plan, device), source, preprocessor) for device in devices]
    team = Team(jobs, [Post(device, parcel) for device, parcel in zip(devices, parcels, strict=True)])
    try:
        yield team.outcomes()
    finally:
        team.end()


def _plan_on(plan: RunPlan, device: str) -> RunPlan:
    return replace(plan, model=replace(plan.model, device=device))


@dataclass
class Post:
    """A device, the process that works on it at present, and the jobs that this holds."""

    device: str
    parcel: Parcel
    process: BaseProcess | None = None
    pipe: Connection | None = None
    held: dict[int, Job] = field(default_factory=dict)
    has_begun: bool = False
    """Whether the process has asked for a job."""
    false_starts: int = 0
    """How many processes in a row died before that."""

    def start(self, count: int) -> None:
        """Start a process, one of `count` that share the cores of this machine."""
        context = multiprocessing.get_context("spawn")  # a fork would inherit a CUDA that it cannot use
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(self.parcel, theirs), daemon=True)
        with _environment(thread_settings(count, os.environ)), hold_ctrl_c():
            self.process.start()
        theirs.close()  # so that the end of the process closes the pipe
        self.held, self.has_begun = {}, False

    def finish(self) -> int:
        """Wait for the end of the process, and return its exit code."""
        assert self.process is not None
        assert self.pipe is not None
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode
        self.process = self.pipe = None
        return code or 0


class Team:
    """Hands out jobs to the processes of some devices, and replaces processes that die."""

    def __init__(self, jobs: Sequence[Job], posts: Sequence[Post]) -> None:
        self.waiting, self.posts = deque(jobs), posts
        self.deaths: Counter[int] = Counter()

    def outcomes(self) -> Iterator[JobOutcome]:
        """Yield the outcome of each job as it comes in."""
        for post in self.posts[: len(self.waiting)]:
            post.start(len(self.posts))
        while pipes := {post.pipe: post for post in self.posts if post.pipe is not None}:
            for pipe in wait(list(pipes)):
                yield from self._hear(pipes[pipe])  # type: ignore[index]  # only pipes were waited for

    def end(self) -> None:
        """End all processes; they save what is finished."""
        running = [post.process for post in self.posts if post.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.join(PATIENCE)
            process.kill()
            process.join()

    def _hear(self, post: Post) -> Iterator[JobOutcome]:
        """Do what the process of this post asks for, or yield the outcome that it sends."""
        assert post.pipe is not None
        try:
            message: JobOutcome | None = post.pipe.recv()
        except (EOFError, OSError):
            yield from self._replace(post, post.finish())
            return
        if message is not None:
            post.held.pop(message.shard, None)
            yield message
            return
        job, post.has_begun = self._choose(post), True
        if job is not None:
            post.held[job.shard] = job
        with suppress(OSError):  # it has died since, which is heard of next
            post.pipe.send(job)

    def _choose(self, post: Post) -> Job | None:
        """Return the next job for this post, or None to end its process: a suspect has a process of its own."""
        if any(self.deaths[shard] for shard in post.held):
            return None
        for job in self.waiting:
            if not (self.deaths[job.shard] and post.held):
                self.waiting.remove(job)
                return job
        return None

    def _replace(self, post: Post, code: int) -> Iterator[JobOutcome]:
        """Take back the jobs of a process that has ended, and start another if there is something to do."""
        post.false_starts = 0 if post.has_begun else post.false_starts + 1
        has_failed = post.false_starts and code > 0  # while a signal comes from outside: then try again
        if has_failed or post.false_starts == MOST_DEATHS:
            yield JobOutcome(-1, error=_describe_false_start(post.device, code), hopeless=True)
            return
        for job in reversed(post.held.values()):
            self.deaths[job.shard] += 1
            if self.deaths[job.shard] < MOST_DEATHS:
                self.waiting.appendleft(job)
            else:
                yield outcome_of_deaths(job.shard)
        if self.waiting:
            post.start(len(self.posts))


def thread_settings(processes: int, present: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of one of so many processes, without what the user has set: its part of the cores.

    Threads that wait soon sleep.

    >>> thread_settings(10**6, {"OMP_WAIT_POLICY": "active"})
    {'OMP_NUM_THREADS': '1'}
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    part = {} if "OMP_NUM_THREADS" in present else {"OMP_NUM_THREADS": str(max(cores // processes, 1))}
    return part | wait_settings(present)


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    """Add these variables, of which none is there, for processes that are started inside."""
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def hold_ctrl_c() -> Iterator[None]:
    """Block SIGINT in this thread; processes that are started inside inherit that, until `_work` ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_false_start(device: str, code: int) -> str:
    how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
    return (
        f"the process for device {device} {how} before it began: what it wrote above says why. A script that calls "
        'samp.run with `devices` does so under `if __name__ == "__main__":`, since processes import it.'
    )


def _work(parcel: Parcel, pipe: Connection) -> None:
    """Be the process of a device: ask for jobs until there are none, and send the outcome of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all: the first process ends the others
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # held since the start
    signal.signal(signal.SIGTERM, _exit_on_signal)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        plan, source, preprocessor = parcel.unpack()
        report = ProgressFiles(plan.folder).write
        with run_in_process(plan, source, preprocessor, _ask_for_jobs(pipe), report) as outcomes:
            for outcome in outcomes:
                pipe.send(outcome)
    except BrokenDeviceError:
        os._exit(1)  # no call would succeed in this process
    except Exception as error:
        try:
            pipe.send(JobOutcome(-1, error=error_line(error), hopeless=True))
        except OSError:  # the first process was killed, so that nobody is there to be told
            os._exit(1)


def _ask_for_jobs(pipe: Connection) -> Iterator[Job]:
    while True:
        pipe.send(None)
        job: Job | None = pipe.recv()
        if job is None:
            return
        yield job


def _exit_on_signal(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # a run that is continued meanwhile must not be written to
