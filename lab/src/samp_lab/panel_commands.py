"""`samp bench panel`: measure the panel on several nets, and make the leaderboard."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from samp.cli.flags import name_flags
from samp.cli.terminal import say
from samp_lab.experiment_commands import command_line


@click.command()
@click.option("--net", "nets", multiple=True, help="Net, as often as you like; all of the leaderboard if left out.")
@click.option("--photos", type=click.IntRange(1), default=100, show_default=True, help="Photos on each net.")
@click.option("--methods", multiple=True, help="Method of the leaderboard, as often as you like; all if left out.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", help="Folder of the data.")
@click.option("--seed", default=0, show_default=True, help="Picks the photos; seeds random methods and judges.")
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
    failed = []
    if not render:
        from samp.models.prediction import usable_device
        from samp_lab.leaderboard.run import NETS, LeaderboardOptions, measure_nets

        usable_device(device)
        options = LeaderboardOptions(photos, methods or None, device, data, seed)
        failed = measure_nets(nets or NETS, options, out, command=command_line(), say=say)
        for one in failed:
            say(f"samp: {one.title} failed: {name_flags(one.why)}", err=True)
    if render or (out / "panel.json").is_file():
        render_pages(out)
    if failed:
        sys.exit(1)


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
