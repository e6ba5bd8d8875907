"""Fig. Shapley: maps of ApproShapley and Deep SHAP beside SAMP++ on MNIST."""

from __future__ import annotations

from samp.methods import SAMPPlusPlus
from samp_lab.figures.map_grid import map_grid

SHAPLEY = map_grid(
    name="shapley",
    title="Fig. Shapley: maps of the Shapley methods",
    columns={"ApproShapley": "shapley", "Deep SHAP": "deepshap", "SAMP++": SAMPPlusPlus(eta=0.02)},
    setups=("mnist",),
    caption="ApproShapley (sampled permutations), Deep SHAP and SAMP++.",
)
