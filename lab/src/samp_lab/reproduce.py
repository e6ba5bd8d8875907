"""Run whole experiments: measure, draw the figures, write the report."""

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
    options: ExperimentOptions,
    out: Path,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[FailedMeasurement]:
    """Run experiments on these data sets (by default, on each one's own) and write the report; return what failed.

    Raises ValueError if none of the experiments runs on any of the data sets.
    """
    plans = [(experiment, setups) for experiment in experiments if (setups := select_setups(experiment, datasets))]
    if not plans:
        has = ", ".join(dict.fromkeys(name for experiment in experiments for name in experiment.setups))
        raise ValueError(f"{experiments[0].name} does not run on {' or '.join(datasets)}: it has {has}.")
    return run_plans(plans, options, Store(out), jobs=jobs, show=show, command=command, say=say)


def run_plans(
    plans: Sequence[tuple[Experiment, Sequence[Setup]]],
    options: ExperimentOptions,
    store: Store,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[FailedMeasurement]:
    """Run experiments on these setups, draw their figures, and write the report of the whole store; return what failed.

    Measurements of time come last and one after the other, whatever `jobs` is.
    """
    measurements = [measurement for experiment, setups in plans for measurement in experiment.measurements(setups)]
    together = [measurement for measurement in measurements if not getattr(measurement, "alone", False)]
    alone = [measurement for measurement in measurements if getattr(measurement, "alone", False)]
    outcome = run_measurements(together, options, store, command, jobs=jobs, say=say)
    outcome = outcome.merge(run_measurements(alone, options, store, command, say=say)) if alone else outcome
    workspace, failed = Workspace(options), list(outcome.failed)
    for experiment, setups in plans:
        try:
            experiment.draw(FigureContext(outcome, store, workspace, setups, store.folder / "figures", show))
        except Exception as error:  # numbers are worth having without figures
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
    """Return stand-ins for the experiment's setups, by data set, each once; a data set without one is left out.

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
    """Return the setups for these names: DATA selects the experiment's own ones of that data set, DATA/NET is itself.

    >>> from samp_lab.tables.table1 import TABLE1
    >>> [setup.name for setup in select_setups(TABLE1, ["mnist", "imagenet/resnet50"])]
    ['mnist', 'imagenet/resnet50']
    """
    own = [parse_setup(name) for name in experiment.setups]
    if not datasets:
        return own
    selected: list[Setup] = []
    for name in datasets:
        named = parse_setup(name)
        selected += [named] if "/" in name else [one for one in own if one.data == named.data]
    return selected
