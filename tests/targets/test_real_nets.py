"""Embeddings of a real net: what makes two photos alike lies where they show the same thing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

import samp

DATA = Path(os.environ.get("SAMP_DATA", "nowhere"))
WEIGHTS = DATA / "models" / "mobilenet_v2_fp16.safetensors"


@pytest.mark.skipif(not WEIGHTS.is_file(), reason="needs MobileNetV2 and photos in SAMP_DATA")
def test_the_half_that_is_like_the_query_has_more_of_the_credit() -> None:
    """Collages of a cat and a cup; why are they like another photo of a cat, and why like the cup?"""
    classifier = samp.models.load("mobilenet_v2", WEIGHTS)

    def embed(x: Tensor) -> Tensor:
        return classifier.net.features(x).mean((2, 3))

    def read(name: str) -> Tensor:
        return classifier.prepare(Image.open(DATA / "photos" / name).convert("RGB"))

    cup = read("coffee.png")
    cats = [read("n02123045_281_tabby_cat.jpg"), read("n02124075_285_Egyptian_cat.jpg")]
    collages = torch.cat([F.interpolate(torch.cat([cat, cup], 3), (224, 224), mode="bilinear") for cat in cats])
    shares = []
    for query in (read("chelsea.png"), cup):
        with torch.no_grad():
            target = samp.targets.Similarity(embed(query)[0])
        result = samp.explain(embed, collages, target=target, method="coupled")
        assert (result.residual.abs() < 1e-5).all()
        shares.append(result.map[:, :, :112].sum((1, 2)) / result.map.sum((1, 2)))
    assert (shares[0] > shares[1] + 0.05).all()  # 0.54 and 0.43 of the credit on the cats, against 0.35 and 0.35
    assert (shares[1] < 0.4).all()
