"""`samp play`: a page that plays the path of a walk, forwards and backwards."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from samp.cli.opening import open_file, open_option
from samp.cli.options import (
    ABOUT,
    PATH,
    MethodOptions,
    ModelOptions,
    against_option,
    method_options,
    model_options,
    target_option,
)
from samp.cli.terminal import format_lines, say_block

if TYPE_CHECKING:
    from samp.methods import Method
    from samp.models.prediction import ClassifiedPhoto

# All then take 50 steps a walk or more; the 13 to 15 that they take otherwise would make a jerky film.
STEPS, WALKS, QUALITY, ETA = 50, 2, "fine", 0.02
WALKING = 0.75  # of the bar: the page then takes forwards of the frames alone


@click.command(epilog=ABOUT)
@click.argument("photo", required=False, type=PATH)
@click.option("--out", type=PATH, default=Path("path.html"), show_default=True, help="HTML file to write.")
@open_option
@click.option(
    "--frames", type=click.IntRange(2), default=60, show_default=True, help="Most points of each walk that are kept."
)
@target_option
@against_option
@model_options
@method_options
def play(
    photo: Path | None,
    out: Path,
    show: bool,
    frames: int,
    target: str | None,
    against: str | None,
    model: ModelOptions,
    how: MethodOptions,
) -> None:
    """Walk the path from and to PHOTO (an embedded cup of coffee if left out) in a page that opens in any browser.

    The page is one file that needs no network: drag along the path and watch pixels appear and disappear, with the
    score, the credit and the model's five best classes at each point. Any method that walks can be played. Of a mean of
    walks, the film is the first one. For a smooth film consensus takes --walks 2 --steps 50 here, unless --quality,
    --walks or --steps say otherwise; coupled --quality fine, unless --quality, --steps, --eta or --step do; and
    samp++ --eta 0.02.

    \b
    Examples:
      samp play cat.jpg --out cat.html
      samp play cat.jpg --method ig --baseline blurred --target tabby
    """
    from samp import images
    from samp.cli.output import check_writable, make_folder, output_files

    path = photo or images.example_photo()
    how.check()
    model.check()
    images.check_readable(path)
    (file,), _ = output_files([path], out, "html", folder=False)
    check_writable([file])

    from samp.html import player
    from samp.models.prediction import classify_photo

    _check_walks(how)
    classifier = model.load()
    method = _with_short_steps(how).method(classifier)
    classified = classify_photo(path, classifier, target, against=against)
    make_folder([file])
    page, lines = _make_page(classified, method, how.seed, frames)
    player.save(page, file)
    say_block(format_lines({**lines, "written": f"{file} ({len(page) / 1e6:.1f} MB)"}))
    if show:
        open_file(file)


def _check_walks(how: MethodOptions) -> None:
    """Raise ValueError if the method does not walk, before a model is loaded."""
    from samp.methods import resolve_method

    if not hasattr(resolve_method(how.name), "credit"):  # what path methods alone have: how a segment is credited
        raise ValueError(f"{how.name} does not walk, so there is no path to play: try consensus, samp++ or ig.")


def _with_short_steps(how: MethodOptions) -> MethodOptions:
    """Return the options, with short steps for the methods whose own are long, unless a length was given."""
    if how.canonical_name == "consensus" and {how.quality, how.walks, how.steps} == {None}:
        return replace(how, walks=WALKS, steps=STEPS)
    if how.canonical_name == "coupled" and {how.quality, how.steps, how.eta, how.step} == {None}:
        return replace(how, quality=QUALITY)
    return replace(how, eta=ETA) if how.canonical_name == "samp++" and how.eta is None else how


def _make_page(classified: ClassifiedPhoto, method: Method, seed: int, frames: int) -> tuple[str, dict[str, str]]:
    """Return the page, and the lines on its explanation for the terminal."""
    import samp
    from samp.cli.progress import EvaluationBar
    from samp.html import player
    from samp.html.facts import facts, lines
    from samp.methods.cost import expected_rows

    net, shape, name = classified.classifier.net, classified.classifier.shape, classified.path.name
    started = time.perf_counter()
    with EvaluationBar(total=1) as bar:
        with bar.watch(net, name, expected_rows(method, *shape), size=WALKING):
            result = samp.explain(
                net, classified.x, target=classified.question, method=method, keep_points=True, seed=seed
            )
        seconds = time.perf_counter() - started
        points = sum(min(frames, int(steps[0]) + 1) for steps in result.steps.values()) + 4  # the photo and its region
        with bar.watch(net, f"{name}, classes along the path", points, size=1 - WALKING):
            page = player.page(result, classified.classifier, name=click.format_filename(name), frames=frames)
    return page, lines(facts(classified, result, 0, seconds))
