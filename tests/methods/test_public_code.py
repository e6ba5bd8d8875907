"""Path methods against their authors' own code: `write_public_code.py` ran it, `public_code.json` has its numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

import samp
from methods.write_public_code import FILE, MODEL, OTHERS, POINTS, SOURCES, TARGETS, X
from samp.methods.agi import AGI
from samp.methods.fringe import FRInGe
from samp.methods.geodesic_ig import GeodesicIG
from samp.methods.ig2 import IG2
from samp.methods.reveal_ig import RevealIG
from samp.methods.spectral_ig import SpectralIG

PUBLIC = json.loads(FILE.read_text())
OURS: dict[str, Any] = {
    "spectralig": SpectralIG(59),  # parts between 60 points
    "ig2": IG2(25, 0.2 / 90**0.5, tuple(OTHERS.split(1)), bounds=(0, 1)),  # a root mean square for an L2 length
    "agi": AGI(12, 0.05, bounds=(0, 1)),
    "geodesicig": GeodesicIG(POINTS, neighbors=2),  # nine separate parts, linked where they are closest
    "revealig": RevealIG(40, draws=6),
    "fringe": FRInGe(
        kl=0.002, reach=0.4, eta_max=3.0, damping=0.01, smooth_step=0.002, smooth_image=0.001, iterations=3
    ),
}


def test_the_net_and_its_inputs_are_those_of_the_stored_numbers() -> None:
    torch.testing.assert_close(MODEL(X), torch.tensor(PUBLIC["outputs of the net"], dtype=torch.float64))
    assert {name: entry["source"] for name, entry in PUBLIC["methods"].items()} == SOURCES


@pytest.mark.parametrize("name", OURS)
def test_method_equals_its_authors_code(name: str) -> None:
    """To 1e-6 of the largest value: Spectral IG, IG2 and Reveal-IG of the authors sum or draw in float32."""
    theirs = torch.tensor(PUBLIC["methods"][name]["values"], dtype=torch.float64).view_as(X)
    ours = samp.explain(MODEL, X, target=TARGETS.tolist(), method=OURS[name], seed=5).values
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6 * float(theirs.abs().max()))
