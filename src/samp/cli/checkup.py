"""What `samp doctor` finds: versions, devices, extras, and a self-check on the embedded photo, on each device."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

import torch

import samp
from samp import images, methods
from samp.cli import error_sentence, is_debugging
from samp.cli.progress import PhotoProgress, expected_rows
from samp.models import Classifier, efficientnet_lite0
from samp.models.prediction import classify_photo

PACKAGES = ("torch", "numpy", "pillow", "click", "tqdm", "safetensors")
SHOWN = ("demo", "viz", "compare", "metrics", "scale")
ESPRESSO = 967
# The credit is summed in float32 over 150,528 elements, whose sizes add up to more than the score.
TOLERANCE = 1e-4
MUSTS = ("class as expected", "credit sums to the score change")
NONE = "none"


def examine() -> Iterator[tuple[str, dict[str, Any]]]:
    """Headings with what was found, one after the other: what is known at once comes first, then a check a device."""
    yield "versions", versions()
    found = devices()
    yield "devices", found
    yield "extras", extras()
    for name in (name for name, about in found.items() if about != NONE):
        yield "self-check" if name == "cpu" else f"self-check on {name}", try_self_check(name)


def all_passed(found: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether every self-check came out as it must.

    >>> all_passed({"self-check": {"error": "no memory"}})
    False
    """
    checks = [check for heading, check in found.items() if heading.startswith("self-check")]
    return bool(checks) and all(check.get(must) for check in checks for must in MUSTS)


def try_self_check(device: str) -> dict[str, Any]:
    """The self-check on this device, or what went wrong in it."""
    try:
        return self_check(device)
    except Exception as error:  # whatever it is, the doctor's patient is told
        if is_debugging():
            raise
        return {"error": error_sentence(error)}


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
        found["cuda"] = NONE
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


def self_check(device: str = "cpu") -> dict[str, Any]:
    """Explain the embedded photo by the default method: is it an espresso, and does the credit sum up?"""
    started = time.perf_counter()
    method = samp.Coupled()
    classifier, expected = _classifier()
    classifier.net.to(device)
    with PhotoProgress(1, expected_rows(method, *classifier.shape)).watch(classifier.net, f"self-check on {device}"):
        classified = classify_photo(images.example_photo(), classifier)
        result = samp.explain(classifier.net, classified.x, target=classified.targets[0], method=method)
    change = sum(float(c) for c in result.score_change.values())
    residual, size = float(result.residual), float(result.group_values.abs().sum())
    return {
        "model": classifier.name,
        "class": f"{classified.classifier.label(classified.targets[0])} ({classified.targets[0]})",
        MUSTS[0]: expected is None or classified.targets[0] == expected,
        "credit": f"sums to {change - residual:.4f} where the score changed by {change:.4f}",
        MUSTS[1]: abs(residual) <= TOLERANCE * max(size, 1e-9),
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
