"""Sentences on what a report does not show, or shows although it is stale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from samp_lab.experiment import Experiment
from samp_lab.report.provenance import SHOWN_HASH, count_cells, why_stale
from samp_lab.setups import Setup, parse_setup
from samp_lab.store import ResultEntry, Results


def mixture_note(experiment: Experiment, one: Setup, results: Results) -> str | None:
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


def unfinished_notes(experiment: Experiment, known: Mapping[Setup, tuple[int, int]]) -> Iterator[str]:
    """Yield a sentence on the setups of which too few cells are there; `known` has how many of how many."""
    some = [f"{one.title} ({known} of {every} cells)" for one, (known, every) in known.items() if known]
    if some:
        yield f"{experiment.title} is not shown for {', '.join(some)}: samp bench {experiment.name} measures the rest."


def stale_notes(entries: Iterable[ResultEntry]) -> list[str]:
    """Return sentences on results that are shown although the code has changed since, by the reason.

    >>> stale_notes([{"asked": {"bed": "mnist", "method": "IG(steps=50)"}, "stale": "made long ago"}])
    ["Stale, shown all the same: IG on MNIST, the paper's CNN (1 cell), made long ago."]
    """
    reasons: dict[str, list[str]] = {}
    for entry in entries:
        why = why_stale(entry)
        if why:
            spec = entry["asked"]
            method = str(spec.get("method", spec.get("kind"))).partition("(")[0]
            reasons.setdefault(why, []).append(f"{method} on {parse_setup(spec['bed']).title}")
    return [
        f"Stale, shown all the same: {', '.join(dict.fromkeys(titles))} ({count_cells(len(titles))}), {why}."
        for why, titles in reasons.items()
    ]


def skipped_notes(results: Results) -> list[str]:
    """Return a sentence for each image that could not be read, once for a data set."""
    found = {
        f"{parse_setup(entry['asked']['bed']).data_title}: image {one['id']} was left out: {_end_sentence(one['why'])}"
        for entry in results.entries.values()
        for one in entry.get("skipped", ())
    }
    return sorted(found)


def failure_notes(results: Results) -> list[str]:
    """Return a sentence for each reason of failure, with the measurements that failed."""
    reasons: dict[str, list[str]] = {}
    for name, why in sorted(results.failures.items()):
        again = " again, and older numbers are shown" if name in results.entries else ""
        reasons.setdefault(f"{again}: {_end_sentence(why)}", []).append(name)
    return [f"{'; '.join(names)} could not be measured{reason}" for reason, names in reasons.items()]


def _end_sentence(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
