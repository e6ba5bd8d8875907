"""Small models of every family that people explain, each with inputs and a target.

Weights are random with a fixed seed. Whether a credit sums, agrees with another implementation or is refused does not
depend on training, and so the whole matrix is made in a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import samp
from samp import text as samp_text

CLASSES, SAMPLES, SIDE = 4, 2, 32
SEEDS = {"CNN, ReLU": 4, "CNN, ReLU6": 4, "CNN, SiLU": 4, "ResNet": 2, "ViT": 11, "Swin": 1}
"""Seeds other than 0, with which rectified maps (Grad-CAM, guided backprop) would be empty for one of the samples."""
WORDS = ["the", "film", "was", "not", "very", "good", "but", "its", "music", "made", "me", "smile"]


@dataclass(frozen=True, eq=False)
class Family:
    """A model with inputs of two samples and the target that is explained; or a text model with two sentences."""

    name: str
    model: nn.Module
    inputs: Tensor | tuple[Tensor, ...] | None
    target: Any
    texts: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        return bool(self.texts)


class ResidualNet(nn.Module):
    """Two residual blocks with batch norm, as in a ResNet."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.convs = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(4))
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(4))
        self.relus = nn.ModuleList(nn.ReLU() for _ in range(5))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(8, CLASSES)
        for name, statistic in self.norms.named_buffers():
            if name.endswith("running_var"):
                nn.init.uniform_(statistic, 0.5, 2.0)
            elif name.endswith("running_mean"):
                nn.init.normal_(statistic, std=0.3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relus[4](self.stem(x))
        for block in (0, 2):
            inside = self.relus[block](self.norms[block](self.convs[block](x)))
            x = self.relus[block + 1](x + self.norms[block + 1](self.convs[block + 1](inside)))
        logits: Tensor = self.head(self.pool(x).flatten(1))
        return logits


class TwoInputs(nn.Module):
    """An image and a row of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 6, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.row, self.head = nn.Linear(5, 8), nn.Linear(32, CLASSES)

    def forward(self, image: Tensor, row: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.cat([self.image(image), F.relu(self.row(row))], 1))
        return logits


class Detector(nn.Module):
    """A grid of candidates: box and class scores of each cell, b n (4 + classes), as YOLO's heads give them."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.head = nn.Conv2d(8, 4 + CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        found = self.head(self.features(x))  # b k h w
        cells = torch.arange(found.shape[-1]) * 4 + 2.0
        rows, columns = torch.meshgrid(cells, cells, indexing="ij")
        centres = torch.stack([columns, rows]) + 2 * found[:, :2].tanh()
        sizes = 8 + 4 * found[:, 2:4].tanh()
        return torch.cat([centres, sizes, found[:, 4:].sigmoid()], 1).flatten(2).transpose(1, 2)


def _cnn(activation: Callable[[], nn.Module]) -> nn.Module:
    first = nn.Conv2d(3, 8, 3, 2)
    with torch.no_grad():
        first.weight.mul_(20)  # so that some activations are above 6
    return nn.Sequential(
        first,
        activation(),
        nn.Conv2d(8, 8, 3, 2),
        activation(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, CLASSES),
    )


def _transformers_net(config: str, net: str, **settings: Any) -> nn.Module:
    """Return a net of transformers with random weights; raise ImportError without that package."""
    package = import_module("transformers")
    made: nn.Module = getattr(package, net)(getattr(package, config)(initializer_range=0.2, **settings))
    return made


TOKENS = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
WINDOWS = {"embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4}
IMAGES = {"image_size": SIDE, "num_labels": CLASSES}


def _vit() -> nn.Module:
    return _transformers_net("ViTConfig", "ViTForImageClassification", patch_size=8, **IMAGES, **TOKENS)


def _swin() -> nn.Module:
    return _transformers_net("SwinConfig", "SwinForImageClassification", patch_size=4, **IMAGES, **WINDOWS)


def _bert() -> nn.Module:
    words = {"vocab_size": len(WORDS), "pad_token_id": 0, "num_labels": CLASSES}
    return _transformers_net("BertConfig", "BertForSequenceClassification", **words, **TOKENS)


def _gpt() -> nn.Module:
    words = {"vocab_size": len(WORDS), "bos_token_id": 0, "eos_token_id": 0}
    return _transformers_net("GPT2Config", "GPT2LMHeadModel", n_embd=16, n_layer=2, n_head=2, **words)


def encode_words(text: str) -> samp_text.Encoded:
    """Return the numbers of a text's words: a tokenizer for the small text models."""
    words = text.split()
    return samp_text.Encoded(text, [WORDS.index(word) for word in words], words, [False] * len(words))


def _images() -> Tensor:
    """Return smooth patches of colour with some noise: in noise alone superpixels find nothing."""
    colours = F.interpolate(torch.rand(SAMPLES, 3, 4, 4), SIDE, mode="bilinear")
    return (0.9 * colours + 0.1 * torch.rand(SAMPLES, 3, SIDE, SIDE)).double()


def _image_family(make: Callable[[], nn.Module]) -> Callable[[str], Family]:
    return lambda name: Family(name, make(), _images(), [0, 1])


def _text_family(make: Callable[[], nn.Module]) -> Callable[[str], Family]:
    sentences = ("the film was very good", "its music made me smile but the film was not good")
    return lambda name: Family(name, make(), None, [1, 2], sentences)


def _two_inputs(name: str) -> Family:
    return Family(name, TwoInputs(), (_images(), torch.rand(SAMPLES, 5).double()), [0, 1])


def _tabular(name: str) -> Family:
    net = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, CLASSES))
    return Family(name, net, torch.rand(SAMPLES, 9).double(), [0, 1])


def _segmentation(name: str) -> Family:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, CLASSES, 3, padding=1))
    mask = torch.zeros(SIDE, SIDE)
    mask[8:20, 10:24] = 1
    return Family(name, net, _images(), samp.targets.Segmentation(1, mask))


def _detection(name: str) -> Family:
    output = samp.targets.YOLOBoxes(objectness=False)
    box = samp.targets.Detection((8.0, 8.0, 20.0, 20.0), label=1, output=output)
    return Family(name, Detector(), _images(), box)


FAMILIES: Mapping[str, Callable[[str], Family]] = {
    "CNN, ReLU": _image_family(lambda: _cnn(nn.ReLU)),
    "CNN, ReLU6": _image_family(lambda: _cnn(nn.ReLU6)),
    "CNN, SiLU": _image_family(lambda: _cnn(nn.SiLU)),
    "ResNet": _image_family(ResidualNet),
    "ViT": _image_family(_vit),
    "Swin": _image_family(_swin),
    "BERT": _text_family(_bert),
    "causal LM": _text_family(_gpt),
    "tabular": _tabular,
    "two inputs": _two_inputs,
    "segmentation": _segmentation,
    "detection": _detection,
}


def make_family(name: str) -> Family:
    """Return the family of this name, the same at every call; raise ImportError if it needs transformers.

    >>> make_family("tabular").inputs.shape
    torch.Size([2, 9])
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS.get(name, 0))
        family = FAMILIES[name](name)
        _scale_scores(family.model)
    family.model.eval().double()  # methods that follow gradients far (FRInGe, AGI, IG2) amplify the rounding of float32
    return family


def _scale_scores(net: nn.Module) -> None:
    """Make the last layer's weights ten times as large: logits of trained nets are that large, and LIME's penalty is
    made for them."""
    last = [layer for layer in net.modules() if isinstance(layer, nn.Linear | nn.Conv2d)][-1]
    with torch.no_grad():
        last.weight.mul_(10)
