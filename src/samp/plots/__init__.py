"""Figures for papers and notebooks (extra `viz`): maps, overlays, score curves, the path as a film strip, comparisons.

Each function returns a `matplotlib.figure.Figure` to go on with: its axes hold the credit itself, so that a label or a
colour limit can still be changed, and `figure.savefig` writes it. Every figure has a caption with the method, its
numbers and how credit became brightness. Neither pyplot nor a backend is touched; fonts are those of the user's
rcParams.
"""

from __future__ import annotations

from samp.installing import install_command

try:
    import matplotlib
except ImportError as error:
    raise ImportError(f"samp.plots draws with matplotlib, which is not installed: {install_command('viz')}.") from error

from samp.plots.deletion_insertion import measured_curves, metric_curves
from samp.plots.film import film_strip
from samp.plots.grid import method_grid
from samp.plots.maps import grey_map, overlay, signed_map
from samp.plots.reading import CreditMap, Photo
from samp.plots.shades import Glow, Grey, Shade, Signed
from samp.plots.walks import score_curves

__all__ = [
    "CreditMap",
    "Glow",
    "Grey",
    "Photo",
    "Shade",
    "Signed",
    "film_strip",
    "grey_map",
    "measured_curves",
    "method_grid",
    "metric_curves",
    "overlay",
    "score_curves",
    "signed_map",
]
del matplotlib
