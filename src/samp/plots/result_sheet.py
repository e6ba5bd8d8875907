"""A result as one picture, drawn with Pillow: what a notebook shows where it shows no HTML, and `Attribution.show`."""

from __future__ import annotations

from PIL import Image

from samp.attribution import Attribution
from samp.plots.palette import INK, QUIET, SERIES
from samp.plots.paper import Paper
from samp.plots.result_view import Bar, ResultView, SampleView, limit_samples, view_result

GAP, WIDTH = 12, 720  # pixels
TEXT, SMALL = 15, 12  # heights of letters
LABELS, BAR = 280, 8  # pixels: space of a feature's name, height of its bar
MOST = 4  # samples: the picture stands beside the HTML in a notebook's file
FOR, AGAINST = SERIES[1], SERIES[0]


def result_sheet(result: Attribution) -> Image.Image:
    """Return the picture of the first samples of a result.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> result_sheet(samp.explain(net, torch.rand(1, 3, 4, 4))).width
    720
    """
    whole = view_result(result)
    view = limit_samples(whole, MOST)
    paper = Paper(WIDTH)
    for one in view.samples:
        paper.skip(GAP)
        _draw_sample(paper, view, one)
    paper.skip(GAP)
    if left := view.count - len(view.samples):
        paper.write(f"and {left} more sample{'s' * (left > 1)} of {view.count}", TEXT, INK, GAP, WIDTH - 2 * GAP)
    for note in view.notes:
        paper.write(note, SMALL, QUIET, GAP, WIDTH - 2 * GAP)
    return paper.finish(GAP)


def _draw_sample(paper: Paper, view: ResultView, one: SampleView) -> None:
    heading = one.question if view.count == 1 else f"{one.question}  (sample {one.number})"
    paper.write(heading, TEXT, INK, GAP, WIDTH - 2 * GAP)
    paper.skip(GAP // 2)
    left = GAP
    for picture in one.pictures:
        paper.paste(picture.image, left)
        left += picture.image.width + GAP // 2
    if one.pictures:
        paper.skip(max(picture.image.height for picture in one.pictures) + GAP // 2)
        captions = ", ".join(picture.caption for picture in one.pictures)
        paper.write(f"From the left: {captions}.", SMALL, QUIET, GAP, WIDTH - 2 * GAP)
    for bar in one.bars:
        _draw_bar(paper, bar)
    for name, text in one.facts:
        paper.write(f"{name}: {text}", SMALL, INK, GAP, WIDTH - 2 * GAP)
    for note in one.notes:
        paper.write(note, SMALL, QUIET, GAP, WIDTH - 2 * GAP)


def _draw_bar(paper: Paper, bar: Bar) -> None:
    """Draw one line: the name of a feature, its bar, its credit."""
    paper.write_right(bar.credit, SMALL, INK, WIDTH - GAP)
    start = paper.top
    paper.write(bar.label, SMALL, INK, GAP, LABELS - 2 * GAP)
    end, paper.top = paper.top, start + (SMALL - BAR) // 2
    paper.draw_bar(abs(bar.length), FOR if bar.length > 0 else AGAINST, LABELS, WIDTH - LABELS - 100, BAR)
    paper.top = end
