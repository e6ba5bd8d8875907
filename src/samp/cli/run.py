"""`samp run`: a whole data set, shard by shard, and on where it stopped."""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samp.cli.options import PATH, MethodOptions, ModelOptions, method_options, model_options

if TYPE_CHECKING:
    from samp.runs.models import Model
    from samp.runs.summary import Count, Summary

EPILOG = """Exit codes: 0 if every input was explained, 1 if some were not (each with its reason, in its row and below),
2 if none was or the run could not begin, 130 if interrupted. The same command again goes on where a run stopped, and
tries what failed once more."""
AMOUNT = click.FloatRange(0)
TOLD = 10  # failures told one by one
QUIET, REDRAWN, REPEATED = 2.0, 0.2, 30.0  # seconds: before anything is shown, between showings on a terminal, in a log


def _whole_or_auto(words: str) -> Any:
    if words == "auto":
        return words
    if not words.isdecimal() or int(words) < 1:
        raise click.BadParameter(f"{words!r} is neither auto nor a whole number of at least 1.")
    return int(words)


@click.command(epilog=EPILOG)
@click.argument("data", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder of the run; made if need be.")
@click.option(
    "--target",
    help="Class to explain, by name or number, or predicted.  [default: what the data set says, else predicted]",
)
@click.option("--batch-size", default="auto", type=_whole_or_auto, show_default=True, help="Walks per model call.")
@click.option(
    "--speed",
    type=click.Choice(["exact", "fast"]),
    default="exact",
    show_default=True,
    help="fast: bfloat16 and channels last, on a GPU compiled too; maps differ a little.",
)
@click.option("--shard-size", type=click.IntRange(1), default=128, show_default=True, help="Inputs per file.")
@click.option(
    "--map-dtype",
    type=click.Choice(["float16", "bfloat16", "float32"]),
    default="float16",
    show_default=True,
    help="Of the maps; each is scaled to use its range.",
)
@click.option("--workers", type=click.IntRange(0), default=0, show_default=True, help="Workers of Ray; 0 needs no Ray.")
@click.option("--gpus-per-worker", type=AMOUNT, default=0.0, show_default=True, help="GPUs of each, or a part of one.")
@click.option("--cpus-per-worker", type=AMOUNT, default=1.0, show_default=True, help="Cores, and threads, of each.")
@click.option("--address", help="Of a Ray cluster to work on; left out, Ray runs here and hears this machine alone.")
@click.option("--keep-failed", is_flag=True, help="Do not try inputs again that failed in an earlier run.")
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object on stdout.")
@model_options
@method_options
def run(
    data: Path,
    out: Path,
    target: str | None,
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
      samp run list.csv --method ig --out why --workers 2
      samp run 'shards/*.tar' --out why --workers 8 --gpus-per-worker 1 --device cuda --address auto
      samp report why
    """
    from samp.runs.door import Crew
    from samp.runs.door import run as explain_all

    crew = Crew(words["workers"], words["gpus_per_worker"], words["cpus_per_worker"], words["address"])
    if crew.gpus_per_worker and model.device == "cpu":
        raise ValueError("--gpus-per-worker gives each worker a GPU but --device is cpu: add --device cuda.")
    with Progress() as progress, redirect_stdout(sys.stderr):  # Ray, or a net, may print; stdout is for the summary
        summary = explain_all(
            data if data.exists() else str(data),
            out=out,
            model=_model(model),
            method=how.method(),
            seed=how.seed,
            target=target,
            batch_size=words["batch_size"],
            speed=words["speed"],
            shard_size=words["shard_size"],
            map_dtype=words["map_dtype"],
            crew=crew,
            keep_failed=keep_failed,
            tell=progress.hear,
        )
    _tell(summary, as_json)
    sys.exit(summary.code)


class Progress:
    """How many inputs are done, how fast, how long it will take and how many failed, on stderr.

    A thread shows it: a shard may take minutes, in which a run should look alive.
    """

    def __init__(self) -> None:
        self.started = self.told = self.shown = time.monotonic()
        self.drawn, self.terminal = False, sys.stderr.isatty()
        self.count: Count | None = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Progress:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        if self.drawn and self.terminal:
            click.echo("\r\x1b[K", err=True, nl=False)

    def hear(self, count: Count) -> None:
        """A shard is done, or the run begins."""
        self.count, self.told = count, time.monotonic()

    def show(self) -> None:
        """Now and then, a line: redrawn on a terminal."""
        now = time.monotonic()
        between = REDRAWN if self.terminal else REPEATED
        if self.count is None or now - self.started < QUIET or (self.drawn and now - self.shown < between):
            return
        self.shown, self.drawn = now, True
        words = f"samp: {progress_words(self.count, self.told - self.started, now - self.started)}"
        click.echo(f"\r\x1b[K{words}" if self.terminal else words, err=True, nl=not self.terminal)

    def _watch(self) -> None:
        while not self.over.wait(REDRAWN):
            self.show()


def progress_words(count: Count, told: float, seconds: float) -> str:
    """How far a run is after so many seconds, of which it took `told` to the shard that was done last.

    >>> from samp.runs.summary import Count
    >>> progress_words(Count(inputs=100, found=20, explained=59, failures={"a": "no photo"}), told=20.0, seconds=25.0)
    '60 of 100 inputs after 25 s, 2.0/s, about 15 s left, 1 failed'
    """
    from samp.cli.progress import duration

    rate = count.done / told if told else 0.0
    over = count.found + count.done
    words = [f"{over} of {count.inputs} inputs after {duration(seconds)}"]
    if rate:
        left = (count.inputs - over) / rate - (seconds - told)
        words += [f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min", f"about {duration(max(left, 1))} left"]
    return ", ".join([*words, *([f"{len(count.failures)} failed"] if count.failures else [])])


def _model(options: ModelOptions) -> Model:
    from samp.runs.models import Model

    return Model(
        options.model,
        weights=options.weights,
        trust=options.trust,
        classes=options.classes,
        device=options.device,
        dtype=options.dtype,
        given={name: getattr(options, name) for name in ("size", "mean", "std", "channels")},
    )


def _tell(summary: Summary, as_json: bool) -> None:
    from samp.cli import plain
    from samp.cli.progress import duration

    for name, why in list(summary.failures.items())[:TOLD]:
        click.echo(f"samp: {plain(name)}: {plain(why)}", err=True)
    if len(summary.failures) > TOLD:
        click.echo(f"samp: … and {len(summary.failures) - TOLD} more; each has its reason in its row.", err=True)
    for why in dict.fromkeys(summary.lost.values()):
        shards = [shard for shard, said in summary.lost.items() if said == why]
        named = ", ".join(map(str, shards[:TOLD])) + (", …" if len(shards) > TOLD else "")
        click.echo(f"samp: shard{'s' * (len(shards) > 1)} {named} could not be finished: {plain(why)}", err=True)
    if as_json:
        click.echo(json.dumps(summary.plain()))
        return
    before = f", {summary.found} of them before," if summary.found else ""
    click.echo(
        f"explained {summary.explained} of {summary.inputs} inputs{before} in {duration(summary.seconds)} "
        f"into {plain(summary.folder)}"
    )
