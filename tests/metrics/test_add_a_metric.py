"""The recipe "to add a metric" in the docstring of `samp.metrics` is true: a toy metric follows it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import samp
from compared_photos import a_photo
from samp.cli import main
from samp.compare_columns import COLUMNS, Column
from samp.metrics.maps import Maps, feature_values


def negative_share(maps: Maps) -> Tensor:
    """b: the share of features whose credit is negative."""
    return (feature_values(maps) < 0).double().mean(1)


@pytest.fixture
def toy_column() -> Iterator[Column]:
    column = Column(
        key="negative_share",
        heading="negative share",
        better="lower",
        write="{:.3f}".format,
        measure=lambda task, row: negative_share(row.attribution),
        meaning="The share of features whose credit speaks against the class.",
    )
    COLUMNS.append(column)
    yield column
    COLUMNS.remove(column)


def test_a_column_is_all_that_compare_needs(toy_column: Column) -> None:
    net, x = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval(), torch.rand(3, 3, 4, 4)
    compared = samp.compare(net, x, ["ig", "gradientxinput"], target=0)
    for row in compared.rows:
        expected = negative_share(row.attribution)
        assert row.numbers()["negative_share"] == pytest.approx(float(expected.mean()))
        assert row.numbers(2)["negative_share"] == pytest.approx(float(expected[2]))
    assert compared.table().splitlines()[0].endswith("| negative share ↓ |")


def test_a_column_may_ask_the_model(toy_column: Column) -> None:
    fidelity = Column(
        key="mu_fidelity",
        heading="μFidelity",
        better="higher",
        write="{:.3f}".format,
        measure=lambda task, row: (
            samp.metrics.mu_fidelity(task.model, task.inputs, row.attribution, subsets=20).correlation
        ),
        meaning="How well the credit of random sets of cells follows what hiding them does.",
    )
    COLUMNS.append(fidelity)
    try:
        net, x = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval(), torch.rand(2, 3, 4, 4)
        row = samp.compare(net, x, ["gradientxinput"], target=0)["gradientxinput"]
    finally:
        COLUMNS.remove(fidelity)
    assert row.numbers()["mu_fidelity"] == pytest.approx(1.0, abs=1e-3)  # the map of a linear net is exact


def test_it_is_in_the_json_and_the_page_of_the_command(
    toy_column: Column, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a_photo(tmp_path)
    words = ["compare", "photo.png", "--methods", "ig,random", "--model", "tiny_nets:classifier"]
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 0, result.output
    assert all(0 <= method["negative_share"] <= 1 for method in json.loads(result.stdout)["methods"])
    assert CliRunner().invoke(main, words).exit_code == 0
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert toy_column.meaning in page


def test_every_place_that_the_recipe_names_exists() -> None:
    recipe = (samp.metrics.__doc__ or "").partition("To add a metric:")[2].partition(">>>")[0]
    places = re.findall(r"(?:`(\w+)` of )?`(samp/[\w/]+)\.py`", recipe)
    assert {path for _, path in places} >= {"samp/compare_columns", "samp/batch/tables", "samp/html/report_facts"}
    for name, path in places:
        module = importlib.import_module(path.replace("/", "."))
        assert not name or hasattr(module, name), f"{path}.py has no {name}"


def test_what_a_report_shows_is_a_column_of_a_run_or_made_of_such() -> None:
    from samp.batch.tables import COLUMNS as RUN_COLUMNS
    from samp.html.report_facts import QUANTITIES

    assert {quantity.key for quantity in QUANTITIES} <= {*RUN_COLUMNS, "error_share"}
