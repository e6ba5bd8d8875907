"""Methods side by side in Python: each row is what its parts say, and the rows are comparable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.compare import COLUMNS, Compared, Row, compare
from samp.methods.random_map import RandomMap
from samp.metrics import PROTOCOLS, Protocol, deletion_insertion
from samp.metrics.completeness import completeness_of
from samp.metrics.concentration import concentration
from samp.metrics.statistics import compare_pairs

TINY = Protocol(step=4, fill=0.0, start=0.5, auc="trapezoid", name="tiny")


class Bent(nn.Module):
    """A small net whose scores bend along any path, with a layer that Grad-CAM can look at; it counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(2, 4, 3, padding=1)
        self.say = nn.Linear(4 * 36, 3)
        self.calls = 0
        for parameter in self.parameters():
            drawn = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
            parameter.data = 0.3 * drawn

    def forward(self, x: Tensor, tilt: Tensor | None = None) -> Tensor:
        self.calls += 1
        scores: Tensor = self.say(torch.tanh(self.look(x)).flatten(1))
        return scores if tilt is None else scores + tilt[:, None] * x.flatten(1).square().sum(1, keepdim=True)


def images(count: int = 3) -> Tensor:
    return torch.rand(count, 2, 6, 6, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def net() -> Bent:
    return Bent().eval()


def test_a_row_is_what_its_parts_say(net: Bent) -> None:
    row = compare(net, images(), ["samp++"], [0, 1, 2], TINY, seed=3)["samp++"]
    result = samp.explain(net, images(), target=[0, 1, 2], method="samp++", seed=3)
    curves = deletion_insertion(net, images(), result, [0, 1, 2], TINY, seed=3)
    assert torch.equal(row.attribution.values, result.values)
    assert torch.equal(row.curves.deletion_curve, curves.deletion_curve)
    assert torch.equal(row.curves.insertion, curves.insertion)
    assert torch.equal(row.concentration.gini, concentration(result).gini)
    assert row.completeness_error is not None
    assert torch.equal(row.completeness_error, completeness_of(result)["both"].relative)
    assert torch.equal(row.gradients, result.gradients)


def test_batched_rows_equal_those_of_each_sample(net: Bent) -> None:
    together = compare(net, images(), ["samp++", "ig", "gradcam"], 1, TINY)
    for sample in range(3):
        alone = compare(net, images()[sample : sample + 1], ["samp++", "ig", "gradcam"], 1, TINY)
        for row in alone.rows:
            expected, found = row.numbers(), together[row.name].numbers(sample)
            known = {key: value for key, value in expected.items() if value is not None and key != "seconds"}
            # sums over a batch and over one sample may differ in their last float32 digits
            assert {key: found[key] for key in known} == pytest.approx(known, rel=1e-3, abs=1e-6)
            assert {key for key in expected if expected[key] is None} == {key for key in found if found[key] is None}


def test_numbers_without_a_sample_are_means_of_what_is_known(net: Bent) -> None:
    row = compare(net, images(), ["ig"], 1, TINY)["ig"]
    holed = row.curves.deletion.clone()
    holed[1] = torch.nan
    holed_row = replace(row, measurements={**row.measurements, "deletion": holed})
    assert holed_row.numbers()["deletion"] == pytest.approx(float(holed[[0, 2]].mean()))
    assert holed_row.numbers(1)["deletion"] is None
    assert holed_row.numbers()["insertion"] == pytest.approx(float(row.curves.insertion.mean()))


def test_the_class_is_predicted_once_for_all_methods(net: Bent) -> None:
    compared = compare(net, images(), ["ig", "gradcam"], protocol=TINY)
    expected = net(images()).argmax(1).tolist()
    for row in compared.rows:
        assert row.attribution.details["target"] == expected
        assert row.curves.details["target"] == expected
    net.calls = 0
    compare(net, images(), ["random"], protocol=TINY, batch_size=1000)
    assert net.calls == 4  # the prediction, whether there is a score, one deletion and one insertion


def test_only_credit_that_is_meant_to_sum_has_a_completeness_error(net: Bent) -> None:
    compared = compare(net, images(), ["ig", "gradcam", "smoothgrad", "random"], 0, TINY)
    assert [row.completeness_error is None for row in compared.rows] == [False, True, True, True]
    ig = compared["ig"]
    change = ig.attribution.score_change["to_image"]
    assert ig.completeness_error is not None
    assert ig.completeness_error.tolist() == pytest.approx((ig.attribution.residual / change).abs().tolist())


def test_model_calls_are_those_of_the_explanation_alone(net: Bent) -> None:
    compared = compare(net, images(), ["ig", "rise", "random"], 0, TINY)
    ig, rise, chance = compared.rows
    assert ig.gradients.tolist() == [51] * 3
    assert (ig.forwards, chance.forwards) == (0, 0)
    assert rise.forwards >= 4000
    assert [row.uses_model for row in compared.rows] == [True, True, False]


@dataclass(frozen=True)
class Slow:
    """A method that takes 3 seconds of the clock that is given to it."""

    clock: list[float]
    about = RandomMap.about

    def attribute(self, problem: Any, run: Any) -> samp.Attribution:
        self.clock[0] += 3.0
        return RandomMap().attribute(problem, run)


def test_seconds_are_those_of_explaining_and_not_of_the_metrics(net: Bent, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def slowly(output: Any) -> Any:
        clock[0] += 5.0
        return output

    row = compare(net, images(1), {"slow": Slow(clock)}, 0, replace(TINY, score=slowly))["slow"]
    assert row.seconds == 3.0
    assert clock[0] >= 108.0


def test_every_argument_changes_the_result(net: Bent) -> None:
    plain = {"target": 0, "protocol": TINY}

    def deletion(**changed: Any) -> list[float]:
        return compare(net, images(), ["samp"], **{**plain, **changed})["samp"].curves.deletion.tolist()

    usual = deletion()
    assert deletion(target=1) != usual
    assert deletion(protocol=replace(TINY, fill=1.0)) != usual
    assert deletion(groups=samp.Patches(3)) != usual
    assert deletion(forward_args=samp.PerSample([0.1, 0.2, 0.3])) != usual
    assert deletion(batch_size=1) == pytest.approx(usual, rel=1e-5)
    maps = [compare(net, images(), ["random"], 0, TINY, seed=seed)["random"].attribution.values for seed in (0, 1)]
    assert not torch.equal(*maps)


def test_the_protocol_is_the_papers_by_size_or_the_one_asked_for(net: Bent) -> None:
    assert compare(net, images(1), ["random"], 0).protocol is PROTOCOLS["cifar10"]
    assert compare(net, images(1), ["random"], 0, "rise").protocol is PROTOCOLS["rise"]


def test_tables_and_several_inputs_are_compared_too() -> None:
    model = nn.Bilinear(3, 4, 2).eval()
    inputs = (torch.rand(5, 3), torch.rand(5, 4))
    compared = compare(model, inputs, ["samp", "ig"], 0, Protocol(step=1, fill=0.0, start=0.0))
    assert compared["ig"].curves.deletion.shape == (5,)


def test_labels_are_names_reprs_or_the_users_own(net: Bent) -> None:
    listed = compare(net, images(1), ["random", samp.IG(steps=2)], 0, TINY)
    assert listed.names[0] == "random"
    assert listed.names[1].startswith("IG(steps=2")
    named = compare(net, images(1), {"few": samp.IG(steps=2), "many": "ig"}, 0, TINY)
    assert named.names == ("few", "many")
    assert named["few"].gradients.item() == 3
    with pytest.raises(ValueError, match="unknown row 'fwe': did you mean 'few'"):
        named["fwe"]


@pytest.mark.parametrize(
    ("methods", "protocol", "error", "sentence"),
    [
        (["ig", "gradcan"], TINY, ValueError, "unknown method 'gradcan': did you mean 'gradcam'"),
        (["ig", "ig"], TINY, ValueError, "each once"),
        ([], TINY, ValueError, "there are none"),
        ("ig", TINY, TypeError, "not one string"),
        (["ig"], "rize", ValueError, "did you mean 'rise'"),
        (["ig", 3], TINY, TypeError, "a method is a name or an object"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence_before_any_work(
    net: Bent, methods: Any, protocol: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        compare(net, images(1), methods, 0, protocol)
    assert net.calls == 0


def test_an_error_says_which_method_it_is_of() -> None:
    with pytest.raises(ValueError, match="image input") as caught:
        compare(nn.Linear(4, 2).eval(), torch.rand(1, 4), ["ig", "rise"], 0, Protocol(step=1))
    assert caught.value.__notes__ == ["while comparing, in rise"]


# ---- reading a comparison


def with_numbers(rows: dict[str, dict[str, float | None]], silent: str = "") -> Compared:
    """A comparison whose rows have just these numbers; one of them may have used no model."""

    class NumbersOnly(Row):
        def __init__(self, name: str, numbers: dict[str, float | None]) -> None:
            object.__setattr__(self, "name", name)
            object.__setattr__(self, "measurements", {column.key: None for column in COLUMNS} | numbers)

        @property
        def uses_model(self) -> bool:
            return self.name != silent

    return Compared(tuple(NumbersOnly(name, numbers) for name, numbers in rows.items()))


def best(compared: Compared) -> dict[str, set[str]]:
    return {column.key: found for column in COLUMNS if (found := compared.best(column))}


def test_the_best_is_the_lowest_or_highest_as_the_column_wants_it() -> None:
    compared = with_numbers(
        {
            "a": {"deletion": 0.1, "insertion": 0.5, "variance": 9.0, "completeness_error": None},
            "b": {"deletion": 0.3, "insertion": 0.9, "variance": 1.0, "completeness_error": 0.2},
            "chance": {"deletion": 0.0, "insertion": 1.0, "variance": 99.0},
        },
        silent="chance",
    )
    # the variance depends on a map's scale, and chance has not asked the model
    assert best(compared) == {"deletion": {"a"}, "insertion": {"b"}, "completeness_error": {"b"}}


def test_ties_share_the_best_and_all_alike_have_none() -> None:
    rows = {
        "a": {"gini": 0.5, "forwards": 0.0},
        "b": {"gini": 0.5, "forwards": 0.0},
        "c": {"gini": 0.4, "forwards": 0.0},
    }
    assert best(with_numbers(rows)) == {"gini": {"a", "b"}}  # type: ignore[arg-type]  # floats are floats or None


def test_the_table_is_markdown_with_arrows_and_dashes(net: Bent) -> None:
    compared = compare(net, images(), ["ig", "random"], 0, TINY)
    head, rule, ig, chance = compared.table().splitlines()
    assert head.startswith(
        "| method | deletion ↓ | insertion ↑ | insertion − deletion ↑ | completeness error ↓ | variance |"
    )
    assert {line.count("|") for line in (head, rule, ig, chance)} == {len(COLUMNS) + 2}
    assert f"| {float(compared['ig'].curves.insertion.mean()):.3f} |" in ig
    assert "| 51 | 0 |" in ig
    assert "| – |" in chance
    assert compared.table(0) != compared.table()


def test_rows_can_be_tested_in_pairs(net: Bent) -> None:
    compared = compare(net, images(8), ["ig", "random"], 0, TINY)
    pair = compare_pairs(compared["ig"].curves.insertion, compared["random"].curves.insertion, "higher")
    assert pair is not None
    assert "ig, random on 8 samples" in repr(compared)
