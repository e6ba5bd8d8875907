"""The contents of a report, independent of its output format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from samp_lab.experiment import Experiment
from samp_lab.leaderboard.section import read_section
from samp_lab.measurements.base import name_of
from samp_lab.report.chapter import Chapter
from samp_lab.report.data_card import data_table, net_table
from samp_lab.report.left_out import failure_notes, mixture_note, skipped_notes, stale_notes, unfinished_notes
from samp_lab.report.other_nets import mark_other_nets
from samp_lab.report.page_one import ClaimLine, gather_claims, read_whys
from samp_lab.report.provenance import list_facts, setup_table
from samp_lab.report.remarks import Remark, read_remarks
from samp_lab.sections import Grid, Paragraph, State, Verdict
from samp_lab.setups import DATA_TITLES, NET_TITLES, Setup, parse_setup
from samp_lab.store import Results, Store

EMPTY = Grid((), ())


@dataclass(frozen=True)
class Report:
    """A report: the claims of page one, chapters, and how it was made.

    >>> from samp_lab.sections import Section, Verdicts
    >>> verdicts = Verdicts((Verdict("a", "+1", "+2", "holds"), Verdict("b", "–", "+2", "open")))
    >>> report = Report(chapters=(Chapter(Section("a", "A", (verdicts,)), ()),))
    >>> report.counts(own=False), report.counts(own=True)
    (Counter({'holds': 1}), Counter({'open': 1}))
    """

    chapters: tuple[Chapter, ...] = ()
    claims: tuple[ClaimLine, ...] = ()
    remarks: tuple[Remark, ...] = ()
    setups: Grid = EMPTY
    data: Grid = EMPTY
    nets: Grid = EMPTY
    facts: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Sentences on everything that is not shown, or that is shown although it is stale."""
    figures: Path = Path("figures")

    def counts(self, *, own: bool) -> Counter[State]:
        """Return the number of comparisons in each state over all chapters: our own, or those of the paper."""
        return Counter(verdict.state for _, verdict in self.comparisons(own=own))

    def comparisons(self, *, own: bool) -> list[tuple[Chapter, Verdict]]:
        """Return all comparisons of our own, or of the paper, each with its chapter."""
        return [(c, verdict) for c in self.chapters for verdict in c.section.verdicts if verdict.is_own == own]


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
        mixed = {one: note for one in enough if (note := mixture_note(experiment, one, results))}
        chapter = _chapter(experiment, [one for one in enough if one not in mixed], results, store.folder)
        chapters += [chapter] if chapter else []
        unfinished += mixed.values()
        few = {one: count for one, count in known.items() if one not in enough and _is_for(experiment, one)}
        unfinished += unfinished_notes(experiment, few)
    panel = read_section(store.folder)
    if panel is not None:
        chapters.append(Chapter(panel, read_remarks(store.folder / "remarks" / f"{panel.name}.md")))
    trained = kept.get("nets", {})
    return Report(
        chapters=tuple(chapters),
        claims=gather_claims(chapters, read_whys(store.folder / "remarks" / "claims.md")),
        remarks=read_remarks(store.folder / "remarks" / "summary.md"),
        setups=setup_table(present, results),
        data=data_table(present, results),
        nets=net_table(present, trained),
        facts=tuple(list_facts(kept["about"], results)),
        commands=tuple(kept["commands"]),
        left_out=(
            *stale_notes(results.entries.values()),
            *skipped_notes(results),
            *failure_notes(results),
            *unfinished,
        ),
        figures=store.folder / "figures",
    )


def _chapter(experiment: Experiment, shown: list[Setup], results: Results, folder: Path) -> Chapter | None:
    """Return the chapter of an experiment, None if it has nothing to show but words."""
    section = experiment.section(results, shown, folder / "figures") if shown else None
    if section is None or all(isinstance(block, Paragraph) for block in section.blocks):
        return None
    cells = [results.entry(one) for one in experiment.measurements(shown) if results.has(one)]
    stale = tuple(stale_notes({id(entry): entry for entry in cells}.values()))
    marked = mark_other_nets(section, shown, experiment.setups)
    return Chapter(marked, read_remarks(folder / "remarks" / f"{experiment.name}.md"), stale)


def _setups_in(results: Results) -> list[Setup]:
    """Return the setups with any results, in the order of the paper."""
    found = {parse_setup(entry["asked"]["bed"]) for entry in results.entries.values()}
    data, nets = list(DATA_TITLES), list(NET_TITLES)

    def place(one: Setup) -> tuple[int, str, int, str, str]:
        whole, _, half = one.data.partition(":")
        return data.index(whole), half, nets.index(one.net) if one.net in nets else len(nets), one.net, one.reading

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
