"""`samp doctor`: versions, devices and extras on this machine, and whether samp works on it."""

from __future__ import annotations

import json
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

import click

from samp.cli.terminal import say, say_block

if TYPE_CHECKING:
    from samp.models import Classifier

PACKAGES = ("torch", "numpy", "pillow", "click", "tqdm", "safetensors")
SHOWN = ("demo", "viz", "compare", "metrics", "scale")
ESPRESSO = 967
# The credit is summed in float32 over 150,528 elements, whose sizes add up to more than the score.
TOLERANCE = 1e-4
MUSTS = ("class as expected", "credit sums to the score change")
NONE = "none"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON object.")
def doctor(as_json: bool) -> None:
    """Check that samp works on this machine: versions, devices, extras, and a self-check of ten seconds or so.

    The self-check explains the embedded photo on each device with a credit that must sum to the score change exactly.
    Exit codes: 0 if it did, 1 if it did not.

    Example: samp doctor --json
    """
    found = {}
    for heading, findings in examine():
        found[heading] = findings
        if not as_json:
            say_block(f"{_format_block(heading, findings)}\n")
    fine = all_passed(found)
    if as_json:
        say(json.dumps({**found, "well": fine}))
    else:
        say("All is well." if fine else "Something is wrong: see the self-check above.")
    sys.exit(0 if fine else 1)


def examine() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield headings, each with its findings: what is known at once comes first, then a self-check for each device."""
    yield "versions", versions()
    found = devices()
    yield "devices", found
    yield "extras", extras()
    for name in (name for name, about in found.items() if about != NONE):
        yield "self-check" if name == "cpu" else f"self-check on {name}", try_self_check(name)


def all_passed(found: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether every self-check passed.

    >>> all_passed({"self-check": {"error": "no memory"}})
    False
    """
    checks = [check for heading, check in found.items() if heading.startswith("self-check")]
    return bool(checks) and all(check.get(must) for check in checks for must in MUSTS)


def try_self_check(device: str) -> dict[str, Any]:
    """Return the findings of the self-check on this device, or its error; with `--debug` raise that error."""
    from samp.cli import error_sentence, is_debugging

    try:
        return self_check(device)
    except Exception as error:  # whatever went wrong is a finding
        if is_debugging():
            raise
        return {"error": error_sentence(error)}


def versions() -> dict[str, str]:
    """Return the versions of samp, of Python and of the packages that samp depends on.

    >>> sorted(versions())[:2]
    ['click', 'numpy']
    """
    from samp import __version__

    found = {name: _version(name) or "MISSING" for name in PACKAGES}
    return {"samp": __version__, "python": platform.python_version(), "system": platform.platform(), **found}


def devices() -> dict[str, str]:
    """Return what torch can compute on, by the name of the device.

    >>> "cpu" in devices()
    True
    """
    import torch

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
    """Return the packages of each extra, with the version found; None for one that is missing.

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
    """Explain the embedded photo by a draft of the default method; return whether class and sum of credit are right."""
    import samp
    from samp import images, methods
    from samp.cli.progress import EvaluationBar
    from samp.methods.cost import expected_rows
    from samp.models.prediction import classify_photo

    started = time.perf_counter()
    method = samp.Consensus("draft")
    classifier, expected = _classifier()
    net, rows = classifier.net.to(device), expected_rows(method, *classifier.shape)
    with EvaluationBar(total=1) as bar, bar.watch(net, f"self-check on {device}", rows):
        classified = classify_photo(images.example_photo(), classifier)
        result = samp.explain(net, classified.x, target=classified.targets[0], method=method)
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
    """Return the demo net and the class it must see; where it is not installed, a small net of random weights."""
    import torch

    from samp.models import Classifier, efficientnet_lite0

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


def _format_block(heading: str, findings: dict[str, Any]) -> str:
    width = max(map(len, findings), default=0) + 2
    return "\n".join(
        [heading, *(f"  {name + ':':<{width}}{_format_finding(value)}" for name, value in findings.items())]
    )


def _format_finding(finding: Any) -> str:
    if isinstance(finding, dict):
        return ", ".join(f"{name} {value or 'MISSING'}" for name, value in finding.items())
    return str(finding)
