"""Running experiments: every cell measured once, part by part, whatever happens to the others."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from samp_lab import nets
from samp_lab.bench.machine import describe_machine
from samp_lab.measurements.base import Measurement, PartResult, key_of, name_of, title_of
from samp_lab.store import Results, Store, join_parts, make_entry, write_json
from samp_lab.workspace import ExperimentOptions, Workspace

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class CompletedMeasurement:
    """A cell that was measured: its entry in results.json, its timing, and the images it is about."""

    name: str
    title: str
    entry: dict[str, Any]
    timing: dict[str, Any]
    images: list[str]
    key: str
    parts: int
    fresh: bool
    """Whether any part had to be measured now."""


@dataclass(frozen=True)
class FailedMeasurement:
    """A cell that could not be measured, and why."""

    name: str
    title: str
    why: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run came to: the results it can be reported from, where arrays lie, and what failed."""

    results: Results
    done: dict[str, CompletedMeasurement] = field(default_factory=dict)
    failed: tuple[FailedMeasurement, ...] = ()

    def merge(self, later: Outcome) -> Outcome:
        """This and a later run on the same store."""
        return Outcome(later.results, {**self.done, **later.done}, (*self.failed, *later.failed))


def run_measurements(
    cells: Iterable[Measurement],
    choice: ExperimentOptions,
    store: Store,
    command: str,
    *,
    jobs: int = 1,
    say: Say = print,
) -> Outcome:
    """Measure what is not there yet, in the order given; after every cell results.json holds all so far.

    A cell that fails is named in the outcome and does not stop the others.
    """
    unique = list({name_of(cell): cell for cell in cells}.values())
    store.open()
    done: dict[str, CompletedMeasurement] = {}
    failed: list[FailedMeasurement] = []
    started = time.monotonic()
    for number, outcome in enumerate(_measure_each(unique, choice, store, jobs), 1):
        seconds = time.monotonic() - started
        if isinstance(outcome, FailedMeasurement):
            failed.append(outcome)
            say(f"[{number}/{len(unique)}] {outcome.title}: failed: {outcome.why}")
            continue
        done[outcome.name] = outcome
        say(f"[{number}/{len(unique)}] {outcome.title}: {_progress_text(outcome)} ({seconds:.0f} s so far)")
        if outcome.fresh:
            _record(store, choice, command, [outcome])
    _record(store, choice, command, list(done.values()), failed)
    _record_nets(store, choice, {cell.bed.net for cell in unique if name_of(cell) in done})
    return Outcome(store.read(), done, tuple(failed))


def measure(cell: Measurement, workspace: Workspace, store: Store) -> CompletedMeasurement:
    """All parts of a cell, those that are kept taken from there."""
    facts = workspace.facts(cell.bed, cell.most, getattr(cell, "judge", None))
    key, fresh, parts = key_of(cell, facts), False, []
    for number, make in workspace.parts(cell.bed, cell.most):
        kept = store.part(key, number)
        if kept is None:
            fresh = True
            with deterministic_convolutions():
                kept = cell.measure(make())
            store.put(key, number, kept)
        parts.append(PartResult(kept.numbers, kept.timing))
    ready, measured = workspace.prepare_images(cell.bed, cell.most), join_parts(parts)
    skipped = [asdict(one) for one in ready.skipped]
    timing = {**measured.timing, "machine": describe_machine(workspace.choice.device)}
    ids = [one.id for one in ready.entries]
    return CompletedMeasurement(
        name_of(cell), title_of(cell), make_entry(cell, facts, measured, skipped), timing, ids, key, len(parts), fresh
    )


class deterministic_convolutions:
    """Convolutions by one fixed algorithm, so that a run made again gives the same numbers; else as torch has it."""

    def __enter__(self) -> None:
        cudnn = torch.backends.cudnn
        self.before = cudnn.deterministic, cudnn.benchmark
        cudnn.deterministic, cudnn.benchmark = True, False

    def __exit__(self, *_: object) -> None:
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = self.before


def _measure_each(
    cells: Sequence[Measurement], choice: ExperimentOptions, store: Store, jobs: int
) -> Iterator[CompletedMeasurement | FailedMeasurement]:
    if jobs <= 1:
        lab = Workspace(choice)
        yield from (_attempt(cell, lab, store) for cell in cells)
        return
    for net in dict.fromkeys(cell.bed.net for cell in cells):
        with suppress(Exception):  # each cell of that net will say what is wrong
            nets.train(net, choice)  # once, and not by every worker
    context = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork
    threads = max(torch.get_num_threads() // jobs, 1)
    with ProcessPoolExecutor(jobs, context, initializer=_open_workspace, initargs=(choice, threads)) as pool:
        waiting = {pool.submit(_measure_in_worker, cell, store): cell for cell in cells}
        for future in as_completed(waiting):
            cell, error = waiting[future], future.exception()
            yield FailedMeasurement(name_of(cell), title_of(cell), error_line(error)) if error else future.result()


def _attempt(cell: Measurement, workspace: Workspace, store: Store) -> CompletedMeasurement | FailedMeasurement:
    try:
        return measure(cell, workspace, store)
    except Exception as error:  # whatever one method does, the others' numbers are wanted
        return FailedMeasurement(name_of(cell), title_of(cell), error_line(error))


_workspace: Workspace | None = None  # of this worker process, with its nets and images


def _open_workspace(choice: ExperimentOptions, threads: int) -> None:
    global _workspace
    torch.set_num_threads(threads)
    _workspace = Workspace(choice)


def _measure_in_worker(cell: Measurement, store: Store) -> CompletedMeasurement | FailedMeasurement:
    if _workspace is None:
        raise RuntimeError("a worker was asked before it was set up.")
    return _attempt(cell, _workspace, store)


def error_line(error: BaseException) -> str:
    """An error in one line: its own words where they are meant for people.

    >>> error_line(ValueError("eta is above 0.")), error_line(KeyError("a"))
    ('eta is above 0.', "KeyError: 'a'")
    """
    said = " ".join(str(error).split())
    return said if isinstance(error, ValueError | OSError | ImportError) and said else f"{type(error).__name__}: {said}"


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


def _record_nets(store: Store, choice: ExperimentOptions, names: Iterable[str]) -> None:
    """Write into results.json how good the nets are that were trained here, and by which recipe."""
    results = store.results()
    for name in sorted(names):
        made = nets.train(name, choice)
        if made is not None:
            accuracy = {"test": made.test_accuracy if made.test_images else None, "training": made.train_accuracy}
            facts = {"weights": made.sha256, "recipe": made.recipe.json(), "test_images": made.test_images}
            results["nets"][name] = {"accuracy": accuracy, **facts}
    write_json(store.results_file, results)


def _record(
    store: Store,
    choice: ExperimentOptions,
    command: str,
    done: Sequence[CompletedMeasurement],
    failed: Sequence[FailedMeasurement] = (),
) -> None:
    """Write these cells into results.json and timing.json, beside what is there."""
    results, timing = store.results(), store.timing()
    results["about"] = {"device": describe_machine(choice.device), "seed": choice.seed}
    if command not in results["commands"]:
        results["commands"].append(command)
    for one in done:
        results["cells"][one.name] = one.entry
        results["images"][one.entry["facts"]["images"]] = one.images
        timing[one.name] = one.timing
        results["failed"].pop(one.name, None)
    results["failed"].update({one.name: one.why for one in failed})
    for name in ("images", "cells", "failed"):
        results[name] = dict(sorted(results[name].items()))
    write_json(store.results_file, results)
    write_json(store.timing_file, dict(sorted(timing.items())))
