"""The completeness table: gaps by hand, refusals as facts, and a page that says what the file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

from samp_lab.commands import bench
from samp_lab.completeness.measure import Contender, Row, contenders, measure, relative_gap
from samp_lab.completeness.nets import BEDS, Bed, load_bed
from samp_lab.completeness.page import EXACT, format_gap, make_page
from samp_lab.workspace import ExperimentOptions

ROOT = Path(__file__).parents[3]


def bed() -> Bed:
    net = nn.Sequential(nn.Linear(2, 2)).eval()
    net[0].weight.data, net[0].bias.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 20.0])
    return Bed("by hand", "two inputs", net, torch.tensor([[1.0, 1.0], [2.0, 0.0]]), [0, 1])


def give(*values: float) -> Contender:
    def attribute(bed: Bed, x: Tensor, start: Tensor, target: int) -> tuple[Tensor, float]:
        return torch.tensor(values), 0.0

    return Contender("nobody", "fixed", "change", attribute)


def test_gaps_are_relative_to_what_credit_should_sum_to() -> None:
    one, x = bed(), torch.tensor([[1.0, 1.0]])
    start, values = torch.zeros_like(x), torch.tensor([1.0, 1.5])
    assert relative_gap(one, x, start, 0, values, 0.0, "change") == pytest.approx(0.5 / 3)
    assert relative_gap(one, x, start, 0, values, 0.0, "score") == pytest.approx(10.5 / 13)
    assert relative_gap(one, x, start, 0, values, 10.5, "score less absorbed") == 0
    (row,) = measure(one, [give(3.0)])  # 3 of 3, and 3 of 6
    assert (row.median, row.largest, row.inputs) == (0.25, 0.5, 2)


def test_what_a_library_raises_is_a_row() -> None:
    def fail(bed: Bed, x: Tensor, start: Tensor, target: int) -> tuple[Tensor, float]:
        raise TypeError("no rule\n for this module")

    def missing(bed: Bed, x: Tensor, start: Tensor, target: int) -> tuple[Tensor, float]:
        raise ModuleNotFoundError("No module named 'shap'", name="shap")

    rows = list(measure(bed(), [Contender("a", "b", "change", one) for one in (fail, missing)]))
    assert [row.refusal for row in rows] == ["TypeError: no rule for this module", "not installed: shap"]
    assert [format_gap(row) for row in rows] == ["refused", "not installed"]


def test_our_exact_methods_sum_on_the_tabular_net_and_the_net_is_good() -> None:
    pytest.importorskip("sklearn")
    tabular = load_bed("tabular", ExperimentOptions(), 3)
    assert float(tabular.about.partition("; ")[2].partition("%")[0]) > 94
    rows = {(r.library, r.method, r.sums_to): r for r in measure(tabular, contenders())}
    for key in (("consensus", "change"), ("coupled", "change"), ("deeplift", "change"), ("lrp", "score less absorbed")):
        largest = rows["samp", *key].largest
        assert largest is not None
        assert largest < EXACT
    assert (rows["samp", "lrp", "score"].median or 0) > 0.01  # biases absorb some
    assert "use 'lrp'" in rows["samp", "attnlrp", "score"].refusal


def test_the_command_writes_the_file_and_the_page(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    words = ["completeness", "--net", "tabular", "--inputs", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(bench, [*words, "--page", str(tmp_path / "page.md")])
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "completeness.json").read_text())
    assert [*found["nets"]] == ["MLP, tabular"]
    assert {row["net"] for row in found["nets"]["MLP, tabular"]["rows"]} == {"MLP, tabular"}
    assert (tmp_path / "page.md").read_text() == make_page(found)
    unknown = CliRunner().invoke(bench, ["completeness", "--net", "resnet"])
    assert "resnet50" in str(unknown.exception)


def test_the_committed_page_is_made_of_the_committed_file() -> None:
    found = json.loads((ROOT / "results" / "completeness.json").read_text(encoding="utf-8"))
    assert (ROOT / "docs" / "completeness.md").read_text(encoding="utf-8") == make_page(found)
    assert len(found["nets"]) == len(BEDS)


def test_the_committed_file_has_our_exact_methods_exact() -> None:
    nets = json.loads((ROOT / "results" / "completeness.json").read_text(encoding="utf-8"))["nets"]
    rows = [Row(**row) for net in nets.values() for row in net["rows"]]
    for method, sums_to in (
        ("consensus", "change"),
        ("coupled", "change"),
        ("deeplift", "change"),
        ("attnlrp", "score less absorbed"),
    ):
        ours = [r for r in rows if (r.library, r.method, r.sums_to) == ("samp", method, sums_to) and not r.refusal]
        assert ours
        assert all(row.largest is not None and row.largest < 1e-3 for row in ours), ours
