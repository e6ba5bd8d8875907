"""`samp report`: one page on a run over a data set, and a gallery of all its explanations."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from samp.cli.opening import open_file, open_option
from samp.cli.options import PATH
from samp.cli.terminal import say

if TYPE_CHECKING:
    from samp.batch import RunResults


@click.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=PATH, help="Page to write.  [default: report.html in FOLDER]")
@click.option("--gallery", is_flag=True, help="Make a gallery of every input too, in a folder beside the page.")
@click.option(
    "--pictures/--no-pictures",
    default=None,
    help="Show the photos too, read again from the data set.  [default: in the gallery alone]",
)
@click.option("--check", is_flag=True, help="Read every byte of every file first, and leave out what has rotted.")
@open_option
@click.option("--json", "as_json", is_flag=True, help="The numbers as one JSON object on stdout; all else on stderr.")
def report(
    folder: Path, out: Path | None, gallery: bool, pictures: bool | None, check: bool, show: bool, as_json: bool
) -> None:
    """Sum up the run in FOLDER (the --out of `samp run`) in a page that opens in any browser.

    Distributions of completeness error, concentration and scores; the best and worst maps; every class; what failed;
    and of a run with labels its accuracy, the classes that it confuses, and its mistakes with where the model looked.
    An unfinished run is summed up as far as it got. Only numbers and the maps that are shown are read; --check finds
    damage in all other maps too, and the same `samp run` again repairs it. --gallery reads every map: it shows each
    input with its photo and map, to be filtered and sorted. The exit code is 1 if files of the run are damaged; those
    are left out.

    \b
    Examples:
      samp report why --pictures
      samp report why --gallery
    """
    from samp.atomic import atomic_write
    from samp.batch import load
    from samp.html.report_page import damage_note, run_page

    run = load(folder, thorough=check)
    place = out or folder / "report.html"
    written = {"page": place}
    if gallery:
        written["gallery"] = _write_gallery(run, place.with_name(f"{place.stem}-gallery"), pictures is not False)
    link = written["gallery"].relative_to(place.parent).as_posix() if gallery else ""
    page = run_page(run, bool(pictures), gallery=link)
    with atomic_write(place) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    for path in written.values():
        say(f"written: {path}", err=as_json)
    if as_json:
        say(json.dumps({**{name: str(path) for name, path in written.items()}, **_numbers(run)}))
    if show:
        open_file(written.get("gallery", place))
    if run.damaged:
        say(f"samp: {damage_note(run.damaged)}", err=True)
        sys.exit(1)


def _write_gallery(run: RunResults, folder: Path, pictures: bool) -> Path:
    from samp.cli.again import commands_for
    from samp.html.gallery import write_gallery

    return write_gallery(run, folder, pictures=pictures, commands=commands_for(run))


def _numbers(run: RunResults) -> dict[str, object]:
    """Return the numbers of the page, and of a run with labels every mistake."""
    from samp.html.report_facts import run_numbers
    from samp.html.report_labels import label_facts

    columns = run.columns()
    labels = label_facts(run, columns)
    numbers = run_numbers(run, columns)
    if labels is None:
        return numbers
    kept = ("id", "true", "predicted", "true_label", "predicted_label", "confidence")
    wrong = [{name: row.get(name) for name in kept} for row in run.mistakes()]
    return {**numbers, **labels.to_dict(), "wrong": wrong}
