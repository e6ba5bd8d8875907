"""What `samp doctor` finds: versions, devices, extras, and a self-check on the embedded photo."""

from __future__ import annotations

import platform
import re
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import torch

import samp
from samp import methods, photos
from samp.cli.asking import ask
from samp.models import Classifier, efficientnet_lite0

PACKAGES = ("torch", "numpy", "pillow", "click", "tqdm", "safetensors")
SHOWN = ("demo", "viz", "compare", "metrics", "scale")
ESPRESSO = 967
# The credit is summed in float32 over 150,528 elements, whose sizes add up to more than the score.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Checkup:
    """Everything found; `well` if the self-check came out as it must."""

    versions: dict[str, str]
    devices: dict[str, str]
    extras: dict[str, dict[str, str | None]]
    check: dict[str, Any]

    @property
    def well(self) -> bool:
        return bool(self.check["class as expected"]) and bool(self.check["credit sums to the score change"])

    def as_dict(self) -> dict[str, Any]:
        """The findings by their headings, and the verdict."""
        found = asdict(self)
        return {
            "versions": found["versions"],
            "devices": found["devices"],
            "extras": found["extras"],
            "self-check": found["check"],
            "well": self.well,
        }


def examine() -> Checkup:
    """Look at all of it; takes as long as one explanation."""
    return Checkup(versions(), devices(), extras(), self_check())


def versions() -> dict[str, str]:
    """samp, Python and what samp stands on.

    >>> sorted(versions())[:2]
    ['click', 'numpy']
    """
    found = {name: _version(name) or "MISSING" for name in PACKAGES}
    return {"samp": samp.__version__, "python": platform.python_version(), "system": platform.platform(), **found}


def devices() -> dict[str, str]:
    """What torch can compute on.

    >>> "cpu" in devices()
    True
    """
    found = {"cpu": f"{platform.machine()}, {torch.get_num_threads()} threads"}
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            about = torch.cuda.get_device_properties(number)
            found[f"cuda:{number}"] = f"{about.name}, {about.total_memory / 2**30:.0f} GiB"
    else:
        found["cuda"] = "none"
    if torch.backends.mps.is_available():
        found["mps"] = "yes"
    return found


def extras() -> dict[str, dict[str, str | None]]:
    """The packages of each extra, with the version found; None for one that is missing.

    >>> set(extras()) <= set(SHOWN)
    True
    """
    found: dict[str, dict[str, str | None]] = {}
    try:
        required = metadata.requires("samp") or []
    except metadata.PackageNotFoundError:  # run from its source without being installed
        required = []
    for line in required:
        package, extra = re.match(r"[\w.-]+", line), re.search(r"extra == .([\w-]+)", line)
        if package and extra and extra[1] in SHOWN:
            found.setdefault(extra[1], {})[package[0]] = _version(package[0])
    return {name: found[name] for name in SHOWN if name in found}


def self_check() -> dict[str, Any]:
    """Explain the embedded photo with an exact credit: is it an espresso, and does the credit sum up?"""
    started = time.perf_counter()
    classifier, expected = _classifier()
    asked = ask(photos.embedded(), classifier)
    method = samp.SAMPPlusPlus(credit="shared")
    result = samp.explain(classifier.net, asked.x, target=asked.targets[0], method=method)
    change = sum(float(c) for c in result.score_change.values())
    residual, size = float(result.residual), float(result.group_values.abs().sum())
    return {
        "model": classifier.name,
        "class": f"{asked.classifier.label(asked.targets[0])} ({asked.targets[0]})",
        "class as expected": expected is None or asked.targets[0] == expected,
        "credit": f"sums to {change - residual:.4f} where the score changed by {change:.4f}",
        "credit sums to the score change": abs(residual) <= TOLERANCE * max(size, 1e-9),
        "gradients": int(result.gradients),
        "seconds": round(time.perf_counter() - started, 2),
        "methods": len(methods.names()),
    }


def _classifier() -> tuple[Classifier, int | None]:
    """The demo net and the class it must see, or where it is not installed a small net of random weights."""
    try:
        return efficientnet_lite0(), ESPRESSO
    except ImportError:
        with torch.random.fork_rng([]):
            torch.manual_seed(0)
            layers = [torch.nn.Conv2d(3, 8, 5, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten()]
            net = torch.nn.Sequential(*layers, torch.nn.Linear(32, 10)).eval()
        return Classifier(net, "a small random net (the extra demo is not installed)", 64, 0.5, 0.5, ()), None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
