"""`samp compare`: several methods on one photo, side by side."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from samp.cli.options import PATH, ModelOptions, model_options, target_option
from samp.cli.terminal import say, say_block
from samp.methods.registry import METHODS as METHOD_NAMES
from samp.methods.registry import method_name

if TYPE_CHECKING:
    from samp.compare import Compared

# Ours and the paper's, integrated gradients with two baselines, the best known of those that look at features and of
# those that sample, and the floor: 248 gradients, and 464 forwards for the curves, 30 seconds of one core in all.
# guidedig alone would take almost as many gradients again.
METHODS = "coupled,samp++,samp,ig,ig-blurred,gradcam,smoothgrad,random"
# known here, so that --help need not import torch
PROTOCOLS = ("mnist", "cifar10", "imagenet", "rise", "diffid", "diffid-channel-means")
EPILOG = """Exit codes: 0 if every method was compared, 1 if some failed and are left out, 2 if none is left, 130 if
interrupted. Whatever was written by then is whole."""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + name) for name in METHOD_NAMES if name.startswith(last)]


@click.command(epilog=EPILOG)
@click.argument("photo", required=False, type=PATH)
@click.option(
    "--methods",
    default=METHODS,
    show_default=True,
    shell_complete=_complete,
    help="Names with commas between; `samp methods` lists them.",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    help="Of Deletion and Insertion.  [default: the SAMP paper's for the size of the input]",
)
@target_option
@click.option(
    "--out", type=PATH, default=Path("comparison.html"), show_default=True, help="Page to write; a .png goes beside it."
)
@click.option("--json", "as_json", is_flag=True, help="Numbers on stdout as one JSON object; all else on stderr.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of everything random.")
@model_options
def compare(
    photo: Path | None,
    methods: str,
    protocol: str | None,
    target: str | None,
    out: Path,
    as_json: bool,
    seed: int,
    model: ModelOptions,
) -> None:
    """Compare methods on PHOTO (an embedded cup of coffee if left out): maps, curves and numbers side by side.

    Writes one page that opens in any browser without a network, and the same as a figure beside it: each method's map,
    its Deletion and Insertion curves on shared axes, and a table of their areas, completeness error, concentration,
    seconds and model calls. One photo is no statistics.

    \b
    Examples:
      samp compare cat.jpg --out cat.html
      samp compare cat.jpg --methods coupled,samp++,ig,gradcam --protocol rise --json
    """
    from samp import images

    path = photo or images.example_photo()
    names = _parse_methods(methods)
    model.check()
    images.check_readable(path)
    page, figure = _output_paths(path, out)

    from samp.cli.comparing import compare_all, write_comparison
    from samp.cli.places import make_folder
    from samp.compare import label_methods
    from samp.html.compare_facts import comparison_record, missing_notes
    from samp.models.prediction import classify_photo

    chosen = label_methods(names)
    classified = classify_photo(path, model.load(), target)
    make_folder([page])
    compared, left_out = compare_all(classified, chosen, protocol, seed)
    again = repeat_command(photo, list(chosen), str(classified.targets[0]), protocol, model)
    found = comparison_record(classified, compared, left_out, shlex.join([*again, "--seed", str(seed)]))
    for note in missing_notes(compared, found):
        say(f"samp: {note}", err=True)
    written = write_comparison(page, figure, classified, compared, found)
    if as_json:
        say(json.dumps({**found, "out": [click.format_filename(file) for file in written]}))
    else:
        say(f"{found['class']} ({found['index']}), {found['score_is']} {found['score']:.3f} ({found['model']})")
        say_block(text_table(compared))
        say(f"written: {', '.join(map(str, written))}")
    sys.exit(1 if left_out else 0)


def _parse_methods(words: str) -> list[str]:
    """Return the names of the methods, each once; raise ValueError for an unknown one, before torch is imported."""
    names = [method_name(word.strip()) for word in words.split(",") if word.strip()]
    if not names:
        raise ValueError("--methods names no method: give some, such as coupled,ig,random.")
    return list(dict.fromkeys(names))


def _output_paths(photo: Path, out: Path) -> tuple[Path, Path]:
    """The page and the figure beside it, neither of which may be the photo."""
    from samp.cli.places import check_writable, output_files

    (page,), _ = output_files([photo], out, "html", folder=False)
    figure = page.with_suffix(".png")
    if figure.exists() and photo.exists() and figure.samefile(photo):
        raise ValueError(f"the figure {figure} would overwrite the photo itself: choose another --out.")
    check_writable([page])
    return page, figure


def repeat_command(
    photo: Path | None, methods: Sequence[str], target: str, protocol: str | None, model: ModelOptions
) -> list[str]:
    """Return the words of the command that repeats the comparison; options with their default value are left out.

    >>> import shlex
    >>> shlex.join(repeat_command(Path("my cat.jpg"), ["ig", "samp++"], "281", "rise", ModelOptions(size=(64,))))
    "samp compare 'my cat.jpg' --methods ig,samp++ --target 281 --protocol rise --size 64"
    """
    words = ["samp", "compare", *([click.format_filename(photo)] if photo else [])]
    words += ["--methods", ",".join(methods), "--target", target, *(["--protocol", protocol] if protocol else [])]
    for field in fields(model):
        value = getattr(model, field.name)
        if value is True:
            words.append(f"--{field.name}")
        elif value != field.default:
            words += [f"--{field.name}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return words


def text_table(compared: Compared) -> str:
    """Return the table of the one photo for a terminal, in aligned columns."""
    from samp.compare_columns import COLUMNS

    cells = [["method", *(column.heading_with_arrow for column in COLUMNS)]]
    for row in compared.rows:
        numbers = row.numbers(0)
        cells.append([row.name, *(column.format_value(numbers[column.key]) for column in COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        [
            cell.ljust(width) if not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in cells
    ]
    return "\n".join("  ".join(line) for line in lines)
