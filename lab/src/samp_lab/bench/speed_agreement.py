"""How far fast maps of a real net agree with exact ones."""

from __future__ import annotations

import torch

import samp
from samp.fast import SPEEDS
from samp.images import example_photo, read
from samp.models import efficientnet_lite0
from samp_lab.bench.machine import describe_machine
from samp_lab.bench.map_agreement import measure_agreement


def agreement_report(device: str) -> str:
    """How far fast maps of a real net agree with exact ones: EfficientNet-Lite0 on the embedded photos."""
    classifier = efficientnet_lite0()
    net = classifier.net.to(device)
    x = torch.cat([classifier.prepare(read(example_photo(name))) for name in ("coffee", "chelsea")]).to(device)
    lines = []
    for method in ("coupled", "samp++", "ig"):
        exact, fast = (samp.explain(net, x, method=method, speed=speed) for speed in SPEEDS)
        target = list(exact.details["target"])
        found = measure_agreement(net, x, target, exact.map, fast.map)
        lines.append(f"- {method}, {fast.details['speed']}: {found}")
    return "\n".join([*lines, "", describe_machine(device)])
