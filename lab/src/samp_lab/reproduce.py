"""From experiments to a report: measure, draw, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from samp.extras import install_command
from samp_lab.experiment import Experiment, FigureContext
from samp_lab.report import write_report
from samp_lab.runner import FailedMeasurement, Say, error_line, run_measurements
from samp_lab.setups import Setup, parse_setup
from samp_lab.store import Store
from samp_lab.workspace import ExperimentOptions, Workspace


def run_and_report(
    experiments: Sequence[Experiment],
    datasets: Sequence[str],
    choice: ExperimentOptions,
    out: Path,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[FailedMeasurement]:
    """Run these experiments on these data sets (each one's own if none are given); return what failed."""
    plans = [(experiment, setups) for experiment in experiments if (setups := select_setups(experiment, datasets))]
    if not plans:
        has = ", ".join(dict.fromkeys(name for experiment in experiments for name in experiment.setups))
        raise ValueError(f"{experiments[0].name} does not run on {' or '.join(datasets)}: it has {has}.")
    return run_plans(plans, choice, Store(out), jobs=jobs, show=show, command=command, say=say)


def run_plans(
    plans: Sequence[tuple[Experiment, Sequence[Setup]]],
    choice: ExperimentOptions,
    store: Store,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[FailedMeasurement]:
    """Measure the cells of all experiments, draw their figures, and write the report of all that the store holds.

    Cells whose numbers are seconds come last and one after the other, whatever `jobs` says.
    """
    cells = [cell for experiment, setups in plans for cell in experiment.measurements(setups)]
    together = [cell for cell in cells if not getattr(cell, "alone", False)]
    alone = [cell for cell in cells if getattr(cell, "alone", False)]
    outcome = run_measurements(together, choice, store, command, jobs=jobs, say=say)
    outcome = outcome.merge(run_measurements(alone, choice, store, command, say=say)) if alone else outcome
    lab, failed = Workspace(choice), list(outcome.failed)
    for experiment, setups in plans:
        try:
            experiment.draw(FigureContext(outcome, store, lab, setups, store.folder / "figures", show))
        except Exception as error:  # numbers are worth having without pictures
            failed.append(
                FailedMeasurement(
                    f"figure {experiment.name}", f"the figure of {experiment.name}", _drawing_error(error)
                )
            )
    write_report(store)
    return failed


def _drawing_error(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("matplotlib"):
        return f"figures are drawn by matplotlib, which is not installed: {install_command('viz')}."
    return error_line(error)


def substitute_setups(experiment: Experiment, instead: Mapping[str, str]) -> list[Setup]:
    """The experiment's beds with others in the place of some data sets, each once; none if a data set has no other.

    >>> from samp_lab.tables.table2 import TABLE2
    >>> [setup.name for setup in substitute_setups(TABLE2, {"imagenet": "mnist/mnist-slim"})]
    ['mnist/mnist-slim']
    """
    return list(
        dict.fromkeys(
            parse_setup(instead[own.data]) for own in map(parse_setup, experiment.setups) if own.data in instead
        )
    )


def select_setups(experiment: Experiment, datasets: Sequence[str]) -> list[Setup]:
    """The beds asked for: a data set stands for the experiment's own beds of it, DATA/NET for that one.

    >>> from samp_lab.tables.table1 import TABLE1
    >>> [setup.name for setup in select_setups(TABLE1, ["mnist", "imagenet/resnet50"])]
    ['mnist', 'imagenet/resnet50']
    """
    own = [parse_setup(name) for name in experiment.setups]
    if not datasets:
        return own
    found: list[Setup] = []
    for name in datasets:
        asked = parse_setup(name)
        found += [asked] if "/" in name else [one for one in own if one.data == asked.data]
    return found
