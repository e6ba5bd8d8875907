"""The judges of the leaderboard: which see which images, and those that are made for it."""

from __future__ import annotations

from dataclasses import replace

from samp.metrics import JUDGES, PROTOCOLS, Criterion, Judge, energy

_KNOWN = {judge.key: judge for judge in JUDGES}
CURVES = ("paper", "rise", "diffid", "diffid-signed", "road", "sds", "transfer", "concentration")
AGAIN = ("stability", "random-logit", "random-weights")
SETS = ("photos", "again", "boxes", "grids")
PLACES = ("energy", "auroc", "pointing", "precision")
# RISE's own steps of 224 pixels take 450 forward passes a map; the curve is the same at an eighth of the points.
_RISE = replace(PROTOCOLS["rise"], step=8 * 224)
RISE = replace(_KNOWN["rise"], measure=lambda task, name: task.difference(name, _RISE))
GRID = Judge(
    "grid",
    "GridPG",
    "higher",
    "Four photos in one picture: the share of the positive credit that lies in the cell of the explained class.",
    lambda task, name: energy(task.maps[name], task.truth).share,  # type: ignore[arg-type]  # a truth is needed
    frozenset({"truth"}),
)
DIFULL = Criterion(
    "difull",
    "DiFull",
    "higher",
    "The same with a net that sees each cell by itself, so that credit outside of the cell is wrong.",
)
TRUTH = Judge(
    "known truth",
    "known truth",
    "higher",
    "A net whose used pixels are known exactly: of as many pixels of most credit, the share that is used.",
    _KNOWN["precision"].measure,
    frozenset({"truth"}),
)
