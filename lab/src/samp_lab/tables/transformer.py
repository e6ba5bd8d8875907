"""A vision transformer: our default against path methods, and against those made for transformers."""

from __future__ import annotations

from samp.methods import IG, Method
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
        "consensus": "consensus",
        "coupled": "coupled",
        "SAMP++": "samp++",
        "SAMP": "samp",
        "IG": "ig",
        "IDGI": IG(credit="idgi"),
        "Blur IG": "blurig",
        "Guided IG": "guidedig",
        "SmoothGrad": "smoothgrad",
        "gradient × input": "gradientxinput",
        "DeepLIFT": "deeplift",
        "Grad-CAM": "gradcam",
        "XRAI": "xrai",
        **MADE_FOR_TRANSFORMERS,
        "random": "random",
    },
    setups=(f"imagenet/{TRANSFORMER}",),
    champion="consensus",
    rivals=("SAMP++", "IG", "Grad-CAM", *MADE_FOR_TRANSFORMERS),
    about=(
        "DINOv2's ViT-S/14 with a linear head of ours, by the paper's protocol, which hides and shows single pixels. "
        "Both metrics reward an order that fits this net: path methods take theirs from it by many gradients, the "
        "methods made for transformers by one each."
    ),
    made_for=dict.fromkeys(MADE_FOR_TRANSFORMERS, LARGE_INPUT),
)
