"""Fig. η: maps under smaller and smaller steps, beside IG and Guided IG, and whether they get finer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samp.methods import SAMP
from samp.metrics.statistics import summarise
from samp_lab.claims_on_setups import SetupClaim, count_pairs
from samp_lab.figures.map_grid import format_with_deviation, map_grid
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.readings import method_as_read
from samp_lab.sections import Block, Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired
from samp_lab.store import Results

BOUNDS = (10, 50, 100, 200)
FREQUENCY = "frequency"
ABOUT = (
    "“Finer” is measured by the mean spatial frequency of a map, weighed by its power: it needs no threshold and does "
    "not depend on the map's scale. It was chosen before any map was measured. It cannot tell fine detail from noise."
)
MAPS = map_grid(
    name="eta",
    title="Fig. η: maps under other upper bounds",
    columns={"IG": "ig", "Guided IG": "guidedig", **{f"η = 1/{n}": SAMP(eta=1 / n) for n in BOUNDS}},
    setups=("photos/resnet50", "imagenet/resnet50"),
    caption="SAMP with IC (no momentum, as in Table 3) at four bounds η, after IG and Guided IG.",
)


def curves_by_bound(setup: Setup) -> dict[int, MethodCurves]:
    """Return Table 3's measurements by 1/η, whose maps are measured too; none on the two free photos.

    >>> from samp_lab.setups import parse_setup
    >>> list(curves_by_bound(parse_setup("imagenet"))), curves_by_bound(parse_setup("photos"))
    ([10, 50, 100, 200], {})
    """
    bounds = BOUNDS if setup.data != "photos" else ()
    return {n: MethodCurves(setup, method_as_read(SAMP(eta=1 / n), setup)) for n in bounds}


def measurements_of(setup: Setup) -> list[Measurement]:
    """Return the measurements of the maps shown, and those of all images."""
    return [*MAPS.measurements_of(setup), *curves_by_bound(setup).values()]


def tables(results: Results, setup: Setup) -> Sequence[Block]:
    """Return the concentration of the maps shown, and how fine the maps of all images are."""
    shown = [*MAPS.tables_of(results, setup)] if any(map(results.has, MAPS.measurements_of(setup))) else []
    rows = tuple(
        (f"η = 1/{n}", format_with_deviation(summarise(values))) for n, values in _frequencies(results, setup).items()
    )
    head = ("", "mean frequency, cycles per pixel")
    return [*shown, *([Grid(head, rows, f"How fine maps are, {setup.title}, all images")] if rows else [])]


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether maps at the smallest η are finer than at the largest, image by image."""
    found = _frequencies(results, setup)
    first, last = BOUNDS[0], BOUNDS[-1]
    if first not in found or last not in found:
        return []
    difference = compare_paired(found[last], found[first])
    claim = f"maps are finer at η = 1/{last} than at 1/{first} (mean frequency)"
    images = count_pairs(found[last], found[first])
    ours, state = str(difference), difference.state(+1)
    return [SetupClaim(setup, "finer", images).verdict(claim, "“finer-grained visualization”", ours, state)]


def _frequencies(results: Results, setup: Setup) -> dict[int, list[float]]:
    """Return the mean frequency of each image's map by 1/η, where it was measured; older results lack it."""
    return {
        n: results.numbers(measurement, FREQUENCY)
        for n, measurement in curves_by_bound(setup).items()
        if results.has(measurement) and FREQUENCY in results.entry(measurement)["numbers"]
    }


ETA = replace(MAPS, measurements_of=measurements_of, tables_of=tables, verdicts_of=verdicts, about=ABOUT)
