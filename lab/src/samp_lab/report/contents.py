"""The contents of a report, independent of its output format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samp_lab.experiment import Experiment
from samp_lab.leaderboard.section import read_section
from samp_lab.measurements.base import name_of
from samp_lab.report.remarks import Remark, read_remarks
from samp_lab.sections import Grid, Paragraph, Section, State, Verdict
from samp_lab.setups import DATA_TITLES, NET_TITLES, Setup, parse_setup
from samp_lab.store import Results, Store

SILENT = ("", "–")
SHOWN_HASH = 12  # characters, enough to tell weights apart


@dataclass(frozen=True)
class Chapter:
    """The section of one experiment, with our remarks on it.

    >>> Chapter(Section("Fig. λ", "λ", ()), ()).anchor
    'fig'
    """

    section: Section
    remarks: tuple[Remark, ...]

    @property
    def anchor(self) -> str:
        """The target of links to the chapter."""
        return re.sub(r"[^a-z0-9]+", "-", self.section.name.lower()).strip("-") or "section"

    @property
    def short(self) -> str:
        """The title up to its colon."""
        return self.section.title.partition(":")[0]

    def counts(self) -> Counter[State]:
        """Return the number of claims in each state."""
        return Counter(verdict.state for verdict in self.section.verdicts)


@dataclass(frozen=True)
class Report:
    """A report: chapters, and how it was made.

    >>> from samp_lab.sections import Verdicts
    >>> verdicts = Verdicts((Verdict("a", "+1", "+2", "holds"), Verdict("b", "–", "+2", "open")))
    >>> chapter = Chapter(Section("a", "A", (verdicts,)), ())
    >>> report = Report((chapter,), (), Grid((), ()), (), (), (), Path("figures"))
    >>> report.counts(own=False), report.counts(own=True)
    (Counter({'holds': 1}), Counter({'open': 1}))
    """

    chapters: tuple[Chapter, ...]
    remarks: tuple[Remark, ...]
    setups: Grid
    facts: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    left_out: tuple[str, ...]
    """Sentences on everything that is not shown, or that is shown although it is stale."""
    figures: Path

    def counts(self, *, own: bool) -> Counter[State]:
        """Return the number of claims in each state over all chapters: our own, or those of the paper."""
        every = [verdict for chapter in self.chapters for verdict in chapter.section.verdicts]
        return Counter(verdict.state for verdict in every if (verdict.paper in SILENT) == own)

    def claims(self, state: State) -> list[tuple[Chapter, Verdict]]:
        """Return all claims in this state, each with its chapter."""
        return [(c, verdict) for c in self.chapters for verdict in c.section.verdicts if verdict.state == state]


def gather_report(store: Store, experiments: Iterable[Experiment]) -> Report:
    """Return the report of a run's folder; nothing is measured, and neither images nor nets are needed.

    >>> gather_report(Store(Path("no such folder")), []).facts[0]
    ('Machine and versions', 'not known')
    """
    kept = store.results()
    results = store.read()
    present = _setups_in(results)
    chapters: list[Chapter] = []
    unfinished: list[str] = []
    for experiment in experiments:
        known = {one: _count_known(experiment, one, results) for one in present}
        enough = [one for one in present if _is_complete_enough(known[one], own=_is_for(experiment, one))]
        mixed = {one: note for one in enough if (note := _mixture_note(experiment, one, results))}
        shown = [one for one in enough if one not in mixed]
        section = experiment.section(results, shown, store.folder / "figures") if shown else None
        if section and not all(isinstance(block, Paragraph) for block in section.blocks):
            chapters.append(Chapter(section, read_remarks(store.folder / "remarks" / f"{experiment.name}.md")))
        unfinished += mixed.values()
        unfinished += _unfinished_notes(experiment, {one: count for one, count in known.items() if one not in enough})
    panel = read_section(store.folder)
    if panel is not None:
        chapters.append(Chapter(panel, read_remarks(store.folder / "remarks" / f"{panel.name}.md")))
    return Report(
        chapters=tuple(chapters),
        remarks=read_remarks(store.folder / "remarks" / "summary.md"),
        setups=_setup_table(present, results),
        facts=(*_facts(kept["about"], results), *_nets(kept.get("nets", {}))),
        commands=tuple(kept["commands"]),
        left_out=(*_stale_notes(results), *_skipped_notes(results), *_failure_notes(results), *unfinished),
        figures=store.folder / "figures",
    )


# ---- which experiments, on which setups


def _setups_in(results: Results) -> list[Setup]:
    """Return the setups with any results, in the order of the paper."""
    found = {parse_setup(entry["asked"]["bed"]) for entry in results.entries.values()}
    data, nets = list(DATA_TITLES), list(NET_TITLES)

    def place(one: Setup) -> tuple[int, str, int, str]:
        whole, _, half = one.data.partition(":")
        return data.index(whole), half, nets.index(one.net) if one.net in nets else len(nets), one.net

    return sorted(found, key=place)


def _is_for(experiment: Experiment, one: Setup) -> bool:
    return one.data in {parse_setup(name).data for name in experiment.setups}


def _is_complete_enough(count: tuple[int, int], *, own: bool) -> bool:
    """Return whether an experiment was run on a setup: most measurements exist on its own data, all on other data.

    Experiments share measurements, so that some exist although nobody ran the experiment.
    """
    known, every = count
    return 2 * known > every if own else known == every > 0


def _count_known(experiment: Experiment, one: Setup, results: Results) -> tuple[int, int]:
    """Return how many of the experiment's measurements on a setup were made or failed, and how many it has."""
    measurements = {name_of(measurement): measurement for measurement in experiment.measurements([one])}
    return sum(
        results.has(measurement) or results.failure(measurement) is not None for measurement in measurements.values()
    ), len(measurements)


def _mixture_note(experiment: Experiment, one: Setup, results: Results) -> str | None:
    """Return a sentence if measurements of one table are of different images or weights, else None.

    The entry of a measurement is that of the last run that made it, whatever its seed and limit.
    """
    found: dict[int | None, dict[str, str]] = {}
    for measurement in experiment.measurements([one]):
        if results.has(measurement):
            facts = results.entry(measurement).get("facts", {})
            same = repr([facts.get(name) for name in ("images", "weights", "unread")])
            weights = str(facts.get("weights"))[:SHOWN_HASH]
            words = f"{facts.get('count')} images of seed {facts.get('seed')}, weights {weights}"
            found.setdefault(measurement.most, {})[same] = words
    kinds = next((list(kinds.values()) for kinds in found.values() if len(kinds) > 1), None)
    if kinds is None:
        return None
    return (
        f"{experiment.title} is not shown for {one.title}: its cells are of different images or nets "
        f"({'; '.join(kinds)}), and samp bench {experiment.name} with one seed and limit measures them alike."
    )


def _unfinished_notes(experiment: Experiment, known: Mapping[Setup, tuple[int, int]]) -> Iterator[str]:
    own = {one: count for one, count in known.items() if _is_for(experiment, one)}
    some = [f"{one.title} ({known} of {every} cells)" for one, (known, every) in own.items() if known]
    if some:
        yield f"{experiment.title} is not shown for {', '.join(some)}: samp bench {experiment.name} measures the rest."


def _stale_notes(results: Results) -> Iterator[str]:
    """Yield sentences on results that are shown although the code has changed since, by the reason in results.json."""
    reasons: dict[str, list[str]] = {}
    for entry in results.entries.values():
        if "stale" in entry:
            spec = entry["asked"]
            method = str(spec.get("method", spec["kind"])).partition("(")[0]
            reasons.setdefault(entry["stale"], []).append(f"{method} on {parse_setup(spec['bed']).title}")
    for why, titles in reasons.items():
        yield f"Stale, shown all the same: {', '.join(dict.fromkeys(titles))} ({len(titles)} cells), {why}."


# ---- how it was made


def _setup_table(setups: Sequence[Setup], results: Results) -> Grid:
    rows = []
    for one in setups:
        entries = [entry for entry in results.entries.values() if parse_setup(entry["asked"]["bed"]) == one]
        facts = [entry.get("facts", {}) for entry in entries]
        unread = max((len(entry.get("skipped", ())) for entry in entries), default=0)
        count = max((int(fact.get("count", 0)) for fact in facts), default=0)
        weights = sorted({str(fact["weights"])[:SHOWN_HASH] for fact in facts if "weights" in fact})
        rows.append((one.title, f"{count or '–'}", f"{unread}", f"{len(entries)}", ", ".join(weights) or "–"))
    heads = ("test bed", "images", "not readable", "cells", "weights (SHA-256)")
    return Grid(heads, tuple(rows), "Test beds: a data set and a net")


def _nets(trained: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the accuracy of each net that was trained for the run."""
    for name, net in trained.items():
        test, training = net["accuracy"]["test"], net["accuracy"]["training"]
        tested = f"{100 * test:.2f} % of {net['test_images']:,} test images right; " if test is not None else ""
        words = f"{tested}{100 * training:.2f} % of the training images; weights {net['weights'][:16]}"
        yield f"Net “{name}”, trained here", words


def _facts(about: Mapping[str, Any], results: Results) -> Iterator[tuple[str, str]]:
    facts = [entry.get("facts", {}) for entry in results.entries.values()]
    seeds = sorted({str(fact["seed"]) for fact in facts if "seed" in fact} or {str(about.get("seed", "not known"))})
    timed = sorted({str(timing["machine"]) for timing in results.timings.values() if "machine" in timing})
    yield "Machine and versions", str(about.get("device", "not known"))
    if timed and timed != [about.get("device")]:
        yield "Seconds were taken on", "; ".join(timed)
    yield "Seed", ", ".join(seeds)
    yield (
        "Cells measured",
        f"{len(results.entries)}" + (f"; {len(results.failures)} failed" if results.failures else ""),
    )


# ---- what is left out


def _skipped_notes(results: Results) -> list[str]:
    """Return a sentence for each image that could not be read, once for a data set."""
    found = {
        f"{parse_setup(entry['asked']['bed']).data_title}: image {one['id']} was left out: {_end_sentence(one['why'])}"
        for entry in results.entries.values()
        for one in entry.get("skipped", ())
    }
    return sorted(found)


def _failure_notes(results: Results) -> list[str]:
    """Return a sentence for each reason of failure, with the measurements that failed."""
    reasons: dict[str, list[str]] = {}
    for name, why in sorted(results.failures.items()):
        again = " again, and older numbers are shown" if name in results.entries else ""
        reasons.setdefault(f"{again}: {_end_sentence(why)}", []).append(name)
    return [f"{'; '.join(names)} could not be measured{reason}" for reason, names in reasons.items()]


def _end_sentence(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
