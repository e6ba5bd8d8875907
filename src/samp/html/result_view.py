"""What a notebook shows of an `Attribution`: for each of the first samples its pictures or bars, and the numbers."""

from __future__ import annotations

from samp.attribution import Attribution
from samp.html.notebook import embed_pictures, render_part
from samp.plots.palette import TEXT_TINTS
from samp.plots.result_view import view_result


def attribution_html(result: Attribution) -> str:
    """Return the part of a page; it is smaller than 300 kB whatever the result.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> html = attribution_html(samp.explain(net, torch.rand(9, 3, 4, 4), target=1))
    >>> html.count("Why class 1?"), "1 more sample" in html, "<script" in html
    (8, True, False)
    """
    view = view_result(result)
    embedded = iter(embed_pictures([picture for one in view.samples for picture in one.pictures]))
    cards = [(one, [(next(embedded), picture.caption) for picture in one.pictures]) for one in view.samples]
    return render_part(
        "notebook_result.html", cards=cards, view=view, more=view.count - len(view.samples), tints=TEXT_TINTS
    )
