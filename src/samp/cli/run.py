"""`samp run`: explain a whole data set, shard by shard, resuming where an earlier run stopped."""

from __future__ import annotations

import glob
import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from samp.cli.flags import name_flags
from samp.cli.options import (
    ABOUT,
    PATH,
    MethodOptions,
    ModelOptions,
    is_typed,
    method_options,
    model_options,
    speed_option,
)
from samp.cli.terminal import say, say_traceback

if TYPE_CHECKING:
    from samp.batch.models import Model
    from samp.batch.summary import BrokenRunError, Summary

EPILOG = f"""{ABOUT}

\b
Exit codes:
  0    every input is explained
  1    every input was tried and some failed, each with its reason in its row and below
  2    wrong usage, or the run could not begin; nothing was done
  3    the run broke: some inputs have no row yet (a full disk, a lost device, a shard that kills its workers)
  130  interrupted by Ctrl-C; 143 ended by SIGTERM

The same command again goes on where a run stopped, and tries what failed once more."""
AMOUNT = click.FloatRange(0)
MOST_SHOWN = 10  # failures that are listed; the rest are counted
TERMINATED = 128 + signal.SIGTERM  # the exit code that shells give such a process


def _whole_or_auto(words: str) -> Any:
    if words == "auto":
        return words
    if not words.isdecimal() or int(words) < 1:
        raise click.BadParameter(f"{words!r} is neither auto nor a whole number of at least 1.")
    return int(words)


def _names(words: str | tuple[str, ...]) -> tuple[str, ...]:
    return words if isinstance(words, tuple) else tuple(filter(None, map(str.strip, words.split(","))))


def _complete_labels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    words = [CompletionItem(word) for word in ("folder-names", "data-set") if word.startswith(incomplete)]
    return words or [CompletionItem(incomplete, type="file")]


@click.command(epilog=EPILOG)
@click.argument("data", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder of the run; made if it does not exist.")
@click.option(
    "--target",
    help="Class to explain, by name or number, or predicted.  [default: what the data set says, else predicted]",
)
@click.option(
    "--labels",
    shell_complete=_complete_labels,
    help="The true classes: a table with the columns file and label, folder-names (each photo in a folder of its "
    "class), or data-set (its column target, .cls members).  [default: none, or those that the run has]",
)
@click.option("--batch-size", default="auto", type=_whole_or_auto, show_default=True, help="Walks per model call.")
@speed_option
@click.option("--shard-size", type=click.IntRange(1), default=128, show_default=True, help="Inputs per file.")
@click.option(
    "--map-dtype",
    type=click.Choice(["float16", "bfloat16", "float32"]),
    default="float16",
    show_default=True,
    help="Dtype of the maps; each map is scaled to use its range.",
)
@click.option("--workers", type=click.IntRange(0), default=0, show_default=True, help="Workers of Ray; 0 needs no Ray.")
@click.option(
    "--gpus-per-worker", type=AMOUNT, default=0.0, show_default=True, help="GPUs of each worker, or a part of one."
)
@click.option(
    "--cpus-per-worker", type=AMOUNT, default=1.0, show_default=True, help="Cores and threads of each worker."
)
@click.option(
    "--devices",
    type=_names,
    default=(),
    help="Devices of this machine with a process each, without Ray, such as cuda:0,cuda:1.  [default: --device alone]",
)
@click.option("--address", help="Address of a Ray cluster; if left out, Ray runs on this machine alone.")
@click.option("--keep-failed", is_flag=True, help="Do not try inputs again that failed in an earlier run.")
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object on stdout.")
@model_options
@method_options
def run(
    data: Path,
    out: Path,
    target: str | None,
    labels: str | None,
    as_json: bool,
    keep_failed: bool,
    model: ModelOptions,
    how: MethodOptions,
    **words: Any,
) -> None:
    """Explain every input of DATA into a folder: numbers in Parquet (or JSON lines), maps in safetensors.

    DATA is a folder of photos (with those in it), a CSV or Parquet list with a column path (and if need be id and
    target), WebDataset tars (a quoted glob), or a folder that Hugging Face's save_to_disk wrote.

    \b
    Examples:
      samp run photos/ --out why
      samp run list.csv --quality draft --out why --workers 2
      samp run photos/ --out why --devices cuda:0,cuda:1
      samp run 'shards/*.tar' --out why --workers 8 --gpus-per-worker 1 --device cuda --address auto
      samp run photos/ --labels labels.csv --out why
      samp report why --gallery
    """
    how.check()
    model.check()
    place = data.expanduser()
    if not place.exists() and not glob.glob(str(place), recursive=True):
        raise FileNotFoundError(f"{data} is not there: give a folder, a list (.csv, .parquet) or tars.")

    from samp.batch import BrokenRunError, Workers
    from samp.batch import run as explain_all
    from samp.cli.progress import RunBar

    described = _make_model(model, model.device if is_typed("device") or not words["devices"] else None)
    workers = Workers(
        words["workers"], words["gpus_per_worker"], words["cpus_per_worker"], words["address"], words["devices"]
    )
    try:
        with exit_on_sigterm(), RunBar() as bar, redirect_stdout(sys.stderr):  # a net may print; stdout is ours
            summary = explain_all(
                data if data.exists() else str(data),
                out=out,
                model=described,
                method=how.method(described.load("cpu") if how.names_colour else None),
                seed=how.seed,
                target=target,
                labels=labels,
                batch_size=words["batch_size"],
                speed=words["speed"],
                shard_size=words["shard_size"],
                map_dtype=words["map_dtype"],
                workers=workers,
                keep_failed=keep_failed,
                on_progress=bar.update,
            )
    except BrokenRunError as error:
        _print_summary(error.summary, as_json)
        _exit_broken(error)
    _print_summary(summary, as_json)
    sys.exit(summary.code)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Exit cleanly on SIGTERM while inside, as schedulers expect: workers end too, and a line is printed."""

    def end(*_: object) -> NoReturn:
        sys.exit(TERMINATED)

    here = threading.current_thread() is threading.main_thread()  # other threads cannot handle signals
    before = signal.signal(signal.SIGTERM, end) if here else None
    try:
        yield
    except SystemExit as ended:
        if ended.code == TERMINATED:
            say("samp: ended by SIGTERM; what was written before is whole.", err=True)
        raise
    finally:
        if here:
            signal.signal(signal.SIGTERM, before)


def _exit_broken(error: BrokenRunError) -> NoReturn:
    from samp.batch.summary import BROKE
    from samp.cli import error_sentence, is_debugging

    cause = error.__cause__
    if cause is not None and is_debugging():
        say_traceback(cause)
    reason = error_sentence(cause) if isinstance(cause, Exception) else str(error)
    say(f"samp: the run broke: {reason}", err=True)
    sys.exit(BROKE)


def _make_model(options: ModelOptions, device: str | None) -> Model:
    from samp.batch.models import Model

    return Model(
        options.model,
        weights=options.weights,
        trust=options.trust,
        classes=options.classes,
        device=device,
        dtype=options.dtype,
        given={name: getattr(options, name) for name in ("size", "mean", "std", "channels")},
    )


def _print_summary(summary: Summary, as_json: bool) -> None:
    from samp.batch.shards import describe_shards
    from samp.cli.progress import format_duration

    for name, why in list(summary.failures.items())[:MOST_SHOWN]:
        say(f"samp: {name}: {name_flags(why)}", err=True)
    if len(summary.failures) > MOST_SHOWN:
        say(f"samp: … and {len(summary.failures) - MOST_SHOWN} more; each has its reason in its row.", err=True)
    for why in dict.fromkeys(summary.lost.values()):
        shards = [shard for shard, reason in summary.lost.items() if reason == why]
        say(f"samp: {describe_shards(shards, MOST_SHOWN)} could not be finished: {name_flags(why)}", err=True)
    if as_json:
        say(json.dumps(summary.to_dict()))
        return
    before = f", {summary.found} of them before," if summary.found else ""
    say(
        f"explained {summary.explained} of {summary.inputs} inputs{before} in {format_duration(summary.seconds)} "
        f"into {summary.folder}"
    )
