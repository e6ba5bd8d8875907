"""From experiments to a report: measure, draw, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from samp.extras import install_command
from samp_lab.experiment import Experiment, Sheet
from samp_lab.report import write_report
from samp_lab.runner import Failed, Say, run, why
from samp_lab.setups import Bed, bed
from samp_lab.store import Store
from samp_lab.workspace import Choice, Lab


def run_and_report(
    experiments: Sequence[Experiment],
    datasets: Sequence[str],
    choice: Choice,
    out: Path,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[Failed]:
    """Run these experiments on these data sets (each one's own if none are given); return what failed."""
    plans = [(experiment, beds) for experiment in experiments if (beds := chosen_beds(experiment, datasets))]
    if not plans:
        has = ", ".join(dict.fromkeys(name for experiment in experiments for name in experiment.beds))
        raise ValueError(f"{experiments[0].name} does not run on {' or '.join(datasets)}: it has {has}.")
    return follow(plans, choice, Store(out), jobs=jobs, show=show, command=command, say=say)


def follow(
    plans: Sequence[tuple[Experiment, Sequence[Bed]]],
    choice: Choice,
    store: Store,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[Failed]:
    """Measure the cells of all experiments, draw their figures, and write the report of all that the store holds.

    Cells whose numbers are seconds come last and one after the other, whatever `jobs` says.
    """
    cells = [cell for experiment, beds in plans for cell in experiment.cells(beds)]
    together = [cell for cell in cells if not getattr(cell, "alone", False)]
    alone = [cell for cell in cells if getattr(cell, "alone", False)]
    outcome = run(together, choice, store, command, jobs=jobs, say=say)
    outcome = outcome.joined(run(alone, choice, store, command, say=say)) if alone else outcome
    lab, failed = Lab(choice), list(outcome.failed)
    for experiment, beds in plans:
        try:
            experiment.draw(Sheet(outcome, store, lab, beds, store.folder / "figures", show))
        except Exception as error:  # numbers are worth having without pictures
            failed.append(Failed(f"figure {experiment.name}", f"the figure of {experiment.name}", _not_drawn(error)))
    write_report(store)
    return failed


def _not_drawn(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("matplotlib"):
        return f"figures are drawn by matplotlib, which is not installed: {install_command('viz')}."
    return why(error)


def stand_ins(experiment: Experiment, instead: Mapping[str, str]) -> list[Bed]:
    """The experiment's beds with others in the place of some data sets, each once; none if a data set has no other.

    >>> from samp_lab.registry import EXPERIMENTS
    >>> [bed.name for bed in stand_ins(EXPERIMENTS["table2"], {"imagenet": "mnist/mnist-slim"})]
    ['mnist/mnist-slim']
    """
    return list(dict.fromkeys(bed(instead[own.data]) for own in map(bed, experiment.beds) if own.data in instead))


def chosen_beds(experiment: Experiment, datasets: Sequence[str]) -> list[Bed]:
    """The beds asked for: a data set stands for the experiment's own beds of it, DATA/NET for that one.

    >>> from samp_lab.registry import EXPERIMENTS
    >>> [bed.name for bed in chosen_beds(EXPERIMENTS["table1"], ["mnist", "imagenet/resnet50"])]
    ['mnist', 'imagenet/resnet50']
    """
    own = [bed(name) for name in experiment.beds]
    if not datasets:
        return own
    found: list[Bed] = []
    for name in datasets:
        asked = bed(name)
        found += [asked] if "/" in name else [one for one in own if one.data == asked.data]
    return found
