"""`samp bench table1 …`: each experiment a command with the same options; and the commands around them."""

from __future__ import annotations

import math
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
        "--reading",
        type=click.Choice(["text", "authors", "both"]),
        default="both",
        show_default=True,
        help="The paper's text, or the settings of its authors' benchmark.",
    ),
    click.option("--slim", is_flag=True, help="Slim CNNs, which come with samp, instead of the paper's wide ones."),
    click.option(
        "--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", help="Folder of the data.  [env: SAMP_DATA]"
    ),
    click.option("--weights", type=click.Path(path_type=Path), help="Checkpoint of a net that comes without weights."),
    click.option("--trust", is_flag=True, help="Open checkpoints that may run code: only if you trust their makers."),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        default="results",
        show_default=True,
        help="Folder of results, figures and report.",
    ),
    click.option("--device", default="cpu", show_default=True, help="cpu or cuda."),
    click.option(
        "--limit",
        type=int,
        help="Images of each data set, at most; if left out 100, as in the paper, and up to 500 in the pointing game.",
    ),
    click.option("--seed", default=0, show_default=True, help="Picks the images; seeds training and random methods."),
    click.option(
        "--part", default=20, show_default=True, help="Images measured together; a killed run repeats one part."
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Cells measured at the same time, each in its own process.",
    ),
    click.option("--show", is_flag=True, help="Show pictures that must not be published (CIFAR-10, ImageNet, CUB)."),
)


class ExperimentGroup(click.Group):
    """A group with a command for each experiment of the registry, made when it is used, and its own commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*EXPERIMENTS, *SETS, "smoke", "list", "report", "train", "download", *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in EXPERIMENTS or cmd_name in SETS:
            return experiment_command(cmd_name)
        return OTHER_COMMANDS.get(cmd_name)


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every experiment takes."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def experiment_command(name: str) -> click.Command:
    """Return the command of one experiment, or of a set of them."""

    def call(**given: Any) -> None:
        run_experiments(name, **given)

    summary = SETS[name] if name in SETS else EXPERIMENTS[name].summary
    call.__doc__ = (
        f"{summary}\n\nResults are kept as they are measured: the same command resumes a run that was stopped. Exit "
        f"code 1 if any cell failed.\n\n\b\nExample:\n  samp bench {name} --data DIR --device cuda"
    )
    return click.command(name, short_help=summary)(with_options(call))


def run_experiments(
    name: str, datasets: Sequence[str], reading: str, slim: bool, out: Path, jobs: int, show: bool, **given: Any
) -> None:
    """Measure, draw and report the experiments of this name or set."""
    from samp_lab.reproduce import SetupChoice, run_and_report

    options = make_options(out, **given)
    failed = run_and_report(
        load_experiments(name),
        SetupChoice(tuple(datasets), reading, slim),
        options,
        out,
        jobs=jobs,
        show=show,
        command=command_line(),
        say=_say_progress,
    )
    report_outcome(out, failed)


def make_options(out: Path, **given: Any) -> ExperimentOptions:
    """Return the options of a run; raise ValueError if its device is not available."""
    from samp.models.prediction import usable_device
    from samp_lab.workspace import ExperimentOptions

    usable_device(given["device"])
    return ExperimentOptions(models=out / "models", **given)


def _say_progress(line: str) -> None:
    say(name_flags(line))  # a line may hold the message of an error, which names arguments


def report_outcome(out: Path, failed: Sequence[FailedMeasurement]) -> None:
    """Print where the report is and what failed; exit with code 1 if anything did."""
    reasons: dict[str, list[str]] = {}
    for one in failed:
        reasons.setdefault(one.why, []).append(one.title)
    for why, titles in reasons.items():  # missing data fails every cell alike: print it once
        more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
        say(f"samp: {titles[0]}{more} failed: {name_flags(why)}", err=True)
    say(f"report: {out / 'report.md'} and {out / 'report.html'}")
    if failed:
        sys.exit(1)


@click.command(name="list")
def list_experiments() -> None:
    """List all experiments, each with its test beds (data set and net) and its number of cells (measurements).

    Example: samp bench list
    """
    from samp_lab.setups import parse_setup

    for experiment in load_experiments():
        count = len(experiment.measurements([parse_setup(one) for one in experiment.setups]))
        say(f"{experiment.name:14} {experiment.title}")
        say(f"{'':14} {count} {'cell' if count == 1 else 'cells'} on {', '.join(experiment.setups)}")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default="results", show_default=True, help="Folder of a run.")
def report(out: Path) -> None:
    """Write the report again from the results in a folder, without data or nets.

    Example: samp bench report --out results
    """
    from samp_lab.report import write_report
    from samp_lab.store import Store

    write_report(Store(out))
    say(f"{out / 'report.md'} and {out / 'report.html'}")


@click.command()
@click.argument("name")
@click.option("--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", required=True, help="Folder of the data.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the weights; NAME.safetensors if left out.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same weights on the same machine.")
def train(name: str, data: Path, out: Path | None, device: str, seed: int) -> None:
    """Train one of the paper's nets (mnist, cifar10, mosaic, cub, or a slim sibling) or a head of DINOv2's ViT-S/14.

    The heads are dinov2-cifar10, dinov2-cub and dinov2-imagenet; the features that they are fitted to are kept in the
    folder `views` beside the file.

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
    more = "".join(f"; {name.replace('_', ' ')} {value:.4g}" for name, value in trained.measures.items())
    say(f"{path}: {accuracies}{more}; {trained.seconds:.0f} s; weights {trained.sha256[:16]}")


def _epoch(done: int, epochs: int, loss: float) -> None:
    text = f"{done} of {epochs} photos" if math.isnan(loss) else f"epoch {done} of {epochs}: loss {loss:.4f}"
    say(text, err=True)


@click.command()
@click.argument("name")
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder to put the data in.")
def download(name: str, data: Path) -> None:
    """Download a data set (mnist, cifar10, voc, cub) or a net (resnet50) and check that it is the published one.

    The net is Keras' ResNet-50, converted to DIR/models/resnet50_v1.safetensors. If you have torchvision's weights
    (resnet50-0676ba61.pth), copy them to DIR/models instead: they are taken first.

    Example: samp bench download mnist --data DIR
    """
    from samp_lab.datasets.download import download

    say(str(download(name, data, progress=True)))


@click.command()
@with_options
def smoke(out: Path, jobs: int, show: bool, datasets: Sequence[str], reading: str, slim: bool, **given: Any) -> None:
    """Run every experiment end to end on two images of each data set, in about two minutes on two cores.

    Digits and a small net that come with samp stand in for the data sets, so that no data is needed.

    Example: samp bench smoke --out smoke
    """
    from samp_lab.reproduce import run_plans, substitute_setups
    from samp_lab.smoke import LIMIT, STAND_INS
    from samp_lab.store import Store

    options = make_options(out, **{**given, "limit": given["limit"] or LIMIT})
    plans = [
        (experiment, setups)
        for experiment in load_experiments()
        if (setups := substitute_setups(experiment, STAND_INS))
    ]
    report_outcome(
        out, run_plans(plans, options, Store(out), jobs=jobs, show=show, command=command_line(), say=_say_progress)
    )


OTHER_COMMANDS = {"list": list_experiments, "report": report, "train": train, "download": download, "smoke": smoke}


def command_line() -> str:
    """Return the command line, with the last part alone of paths on this machine."""
    words = ["samp", *sys.argv[1:]]
    paths = {"--data", "--out", "--page", "--weights", "--models"}
    short = [Path(word).name if words[i - 1] in paths and os.sep in word else word for i, word in enumerate(words)]
    return shlex.join(short)
