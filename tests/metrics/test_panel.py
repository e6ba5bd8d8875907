"""The panel: every judge says what its metric says, shares what can be shared, and is left out with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CountingModel, images
from samp.annotations.boxes import Box
from samp.metrics import (
    JUDGES,
    Judge,
    Panel,
    auroc,
    deletion_insertion,
    energy,
    gini,
    panel,
    pointing_game,
    precision,
    sds,
    transfer,
)
from samp.metrics.judge import CannotJudge, PanelTask

SIDE, COUNT = 12, 3
TARGET = [0, 2, 1]


def small_net(seed: int) -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        layers = nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 100, 3), nn.Softplus()
        return nn.Sequential(*layers).double().eval()


NET, OTHER = small_net(0), small_net(1)
X = images(0, COUNT, 2, SIDE, SIDE)
MASKS = torch.zeros(COUNT, SIDE, SIDE, dtype=torch.bool)
MASKS[:2, 3:9, 2:7] = True  # the last image has no object
MAPS = {"one": images(1, COUNT, SIDE, SIDE) - 0.5, "two": images(2, COUNT, 2, SIDE, SIDE) - 0.3}


@pytest.fixture(scope="module")
def found() -> Panel:
    return panel(NET, X, MAPS, TARGET, others={"other": OTHER}, truth=MASKS, seed=4)


def test_every_judge_says_what_its_metric_says(found: Panel) -> None:
    for name, maps in MAPS.items():
        difference = {
            key: deletion_insertion(NET, X, maps, TARGET, protocol, seed=4).difference
            for key, protocol in (("paper", None), ("rise", "rise"), ("diffid", "diffid"), ("road", "road"))
        }
        game = pointing_game(maps, MASKS, tolerance=0)
        pixels = maps if maps.ndim == 3 else maps.sum(1)
        expected = {
            **difference,
            "diffid-signed": deletion_insertion(NET, X, maps, TARGET, "diffid-signed", seed=4).difference,
            "sds": sds(NET, X, maps, TARGET).correlation,
            "transfer: other": transfer({"other": OTHER}, X, maps, TARGET)["other"].difference,
            "energy": energy(maps, MASKS).lift,
            "auroc": auroc(maps, MASKS),
            "pointing": game.hits.double().where(game.played, torch.nan),
            "precision": precision(maps, MASKS),
            "concentration": gini(pixels.clamp(min=0)),
        }
        assert found.scores.keys() >= expected.keys()
        for key, values in expected.items():
            torch.testing.assert_close(found.scores[key][name], values.double(), equal_nan=True)
    assert {judge.key for judge in JUDGES if judge.key in found.left_out and "explain_maps" not in judge.needs} == set()
    assert found.scores["auroc"]["one"].isnan().tolist() == [False, False, True]


def test_judges_whose_needs_are_not_given_are_left_out_with_the_reason() -> None:
    found = panel(NET, X, MAPS, TARGET)
    assert set(found.left_out) == {judge.key for judge in JUDGES if judge.needs}
    assert "pass truth=" in found.left_out["energy"]
    assert "pass others=" in found.left_out["transfer"]
    assert {one.key for one in found.criteria} >= {"paper", "rise", "diffid", "diffid-signed", "road", "sds"}


def test_batch_size_does_not_matter(found: Panel) -> None:
    parts = panel(NET, X, MAPS, TARGET, others={"other": OTHER}, truth=MASKS, batch_size=5, seed=4)
    for key, row in found.scores.items():
        for name, values in row.items():
            torch.testing.assert_close(parts.scores[key][name], values, equal_nan=True)


def test_removing_patches_is_shared_by_all_methods() -> None:
    counted = CountingModel(NET)
    panel(counted, X, {**MAPS, "three": -MAPS["one"]}, TARGET, judges=["sds"])
    assert counted.rows == COUNT * 17


def test_calls_are_those_of_the_curves_and_the_patches() -> None:
    counted = CountingModel(NET)
    points = {"paper": 2 * 16, "rise": 2 * 2, "diffid": 18, "diffid-signed": 18, "road": 18}
    panel(counted, X, MAPS, TARGET, judges=[*points, "sds"])
    assert counted.rows == COUNT * (len(MAPS) * sum(points.values()) + 17)
    assert counted.rows_with_gradient == 0


def test_the_class_is_the_predicted_one_or_that_of_the_attributions() -> None:
    judges = ["paper"]
    predicted = panel(NET, X, MAPS, judges=judges)
    assert predicted.details[0]["target"] == NET(X).argmax(1).tolist()
    result = samp.explain(NET, X, target=2, method="ig")
    explained = panel(NET, X, {"ig": result, "one": MAPS["one"]}, judges=judges)
    assert explained.details[0]["target"] == [2] * COUNT
    other = samp.explain(NET, X, target=1, method="ig")
    with pytest.raises(ValueError, match="explain different classes: pass target="):
        panel(NET, X, {"one": result, "two": other}, judges=judges)
    assert panel(NET, X, {"one": result, "two": other}, 1, judges=judges).details[0]["target"] == [1] * COUNT


def test_labels_choose_the_boxes() -> None:
    dog, cat = Box("dog", 2, 3, 7, 9), Box("cat", 0, 0, 2, 2)
    truth = [samp.metrics.Annotation((dog, cat), (SIDE, SIDE))] * COUNT
    found = panel(NET, X, MAPS, TARGET, truth=truth, labels=["dog", "cat", "dog"], judges=["auroc"])
    expected = auroc(MAPS["one"], truth, ["dog", "cat", "dog"])
    assert torch.equal(found.scores["auroc"]["one"], expected)


def test_a_judge_of_ones_own_may_explain_again() -> None:
    def again(model: Any, x: Tensor, target: Tensor, seed: int) -> Tensor:
        return samp.explain(model, x, target=target, method="ig", seed=seed).map

    def change(task: PanelTask, name: str) -> dict[str, Tensor]:
        other = task.explain_maps[name](task.model, task.images, (task.target + 1) % 3, task.settings.seed)
        return {"largest": (other - task.maps[name]).flatten(1).abs().amax(1), "none": torch.zeros(COUNT)}

    judge = Judge("class", "class", "higher", "Another class, another map.", change, frozenset({"explain_maps"}))
    maps = {"ig": samp.explain(NET, X, target=torch.tensor(TARGET), method="ig").map}
    found = panel(NET, X, maps, TARGET, judges=[judge], explain_maps={"ig": again})
    assert list(found.scores) == ["class: largest", "class: none"]
    assert (found.scores["class: largest"]["ig"] > 0).all()
    with pytest.raises(
        ValueError, match="the judge 'class' cannot judge: maps cannot be made again: pass explain_maps="
    ):
        panel(NET, X, maps, TARGET, judges=[judge])


@pytest.fixture
def few_judges() -> Iterator[list[Judge]]:
    """The register, with the single deletion score alone."""
    before = JUDGES[:]
    JUDGES[:] = [judge for judge in before if judge.key == "sds"]
    yield JUDGES
    JUDGES[:] = before


def test_a_judge_that_cannot_judge_is_left_out_unless_it_was_asked_for(few_judges: list[Judge]) -> None:
    def measure(task: PanelTask, name: str) -> Tensor:
        if name == "two":
            raise CannotJudge("a grid takes four images")
        return torch.zeros(COUNT)

    few_judges.append(Judge("grid", "grid", "higher", "…", measure))
    found = panel(NET, X, MAPS, TARGET)
    assert list(found.scores) == ["sds"]
    assert found.left_out == {"grid": "a grid takes four images"}
    with pytest.raises(CannotJudge, match="a grid takes four images"):
        panel(NET, X, MAPS, TARGET, judges=["grid"])


def test_a_perfect_map_beats_its_reverse_before_every_judge() -> None:
    """A linear net that looks at the object alone: the exact credit, and its negative."""
    weights = torch.zeros(2, SIDE, SIDE, dtype=torch.float64)
    weights[:, 3:9, 2:7] = 1 + images(3, 6, 5)
    net = nn.Sequential(nn.Flatten(), nn.Linear(weights.numel(), 2)).double().eval()
    with torch.no_grad():
        net[1].weight.copy_(torch.stack([weights.flatten(), -weights.flatten()]))
        net[1].bias.zero_()
    x = X + 0.1
    exact = weights * x
    found = panel(net, x, {"worst": -exact, "exact": exact}, 0, others={"same": net}, truth=MASKS[[0, 0, 0]])
    ranks = found.ranks()
    # accuracy does not notice, as the class is right whatever is hidden; RISE's first step is larger than this image
    equal = {key for key, rank in ranks["exact"].items() if rank == 1.5}
    assert equal <= {"rise", "diffid", "diffid-signed", "road"}
    assert {key for key, rank in ranks["exact"].items() if rank == 1} == set(ranks["exact"]) - equal
    assert found.mean_rank()["exact"].mean < found.mean_rank()["worst"].mean
    assert found.scores["auroc"]["exact"].tolist() == [1.0] * COUNT


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"maps": [MAPS["one"]]}, "maps is {name of a method: its maps}, not list"),
        ({"maps": {}}, "maps is empty: give {name of a method: its maps}"),
        ({"maps": MAPS["one"]}, "maps is {name of a method: its maps}, not Tensor"),
        ({"maps": {1: MAPS["one"]}}, "not dict: name them by strings"),
        ({"images": torch.rand(3, 5)}, r"a panel judges maps of b c h w images, not of shape \(3, 5\)"),
        ({"target": lambda output: output[:, 0]}, "a panel's target is a class for each image"),
        ({"judges": "road"}, r"judges are a list, such as \['road'\]"),
        ({"judges": ["raod"]}, "unknown judge 'raod'"),
        ({"judges": [3]}, "a judge is a name such as 'road'"),
        ({"judges": ["sds", "sds"]}, "give judges, each once"),
        ({"judges": []}, "give judges, each once: there are none"),
        ({"judges": ["energy"]}, "the judge 'energy' cannot judge: no truth was given"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"model": NET, "images": X, "maps": MAPS, "target": TARGET, **changed}
    with pytest.raises((TypeError, ValueError), match=message):
        panel(**given)


def test_an_error_names_the_judge_and_the_method() -> None:
    judge = Judge("odd", "odd", "higher", "…", lambda task, name: torch.zeros(2, 2))
    with pytest.raises(ValueError, match=r"odd gave shape \(2, 2\): a judge gives one number for each of 3") as caught:
        panel(NET, X, MAPS, TARGET, judges=[judge])
    assert caught.value.__notes__ == ["while odd judged one"]


def test_every_judge_has_a_sentence_and_a_key_of_its_own() -> None:
    assert len({judge.key for judge in JUDGES}) == len(JUDGES)
    assert all(judge.meaning.endswith(".") for judge in JUDGES)
    assert all(judge.better in ("higher", "lower", None) for judge in JUDGES)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_says_what_the_cpu_says(found: Panel) -> None:
    nets = [small_net(seed).cuda() for seed in (0, 1)]
    maps = {"one": MAPS["one"].cuda(), "two": MAPS["two"]}  # maps may lie on any device
    there = panel(nets[0], X.cuda(), maps, TARGET, others={"other": nets[1]}, truth=MASKS.cuda(), seed=4)
    for key, row in found.scores.items():
        for name, values in row.items():
            torch.testing.assert_close(there.scores[key][name], values, equal_nan=True, rtol=1e-6, atol=1e-6)
