"""`samp compare`: several methods on one photo, side by side."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from samp.cli.flags import name_flags
from samp.cli.opening import open_file, open_option
from samp.cli.options import PATH, ModelOptions, against_option, model_options, target_option
from samp.cli.terminal import say, say_block
from samp.methods.registry import METHODS as METHOD_NAMES
from samp.methods.registry import method_name

if TYPE_CHECKING:
    from samp.compare import Compared, Task
    from samp.methods import Method
    from samp.metrics import Panel
    from samp.models.prediction import ClassifiedPhoto

# Ours and the paper's, integrated gradients with two baselines, the best known of those that look at features and of
# those that sample, and the floor: 248 gradients, and 464 forwards for the curves, 30 seconds of one core in all.
# guidedig alone would take almost as many gradients again.
METHODS = "consensus,samp++,samp,ig,ig-blurred,gradcam,smoothgrad,random"
# known here, so that --help need not import torch
PROTOCOLS = (
    *("mnist", "cifar10", "imagenet", "mnist-authors", "cifar10-authors", "imagenet-authors"),
    *("rise", "diffid", "diffid-channel-means", "diffid-signed", "road"),
)
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
    help="Protocol of Deletion and Insertion.  [default: the SAMP paper's for the size of the input]",
)
@click.option(
    "--judges",
    type=click.Choice(["panel"]),
    help="Also give every map to all judges (RISE's, DiffID, ROAD, single deletion, …): some 900 model calls a method.",
)
@target_option
@against_option
@click.option(
    "--out", type=PATH, default=Path("comparison.html"), show_default=True, help="Page to write; a .png goes beside it."
)
@open_option
@click.option("--json", "as_json", is_flag=True, help="Numbers on stdout as one JSON object; all else on stderr.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of everything random."
)
@model_options
def compare(
    photo: Path | None,
    methods: str,
    protocol: str | None,
    judges: str | None,
    target: str | None,
    against: str | None,
    out: Path,
    show: bool,
    as_json: bool,
    seed: int,
    model: ModelOptions,
) -> None:
    """Compare methods on PHOTO (an embedded cup of coffee if left out): maps, curves and numbers side by side.

    Writes one page that opens in any browser without a network, and the same as a figure beside it: each method's map,
    its Deletion and Insertion curves on shared axes, and a table of their areas, completeness error, concentration,
    seconds and model calls. One photo is no statistics. With --judges panel, a second table has the judges' verdicts.

    \b
    Examples:
      samp compare cat.jpg --out cat.html
      samp compare cat.jpg --methods consensus,samp++,ig,gradcam --protocol rise --json
    """
    from samp import images

    path = photo or images.example_photo()
    names = _parse_methods(methods)
    model.check()
    images.check_readable(path)
    page, figure = _output_paths(path, out)

    from samp.cli.output import make_folder
    from samp.compare import label_methods
    from samp.html.compare_facts import comparison_record, missing_notes
    from samp.models.prediction import classify_photo
    from samp.models.question import name_class

    chosen = label_methods(names)
    classified = classify_photo(path, model.load(), target, against=against)
    make_folder([page])
    compared, left_out = compare_all(classified, chosen, protocol, seed, judges)
    again = repeat_command(photo, list(chosen), str(classified.targets[0]), protocol, model, judges)
    again += [] if classified.against is None else ["--against", str(classified.against)]
    found = comparison_record(classified, compared, left_out, shlex.join([*again, "--seed", str(seed)]))
    for note in missing_notes(compared, found):
        say(f"samp: {name_flags(note)}", err=True)
    written = write_comparison(page, figure, classified, compared, found)
    if as_json:
        say(json.dumps({**found, "out": [click.format_filename(file) for file in written]}))
    else:
        say(f"{name_class(found, numbers=True)}, {found['score_is']} {found['score']:.3f} ({found['model']})")
        say_block(text_table(compared))
        if compared.panel:
            say_block(f"\n{panel_text_table(compared.panel)}\n")
        say(f"written: {', '.join(map(str, written))}")
    if show:
        open_file(page)
    sys.exit(1 if left_out else 0)


def compare_all(
    classified: ClassifiedPhoto,
    methods: Mapping[str, Method],
    protocol: str | None,
    seed: int,
    judges: str | None = None,
) -> tuple[Compared, dict[str, str]]:
    """Return the rows of the methods that worked, and why each of the others, or the panel of judges, failed.

    Raises ValueError if none worked; with `--debug`, the error of the first that fails.
    """
    from samp.cli import error_sentence, is_debugging
    from samp.cli.progress import EvaluationBar
    from samp.compare import Compared, make_task
    from samp.compare_panel import expected_forwards, judge_rows
    from samp.metrics.masked_forward import ScoringOptions

    net = classified.classifier.net
    task = make_task(net, classified.x, classified.question, protocol, settings=ScoringOptions(seed=seed))
    rows, left_out = [], {}
    costs = {name: _expected_rows(task, method) for name, method in methods.items()}
    verdicts = expected_forwards(task, len(methods)) if judges else 0
    panel = None
    with EvaluationBar(sum(costs.values()) + verdicts) as bar:
        for name, method in methods.items():
            try:
                with bar.watch(net, name, costs[name], size=costs[name]):
                    rows.append(task.measure(name, method))
            except Exception as error:
                if is_debugging():
                    raise
                left_out[name] = error_sentence(error)
                bar.drop_piece(costs[name])
        if not rows:
            raise ValueError(f"none of the methods worked: {', '.join(left_out)}.")
        if judges:
            try:
                with bar.watch(net, "the judges", verdicts, size=verdicts):
                    panel = judge_rows(task, rows, methods)
            except Exception as error:
                if is_debugging():
                    raise
                left_out["the panel"] = error_sentence(error)
    return Compared(tuple(rows), panel), left_out


def write_comparison(
    page: Path, figure: Path, classified: ClassifiedPhoto, compared: Compared, record: dict[str, Any]
) -> list[Path]:
    """Write the page, and the figure if matplotlib is installed; return the files written."""
    from samp.atomic import atomic_write
    from samp.extras import install_command
    from samp.html.compare_page import comparison_page

    with atomic_write(page) as unfinished:
        unfinished.write_text(comparison_page(classified, compared, record), encoding="utf-8")
    try:
        from samp.plots.compare_figure import draw
    except ImportError:
        note = f"the page has no figure beside it, which needs matplotlib: {install_command('viz')}."
        say(f"samp: {note}", err=True)
        return [page]
    with atomic_write(figure) as unfinished:
        notes = {"samp": json.dumps(record)}  # the numbers travel in the file, as with `samp explain`
        draw(classified, compared, record).savefig(
            unfinished, format="png", metadata=notes, pil_kwargs={"optimize": True}
        )
    return [page, figure]


def repeat_command(
    photo: Path | None,
    methods: Sequence[str],
    target: str,
    protocol: str | None,
    model: ModelOptions,
    judges: str | None = None,
) -> list[str]:
    """Return the words of a command that makes the same comparison again; options that have their default are left out.

    >>> import shlex
    >>> shlex.join(repeat_command(Path("my cat.jpg"), ["ig", "samp++"], "281", "rise", ModelOptions(size=(64,))))
    "samp compare 'my cat.jpg' --methods ig,samp++ --target 281 --protocol rise --size 64"
    """
    words = ["samp", "compare", *([click.format_filename(photo)] if photo else [])]
    words += ["--methods", ",".join(methods), "--target", target, *(["--protocol", protocol] if protocol else [])]
    words += ["--judges", judges] if judges else []
    for field in fields(model):
        value = getattr(model, field.name)
        if value is True:
            words.append(f"--{field.name}")
        elif value != field.default:
            words += [f"--{field.name}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return words


def _parse_methods(words: str) -> list[str]:
    """Return the names of the methods, each once; raise ValueError for an unknown one, before torch is imported."""
    names = [method_name(word.strip()) for word in words.split(",") if word.strip()]
    if not names:
        raise ValueError("--methods names no method: give some, such as consensus,ig,random.")
    return list(dict.fromkeys(names))


def _output_paths(photo: Path, out: Path) -> tuple[Path, Path]:
    """Return the page and the figure beside it; raise ValueError if either is the photo itself."""
    from samp.cli.output import check_writable, output_files

    (page,), _ = output_files([photo], out, "html", folder=False)
    figure = page.with_suffix(".png")
    if figure.exists() and photo.exists() and figure.samefile(photo):
        raise ValueError(f"the figure {figure} would overwrite the photo itself: choose another --out.")
    check_writable([page])
    return page, figure


def _expected_rows(task: Task, method: Method) -> int:
    """Return how many evaluations of the model a method and its curves take, as far as its settings say."""
    from torch import Tensor

    from samp.methods.cost import expected_rows

    height, width = task.inputs.shape[2:] if isinstance(task.inputs, Tensor) else (0, 0)
    curves = 2 * len(task.protocol.counts(height * width))
    return (expected_rows(method, height, width) or int(getattr(method, "samples", 1))) + curves


def text_table(compared: Compared) -> str:
    """Return the table of the one photo for a terminal, in aligned columns."""
    from samp.compare_columns import COLUMNS

    cells = [["method", *(column.heading_with_arrow for column in COLUMNS)]]
    for row in compared.rows:
        numbers = row.numbers(0)
        cells.append([row.name, *(column.format_value(numbers[column.key]) for column in COLUMNS)])
    return _align(cells)


def panel_text_table(panel: Panel) -> str:
    """Return what the judges say for a terminal, in aligned columns, and what one photo cannot tell."""
    from samp.metrics.panel_result import ONE_PHOTO
    from samp.metrics.panel_table import table_cells

    heads, rows = table_cells(panel)
    text = _align([heads, *([cell.text for cell in row] for row in rows)])
    return f"{text}\n({ONE_PHOTO})" if panel.has_one_photo else text


def _align(cells: list[list[str]]) -> str:
    """Return lines of cells in columns, the first flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        [
            cell.ljust(width) if not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in cells
    ]
    return "\n".join("  ".join(line) for line in lines)
