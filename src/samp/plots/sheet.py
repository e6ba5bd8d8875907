"""The sheet of one explanation, drawn with Pillow alone.

First the photo in colour with its region and the model's answer beside it; below the fine map, the region alone, and
the score along the walks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from samp.attribution import Attribution
from samp.models.answers import Answers
from samp.plots.answer_rows import AnswerRow, answer_rows, part_sentences, region_rows, region_sentence
from samp.plots.curves import draw_curves
from samp.plots.palette import FRAME, INK, PAPER, QUIET, SERIES
from samp.plots.paper import Paper
from samp.plots.region_view import Box, blur_parts, enlarge, outline_region, shown_window
from samp.plots.shading import FULL_WHITE_QUANTILE, brightness, drawable_map, signed_colours
from samp.region import Region, region_of

PANEL, GAP = 336, 24  # pixels: side of a panel, space between panels
WIDTH = 3 * PANEL + 4 * GAP
LARGE = (2 * PANEL + GAP, 480)  # room of the photo
HEADLINE, TEXT, SMALL = 30, 16, 14  # heights of letters
BAR, NUMBER = 8, 64  # height of a bar, space for its number
CAPTION = 6  # space above a caption
WIDEST = 420  # of bars
CURVES_CAPTION = "The score along the walks: pixels appear (to the image), or go (to the baseline)."
EXPLAINED, OTHER = SERIES[1], FRAME  # colours of bars


@dataclass(frozen=True, eq=False)
class Pictures:
    """The pictures of one sample, each with its caption: the photo first, then the panels below it."""

    photo: tuple[Image.Image, str]
    panels: tuple[tuple[Image.Image, str], ...]


def sheet(
    photo: Image.Image,
    result: Attribution,
    title: Sequence[str],
    notes: Sequence[str],
    sample: int = 0,
    *,
    answers: Answers | None = None,
    box: Box | None = None,
    signed: bool = False,
) -> Image.Image:
    """Return the picture of one sample: title, photo with its region, answers, panels with captions, notes.

    - `title`: the headline, and lines below it.
    - `answers`: what the model says, beside the photo; nothing stands there if None.
    - `box`: the part of the photo that the model was shown; all of it if None.
    - `signed`: whether the fine map shows negative credit in another colour.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> result = samp.explain(net, torch.rand(1, 3, 4, 4))
    >>> sheet(Image.new("RGB", (4, 4)), result, ["Why cup?"], ["a note"]).width
    1104
    """
    pictures = make_pictures(photo, result, sample, answers=answers, box=box, signed=signed)
    paper = Paper(WIDTH)
    paper.skip(GAP // 2)
    for number, line in enumerate(title):
        size, colour = (TEXT, QUIET) if number else (HEADLINE, INK)
        paper.write(line, size, colour, GAP, WIDTH - 2 * GAP)
    paper.skip(GAP // 2)
    _place_photo(paper, pictures.photo, answers)
    paper.skip(GAP)
    _place_row(paper, pictures.panels)
    paper.skip(GAP // 2)
    for note in notes:
        paper.write(note, SMALL, QUIET, GAP, WIDTH - 2 * GAP)
    return paper.finish(GAP // 2)


def make_pictures(
    photo: Image.Image,
    result: Attribution,
    sample: int = 0,
    *,
    answers: Answers | None = None,
    box: Box | None = None,
    signed: bool = False,
) -> Pictures:
    """Return the pictures of one sample with their captions; for a method that does not walk, the photo without the
    region takes the place of the score curves.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> result = samp.explain(net, torch.rand(1, 3, 4, 4), method="gradientxinput")
    >>> len(make_pictures(Image.new("RGB", (4, 4)), result).panels)
    3
    """
    region, (height, width) = region_of(result, sample), result.map.shape[1:]
    part = photo.resize((width, height), Image.Resampling.BICUBIC, box=box)
    panels = [map_panel(result, sample, signed)]
    walks = {str(name): scores[sample] for name, scores in result.scores.items()}
    if not region.is_empty:
        panels += _region_panels(part, region, part_sentences(answers), 1 if walks else 2)
    if walks:
        panels.append((draw_curves(walks, (PANEL, PANEL)), CURVES_CAPTION))
    caption = " ".join([region_sentence(region), *_describe_surroundings(photo, box)])
    return Pictures((outline_region(photo, region, LARGE, box), caption), tuple(panels))


def stack_sheets(sheets: Sequence[Image.Image]) -> Image.Image:
    """Return the sheets of one photo, one below the other on white.

    >>> stack_sheets([Image.new("RGB", (4, 2)), Image.new("RGB", (4, 3))]).size
    (4, 5)
    """
    whole = Image.new("RGB", (max(one.width for one in sheets), sum(one.height for one in sheets)), PAPER)
    top = 0
    for one in sheets:
        whole.paste(one, (0, top))
        top += one.height
    return whole


def map_panel(result: Attribution, sample: int, signed: bool) -> tuple[Image.Image, str]:
    """Return the picture of a map at the resolution at which it is reproducible, with its caption."""
    credit, detail = drawable_map(result, sample)
    if signed:
        colours = signed_colours(credit)
        words = "Credit of each pixel: orange speaks for the class, blue against it."
    else:
        colours = 255 * brightness(credit)[..., None].repeat(3, 2)
        words = (
            f"Credit of each pixel: white is the top {1 - FULL_WHITE_QUANTILE:.0%}, black is none or against the class."
        )
    image = Image.fromarray(colours.astype(np.uint8))
    return enlarge(image, (PANEL, PANEL)), f"{words} {detail}".strip()


def _region_panels(
    part: Image.Image, region: Region, sentences: Sequence[str], count: int
) -> list[tuple[Image.Image, str]]:
    """Return the region alone, and if `count` is 2 the photo without it; one picture alone has both sentences."""
    pictures = [enlarge(image, (PANEL, PANEL)) for image in blur_parts(part, region)]
    return list(zip(pictures, sentences if count > 1 else [" ".join(sentences)], strict=False))


def _describe_surroundings(photo: Image.Image, box: Box | None) -> Iterator[str]:
    """Yield what the caption states about the part of the photo that the model is not shown, if there is any."""
    if box is not None and box != (0, 0, *photo.size):
        yield "Pale: what the model is not shown."
        if shown_window(photo.size, box) != (0, 0, *photo.size):
            yield "The ends of the photo are cut off."


def _place_photo(paper: Paper, photo: tuple[Image.Image, str], answers: Answers | None) -> None:
    """Draw the photo with its caption, and beside it the answers."""
    image, caption = photo
    start, left = paper.top, GAP + max(image.width, PANEL) + GAP
    paper.paste(image, GAP)
    paper.skip(image.height + CAPTION)
    paper.write(caption, TEXT, INK, GAP, max(image.width, PANEL))
    end = paper.top
    if answers:
        paper.top = start
        _place_rows(paper, "The model's answer", answer_rows(answers), left)
        if rows := region_rows(answers):
            paper.skip(GAP)
            _place_rows(paper, f"How likely it finds {answers.explained.label} in", rows, left)
        paper.top = max(paper.top, end)


def _place_rows(paper: Paper, heading: str, rows: Sequence[AnswerRow], left: int) -> None:
    """Draw a small bar chart from `left` to the margin: the explained class in colour, others grey."""
    width = min(WIDTH - GAP - left, WIDEST)
    paper.write(heading, TEXT, QUIET, left, width)
    for row in rows:
        paper.skip(CAPTION)
        paper.write_right(row.text, TEXT, INK, left + width)
        paper.write(row.label, TEXT, INK, left, width - NUMBER)
        if row.probability is not None:
            paper.draw_bar(row.probability, EXPLAINED if row.explained else OTHER, left, width, BAR)
        if row.remark:
            paper.skip(CAPTION // 2)
            paper.write(f"its answer: {row.remark}", SMALL, QUIET, left, width)


def _place_row(paper: Paper, panels: Sequence[tuple[Image.Image, str]]) -> None:
    """Draw panels beside each other, with their captions below."""
    start, ends = paper.top, [paper.top]
    tallest = max(image.height for image, _ in panels)
    for number, (image, caption) in enumerate(panels):
        paper.top, left = start, GAP + number * (PANEL + GAP)
        paper.paste(image, left)
        paper.skip(tallest + CAPTION)
        paper.write(caption, SMALL, INK, left, PANEL)
        ends.append(paper.top)
    paper.top = max(ends)
