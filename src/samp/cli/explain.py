"""`samp explain`: a file for each photo that shows why the model gave its answer."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samp.cli.explain_text import TextOptions, explain_texts, text_options
from samp.cli.flags import name_flags
from samp.cli.groups import check_groups, groups_option, parse_groups
from samp.cli.opening import open_file, open_option
from samp.cli.options import (
    ABOUT,
    PATH,
    MethodOptions,
    ModelOptions,
    against_option,
    method_options,
    model_options,
    speed_option,
    target_option,
)
from samp.cli.terminal import format_lines, say, say_block

if TYPE_CHECKING:
    from samp.cli.progress import EvaluationBar
    from samp.fast import Speed
    from samp.groups import Groups
    from samp.html.facts import ExplainedPhoto
    from samp.methods import Method
    from samp.models import Classifier

EPILOG = f"""{ABOUT}

Exit codes: 0 if every photo was explained, 1 if some were and some were not, 2 if none was, 130 if
interrupted. Whatever was written by then is whole."""


@click.command(epilog=EPILOG)
@click.argument("photo", nargs=-1, type=PATH)
@target_option
@against_option
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
@open_option
@click.option("--signed", is_flag=True, help="Show credit against the class too, in blue, with that for it in orange.")
@click.option("--json", "as_json", is_flag=True, help="Numbers on stdout, one JSON object a line; all else on stderr.")
@groups_option
@speed_option
@text_options
@model_options
@method_options
def explain(
    photo: tuple[Path, ...],
    target: str | None,
    against: str | None,
    top: int,
    out: Path | None,
    form: str | None,
    show: bool,
    signed: bool,
    as_json: bool,
    groups: str | None,
    speed: Speed,
    texts: TextOptions,
    model: ModelOptions,
    how: MethodOptions,
) -> None:
    """Explain what a model sees in each PHOTO (an embedded cup of coffee if left out).

    A PHOTO is a file, a folder of photos or a quoted glob. For each, one file is written: the photo with an outline of
    the area that holds half of the positive credit, the map of credit, what the model says of the outlined part alone
    and of the photo without it, and the score along the walks. A photo that cannot be read, or whose file cannot be
    written, is reported and skipped.

    \b
    Examples:
      samp explain cat.jpg --quality fine --out cat-why.png
      samp explain cat.jpg --target "Egyptian cat" --model torchvision:resnet50
      samp explain cat.jpg --target tabby --against "Egyptian cat"
      samp explain cat.jpg --groups superpixels:100
      samp explain photos/ --top 3 --format html --out why --json
      samp explain --text "A lovely film, if long." --model hf:FOLDER --out why.html
    """
    if texts.text:
        if photo or top > 1 or signed or speed != "exact" or form not in (None, "html"):
            raise ValueError("--text goes without photos, --top, --signed and --speed, and its --format is html.")
        if show and out is None:
            raise ValueError("--open shows the page of a text: give it a name by --out why.html.")
        explain_texts(texts, target, against, out, as_json, model, how)
        if show and out:
            open_file(out)
        return
    from samp import images
    from samp.cli.output import check_writable, make_folder, output_files

    # What was typed is checked first: torch and the model take seconds to load.
    if target is not None and top > 1:
        raise ValueError("give --target or --top, not both: --top explains the best classes.")
    how.check()
    model.check()
    check_groups(groups)
    paths = images.find(photo or [images.example_photo()])
    _check_any_readable(paths)
    several = paths != list(photo or paths) or len(paths) > 1
    files, form = output_files(paths, out, form, several)
    check_writable(files)
    if show and form in ("npz", "samp"):
        raise ValueError(f"a browser cannot show .{form} files: leave out --open, or take --format html or png.")
    if others := images.describe_skipped(photo):
        say(f"samp: {others}.", err=True)

    classifier = model.load()
    explainer = PhotoExplainer(
        classifier, how.method(classifier), how.seed, target, top, speed, against, signed, parse_groups(groups)
    )
    make_folder(files)
    written: list[Path] = []

    def report(records: list[dict[str, Any]]) -> None:
        (_print_json if as_json else _print_words)(records)
        written.extend(file for file in files if records[0].get("out") == click.format_filename(file))

    done = explain_all(explainer, list(zip(paths, files, strict=True)), form, report)
    if show and written:
        open_file(written[0])  # of several, one: a window for each would bury the screen
    if done < len(paths):
        if len(paths) > 1:  # for one, the reason has been printed
            say(f"samp: {len(paths) - done} of {len(paths)} photos could not be explained.", err=True)
        sys.exit(1 if done else 2)


def _check_any_readable(paths: list[Path]) -> None:
    """Raise the error of the first photo if none can be read; one of several is reported when its turn comes."""
    from samp import images

    problems = []
    for path in paths:
        try:
            return images.check_readable(path)
        except (OSError, images.UnreadableError) as error:
            problems.append(error)
    raise problems[0]


@dataclass(frozen=True, eq=False)
class PhotoExplainer:
    """A model and a method, and which classes to explain by them."""

    classifier: Classifier
    method: Method
    seed: int
    target: str | None
    top: int
    speed: Speed = "exact"
    against: str | None = None
    signed: bool = False
    groups: Groups | None = None

    @property
    def expected_rows(self) -> int | None:
        """How many evaluations of the model a photo takes at most, if the method's settings say so."""
        from samp.methods.cost import expected_rows

        rows = None if self.groups else expected_rows(self.method, *self.classifier.shape)  # which counts pixels
        return rows and rows * self.top

    def explain(self, path: Path, bar: EvaluationBar, name: str, expected: int | None) -> ExplainedPhoto:
        """Return the photo with its classes, the result, what the model says of its regions, and the numbers of it."""
        import samp
        from samp.html.facts import ExplainedPhoto, facts
        from samp.models.answers import ask_about_region
        from samp.models.prediction import classify_photo
        from samp.region import region_of

        net = self.classifier.net
        classified = classify_photo(path, self.classifier, self.target, self.top, self.against)
        targets = classified.targets
        x = classified.x.expand(len(targets), -1, -1, -1)
        started = time.perf_counter()
        # to watch a net takes a hook, and a net with hooks is explained exactly
        with bar.watch(net if self.speed == "exact" else None, name, expected):
            result = samp.explain(
                net,
                x,
                target=classified.question,
                method=self.method,
                groups=self.groups,
                seed=self.seed,
                speed=self.speed,
            )
        seconds = time.perf_counter() - started
        regions = [region_of(result, sample) for sample in range(len(targets))]
        answers = [ask_about_region(classified, *asked) for asked in zip(regions, targets, strict=True)]
        pairs = enumerate(zip(regions, answers, strict=True))
        records = tuple(facts(classified, result, sample, seconds, asked) for sample, asked in pairs)
        return ExplainedPhoto(classified, result, tuple(answers), records, self.signed)


def explain_all(
    explainer: PhotoExplainer,
    jobs: Sequence[tuple[Path, Path]],
    form: str,
    on_result: Callable[[list[dict[str, Any]]], None],
) -> int:
    """Explain each photo into its file, and return how many were explained.

    `on_result` is called with the numbers of each photo; one that cannot be read or written, or whose class is
    the one to tell it from, is reported and skipped.
    Raises UnwritableError where the disk is full: no other file would fit.
    """
    import samp
    from samp.atomic import UnwritableError
    from samp.cli import replace_surrogates
    from samp.cli.output import write_explanation
    from samp.cli.progress import EvaluationBar
    from samp.images import UnreadableError
    from samp.models.prediction import SameClassError

    skipped = (UnreadableError, FileNotFoundError, UnwritableError, SameClassError, samp.NonFiniteError)
    expected, done = explainer.expected_rows, 0
    with EvaluationBar(len(jobs)) as bar:
        for number, (path, file) in enumerate(jobs, 1):
            name = f"photo {number} of {len(jobs)}, {path.name}" if len(jobs) > 1 else path.name
            try:
                explained = explainer.explain(path, bar, name, expected)
                expected = bar.rows or expected  # the next photo takes about as many
                write_explanation(file, form, explained)
            except skipped as error:
                if isinstance(error, UnwritableError) and error.full:
                    raise
                if not isinstance(error, UnwritableError):
                    bar.drop_piece()
                reason = name_flags(replace_surrogates(error))
                say(f"samp: {reason}", err=True)
                on_result([{"photo": click.format_filename(path), "error": reason}])
            else:
                on_result([{**one, "out": click.format_filename(file)} for one in explained.records])
                done += 1
    return done


def _print_json(records: list[dict[str, Any]]) -> None:
    for one in records:
        say(json.dumps(one))


def _print_words(records: list[dict[str, Any]]) -> None:
    """Print a block for each class; errors have been printed to stderr already."""
    from samp.html.facts import lines

    for one in records:
        if "error" not in one:
            say_block(format_lines({"photo": one["photo"], **lines(one), "written": one["out"]}))
