"""What frozen nets say of the views of photos, computed once: features of a trunk and logits of a teacher.

Each photo's outputs are kept in a folder of their own per net and set of views, so that a pass that was stopped goes on
where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from samp.atomic import atomic_write
from samp.models import Classifier
from samp_lab.training.loop import repeatable
from samp_lab.training.outcome import weights_hash
from samp_lab.training.photo_views import Photo

CHUNK = 100
"""Photos whose outputs are one file."""
BATCH = 4  # views at once: a CPU is no faster with more, and the numbers do not depend on how many others there are
Tell = Callable[[int, int], None]
"""Called after each chunk with the photos done and all photos."""


def compute_outputs(
    classifier: Classifier,
    photos: Sequence[Photo],
    crops: int,
    seed: int,
    cache: Path,
    tell: Tell = lambda done, count: None,
) -> Tensor:
    """Return the net's output for every view of every photo (photos · (1 + crops), outputs), from the cache or now.

    The cache's name is a hash of the net's weights, the names of the photos, and how they are cropped.
    """
    weights = weights_hash(classifier.net.state_dict())
    found = []
    for start in range(0, len(photos), CHUNK):
        chunk = photos[start : start + CHUNK]
        path = cache / f"{_hash_views(classifier, weights, chunk, crops, seed)}.safetensors"
        if not path.is_file():
            cache.mkdir(parents=True, exist_ok=True)
            made = run_net(classifier, chunk, crops, seed)
            with atomic_write(path) as unfinished:
                save_file({"outputs": made}, unfinished)
        found.append(load_file(path)["outputs"])
        tell(min(start + CHUNK, len(photos)), len(photos))
    return torch.cat(found)


@torch.no_grad()
def run_net(classifier: Classifier, photos: Sequence[Photo], crops: int, seed: int) -> Tensor:
    """Return the net's output for every view: those of the first photo, then of the second, …; float32 on the CPU."""
    device, outputs = next(classifier.net.parameters()).device, []
    with repeatable():
        for photo in photos:
            views = torch.from_numpy(np.stack(list(photo.views(crops, seed))))
            for part in torch.split(views, BATCH):
                outputs.append(classifier.net(classifier.to_input(part).to(device)).float().cpu())
    return torch.cat(outputs)


def _hash_views(classifier: Classifier, weights: str, photos: Sequence[Photo], crops: int, seed: int) -> str:
    views = [[photo.name, photo.margin] for photo in photos]
    facts = [weights, classifier.mean, classifier.std, crops, seed if crops else 0, views]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
