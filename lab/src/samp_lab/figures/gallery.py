"""Fig. gallery: the paper's methods side by side."""

from __future__ import annotations

from samp.methods import Method, SAMPPlusPlus
from samp_lab.figures.map_grid import map_grid
from samp_lab.tables.table1 import ROWS

COLUMNS: dict[str, str | Method] = {
    name: method for name, method in ROWS.items() if name not in ("SAMP++", "coupled", "IG, blurred", "random")
}
COLUMNS |= {"SAMP++": SAMPPlusPlus(eta=0.02), "coupled": "coupled"}  # the paper's η for pictures; ours
GALLERY = map_grid(
    name="gallery",
    title="Fig. gallery: methods side by side",
    columns=COLUMNS,
    setups=("photos/resnet50", "mnist", "cifar10"),
    caption="positive credit for the predicted class by each method.",
    most=3,
)
