"""What results/ holds is found by the measurements of today: fields may be renamed, stored keys may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from samp_lab.measurements.base import Measurement, name_of, spec_of
from samp_lab.registry import load_experiments
from samp_lab.setups import IMAGENET_NETS, parse_setup
from samp_lab.store import Store

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def known() -> dict[str, Measurement]:
    """Every measurement of every experiment on any of the ImageNet nets, by its stored name.

    The report shows an experiment on all nets that were measured, and users may ask for others than its own.
    """
    found = {}
    for experiment in load_experiments():
        setups = [parse_setup(name) for name in experiment.setups]
        photos = {setup.data: setup for setup in setups if setup.net in IMAGENET_NETS}.values()
        setups += [replace(setup, net=net) for setup in photos for net in IMAGENET_NETS]
        found |= {name_of(one): one for one in experiment.measurements(setups)}
    return found


def test_every_stored_result_is_asked_for_by_a_measurement(known: dict[str, Measurement]) -> None:
    stored = Store(RESULTS).read()
    assert len(stored.entries) > 300
    assert [name for name in stored.entries if name not in known] == []
    assert [name for name in stored.timings if name not in known] == []


def test_every_stored_result_says_what_was_asked_in_the_same_words(known: dict[str, Measurement]) -> None:
    for name, entry in Store(RESULTS).read().entries.items():
        assert entry["asked"] == spec_of(known[name])
