"""Draw docs/default-gallery.png: `python docs/build_default_gallery.py PHOTOS [FILE]`, with PHOTOS a folder.

The class that EfficientNet-Lite0 predicts for each photo, explained by the default and four others. The picture
in the repository shows photos that may be published: four of scikit-image's data and the four cats of alibi's. It needs
the extras `demo` and `viz`, and about five minutes on a CPU.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import torch
from PIL import Image

import samp
from samp import images, models, plots
from samp.plots.shading import drawable_map

PICTURE = Path(__file__).with_name("default-gallery.png")
METHODS: dict[str, samp.methods.Method] = {
    "consensus, the default": samp.Consensus(),
    "SAMP++, η 0.02": samp.SAMPPlusPlus(eta=0.02),  # the paper's η for pictures
    "IG": samp.methods.resolve_method("ig"),
    "Grad-CAM": samp.methods.resolve_method("gradcam"),
    "SmoothGrad": samp.methods.resolve_method("smoothgrad"),
}


def draw(folder: Path, picture: Path) -> None:
    """Explain the photos of the folder and save the grid as a PNG of 256 colours, which keeps it small."""
    classifier = models.efficientnet_lite0()
    photos = [images.read(path) for path in images.find([folder])]
    inputs = torch.cat([classifier.prepare(photo) for photo in photos])
    results = {name: samp.explain(classifier.net, inputs, method=method) for name, method in METHODS.items()}
    classes = [classifier.classes[index] for index in results["IG"].details["target"]]
    maps = {name: torch.stack([drawable_map(one, i)[0] for i in range(len(photos))]) for name, one in results.items()}
    figure = plots.method_grid([classifier.crop(photo) for photo in photos], maps, labels=classes)
    figure.savefig(buffer := io.BytesIO(), dpi=150)
    full = Image.open(buffer).convert("RGB")
    palette = full.quantize(
        256, method=Image.Quantize.FASTOCTREE
    )  # other quantisers spend it on greys, and eyes turn grey
    full.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(picture, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: python docs/build_default_gallery.py PHOTOS [FILE]")
    draw(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else PICTURE)
