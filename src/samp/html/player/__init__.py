"""The path player: one HTML file in which a path can be walked back and forth.

The file holds all it needs and loads nothing from the network; its policy lets no script run but its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from samp.atomic import atomic_write
from samp.attribution import Attribution, Direction
from samp.html.embed import embed_image
from samp.html.player.caption import facts, legend, make_question, top_heading
from samp.html.player.film import Bytes, Film, jpeg, make_film, pack_blocks
from samp.html.player.frame import HEIGHT, PlayerFrame
from samp.html.player.likely import DIGITS, ClassProbabilities, outputs
from samp.html.render import render_page
from samp.models import Classifier
from samp.models.answers import pictures_to_ask, read_answers
from samp.models.outputs import output_kind
from samp.models.zero_colour import name_zero
from samp.plots.answer_rows import part_sentences, region_sentence
from samp.plots.palette import HEAT, rgb
from samp.plots.region_view import outline_region
from samp.plots.shading import brightness
from samp.region import region_of

__all__ = ["FRAMES", "PlayerFrame", "page", "save", "widget"]

REGION_SIDE = 336  # pixels of the picture with the region
FRAMES = 60  # of each walk: the page of a 224-pixel photo then stays below 3 MB
WALKS: tuple[Direction, ...] = ("to_image", "to_baseline")  # as they are played: up to the photo, then away from it


def page(result: Attribution, classifier: Classifier, *, name: str = "", frames: int = FRAMES, sample: int = 0) -> str:
    """Return the HTML page that plays the walks of one sample of a result made with `keep_points=True`.

    - `classifier`: what was explained; it defines how points become pixels, and runs once on every frame for its top 5.
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
    question = make_question(result, classifier, output_kind(torch.cat(made)), sample)
    alone = None if question.kind.startswith("margin") else question.index  # a margin has no probability of its own
    walks = [_walk(result, one, guess, alone, sample) for one, guess in zip(films, likely, strict=True)]
    data = {
        "size": films[0].photo.shape[1::-1],
        "heat": [rgb(colour) for colour in HEAT],
        "asked": {"index": question.index, "kind": question.kind},
        "names": {index: classifier.label(index) for walk in walks for top in walk["top"] for index, _ in top},
        "walks": walks,
    }
    shade = (255 * brightness(result.map[sample])).round().astype("uint8")
    values = {
        "title": f"Why {question.label}? {name}".strip(),
        "lead": question.sentence(name),
        "label": question.label,
        "top_heading": top_heading(likely[0]),
        "legend": legend(result, films, likely[0]),
        "facts": facts(result, question, name_zero(classifier), sample),
        "data": data,
        **_region(result, films[0], classifier, question.index, sample),
        "film": pack_blocks(list(_blocks(films, shade))),
    }
    scripts = ["theme.js", "film.js", "player.js"]
    return render_page("player.html", values, styles=["player.css"], scripts=scripts)


def widget(
    result: Attribution,
    classifier: Classifier,
    *,
    name: str = "",
    frames: int = 30,
    sample: int = 0,
    height: int = HEIGHT,
) -> PlayerFrame:
    """Return the player for a notebook: as the last line of a cell it shows itself, `height` pixels high.

    The other arguments and the errors are those of `page`. Its size is added to the notebook's file, about 1 MB for
    a photo of 224 pixels with 30 frames a walk.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> tiny = Classifier(net, "tiny", size=4, mean=0.5, std=0.5, classes=("cup", "cat"))
    >>> result = samp.explain(net, torch.rand(1, 3, 4, 4), target=1, keep_points=True)
    >>> widget(result, tiny)
    PlayerFrame(title='Path player', height=900)
    """
    return PlayerFrame(page(result, classifier, name=name, frames=frames, sample=sample), height=height)


def _region(result: Attribution, film: Film, classifier: Classifier, target: int | None, sample: int) -> dict[str, Any]:
    """Return the outlined photo, and sentences on the region: what the model says of it if a class is explained."""
    region = region_of(result, sample)
    sentences = [region_sentence(region)]
    if target is not None and not region.is_empty:
        asked = pictures_to_ask(film.photo_point, region)
        sentences += part_sentences(read_answers(classifier, outputs(torch.cat(asked), classifier), target))
    picture = outline_region(Image.fromarray(film.photo), region, (REGION_SIDE, REGION_SIDE))
    return {"outlined": embed_image(picture, "JPEG"), "sentences": sentences}


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
        raise ValueError(f"{result.method} does not walk, so there is no path to play: try consensus, samp++ or ig.")
    if not result.tapes:
        raise ValueError("the result holds no points of its walks: explain again with keep_points=True.")
    if not 0 <= sample < len(result.gradients):
        raise ValueError(f"sample is from 0 to {len(result.gradients) - 1}, as the result has them, not {sample}.")


def _walk(
    result: Attribution, one: Film, likely: ClassProbabilities, target: int | None, sample: int
) -> dict[str, Any]:
    """Return what the page needs of one walk besides its bytes."""
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
    """Yield the bytes of the page in the order in which film.js reads them, each with its stride."""
    yield films[0].photo, 3
    yield shade, 1
    for one in films:
        yield one.baseline, 3
        yield one.fractions, shade.size
