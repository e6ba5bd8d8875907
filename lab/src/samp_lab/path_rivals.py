"""The path methods published after SAMP and Spectral IG, for the comparisons that name them.

They are dear: on a net of 1,000 classes an image takes about 800 gradients with AGI, 500 with Reveal-IG, 400 with
Geodesic IG, 2,000 with FRInGe, 150 with Weighted IG and 50 with Path-Weighted IG.
"""

from __future__ import annotations

from collections.abc import Mapping

from samp.methods import Method

PATH_RIVALS: Mapping[str, str | Method] = {
    "AGI": "agi",
    "Path-Weighted IG": "pwig",
    "Weighted IG": "weightedig",
    "Geodesic IG": "geodesicig",
    "Reveal-IG": "revealig",
    "FRInGe": "fringe",
}
