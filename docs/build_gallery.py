"""Draw docs/gallery.png: `python docs/build_gallery.py`.

The class that EfficientNet-Lite0 predicts for three photos of scikit-image's data, explained by seven methods. It needs
the extras `demo`, `viz` and `compare`, and about three minutes on a CPU.
"""

from __future__ import annotations

from pathlib import Path

import torch
from PIL import Image
from skimage import data

import samp
from samp import models, plots

PICTURE = Path(__file__).with_name("gallery.png")
METHODS: dict[str, samp.methods.Method] = {
    "Grad-CAM": samp.methods.resolve_method("gradcam"),
    "SmoothGrad": samp.methods.resolve_method("smoothgrad"),
    "IG": samp.methods.resolve_method("ig"),
    "Guided IG": samp.methods.resolve_method("guidedig"),
    "SAMP": samp.SAMP(),
    "SAMP++": samp.SAMPPlusPlus(eta=0.02),  # the paper's η for pictures
    "coupled": samp.Coupled("fine"),
}


def main() -> None:
    """Explain the photos, draw the grid and save it."""
    classifier = models.efficientnet_lite0()
    photos = [Image.fromarray(photo) for photo in (data.coffee(), data.chelsea(), data.rocket())]
    inputs = torch.cat([classifier.prepare(photo) for photo in photos])
    results = {name: samp.explain(classifier.net, inputs, method=method) for name, method in METHODS.items()}
    classes = [classifier.classes[index] for index in results["SAMP"].details["target"]]
    figure = plots.method_grid([classifier.crop(photo) for photo in photos], results, labels=classes)
    figure.savefig(PICTURE, dpi=115, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
