"""What does EfficientNet-Lite0 look at? A photo explained in pixels by coupled, SAMP++ and IG.

For each method: where the credit lies, as a grid of 7 × 7 squares in percent of its sum, and the score once the tenth
of the pixels with the most (or the least) credit is set to 0. Missing pixels harm the net wherever they are: a map is
good if the most matter more than the least. The credit of coupled, the default, sums to the score change; SAMP++
(Algorithm 1 of the paper) ranks pixels, and `residual` says by how much its sum is off. The photo comes with the
package; or give the path of your own.

    pip install -e '.[demo]'
    python examples/image_classifier.py [photo.jpg]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor

import samp
from samp import images
from samp.models import efficientnet_lite0


def in_squares(credit: Tensor) -> Tensor:
    """The credit of 224 × 224 pixels summed over 7 × 7 squares."""
    return credit.unflatten(0, (7, 32)).unflatten(2, (7, 32)).sum((1, 3))


def without_top_tenth(image: Tensor, credit: Tensor) -> Tensor:
    """The image (1 3 h w) with the tenth of its pixels that has the most credit (h w) set to 0."""
    return image * (credit < credit.flatten().quantile(0.9))


@torch.no_grad()
def main(path: str | Path | None = None) -> dict[str, object]:
    """Explain the predicted class of one photo by three methods, print where the credit lies and whether it matters."""
    classifier = efficientnet_lite0()
    image = classifier.prepare(images.read(path or images.example_photo()))  # 1 3 224 224
    logits = classifier.net(image)[0]
    sure, classes = logits.softmax(0).topk(3)
    names = [classifier.classes[number] for number in classes.tolist()]
    print(", ".join(f"{name} {share:.0%}" for name, share in zip(names, sure.tolist(), strict=True)))

    results = {name: samp.explain(classifier.net, image, method=name) for name in ("coupled", "samp++", "ig")}
    scores = {}
    for name, result in results.items():
        credit = result.map[0]  # 224 224
        without = [float(classifier.net(without_top_tenth(image, c))[0, classes[0]]) for c in (credit, -credit)]
        scores[name] = dict(zip(("most", "least"), without, strict=True))
        print(f"\n{name}, {int(result.gradients)} gradients: credit in % of its sum")
        for row in (100 * in_squares(credit) / credit.sum()).tolist():
            print("".join(f"{percent:>6.1f}" for percent in row))
        print(f"sum {float(credit.sum()):.1f}, residual {float(result.residual):.1f}")
        print(f"score {float(logits.max()):.2f}, {without[0]:.2f} without the most, {without[1]:.2f} without the least")
    return {"names": names, "scores": scores, "results": results}


if __name__ == "__main__":
    main(*sys.argv[1:])
