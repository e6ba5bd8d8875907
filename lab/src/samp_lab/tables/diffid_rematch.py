"""The path methods published since the paper, under DiffID, the protocol of one of them."""

from __future__ import annotations

from samp.methods import IG, Method
from samp_lab.method_ranking import MethodRanking
from samp_lab.path_rivals import PATH_RIVALS

ROWS: dict[str, str | Method] = {
    "coupled": "coupled",
    "SAMP++": "samp++",
    "SAMP": "samp",
    "IG": "ig",
    "IDGI": IG(credit="idgi"),
    "IG2": "ig2",
    "Spectral IG": "spectralig",
    "Guided IG": "guidedig",
    "Blur IG": "blurig",
    **PATH_RIVALS,
}
SETUPS = ("imagenet:even/mobilenet_v2", "imagenet:even/efficientnet_lite0", "imagenet:even/squeezenet1_1")
REMATCH = MethodRanking(
    name="rematch",
    title="Rematch under DiffID",
    rows=ROWS,
    setups=SETUPS,
    champion="coupled",
    rivals=("SAMP++", "Spectral IG", "IG2", "IDGI", *PATH_RIVALS),
    about=(
        "DiffID as the public code of Spectral IG has it: single values, ranked by the size of their credit, are set "
        "to the mean of all values that still show, over all channels; the score is accuracy. Spectral IG has its "
        "authors' settings, but starts at 0 in the net's input, the mean colour, as all do here, and not at a black "
        "picture; IG2 the published number of steps and layer (on SqueezeNet, which does not end in a linear layer, "
        "the output), but one reference, again 0, since the photos come without images of other classes. AGI climbs "
        "within each photo's own range of values, Geodesic IG draws its points, and FRInGe has the settings that its "
        "authors tuned for ResNet-50. SAMP++ has its momentum on. Under the paper's protocol the same methods are in "
        "the section on the coupled walk."
    ),
    protocol="diffid",
)
