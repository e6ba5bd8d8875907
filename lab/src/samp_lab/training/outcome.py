"""The result of a training, and its file: the weights with how they were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from samp.atomic import atomic_write
from samp.hashing import hash_tensors
from samp_lab.training.head_recipes import HeadRecipe
from samp_lab.training.recipes import Recipe


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Weights, their accuracy, and how they were made.

    >>> from samp_lab.training import RECIPES
    >>> TrainingResult(RECIPES["mnist-slim"], {"bias": torch.zeros(1)}, 0.99, 1.0, (0.5, 0.1), 3.0).sha256[:8]
    '74ffd15b'
    """

    recipe: Recipe | HeadRecipe
    state: Mapping[str, Tensor]
    """On the CPU: float32, or float16 of a linear head."""
    test_accuracy: float
    """Share of test images that are wholly right: the class, or all of several; NaN where there are none."""
    train_accuracy: float
    losses: tuple[float, ...]
    """The mean loss of each epoch."""
    seconds: float
    test_images: int = 0
    classes: tuple[str, ...] = ()
    device: str = "cpu"
    torch: str = str(torch.__version__)
    measures: Mapping[str, float] = field(default_factory=dict)
    """What else was measured on images that were held out, by name."""

    @property
    def sha256(self) -> str:
        """The hash of the weights' names, shapes and bytes."""
        return weights_hash(self.state)

    def facts(self) -> dict[str, str]:
        """Return the metadata of the file."""
        return {
            "recipe": self.recipe.json(),
            "test_accuracy": json.dumps(self.test_accuracy),
            "train_accuracy": json.dumps(self.train_accuracy),
            "losses": json.dumps(self.losses),
            "seconds": f"{self.seconds:.1f}",
            "test_images": str(self.test_images),
            "classes": json.dumps(self.classes),
            "device": self.device,
            "torch": self.torch,
            "sha256": self.sha256,
            **({"measures": json.dumps(dict(self.measures))} if self.measures else {}),
        }


def weights_hash(state: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of weights in the order of their names, independent of the file format.

    >>> weights_hash({"a": torch.ones(2)}) == weights_hash({"a": torch.ones(1, 2)})
    False
    """
    return hash_tensors(state, header="{name} {shape} {dtype}\n")


def save(result: TrainingResult, path: Path) -> None:
    """Write the file atomically; `read` reads it."""
    with atomic_write(path) as unfinished:
        save_file(dict(result.state), unfinished, metadata=result.facts())


def read(path: Path, recipe: Recipe | HeadRecipe | None = None) -> TrainingResult:
    """Return what `save` wrote; raise ValueError if the file is damaged or of another recipe.

    >>> import tempfile
    >>> from samp_lab.training import RECIPES
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cub.safetensors"
    ...     save(TrainingResult(RECIPES["cub"], {"bias": torch.zeros(1)}, float("nan"), 1.0, (), 3.0), path)
    ...     read(path).train_accuracy
    1.0
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: train the net first.")
    try:
        with safe_open(path, "pt") as file:
            facts = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
        found = _parse_result(facts, state)
    except (SafetensorError, LookupError, ValueError) as error:
        raise ValueError(
            f"{path} is not a whole file of a trained net ({error}): delete it and train again."
        ) from error
    if found.sha256 != facts.get("sha256"):
        raise ValueError(f"the weights in {path} are not those it was written with: delete it and train again.")
    if recipe is not None and found.recipe != recipe:
        raise ValueError(
            f"{path} was trained by another recipe ({found.recipe.json()}): delete it, or take another folder."
        )
    return found


def _parse_result(facts: Mapping[str, str], state: Mapping[str, Tensor]) -> TrainingResult:
    is_head = "kind" in json.loads(facts["recipe"])
    return TrainingResult(
        (HeadRecipe if is_head else Recipe).from_json(facts["recipe"]),
        state,
        float(json.loads(facts["test_accuracy"])),
        float(json.loads(facts["train_accuracy"])),
        tuple(json.loads(facts["losses"])),
        float(facts["seconds"]),
        int(facts["test_images"]),
        tuple(json.loads(facts["classes"])),
        facts["device"],
        facts["torch"],
        json.loads(facts.get("measures", "{}")),
    )
