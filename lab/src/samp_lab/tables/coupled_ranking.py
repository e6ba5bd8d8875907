"""The coupled walk against all other methods, at no more gradients than SAMP++, on images that nothing was tuned on."""

from __future__ import annotations

from samp.methods import IG
from samp_lab.method_ranking import MethodRanking
from samp_lab.path_rivals import PATH_RIVALS
from samp_lab.tables.table1 import ROWS

SETUPS = (
    "mnist:even",
    "cifar10:even",
    "imagenet:even/efficientnet_lite0",
    "imagenet:even/mobilenet_v2",
    "imagenet:even/squeezenet1_1",
)
SLOW = ("RISE", "LIME", "XRAI")  # thousands of forwards each; Table 1 has them
OURS = MethodRanking(
    name="ours",
    title="The coupled walk against all others",
    rows={
        "coupled": "coupled",
        **{row: method for row, method in ROWS.items() if row not in (*SLOW, "coupled")},
        "IG, both": "ig-both",
        "IDGI": IG(credit="idgi"),
        "Spectral IG": "spectralig",
        "IG2": "ig2",
        **PATH_RIVALS,
    },
    setups=SETUPS,
    champion="coupled",
    rivals=("SAMP++",),
    about="Settings are defaults, tuned on every second image of each data set (odd places); these are the "
    "others. RISE, LIME and XRAI stand beside ours in Table 1.",
)
