"""Run measurements part by part: what is stored is reused, and one that fails does not stop the others."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from samp.methods import resolve_method
from samp_lab import nets
from samp_lab.bench.machine import describe_machine
from samp_lab.measurements.base import Measurement, PartResult, key_of, name_of, title_of
from samp_lab.store import Results, Store, join_parts, make_entry, write_json
from samp_lab.training.loop import repeatable
from samp_lab.workspace import ExperimentOptions, Workspace

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class CompletedMeasurement:
    """A measurement that is done: its entry in results.json, its timing, and the ids of its images."""

    name: str
    title: str
    entry: dict[str, Any]
    timing: dict[str, Any]
    images: list[str]
    key: str
    parts: int
    fresh: bool
    """Whether any part was measured now, not read from the store."""


@dataclass(frozen=True)
class FailedMeasurement:
    """A measurement that failed, and why."""

    name: str
    title: str
    why: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a run: all results of its store, what was done now, and what failed."""

    results: Results
    done: dict[str, CompletedMeasurement] = field(default_factory=dict)
    failed: tuple[FailedMeasurement, ...] = ()

    def merge(self, later: Outcome) -> Outcome:
        """Return the outcome of this run and a later one on the same store."""
        return Outcome(later.results, {**self.done, **later.done}, (*self.failed, *later.failed))


def run_measurements(
    measurements: Iterable[Measurement],
    options: ExperimentOptions,
    store: Store,
    command: str,
    *,
    jobs: int = 1,
    say: Say = print,
) -> Outcome:
    """Measure what the store does not hold, in this order, updating results.json after each measurement.

    A measurement that fails is reported in the outcome and does not stop the others.
    """
    unique = list({name_of(measurement): measurement for measurement in measurements}.values())
    store.open()
    done: dict[str, CompletedMeasurement] = {}
    failed: list[FailedMeasurement] = []
    started = time.monotonic()
    for number, outcome in enumerate(_measure_each(unique, options, store, jobs), 1):
        seconds = time.monotonic() - started
        if isinstance(outcome, FailedMeasurement):
            failed.append(outcome)
            say(f"[{number}/{len(unique)}] {outcome.title}: failed: {outcome.why}")
            continue
        done[outcome.name] = outcome
        say(f"[{number}/{len(unique)}] {outcome.title}: {_progress_text(outcome)} ({seconds:.0f} s so far)")
        if outcome.fresh:
            _record(store, options, command, [outcome])
    _record(store, options, command, list(done.values()), failed)
    _record_nets(store, options, {measurement.setup.net for measurement in unique if name_of(measurement) in done})
    return Outcome(store.read(), done, tuple(failed))


def measure(measurement: Measurement, workspace: Workspace, store: Store) -> CompletedMeasurement:
    """Measure all parts that the store does not hold, and return the whole."""
    facts = workspace.facts(measurement.setup, measurement.most, getattr(measurement, "judge", None))
    facts |= _method_version(measurement)
    key, fresh, parts = key_of(measurement, facts), False, []
    for number, make in workspace.parts(measurement.setup, measurement.most):
        kept = store.part(key, number)
        if kept is None:
            fresh = True
            with repeatable():
                kept = measurement.measure(make())
            store.put(key, number, kept)
        parts.append(PartResult(kept.numbers, kept.timing))
    ready, measured = workspace.prepare_images(measurement.setup, measurement.most), join_parts(parts)
    skipped = [asdict(one) for one in ready.skipped]
    timing = {**measured.timing, "machine": describe_machine(workspace.options.device)}
    ids = [one.id for one in ready.entries]
    return CompletedMeasurement(
        name_of(measurement),
        title_of(measurement),
        make_entry(measurement, facts, measured, skipped),
        timing,
        ids,
        key,
        len(parts),
        fresh,
    )


def _method_version(measurement: Measurement) -> dict[str, int]:
    """Return the version of the measurement's method as a fact; methods of version 1 and other measurements have none.

    Earlier results were stored without it.
    """
    method = getattr(measurement, "method", None)
    version = 1 if method is None else resolve_method(method).about.version
    return {"method_version": version} if version > 1 else {}


def _measure_each(
    measurements: Sequence[Measurement], options: ExperimentOptions, store: Store, jobs: int
) -> Iterator[CompletedMeasurement | FailedMeasurement]:
    if jobs <= 1:
        workspace = Workspace(options)
        yield from (_attempt(measurement, workspace, store) for measurement in measurements)
        return
    for net in dict.fromkeys(measurement.setup.net for measurement in measurements):
        with suppress(Exception):  # each measurement of that net will report the error
            nets.train(net, options)  # once, not in every worker
    context = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork
    threads = max(torch.get_num_threads() // jobs, 1)
    with ProcessPoolExecutor(jobs, context, initializer=_open_workspace, initargs=(options, threads)) as pool:
        waiting = {pool.submit(_measure_in_worker, measurement, store): measurement for measurement in measurements}
        for future in as_completed(waiting):
            measurement, error = waiting[future], future.exception()
            yield _failure(measurement, error) if error else future.result()


def _attempt(measurement: Measurement, workspace: Workspace, store: Store) -> CompletedMeasurement | FailedMeasurement:
    try:
        return measure(measurement, workspace, store)
    except Exception as error:  # one failing method must not cost the others' numbers
        return _failure(measurement, error)


def _failure(measurement: Measurement, error: BaseException) -> FailedMeasurement:
    return FailedMeasurement(name_of(measurement), title_of(measurement), error_line(error))


_workspace: Workspace | None = None  # of this worker process, with its nets and images


def _open_workspace(options: ExperimentOptions, threads: int) -> None:
    global _workspace
    torch.set_num_threads(threads)
    _workspace = Workspace(options)


def _measure_in_worker(measurement: Measurement, store: Store) -> CompletedMeasurement | FailedMeasurement:
    if _workspace is None:
        raise RuntimeError("a worker was called before its workspace was opened.")
    return _attempt(measurement, _workspace, store)


def error_line(error: BaseException) -> str:
    """Return an error in one line, with its type unless its message is written for users.

    >>> error_line(ValueError("eta is above 0.")), error_line(KeyError("a"))
    ('eta is above 0.', "KeyError: 'a'")
    """
    message = " ".join(str(error).split())
    for_users = isinstance(error, ValueError | OSError | ImportError | NotImplementedError) and message
    return message if for_users else f"{type(error).__name__}: {message}"


def _progress_text(done: CompletedMeasurement) -> str:
    numbers = done.entry["numbers"]
    means = []
    for column in ("deletion", "insertion"):
        known = [value for value in numbers.get(column, []) if value is not None]
        if known:
            means.append(f"{column} {sum(known) / len(known):.3f}")
    how = "measured" if done.fresh else "kept"
    left_out = [f"{len(done.entry['skipped'])} images could not be read"] if "skipped" in done.entry else []
    return ", ".join([how, *means, *left_out])


def _record_nets(store: Store, options: ExperimentOptions, names: Iterable[str]) -> None:
    """Write the accuracy and recipe of the nets that were trained here into results.json."""
    results = store.results()
    for name in sorted(names):
        made = nets.train(name, options)
        if made is not None:
            accuracy = {"test": made.test_accuracy if made.test_images else None, "training": made.train_accuracy}
            facts = {"weights": made.sha256, "recipe": made.recipe.json(), "test_images": made.test_images}
            more = {"measures": dict(made.measures)} if made.measures else {}
            results["nets"][name] = {"accuracy": accuracy, **facts, **more}
    write_json(store.results_file, results)


def _keep_maker(entry: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """Return an entry that was read from the store, with the code that made it and not the code that reads it."""
    made = (before or {}).get("made")
    return {**entry, "made": made} if made else {key: value for key, value in entry.items() if key != "made"}


def _record(
    store: Store,
    options: ExperimentOptions,
    command: str,
    done: Sequence[CompletedMeasurement],
    failed: Sequence[FailedMeasurement] = (),
) -> None:
    """Add these measurements to results.json and timing.json."""
    results, timing = store.results(), store.timing()
    results["about"] = {"device": describe_machine(options.device), "seed": options.seed}
    if command not in results["commands"]:
        results["commands"].append(command)
    for one in done:
        results["cells"][one.name] = one.entry if one.fresh else _keep_maker(one.entry, results["cells"].get(one.name))
        results["images"][one.entry["facts"]["images"]] = one.images
        timing[one.name] = one.timing
        results["failed"].pop(one.name, None)
    results["failed"].update({one.name: one.why for one in failed})
    for name in ("images", "cells", "failed"):
        results[name] = dict(sorted(results[name].items()))
    write_json(store.results_file, results)
    write_json(store.timing_file, dict(sorted(timing.items())))
