"""Draw docs/vit.png: `python docs/build_vit.py PHOTOS DATA [FILE]`, with folders of photos and of the lab's data.

Photos that may be published, explained on DINOv2's ViT-S/14 for the class that its head of 1,000 classes predicts
(docs/experiments.md): the default and SAMP++ beside IG, Grad-CAM and two methods made for
transformers. It needs `samp-lab` and the extra `viz`, and about a minute a photo on a CPU.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import torch
from PIL import Image

import samp
from samp import images, plots
from samp.plots.shading import drawable_map
from samp_lab import nets
from samp_lab.setups import TRANSFORMER
from samp_lab.workspace import ExperimentOptions

PICTURE = Path(__file__).with_name("vit.png")
PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")
METHODS = {
    "consensus, the default": "consensus",
    "SAMP++": "samp++",
    "IG": "ig",
    "Grad-CAM": "gradcam",
    "AttnLRP": "attnlrp",
    "attention relevance": "attentionrelevance",
}


def draw(folder: Path, data: Path, picture: Path) -> None:
    """Explain the photos and save the grid as a PNG of 256 colours, which keeps it small."""
    classifier = nets.load(TRANSFORMER, ExperimentOptions(data=data))
    photos = [images.read(path) for path in images.find([folder]) if path.stem in PHOTOS]
    inputs = torch.cat([classifier.prepare(photo) for photo in photos])
    results = {name: samp.explain(classifier.net, inputs, method=method) for name, method in METHODS.items()}
    classes = [classifier.classes[index] for index in results["IG"].details["target"]]
    maps = {name: torch.stack([drawable_map(one, i)[0] for i in range(len(photos))]) for name, one in results.items()}
    figure = plots.method_grid([classifier.crop(photo) for photo in photos], maps, labels=classes)
    figure.savefig(buffer := io.BytesIO(), dpi=90)
    full = Image.open(buffer).convert("RGB")
    palette = full.quantize(256, method=Image.Quantize.FASTOCTREE)
    full.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(picture, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit("usage: python docs/build_vit.py PHOTOS DATA [FILE]")
    draw(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) == 4 else PICTURE)
