"""Run whole experiments: measure, draw the figures, write the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samp.extras import install_command
from samp_lab.experiment import Experiment, FigureContext
from samp_lab.report import write_report
from samp_lab.runner import FailedMeasurement, Say, error_line, run_measurements
from samp_lab.setups import IMAGENET_NETS, SEED, TRANSFORMER, Setup, parse_setup
from samp_lab.store import Store
from samp_lab.workspace import ExperimentOptions, Workspace

SLIM = {
    "mnist": "mnist-slim",
    "cifar10": "cifar10-slim",
    "mnist-authors": "mnist-slim-authors",
    "cifar10-authors": "cifar10-slim-authors",
}
"""By wide net, the slim one that comes with samp."""


@dataclass(frozen=True)
class SetupChoice:
    """Which setups of an experiment are run: of these data sets (all if none), of this reading, in slim nets or not."""

    datasets: tuple[str, ...] = ()
    reading: str = "both"
    slim: bool = False

    def __str__(self) -> str:
        reading = "" if self.reading == "both" else f" in the reading {self.reading!r}"
        return (" or ".join(self.datasets) or "any data set") + reading + (" with slim nets" if self.slim else "")

    def select(self, experiment: Experiment) -> list[Setup]:
        """Return the setups for these names: DATA selects the experiment's own ones of it, DATA/NET is itself.

        With `slim`, the experiment's setups with wide nets are run with slim ones, and all others are left out.

        >>> from samp_lab.tables.table1 import TABLE1
        >>> choice = SetupChoice(("mnist", "imagenet/squeezenet1_1"), "text")
        >>> names = [setup.name for setup in choice.select(TABLE1)]
        >>> names[0], names[-1]
        ('mnist', 'imagenet/squeezenet1_1')
        >>> [setup.name for setup in SetupChoice(("mnist",), "text", slim=True).select(TABLE1)]
        ['mnist/mnist-slim']
        """
        own = [one for one in map(parse_setup, experiment.setups) if self.reading in ("both", one.reading)]
        selected = [] if self.datasets else own
        for name in self.datasets:
            named = parse_setup(name)
            plain = "/" not in name and "@" not in name
            selected += [one for one in own if one.data == named.data] if plain else [named]
        if not self.slim:
            return selected
        return [replace(one, net=SLIM[one.net]) for one in selected if one.net in SLIM]


def run_and_report(
    experiments: Sequence[Experiment],
    choice: SetupChoice,
    options: ExperimentOptions,
    out: Path,
    *,
    jobs: int = 1,
    show: bool = False,
    command: str = "",
    say: Say = print,
) -> list[FailedMeasurement]:
    """Run experiments on the chosen setups and write the report; return what failed.

    Raises ValueError if none of the experiments runs on any of them.
    """
    plans = [(experiment, setups) for experiment in experiments if (setups := choice.select(experiment))]
    if not plans:
        has = ", ".join(dict.fromkeys(name for experiment in experiments for name in experiment.setups))
        raise ValueError(f"{experiments[0].name} does not run on {choice}: it has {has}.")
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

    The setups that the paper's claims are judged on come first, so that a run which is stopped leaves a report without
    gaps; measurements of time come last and one after the other, whatever `jobs` is.
    """
    measurements = sorted(
        (measurement for experiment, setups in plans for measurement in experiment.measurements(setups)),
        key=lambda measurement: run_priority(measurement.setup),
    )
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


def run_priority(setup: Setup) -> int:
    """Return in which turn a setup is measured: the paper's nets, other nets, halves of data sets, training seeds.

    >>> names = "mnist@authors", "imagenet/squeezenet1_1", "imagenet:even/resnet50", "mnist/mnist-seed1"
    >>> [run_priority(parse_setup(name)) for name in names]
    [0, 1, 2, 3]
    """
    if SEED in setup.net:
        return 3
    if ":" in setup.data:
        return 2
    return int(setup.net in (*IMAGENET_NETS[1:], TRANSFORMER))


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
