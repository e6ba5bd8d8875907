"""`samp bench panel` makes the leaderboard of several nets; `samp bench agreement` has the panel judge both speeds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from samp.cli.flags import name_flags
from samp.cli.terminal import say
from samp_lab.experiment_commands import command_line

if TYPE_CHECKING:
    from samp_lab.leaderboard.run import LeaderboardOptions


photos_option = click.option(
    "--photos", type=click.IntRange(1), default=100, show_default=True, help="Photos on each net."
)
device_option = click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
data_option = click.option("--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", help="Folder of the data.")
seed_option = click.option(
    "--seed", default=0, show_default=True, help="Picks the photos; seeds random methods and judges."
)
without_option = click.option(
    "--without",
    multiple=True,
    help="Part of the panel to leave out; on a GPU grids and random-weights cost most, as they are compiled anew.",
)


def parse_set_size(words: str) -> tuple[str, int]:
    """Return an image set and how many images it is to have at most.

    >>> parse_set_size("again=8")
    ('again', 8)
    """
    name, _, count = words.partition("=")
    if not count.isdecimal() or int(count) < 1:
        raise click.BadParameter(f"{words!r} is not an image set and a number of at least 1, as in again=8.")
    return name, int(count)


@click.command()
@click.option("--net", "nets", multiple=True, help="Net, as often as you like; all of the leaderboard if left out.")
@photos_option
@click.option("--methods", multiple=True, help="Method of the leaderboard, as often as you like; all if left out.")
@device_option
@data_option
@seed_option
@without_option
@click.option(
    "--images",
    multiple=True,
    type=parse_set_size,
    metavar="SET=N",
    help="At most N images in a set: again, boxes, grids or planted (--photos sets the photos).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="results",
    show_default=True,
    help="Folder of panel.json and pages.",
)
@click.option("--render", is_flag=True, help="Measure nothing: write the pages again from panel.json.")
def panel(
    nets: tuple[str, ...],
    photos: int,
    methods: tuple[str, ...],
    device: str,
    data: Path | None,
    seed: int,
    without: tuple[str, ...],
    images: tuple[tuple[str, int], ...],
    out: Path,
    render: bool,
) -> None:
    """Leaderboard: methods before all judges of the panel, on several nets, with mean ranks and paired tests.

    Each net is kept in panel.json when it is done, so that the same command resumes a run that was stopped. Exit code
    1 if any net failed.

    \b
    Example:
      samp bench panel --net mobilenet_v2 --net resnet50 --photos 100 --device cuda
    """
    from samp_lab.leaderboard.run import NETS, LeaderboardOptions

    failed = False
    if not render:
        options = LeaderboardOptions(photos, methods or None, device, data, seed, without=without, images=images)
        failed = _measure(nets or NETS, options, out)
    if render or (out / "panel.json").is_file():
        render_pages(out)
    if failed:
        sys.exit(1)


@click.command()
@click.option("--net", "nets", multiple=True, help="Net, as often as you like; three if left out.")
@photos_option
@click.option("--methods", multiple=True, help="Method, as often as you like; consensus, coupled, SAMP++ if left out.")
@without_option
@device_option
@data_option
@seed_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="results/fast",
    show_default=True,
    help="Folder of panel.json and agreement.md.",
)
def agreement(
    nets: tuple[str, ...],
    photos: int,
    methods: tuple[str, ...],
    without: tuple[str, ...],
    device: str,
    data: Path | None,
    seed: int,
    out: Path,
) -> None:
    """Whether fast maps are as good as exact ones: the same methods at both speeds before all judges of the panel.

    Each net is kept when it is done, so that the same command resumes a run that was stopped. Exit code 1 if any net
    failed.

    Example: samp bench agreement --net mobilenet_v2 --photos 20
    """
    from samp_lab.bench.speed_agreement import METHODS, NETS, both_speeds, write_agreement
    from samp_lab.leaderboard.run import LeaderboardOptions

    options = LeaderboardOptions(photos, both_speeds(methods or METHODS), device, data, seed, NETS, without)
    failed = _measure(nets or NETS, options, out)
    if (out / "panel.json").is_file():
        say(f"written: {write_agreement(out)}")
    if failed:
        sys.exit(1)


def _measure(nets: Sequence[str], options: LeaderboardOptions, out: Path) -> bool:
    """Measure the panel on these nets into a folder, say what failed, and return whether any did."""
    from samp.models.prediction import usable_device
    from samp_lab.leaderboard.run import measure_nets

    usable_device(options.device)
    failed = measure_nets(nets, options, out, command=command_line(), say=say)
    for one in failed:
        say(f"samp: {one.title} failed: {name_flags(one.why)}", err=True)
    return bool(failed)


def render_pages(out: Path) -> None:
    """Write panel.md and panel.html, and the report if there are other results; print where they are."""
    from samp_lab.leaderboard import write_leaderboard
    from samp_lab.report import write_report
    from samp_lab.store import Store

    written = [*write_leaderboard(out)]
    store = Store(out)
    if store.results_file.is_file():
        written += write_report(store)
    say(f"written: {', '.join(map(str, written))}")
