"""Panels made up: methods whose quality is known, before judges that see it through noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from samp.metrics import Criterion, Panel
from samp_lab.leaderboard.results_file import NetResult, PanelResults

QUALITY = {
    "consensus, fine": (480, 1.0),
    "consensus, standard": (120, 0.85),
    "consensus, draft": (32, 0.6),
    "coupled": (32, 0.5),
    "SAMP++ η 0.02": (114, 0.55),
    "SAMP++": (33, 0.45),
    "Guided IG": (51, 0.2),
    "IG": (50, 0.1),
    "SmoothGrad": (50, 0.15),
    "Grad-CAM": (1, 0.3),
    "RISE": (0, 0.4),
    "random": (0, -1.0),
}
"""{method: (gradients, how good it is)}."""
JUDGES = [
    ("paper", "paper"),
    ("rise", "RISE"),
    ("diffid", "DiffID"),
    ("diffid-signed", "DiffID signed"),
    ("road", "ROAD"),
    ("sds", "SDS"),
    ("transfer: squeezenet1_1", "transfer: squeezenet1_1"),
    ("transfer: efficientnet_lite0", "transfer: efficientnet_lite0"),
    ("energy", "energy"),
    ("auroc", "AUROC"),
    ("pointing", "pointing"),
    ("precision", "precision"),
    ("gridpg", "GridPG"),
    ("difull", "DiFull"),
    ("planted", "planted pixels"),
    ("mprt", "MPRT"),
    ("random-logit", "random logit"),
    ("stability", "stable under rounding"),
    ("seed", "stable under seeds"),
    ("concentration", "concentration"),
]
ABOUT: Mapping[str, Any] = {
    "machine": "NVIDIA H200, x86_64",
    "command": "samp bench panel --photos 100 --device cuda",
    "versions": {"samp": "0.9", "torch": "2.11.0"},
}


def make_panel(
    quality: Mapping[str, float], judges: Sequence[tuple[str, str]], photos: int = 12, seed: int = 0
) -> Panel:
    """Return a panel; by "mprt" and "random-logit" lower is better, "concentration" ranks nothing."""
    dice = torch.Generator().manual_seed(seed)
    criteria, scores = [], {}
    for key, heading in judges:
        better = None if key == "concentration" else "lower" if key in ("mprt", "random-logit") else "higher"
        criteria.append(Criterion(key, heading, better, f"What {heading} asks is whether the map is any good."))
        hard = torch.randn(photos, generator=dice)
        taste = {name: 0.4 * torch.randn(1, generator=dice) for name in quality}
        scores[key] = {
            name: ((-1 if better == "lower" else 1) * (good + taste[name] + hard + 0.5 * _noise(photos, dice))).double()
            for name, good in quality.items()
        }
    sets = {key: int(place > len(judges) // 2) for place, (key, _) in enumerate(judges)}
    return Panel(tuple(criteria), scores, {}, sets)


def make_results(nets: Sequence[str] = ("mobilenet_v2", "resnet50"), photos: int = 12) -> PanelResults:
    """Return twelve methods before twenty judges on these nets."""
    found = {}
    for seed, net in enumerate(nets):
        panel = make_panel({name: good for name, (_, good) in QUALITY.items()}, JUDGES, photos, seed)
        gradients = {name: float(count) for name, (count, _) in QUALITY.items()}
        found[net] = NetResult(net, panel, gradients, {"photos": photos})
    return PanelResults(found, ABOUT)


def _noise(photos: int, dice: torch.Generator) -> torch.Tensor:
    return torch.randn(photos, generator=dice)
