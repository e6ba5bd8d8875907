"""A vision transformer: the paper's method against those made for transformers, beside ours and the usual ones."""

from __future__ import annotations

from samp.methods import Method
from samp_lab.method_ranking import MethodRanking
from samp_lab.setups import LARGE_INPUT, TRANSFORMER

MADE_FOR_TRANSFORMERS: dict[str, str | Method] = {
    "AttnLRP": "attnlrp",
    "LibraGrad": "libragrad",
    "attention rollout": "attentionrollout",
    "attention relevance": "attentionrelevance",
}
TRANSFORMER_RANKING = MethodRanking(
    name="transformer",
    title="A vision transformer",
    rows={
        "SAMP++": "samp++",
        "SAMP": "samp",
        "consensus": "consensus",
        "coupled": "coupled",
        "IG": "ig",
        "DeepLIFT": "deeplift",
        "gradient × input": "gradientxinput",
        "Grad-CAM": "gradcam",
        **MADE_FOR_TRANSFORMERS,
        "random": "random",
    },
    setups=(f"imagenet/{TRANSFORMER}",),
    champion="SAMP++",
    rivals=("IG", "DeepLIFT", "Grad-CAM", *MADE_FOR_TRANSFORMERS),
    about=(
        "DINOv2's ViT-S/14 with a linear head of ours, by the paper's protocol, which hides and shows single pixels. "
        "Both metrics reward an order that fits this net: path methods take theirs from it by many gradients, the "
        "methods made for transformers by one each. All other methods of Table 1 are in its column for this net."
    ),
    nets=LARGE_INPUT,
)
