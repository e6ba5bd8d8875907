"""The path player: one HTML file in which a path can be walked back and forth.

The file holds all it needs and asks the network for nothing; its policy lets no script run but its own.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import torch
from torch import Tensor

from samp.atomic import atomic_write
from samp.attribution import Attribution, Direction
from samp.html.embed import as_json, content_security_policy
from samp.html.player.caption import best_words, facts, legend, make_question
from samp.html.player.film import Bytes, Film, jpeg, make_film, pack_blocks
from samp.html.player.likely import DIGITS, ClassProbabilities, outputs
from samp.models import Classifier
from samp.models.outputs import output_kind
from samp.plots.sheet import HEAT, brightness

__all__ = ["FRAMES", "page", "save"]

FRAMES = 60  # of each walk: the page of a 224-pixel photo then stays below 3 MB
WALKS: tuple[Direction, ...] = ("to_image", "to_baseline")  # as they are played: up to the photo, then away from it


def page(result: Attribution, classifier: Classifier, *, name: str = "", frames: int = FRAMES, sample: int = 0) -> str:
    """The HTML page that plays the walks of one sample of a result made with `keep_points=True`.

    - `classifier`: what was explained; it says how points become pixels, and runs once on every frame for its top 5.
    - `name`: of the photo, as the page shows it.
    - `frames`: at most so many points of each walk, evenly spread over its steps, the ends among them.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> tiny = Classifier(net, "tiny", size=4, mean=0.5, std=0.5, classes=("cup", "cat"))
    >>> result = samp.explain(net, torch.rand(1, 3, 4, 4), target=1, keep_points=True)
    >>> "<title>Why cat? photo.jpg</title>" in page(result, tiny, name="photo.jpg")
    True
    """
    _check(result, frames, sample)
    films = [
        make_film(result, direction, classifier, frames, sample) for direction in WALKS if direction in result.tapes
    ]
    made = [outputs(one.points, classifier) for one in films]
    likely = ClassProbabilities.from_outputs(made)
    asked = make_question(result, classifier, output_kind(torch.cat(made)), sample)
    walks = [_walk(result, one, guess, asked.index, sample) for one, guess in zip(films, likely, strict=True)]
    data = {
        "size": films[0].photo.shape[1::-1],
        "heat": HEAT,
        "asked": {"index": asked.index, "kind": asked.kind},
        "names": {index: classifier.label(index) for walk in walks for top in walk["top"] for index, _ in top},
        "walks": walks,
    }
    script, style = _source("film.js") + _source("player.js"), _source("player.css")
    return Template(_source("player.html")).substitute(
        title=html.escape(f"Why {asked.label}? {name}".strip()),
        policy=content_security_policy(script, style),
        style=style,
        script=script,
        label=html.escape(asked.label),
        lead=html.escape(asked.sentence(name)),
        best=html.escape(best_words(likely[0])),
        legend=legend(films, likely[0]),
        facts=facts(result, asked, sample),
        data=as_json(data),
        film=pack_blocks(list(_blocks(films, (255 * brightness(result.map[sample])).round().astype("uint8")))),
    )


def save(text: str, path: str | os.PathLike[str]) -> Path:
    """Write a page, whole or not at all, and return its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save("<!doctype html>", Path(folder) / "why.html").read_text()
    '<!doctype html>'
    """
    with atomic_write(Path(path)) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return Path(path)


def _check(result: Attribution, frames: int, sample: int) -> None:
    if frames < 2:
        raise ValueError(f"frames is at least 2, the start and the end of a walk, not {frames}.")
    if not result.scores:
        raise ValueError(f"{result.method} does not walk, so there is no path to play: try coupled, samp++ or ig.")
    if not result.tapes:
        raise ValueError("the result holds no points of its walks: explain again with keep_points=True.")
    if not 0 <= sample < len(result.gradients):
        raise ValueError(f"sample is from 0 to {len(result.gradients) - 1}, as the result has them, not {sample}.")


def _walk(
    result: Attribution, one: Film, likely: ClassProbabilities, target: int | None, sample: int
) -> dict[str, Any]:
    """What the page needs to know of one walk besides its bytes."""
    curve = result.scores[one.direction][sample, : int(result.steps[one.direction][sample]) + 1]
    return {
        "direction": one.direction,
        "levels": one.levels,
        "frames": [] if one.is_straight else [jpeg(picture) for picture in one.pixels],
        "curve": _round_digits(curve),
        "steps": one.steps.tolist(),
        "way": _round_digits(one.way),
        "top": likely.top(),
        "chance": None if target is None or likely.given else _round_digits(likely.chances[:, target]),
    }


def _round_digits(numbers: Tensor) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in numbers.tolist()]


def _blocks(films: list[Film], shade: Bytes) -> Iterator[tuple[Bytes, int]]:
    """The bytes of the page in the order in which film.js reads them, each with its stride."""
    yield films[0].photo, 3
    yield shade, 1
    for one in films:
        yield one.baseline, 3
        yield one.fractions, shade.size


def _source(name: str) -> str:
    return (files("samp") / "html" / "player" / name).read_text(encoding="utf-8")
