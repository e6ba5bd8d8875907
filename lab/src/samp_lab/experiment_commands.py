"""`samp bench table1 …`: the experiments of the paper, each a command with the same options."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samp.cli.flags import name_flags
from samp.cli.terminal import say
from samp_lab.registry import EXPERIMENTS, SETS, load_experiments

if TYPE_CHECKING:
    from samp_lab.runner import FailedMeasurement
    from samp_lab.workspace import ExperimentOptions

OPTIONS = (
    click.option("--dataset", "datasets", multiple=True, help="Data set or test bed: mnist, imagenet/resnet50."),
    click.option(
        "--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", help="Folder of the data.  [env: SAMP_DATA]"
    ),
    click.option("--weights", type=click.Path(path_type=Path), help="Checkpoint of a net that comes without weights."),
    click.option("--trust", is_flag=True, help="Open checkpoints that may run code: only if you trust their makers."),
    click.option(
        "--out", type=click.Path(path_type=Path), default="results", show_default=True, help="Where all is kept."
    ),
    click.option("--device", default="cpu", show_default=True, help="cpu or cuda."),
    click.option("--limit", type=int, help="At most so many images of each data set; 100, as the paper, if left out."),
    click.option("--seed", default=0, show_default=True, help="Picks the images; seeds training and random methods."),
    click.option("--part", default=20, show_default=True, help="Images measured together; a killed run loses as many."),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Cells measured side by side, each in its own process.",
    ),
    click.option("--show", is_flag=True, help="Show pictures that must not be published (CIFAR-10, ImageNet, CUB)."),
)


class ExperimentGroup(click.Group):
    """A group whose experiments become commands when they are used, below the group's own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*EXPERIMENTS, *SETS, "smoke", "list", "report", "train", "download", *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in EXPERIMENTS or cmd_name in SETS:
            return experiment_command(cmd_name)
        return OTHER_COMMANDS.get(cmd_name)


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every experiment takes."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def experiment_command(name: str) -> click.Command:
    """The command of one experiment, or of a set of them."""

    def call(**given: Any) -> None:
        run_experiments(name, **given)

    words = SETS[name] if name in SETS else EXPERIMENTS[name].summary
    call.__doc__ = (
        f"{words}\n\nWhat is measured already is kept, so a run that was stopped goes on when it is given again. Exit "
        f"code 1 if any cell failed.\n\n\b\nExample:\n  samp bench {name} --data DIR --device cuda"
    )
    return click.command(name, short_help=words)(with_options(call))


def run_experiments(name: str, datasets: Sequence[str], out: Path, jobs: int, show: bool, **choice: Any) -> None:
    """Measure, draw and report these experiments."""
    from samp_lab.reproduce import run_and_report

    options = make_options(out, **choice)
    failed = run_and_report(
        load_experiments(name), datasets, options, out, jobs=jobs, show=show, command=command_line(), say=say
    )
    report_outcome(out, failed)


def make_options(out: Path, **given: Any) -> ExperimentOptions:
    """What the lab is told, on a device that is there."""
    from samp.models.prediction import usable_device
    from samp_lab.workspace import ExperimentOptions

    usable_device(given["device"])
    return ExperimentOptions(models=out / "models", **given)


def report_outcome(out: Path, failed: Sequence[FailedMeasurement]) -> None:
    """Say where the report is and what failed; exit with 1 if anything did."""
    reasons: dict[str, list[str]] = {}
    for one in failed:
        reasons.setdefault(one.why, []).append(one.title)
    for why, titles in reasons.items():  # data that is not there fails every cell alike: said once
        more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
        say(f"samp: {titles[0]}{more} failed: {name_flags(why)}", err=True)
    say(f"report: {out / 'report.md'} and {out / 'report.html'}")
    if failed:
        sys.exit(1)


@click.command(name="list")
def list_experiments() -> None:
    """What can be run: each experiment with its test beds and how many cells it has.

    Example: samp bench list
    """
    from samp_lab.setups import parse_setup

    for experiment in load_experiments():
        cells = experiment.measurements([parse_setup(one) for one in experiment.setups])
        say(f"{experiment.name:14} {experiment.title}")
        say(f"{'':14} {len(cells)} {'cell' if len(cells) == 1 else 'cells'} on {', '.join(experiment.setups)}")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default="results", show_default=True, help="Folder of a run.")
def report(out: Path) -> None:
    """Write the report again from the results in a folder; needs neither data nor nets.

    Example: samp bench report --out results
    """
    from samp_lab.report import write_report
    from samp_lab.store import Store

    store = Store(out)
    if not store.results_file.is_file():
        raise FileNotFoundError(f"there is no {store.results_file}: run an experiment with --out {out} first.")
    write_report(store)
    say(f"{out / 'report.md'} and {out / 'report.html'}")


@click.command()
@click.argument("name")
@click.option("--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", required=True, help="Folder of the data.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the weights; NAME.safetensors if left out.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same weights on the same machine.")
def train(name: str, data: Path, out: Path | None, device: str, seed: int) -> None:
    """Train one of the paper's nets: mnist, cifar10, mosaic, cub, or a slim sibling.

    Example: samp bench train mnist --data DIR --device cuda
    """
    from samp.models.prediction import usable_device
    from samp_lab.training import train_and_save

    usable_device(device)
    path = out or Path(f"{name}.safetensors")
    trained = train_and_save(name, data, path, device, seed=seed, progress=_epoch)
    count = trained.test_images
    tested = f", {100 * trained.test_accuracy:.2f} % on {count:,} test images" if count else ""
    accuracies = f"{100 * trained.train_accuracy:.2f} % right on its training images{tested}"
    say(f"{path}: {accuracies}; {trained.seconds:.0f} s; weights {trained.sha256[:16]}")


def _epoch(done: int, epochs: int, loss: float) -> None:
    say(f"epoch {done} of {epochs}: loss {loss:.4f}", err=True)


@click.command()
@click.argument("name")
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder to put the data in.")
def download(name: str, data: Path) -> None:
    """Download a data set (mnist, cifar10, voc, cub) and check that it is the published one.

    Example: samp bench download mnist --data DIR
    """
    from samp_lab.datasets.download import download

    say(str(download(name, data, progress=True)))


@click.command()
@with_options
def smoke(out: Path, jobs: int, show: bool, datasets: Sequence[str], **given: Any) -> None:
    """Every experiment end to end on a handful of digits with a small net, in two minutes: does all of it run?

    Example: samp bench smoke --out smoke
    """
    from samp_lab.reproduce import run_plans, substitute_setups
    from samp_lab.smoke import LIMIT, STAND_INS
    from samp_lab.store import Store

    told = make_options(out, **{**given, "limit": given["limit"] or LIMIT})
    plans = [
        (experiment, setups)
        for experiment in load_experiments()
        if (setups := substitute_setups(experiment, STAND_INS))
    ]
    report_outcome(out, run_plans(plans, told, Store(out), jobs=jobs, show=show, command=command_line(), say=say))


OTHER_COMMANDS = {"list": list_experiments, "report": report, "train": train, "download": download, "smoke": smoke}


def command_line() -> str:
    """The command as it was given, without folders of this machine."""
    words = ["samp", *sys.argv[1:]]
    hidden = {"--data", "--out", "--weights", "--models"}
    shown = [Path(word).name if words[i - 1] in hidden and os.sep in word else word for i, word in enumerate(words)]
    return shlex.join(shown)
