"""Results as a run leaves them, made up: methods on setups with numbers per image, one skipped, one failed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from samp_lab.experiment import Experiment, FigureContext
from samp_lab.measurements.base import Measurement, name_of, spec_of
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.report.contents import Report, gather_report
from samp_lab.sections import Block, Grid, Paragraph, Picture, Section, State, Verdict, Verdicts
from samp_lab.setups import Setup, parse_setup
from samp_lab.store import Results, Store, write_json

EVIL = (
    "<script>document.title = 'hit'</script> | a `b` **c** <img src=x onerror=\"document.title='hit'\"> [d](e) $f$ _g_"
)
MACHINE = "4 CPU threads, x86_64, Python 3.11.7, torch 2.13.0, samp 0.9"


def cells_of(experiments: Iterable[Experiment], setups: Iterable[str]) -> list[Measurement]:
    """Every cell of these experiments on those of the setups whose data set they are for."""
    found: dict[str, Measurement] = {}
    for experiment in experiments:
        data = {parse_setup(name).data for name in experiment.setups}
        own = [parse_setup(name) for name in setups if parse_setup(name).data in data]
        found |= {name_of(cell): cell for cell in experiment.measurements(own)}
    return list(found.values())


def write_results(folder: Path, cells: Iterable[Measurement], *, images: int = 12, **more: Any) -> Store:
    """A folder with results.json and timing.json of these cells; `more` goes into results.json."""
    store = Store(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name_of(cell): _entry(cell, images) for cell in cells}
    about = {"device": MACHINE, "seed": 3}
    results = {"about": about, "commands": [], "images": {}, "cells": kept, "failed": {}}
    write_json(store.results_file, {**results, **more})
    seconds = {"seconds": [0.25] * images, "machine": MACHINE}
    write_json(store.timing_file, dict.fromkeys(kept, seconds))
    return store


def _entry(cell: Measurement, images: int) -> dict[str, Any]:
    """Numbers that only the cell's name decides, those of SAMP better than the others'."""
    dice = random.Random(name_of(cell))
    good = 0.2 if "SAMP" in name_of(cell) else 0.0
    shift = dice.uniform(-0.1, 0.1)
    noise = [dice.gauss(shift, 0.1) for _ in range(images)]
    numbers = {
        "deletion": [round(0.3 - good + value, 4) for value in noise],
        "insertion": [round(0.8 + good - value, 4) for value in noise],
        "gradients": [51] * images,
        "forwards": [0] * images,
    }
    facts = {"images": "0123abcd", "count": images, "weights": "feed" * 8, "seed": 3}
    return {"asked": spec_of(cell), "facts": facts, "numbers": numbers}


@dataclass(frozen=True)
class FixedExperiment:
    """An experiment that says what it is told to, once a cell of it is there."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    setups: tuple[str, ...] = ("mnist",)

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        return [MethodCurves(one, "ig") for one in setups]

    def draw(self, context: FigureContext) -> None:
        pass

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        return Section(self.name, self.title, self.blocks)


def hostile_report(folder: Path) -> Report:
    """A report in which every text is an attack, with every kind of block."""
    states: tuple[State, ...] = ("holds", "open", "fails", "missing")
    wide = Grid(("", *[EVIL] * 3), ((EVIL, EVIL, f"**{1:.1f}** ± 0.5 [0, {EVIL}]", EVIL),), EVIL, (("", 1), (EVIL, 3)))
    claims = Verdicts(tuple(Verdict(EVIL, EVIL, f"+0.1 [0, 1], {EVIL}", state, EVIL) for state in states), EVIL)
    blocks = (Paragraph(EVIL), wide, claims, Picture("good.png", EVIL), Picture(EVIL, EVIL))
    (folder / "figures").mkdir()
    Image.new("RGB", (900, 300), "teal").save(folder / "figures" / "good.png")
    (folder / "remarks").mkdir()
    remark = (
        f"{EVIL}\n\n- {EVIL}\n- **bold** `<script>` [link](https://example.org/?a=1&b=2) [bad](javascript:alert(1))\n"
    )
    (folder / "remarks" / "table0.md").write_text(remark, encoding="utf-8")
    (folder / "remarks" / "summary.md").write_text(EVIL, encoding="utf-8")
    experiment = FixedExperiment("table0", f"Table 0: {EVIL}", blocks)
    store = write_results(
        folder,
        experiment.measurements([parse_setup("mnist")]),
        commands=[f"samp bench {EVIL}"],
        failed={EVIL: EVIL},
        about={"device": EVIL, "seed": EVIL},
    )
    return gather_report(store, [experiment, FixedExperiment(EVIL, EVIL, (Grid(("a", "b"), (("c", "1"),)),))])


def table_rows(text: str) -> list[list[str]]:
    """The cells of all rows of all tables, split where a bar is not escaped."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
