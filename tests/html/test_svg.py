"""Bars and axes of a report: every input is in one bar, and no two marks say the same."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from samp.html.report_facts import histogram
from samp.html.svg import histogram_chart, marks_across


def number(words: str) -> float:
    return float(words.replace("−", "-"))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (9.4, 12.1),
        (99.0, 105.0),
        (100000.5, 100000.9),
        (-3.0, 4.0),
        (0.0, 1.0),
        (0.99991, 0.99999),
        (2e6, 9e6),
        (-1e-13, 2e-13),
        (3e-15, 9e-15),
    ],
)
def test_marks_of_an_axis_are_told_apart_and_are_where_they_say(low: float, high: float) -> None:
    found = marks_across(low, high)
    assert 3 <= len(found) <= 8
    assert len({words for _, words in found}) == len(found)
    for place, words in found:
        assert low <= place <= high
        assert number(words) == pytest.approx(place, abs=1e-6 * (high - low))


@pytest.mark.parametrize(
    ("low", "high"), [(-16.3, -3.1), (-6.02, -6.0), (-2.9, -1.1), (-7.5, -6.5), (-15.95, -15.1), (-1.0, 3.0)]
)
def test_marks_of_a_logarithmic_axis_too(low: float, high: float) -> None:
    found = marks_across(low, high, logarithmic=True)
    assert 2 <= len(found) <= 8
    assert len({words for _, words in found}) == len(found)
    for place, words in found:
        assert low <= place <= high
        assert math.log10(number(words)) == pytest.approx(place, abs=1e-6 * (high - low))


def test_bars_that_differ_are_told_apart() -> None:
    bars = histogram(np.linspace(100, 101, 60))
    assert bars is not None
    drawn = histogram_chart(bars, "Score")
    titles = re.findall(r"<title>(.*?)</title>", drawn)
    assert len(titles) == len(set(titles)) == 30
    assert titles[0].startswith("2 from 100 to 100.03")


@pytest.mark.parametrize("value", [0.5, -3.0, 1e17, 0.0])
def test_values_that_differ_by_rounding_are_one_bar(value: float) -> None:
    found = histogram(np.array([value, np.nextafter(value, 2 * value)] * 20))
    assert found is not None
    assert max(found.heights) == 40
    assert found.edges[0] < value < found.edges[-1]


def test_every_input_is_in_one_bar() -> None:
    values = [0.0, 1e-6, 1e-3, 0.1, 0.1, 2.0]
    for logarithmic in (False, True):
        found = histogram(np.array([*values, np.inf]), logarithmic)
        assert found is not None
        assert (sum(found.heights), found.outside) == (6, 1)
    assert histogram(np.empty(0)) is None
    alike = histogram(np.full(9, 0.5))
    assert alike is not None
    assert sum(alike.heights) == 9
