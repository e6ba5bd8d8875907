"""`samp report`: one page on a run over a data set."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from samp.cli.options import PATH
from samp.cli.terminal import say


@click.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=PATH, help="Page to write.  [default: report.html in FOLDER]")
@click.option("--pictures", is_flag=True, help="Show the photos of the examples too, read again from the data set.")
@click.option("--check", is_flag=True, help="Read every byte of every file first, and leave out what has rotted.")
def report(folder: Path, out: Path | None, pictures: bool, check: bool) -> None:
    """Sum up the run in FOLDER (the --out of `samp run`) in a page that opens in any browser.

    Distributions of completeness error, concentration and scores; the best and worst maps; every class; what failed.
    An unfinished run is summed up as far as it got. Only numbers and the maps that are shown are read; --check finds
    damage in all other maps too, and the same `samp run` again repairs it. The exit code is 1 if files of the run are
    damaged; those are left out.

    Example: samp report why --pictures
    """
    from samp.atomic import atomic_write
    from samp.batch import load
    from samp.html.report_page import damage_note, run_page

    run = load(folder, thorough=check)
    place = out or folder / "report.html"
    page = run_page(run, pictures)
    with atomic_write(place) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    say(f"written: {place}")
    if run.damaged:
        say(f"samp: {damage_note(run.damaged)}", err=True)
        sys.exit(1)
