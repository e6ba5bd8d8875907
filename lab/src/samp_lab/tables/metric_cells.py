"""What a table of Deletion and Insertion reads: the measurement of each row on a setup, and the paper's values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from samp.methods import Method
from samp.metrics.intervals import mean_and_sd
from samp.metrics.statistics import Summary, summarise
from samp_lab.effects import BETTER, Column
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.readings import method_as_read
from samp_lab.setups import SEED, Setup, parse_setup
from samp_lab.store import Results

Value = tuple[float, float | None, float, float | None]
"""The paper's deletion and its deviation, insertion and its deviation."""


@dataclass(frozen=True)
class MetricCells:
    """The rows of a table, by name, and the paper's values, by data set and row; rows without one are our additions.

    >>> cells = MetricCells({"IG": "ig", "random": "random"}, {"mnist": {"IG": (-0.038, 0.14, 0.795, 0.11)}})
    >>> cells.paper("IG", "mnist", "insertion"), cells.paper("random", "mnist", "insertion")
    ((0.795, 0.11), None)
    """

    rows: Mapping[str, str | Method]
    values: Mapping[str, Mapping[str, Value]]

    def rows_on(self, setup: Setup) -> list[str]:
        """Return the rows that are measured on a setup: on nets of other training seeds those that the paper has.

        >>> cells = MetricCells({"IG": "ig", "random": "random"}, {"mnist": {"IG": (-0.038, 0.14, 0.795, 0.11)}})
        >>> cells.rows_on(parse_setup("mnist")), cells.rows_on(parse_setup("mnist/mnist-seed1"))
        (['IG', 'random'], ['IG'])
        """
        known = self.values.get(setup.data, {}) if SEED in setup.net else {}
        return [row for row in self.rows if row in known or not known]

    def measurement(self, row: str, setup: Setup) -> MethodCurves:
        """Return the measurement of a row, with the settings of the setup's reading."""
        return MethodCurves(setup, method_as_read(self.rows[row], setup))

    def present(self, results: Results, setup: Setup) -> list[str]:
        """Return the rows that were measured on a setup."""
        return [row for row in self.rows_on(setup) if results.has(self.measurement(row, setup))]

    def failures(self, results: Results, setup: Setup) -> dict[str, str]:
        """Return why rows were not measured on a setup, by row; most of them do not apply to its net."""
        missing = {row: results.failure(self.measurement(row, setup)) for row in self.rows_on(setup)}
        present = self.present(results, setup)
        return {row: why for row, why in missing.items() if why is not None and row not in present}

    def numbers(self, results: Results, row: str, setup: Setup, column: Column) -> list[float]:
        """Return one number per image; the "difference" is insertion − deletion."""
        measurement = self.measurement(row, setup)
        if column != "difference":
            return results.numbers(measurement, column)
        pairs = zip(*(results.numbers(measurement, one) for one in BETTER), strict=True)
        return [insertion - deletion for deletion, insertion in pairs]

    def summary(self, results: Results, row: str, setup: Setup, column: Column) -> Summary:
        """Return mean, deviation and interval of a row over images."""
        return summarise(self.numbers(results, row, setup, column))

    def mean(self, results: Results, row: str, setup: Setup, column: Column) -> float:
        """Return the mean of a row over the images that have a number; NaN without any."""
        known = [value for value in self.numbers(results, row, setup, column) if not math.isnan(value)]
        return mean_and_sd(np.asarray(known, np.float64))[0]

    def paper(self, row: str, data: str, column: Column) -> tuple[float, float | None] | None:
        """Return the paper's mean and deviation of a row, or None if it has none; a difference has no deviation."""
        value = self.values.get(data, {}).get(row)
        if value is None:
            return None
        deletion, deletion_sd, insertion, insertion_sd = value
        by_column = {
            "deletion": (deletion, deletion_sd),
            "insertion": (insertion, insertion_sd),
            "difference": (insertion - deletion, None),
        }
        return by_column[column]


def split_setups(setups: Sequence[Setup]) -> tuple[list[Setup], list[Setup]]:
    """Return the setups of one data set that a table shows in full, and all others.

    In full are those of the data set's own net, one for each reading; without any of them, the first of each reading.

    >>> [[one.name for one in group] for group in split_setups(
    ...     [parse_setup(name) for name in ("mnist", "mnist/mnist-seed1", "mnist@authors")])]
    [['mnist', 'mnist@authors'], ['mnist/mnist-seed1']]
    """
    own = [one for one in setups if one == parse_setup(f"{one.data}@{one.reading}")]
    first = {one.reading: one for one in reversed(own or setups)}
    full = sorted(first.values(), key=lambda one: one.reading != "text")
    return full, [one for one in setups if one not in full]
