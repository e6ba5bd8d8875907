"""A photo and a net with hostile names, for tests of what `samp compare` writes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn

from samp.cli.compare import repeat_command
from samp.cli.options import ModelOptions
from samp.compare import Compared
from samp.html import compare_page
from samp.html.compare_facts import comparison_record
from samp.models import Classifier
from samp.models.prediction import ClassifiedPhoto, classify_photo

EVIL = """</script><script>document.title = "hit"</script><img src=x onerror='document.title = "hit"'>"'&lt;&"""
EVIL_FILE = EVIL.replace("/", "") + " näme.png"  # a file's name has no slash
NAMES = ("samp++", "samp", "ig", "ig-blurred", "ig-both", "gradientxinput", "smoothgrad", "random")


def tiny(size: Any = 12, sign: float = 1.0) -> Classifier:
    height, width = (size, size) if isinstance(size, int) else size
    weights = torch.randn(3, 3 * height * width, generator=torch.Generator().manual_seed(0))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(weights)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            bent = x + 0.4 * torch.sin(3 * x)
            return sign * nn.functional.softplus(bent.flatten(1) @ self.weights.T / height) - 0.01

    return Classifier(Net().eval(), f"tiny {EVIL}", size, 0.5, 0.5, ("cup", EVIL, "dog"))


def a_photo(folder: Path, name: str = "photo.png", size: tuple[int, int] = (40, 30)) -> Path:
    levels = np.random.default_rng(0).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
    Image.fromarray(levels).save(folder / name)
    return folder / name


def classify_test_photo(folder: Path, classifier: Classifier | None = None, name: str = EVIL_FILE) -> ClassifiedPhoto:
    return classify_photo(a_photo(folder, name), classifier or tiny(), "1")


def page_of(asked: ClassifiedPhoto, compared: Compared, left_out: dict[str, str] | None = None) -> str:
    command = shlex.join(repeat_command(asked.path, compared.names, "1", compared.protocol.name, ModelOptions()))
    return compare_page.comparison_page(asked, compared, comparison_record(asked, compared, left_out or {}, command))
