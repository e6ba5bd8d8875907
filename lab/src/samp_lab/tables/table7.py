"""Table 7: μFidelity and seconds on MNIST, and the pointing game on photos with boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.methods import Method
from samp.metrics.statistics import holm
from samp_lab.claims_on_setups import SetupClaim
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.pointing import Pointing, imagenet_classes_by_label
from samp_lab.readings import method_as_read
from samp_lab.report.format import p_value
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import Estimate, bootstrap_estimate, sign_state
from samp_lab.store import Results
from samp_lab.tables.fidelity_table import ABOUT_FIDELITY, FidelityTable, highest
from samp_lab.tables.pointing_games import Game, GameTally, mcnemar, tally_games
from samp_lab.tables.time_table import TimeTable

WITH_BOXES = ("coco", "voc")
PHOTOS = 500  # at most: 100 would leave three maps to a class, and the paper played all of VOC2007's test photos
PATHS = ("IG", "Blur IG", "Guided IG")
METHODS: dict[str, str | Method] = {
    "MWP": "mwp",
    "SmoothGrad": "smoothgrad",
    "RISE": "rise",
    "IG": "ig",
    "Blur IG": "blurig",
    "Guided IG": "guidedig",
    "SAMP": "samp",
    "SAMP++": "samp++",
    "CAM": "cam",
    "Grad-CAM": "gradcam",
}
FIDELITY = FidelityTable({**METHODS, "random": "random"})
POINTING = {"MWP": "mwp", "c-MWP": "cmwp", **METHODS, "random": "random"}
POINTING_VALUES = {"MWP": 76.90, "RISE": 87.33, "IG": 76.31, "Blur IG": 76.19, "Guided IG": 72.82, "SAMP++": 80.75}
TIMES = TimeTable(
    rows=METHODS,
    values={
        "SmoothGrad": 0.204,
        "RISE": 0.191,
        "IG": 0.207,
        "Blur IG": 0.205,
        "Guided IG": 0.344,
        "SAMP++": 0.235,
    },
    unit="SAMP++",
    claims={
        **dict.fromkeys(("SmoothGrad", "RISE", "IG", "Blur IG"), "slower"),
        "Guided IG": "faster",
        **dict.fromkeys(("CAM", "Grad-CAM"), "slower"),
    },
    part="time",
)
ABOUT_SECONDS = "Seconds depend on the machine, so the claims are about ratios within one run."
ABOUT_POINTING = (
    "The paper played on VOC2007's test photos with a net of its own for VOC's classes. Here an ImageNet net stands "
    "in: a class of objects is explained as the most likely of the ImageNet classes that it stands for in each photo,"
    " and classes that stand for none (as person) are not played. The truth are boxes, cut as the net's view of the "
    "photo is; the tolerance is 3 % of the photo's longer side, 15 pixels on VOC's."
)


@dataclass(frozen=True)
class OtherMetrics:
    """The pointing game on setups with boxes; μFidelity and seconds on all others.

    >>> from samp_lab.setups import parse_setup
    >>> sorted({measurement.kind for measurement in TABLE7.measurements([parse_setup("mnist")])})
    ['fidelity', 'timed']
    """

    name: str
    title: str
    setups: tuple[str, ...]

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return all measurements on these setups."""
        return [measurement for setup in setups for measurement in self._measurements(setup)]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the tables of each setup, then all verdicts."""
        blocks: list[Block] = []
        verdicts: list[Verdict] = []
        for setup in setups:
            if _has_boxes(setup):
                blocks += _pointing_blocks(results, setup)
                verdicts += _pointing_verdicts(results, setup)
            else:
                blocks += _fidelity_blocks(results, setup)
                verdicts += FIDELITY.verdicts(results, setup) + TIMES.verdicts(results, setup)
        return Section(self.name, self.title, (*blocks, *([Verdicts(tuple(verdicts))] if verdicts else [])))

    def _measurements(self, setup: Setup) -> list[Measurement]:
        if _has_boxes(setup):
            return [_pointing(row, setup) for row in POINTING]
        return [*FIDELITY.measurements(setup), *TIMES.measurements(setup)]


TABLE7 = OtherMetrics(
    "table7",
    "Table 7: μFidelity, pointing game and seconds",
    ("mnist", "mnist@authors", "coco/resnet50", "voc/resnet50"),
)


def _has_boxes(setup: Setup) -> bool:
    return setup.data.partition(":")[0] in WITH_BOXES  # half of a data set is voc:even


def _fidelity_blocks(results: Results, setup: Setup) -> list[Block]:
    grids = [grid for grid in (FIDELITY.grid(results, setup), TIMES.grid(results, setup)) if grid]
    return [Paragraph(f"{ABOUT_FIDELITY} {ABOUT_SECONDS}"), *grids] if grids else []


# ---- the pointing game ----


def _pointing(row: str, setup: Setup) -> Pointing:
    return Pointing(setup, method_as_read(POINTING[row], setup), most=PHOTOS)


def _pointing_blocks(results: Results, setup: Setup) -> list[Block]:
    games = _games(results, setup)
    if not games:
        return []
    counted = {row: tally_games(game) for row, game in games.items()}
    ours = {row: bootstrap_estimate(tally.accuracy, len(tally.hits)) for row, tally in counted.items()}
    best = highest({row: estimate.value for row, estimate in ours.items()})
    heads = ("", "ours", "the paper's", "difference", "difficult ones", "hits")
    groups = (("", 1), ("mean accuracy of classes ↑, %", 4), ("", 1))
    rows = tuple(
        (
            row,
            *_accuracy(ours[row], row == best, POINTING_VALUES.get(row)),
            _difficult_accuracy(games[row]),
            _hits(counted[row]),
        )
        for row in games
    )
    return [
        Paragraph(ABOUT_POINTING),
        Grid(heads, rows, setup.title, groups),
        Paragraph(_describe_games(next(iter(games.values())))),
    ]


def _pointing_verdicts(results: Results, setup: Setup) -> list[Verdict]:
    games = _games(results, setup)
    others = [row for row in POINTING_VALUES if row != "RISE"]
    pairs = [*(("RISE", row) for row in others), *(("SAMP++", row) for row in (*PATHS, "MWP"))]
    played = [(a, b) for a, b in pairs if a in games and b in games]
    tested = holm([mcnemar(tally_games(games[a]), tally_games(games[b])) for a, b in played]) if played else []
    return [_compare(a, b, p, games, setup) for (a, b), p in zip(played, tested, strict=True)]


def _compare(a: str, b: str, p: float, games: Mapping[str, Game], setup: Setup) -> Verdict:
    """Return the verdict on a pair of rows, with Holm's p."""
    first, second = tally_games(games[a]), tally_games(games[b])
    ours = bootstrap_estimate(lambda weights: first.accuracy(weights) - second.accuracy(weights), len(first.hits))
    paper = POINTING_VALUES[a] - POINTING_VALUES[b]
    measured = f"{ours.format('+.1f')} points, Holm's {p_value(p)}"
    claim = SetupClaim(setup, "pointing", int((first.played.sum(1) > 0).sum()))
    state = sign_state(ours, +1, p)
    return claim.verdict(f"{a} better than {b}, pointing ↑", f"{paper:+.1f} points", measured, state)


def _games(results: Results, setup: Setup) -> dict[str, Game]:
    measurements = {row: _pointing(row, setup) for row in POINTING}
    return {
        row: results.entry(measurement)["numbers"]["game"]
        for row, measurement in measurements.items()
        if results.has(measurement)
    }


def _difficult_accuracy(game: Game) -> str:
    tally = tally_games(game, difficult=True)
    return f"{bootstrap_estimate(tally.accuracy, len(tally.hits)).value:.1f} of {tally.played.sum():.0f}"


def _hits(tally: GameTally) -> str:
    return f"{tally.hits.sum():.0f} of {tally.played.sum():.0f}"


def _describe_games(game: Game) -> str:
    """Return a sentence on the games played, which are the same for all rows."""
    tally, broken = tally_games(game), sum(one is None for one in game)
    photos = int((tally.played.sum(1) > 0).sum())
    sentence = (
        f"{tally.played.sum():.0f} maps of {photos} out of {len(game)} photos, for {len(tally.classes)} classes; "
        f"{len(imagenet_classes_by_label())} names in COCO and VOC stand for ImageNet classes."
    )
    return sentence + (f" The boxes of {broken} photos could not be read." if broken else "")


def _accuracy(ours: Estimate, best: bool, paper: float | None) -> tuple[str, str, str]:
    value, space, interval = ours.format(".1f").partition(" ")
    bold = f"**{value}**{space}{interval}" if best else f"{value}{space}{interval}"
    if paper is None:
        return bold, "–", "–"
    return bold, f"{paper:.1f}", f"{ours.value - paper:+.1f}".replace("-", "−")
