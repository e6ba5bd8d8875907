"""`samp explain`: from photos to answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samp.cli.options import (
    ABOUT,
    PATH,
    MethodOptions,
    ModelOptions,
    method_options,
    model_options,
    speed_option,
    target_option,
)
from samp.cli.terminal import format_lines, say, say_block

if TYPE_CHECKING:
    from samp.fast import Speed

EPILOG = f"""{ABOUT}

Exit codes: 0 if every photo was explained, 1 if some were and some were not, 2 if none was, 130 if
interrupted. Whatever was written by then is whole."""


@click.command(epilog=EPILOG)
@click.argument("photo", nargs=-1, type=PATH)
@target_option
@click.option(
    "--top", type=click.IntRange(1), default=1, show_default=True, help="Explain this many of the best classes."
)
@click.option("--out", type=PATH, help="File to write; of several photos, the folder.  [default: explanation.png]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["png", "html", "npz", "samp"]),
    help="What to write: a picture, a page, arrays or the whole result.  [default: as --out ends, else png]",
)
@click.option("--json", "as_json", is_flag=True, help="Numbers on stdout, one JSON object a line; all else on stderr.")
@speed_option
@model_options
@method_options
def explain(
    photo: tuple[Path, ...],
    target: str | None,
    top: int,
    out: Path | None,
    form: str | None,
    as_json: bool,
    speed: Speed,
    model: ModelOptions,
    how: MethodOptions,
) -> None:
    """Explain what a model sees in each PHOTO (an embedded cup of coffee if left out).

    A PHOTO is a file, a folder of photos or a quoted glob. For each, one file is written with what the model was shown,
    the map of credit, both together and the score along the walks. A photo that cannot be read, or whose file cannot be
    written, is reported and skipped.

    \b
    Examples:
      samp explain cat.jpg --quality fine --out cat-why.png
      samp explain cat.jpg --target "Egyptian cat" --model torchvision:resnet50
      samp explain photos/ --top 3 --format html --out why --json
    """
    from samp import images
    from samp.cli.places import check_writable, make_folder, output_files

    # What was typed is checked first: torch and the model take seconds to load.
    if target is not None and top > 1:
        raise ValueError("give --target or --top, not both: --top explains the best classes.")
    how.check()
    model.check()
    paths = images.find(photo or [images.example_photo()])
    _check_any_readable(paths)
    several = paths != list(photo or paths) or len(paths) > 1
    files, form = output_files(paths, out, form, several)
    check_writable(files)
    if others := images.describe_skipped(photo):
        say(f"samp: {others}.", err=True)

    from samp.cli.explaining import PhotoExplainer, explain_all

    explainer = PhotoExplainer(model.load(), how.method(), how.seed, target, top, speed)
    make_folder(files)
    done = explain_all(explainer, list(zip(paths, files, strict=True)), form, _print_json if as_json else _print_words)
    if done < len(paths):
        if len(paths) > 1:  # of one, why has been said
            say(f"samp: {len(paths) - done} of {len(paths)} photos could not be explained.", err=True)
        sys.exit(1 if done else 2)


def _check_any_readable(paths: list[Path]) -> None:
    """Raise what is wrong with the first, if none can be read; one of several is reported when its turn comes."""
    from samp import images

    problems = []
    for path in paths:
        try:
            return images.check_readable(path)
        except (OSError, images.UnreadableError) as error:
            problems.append(error)
    raise problems[0]


def _print_json(records: list[dict[str, Any]]) -> None:
    for one in records:
        say(json.dumps(one))


def _print_words(records: list[dict[str, Any]]) -> None:
    """A block for each class; errors stand on stderr already."""
    from samp.html.facts import lines

    for one in records:
        if "error" not in one:
            say_block(format_lines({"photo": one["photo"], **lines(one), "written": one["out"]}))
