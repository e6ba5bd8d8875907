"""Fig. η: maps under smaller and smaller steps, beside IG and Guided IG."""

from __future__ import annotations

from samp.methods import SAMP
from samp_lab.figures.map_grid import map_grid

ETA = map_grid(
    name="eta",
    title="Fig. η: maps under other upper bounds",
    columns={"IG": "ig", "Guided IG": "guidedig", **{f"η = 1/{n}": SAMP(eta=1 / n) for n in (10, 50, 100, 200)}},
    setups=("photos/resnet50", "imagenet/resnet50"),
    caption="SAMP with IC (no momentum, as in Table 3) at four bounds η, after IG and Guided IG.",
)
