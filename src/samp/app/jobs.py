"""Jobs: what is to be explained, how far it is, and the queue of which one thread computes one after the other."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from samp.app.events import EventLog
from samp.app.limits import Limits
from samp.app.outcomes import Outcome
from samp.app.photos import StoredPhoto
from samp.app.refusals import RefusedError, error_sentence


class CancelledError(Exception):
    """The visitor wants no more of this job."""


class JobTooLongError(ValueError):
    """The job takes longer than it may."""


@dataclass(frozen=True)
class Question:
    """What a visitor asks: which class of which photo by which model, and how to explain it."""

    photo: StoredPhoto
    model: str
    target: int | None
    """None is the predicted class."""
    methods: tuple[str, ...]
    quality: str
    seed: int


@dataclass(eq=False)
class Job:
    """A question with its events and its results; only the queue changes `state`."""

    question: Question
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "queued"
    """queued, running, done, failed or cancelled."""
    label: str | None = None
    """The class that is explained, once it is known."""
    log: EventLog = field(default_factory=EventLog)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """The final result of each method that is done."""
    stopped: threading.Event = field(default_factory=threading.Event)
    deadline: float | None = None

    def check(self) -> None:
        """Raise CancelledError if the job was cancelled, JobTooLongError if it takes longer than it may."""
        if self.stopped.is_set():
            raise CancelledError
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise JobTooLongError("this takes longer than a job may here: choose a faster method or a lower quality.")

    def outcome(self, method: str) -> Outcome:
        """Return the result of a method; raise RefusedError if there is none."""
        if method not in self.outcomes:
            raise RefusedError(404, f"there is no result of {method!r} in this job: wait until it is done.")
        return self.outcomes[method]

    def describe(self) -> dict[str, object]:
        """Return what the page is told of it."""
        question = self.question
        return {
            "job": self.id,
            "photo": question.photo.describe(),
            "model": question.model,
            "label": self.label,
            "target": question.target,
            "methods": list(question.methods),
            "quality": question.quality,
            "seed": question.seed,
            "state": self.state,
        }


class JobQueue:
    """Computes jobs one after the other in a thread of its own, and keeps the latest that have ended."""

    def __init__(self, compute: Callable[[Job], None], limits: Limits) -> None:
        self.compute, self.limits = compute, limits
        self.jobs: dict[str, Job] = {}
        self.waiting: list[Job] = []
        self.running: Job | None = None
        self.changed = threading.Condition()
        self.closed = False
        self.thread = threading.Thread(target=self._work, name="samp app: jobs", daemon=True)
        self.thread.start()

    def submit(self, job: Job) -> None:
        """Put a job into the queue; raise RefusedError if it is full."""
        with self.changed:
            if self.closed:
                raise RefusedError(503, "the app is being closed: start it again.")
            if len(self.waiting) >= self.limits.waiting:
                raise RefusedError(429, f"{len(self.waiting)} jobs are waiting already: try again in a moment.")
            self.jobs[job.id] = job
            self.waiting.append(job)
            self._forget_old()
            job.log.add("queued", ahead=len(self.waiting) - 1 + (self.running is not None))
            self.changed.notify_all()

    def get(self, id: str) -> Job:
        """Return the job of this id; raise RefusedError if there is none."""
        with self.changed:
            if id not in self.jobs:
                raise RefusedError(404, "this job is no longer here: explain the photo again.")
            return self.jobs[id]

    def newest_first(self) -> list[Job]:
        """Return all jobs that are kept."""
        with self.changed:
            return list(self.jobs.values())[::-1]

    def cancel(self, job: Job) -> None:
        """Stop a job: at its next step if it runs, at once if it waits, not at all if it has ended."""
        with self.changed:
            job.stopped.set()
            if job in self.waiting:
                self.waiting.remove(job)
                self._end(job, "cancelled")
                self._tell_places()

    def close(self, patience: float = 10.0) -> None:
        """Cancel all jobs, and wait so many seconds for the one that runs."""
        with self.changed:
            self.closed = True
            jobs = [*self.waiting, *([self.running] if self.running else [])]
            self.changed.notify_all()
        for job in jobs:
            self.cancel(job)
        self.thread.join(patience)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.log.add("started")
            try:
                job.check()
                self.compute(job)
            except CancelledError:
                ending, values = "cancelled", {}
            except Exception as error:  # a model of the visitor's raises what it likes, and the next job has its turn
                ending, values = "failed", {"error": error_sentence(error)}
            else:
                ending, values = "done", {}
            with self.changed:
                self.running = None
                self._end(job, ending, **values)
                self._forget_old()

    def _next(self) -> Job | None:
        """Return the next job when there is one; None when the queue is closed."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed)
            if self.closed:
                return None
            job = self.running = self.waiting.pop(0)
            job.state = "running"
            job.deadline = None if self.limits.seconds is None else time.monotonic() + self.limits.seconds
            self._tell_places()
            return job

    def _end(self, job: Job, state: str, **values: str) -> None:
        job.state = state
        job.log.add(state, last=True, **values)

    def _tell_places(self) -> None:
        for place, job in enumerate(self.waiting):
            job.log.add("queued", ahead=place + (self.running is not None))

    def _forget_old(self) -> None:
        ended = [job for job in self.jobs.values() if job.state in ("done", "failed", "cancelled")]
        for job in ended[: max(len(ended) - self.limits.history, 0)]:
            del self.jobs[job.id]
