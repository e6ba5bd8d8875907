"""Figures for papers and notebooks (extra `viz`): regions, maps, overlays, score curves, film strips, comparisons.

Each function returns a `matplotlib.figure.Figure`. Its axes hold the credit itself, so that a label or a colour limit
can still be changed, and `figure.savefig` writes it. Every figure has a caption with the method, its numbers and how
credit became brightness. Neither pyplot nor a backend is touched; fonts are those of the user's rcParams.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from samp.extras import install_command

if TYPE_CHECKING:
    from samp.plots.deletion_insertion import measured_curves, metric_curves
    from samp.plots.film import film_strip
    from samp.plots.grid import method_grid
    from samp.plots.maps import grey_map, overlay, signed_map
    from samp.plots.outlines import Outline, outline
    from samp.plots.reading import CreditMap, Photo
    from samp.plots.result_figure import draw_result
    from samp.plots.shades import Glow, Grey, Shade, Signed
    from samp.plots.walks import score_curves

# The module of each name, imported when first used: what Pillow draws alone (`samp.plots.sheet`) needs no matplotlib.
_HOME = {
    "CreditMap": "reading",
    "Glow": "shades",
    "Grey": "shades",
    "Outline": "outlines",
    "Photo": "reading",
    "Shade": "shades",
    "Signed": "shades",
    "draw_result": "result_figure",
    "film_strip": "film",
    "grey_map": "maps",
    "measured_curves": "deletion_insertion",
    "method_grid": "grid",
    "metric_curves": "deletion_insertion",
    "outline": "outlines",
    "overlay": "maps",
    "score_curves": "walks",
    "signed_map": "maps",
}

__all__ = [
    "CreditMap",
    "Glow",
    "Grey",
    "Outline",
    "Photo",
    "Shade",
    "Signed",
    "draw_result",
    "film_strip",
    "grey_map",
    "measured_curves",
    "method_grid",
    "metric_curves",
    "outline",
    "overlay",
    "score_curves",
    "signed_map",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'samp.plots' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"samp.plots.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError(
            f"samp.plots draws with matplotlib, which is not installed: {install_command('viz')}."
        ) from error


def __dir__() -> list[str]:
    return __all__
