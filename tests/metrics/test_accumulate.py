"""Running metrics: the same as one pass, however the data is cut and merged."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.annotations.boxes import Annotation, Box
from samp.metrics.accumulate import Running, RunningGame, per_sample
from samp.metrics.concentration import concentration
from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.pointing_game import pointing_game
from samp.metrics.protocols import Protocol

PROTOCOL = Protocol(step=3, normalise="image")


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(27, 6), nn.Tanh(), nn.Linear(6, 3)).double().eval()


def samples(count: int = 12) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return (
        torch.randn(count, 3, 3, 3, generator=generator, dtype=torch.float64),
        torch.randn(count, 3, 3, generator=generator, dtype=torch.float64),
    )


@pytest.mark.parametrize("sizes", [[12], [1] * 12, [5, 7], [2, 9, 1]])
def test_however_it_is_cut_the_moments_are_those_of_one_pass(sizes: list[int]) -> None:
    model, (x, maps) = net(), samples()
    whole = deletion_insertion(model, x, maps, 1, PROTOCOL)
    metric = Running(deletion_insertion, model, protocol=PROTOCOL, target=1)
    for part, map_ in zip(x.split(sizes), maps.split(sizes), strict=True):  # type: ignore[no-untyped-call]  # torch's
        metric.update(part, map_)
    found = metric.compute()
    for name in ("deletion", "insertion", "difference", "deletion_curve"):
        values = getattr(whole, name)
        kept = values[~values.isnan()] if values.ndim == 1 else values[~values.isnan().any(1)]
        torch.testing.assert_close(found[name].mean, kept.mean(0), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(found[name].sd, kept.std(0), rtol=1e-9, atol=1e-9)
    assert int(found["deletion"].left_out) == whole.unnormalised
    assert 0 < whole.unnormalised < 12  # else the test would not see that NaN is left out


def test_workers_merge_in_any_order_and_through_pickle_and_state() -> None:
    model, (x, maps) = net(), samples()
    workers = [Running(deletion_insertion, model, protocol=PROTOCOL, target=1, keep=True) for _ in range(3)]
    for i, worker in enumerate(workers):
        worker.update(x[i::3], maps[i::3])
    one, two, three = workers
    restored = Running(deletion_insertion, model, protocol=PROTOCOL, target=1, keep=True)
    restored.load_state_dict(pickle.loads(pickle.dumps(three.state_dict())))
    restored.merge(one)
    restored.merge(two)
    whole = deletion_insertion(model, x, maps, 1, PROTOCOL)
    torch.testing.assert_close(restored.compute()["insertion"].mean, whole.insertion.nanmean(), rtol=1e-9, atol=1e-9)
    order = torch.cat([torch.arange(12)[i::3] for i in (2, 0, 1)])
    torch.testing.assert_close(restored.scores()["insertion"], whole.insertion[order], equal_nan=True)


def test_reset_forgets() -> None:
    metric = Running(concentration)
    metric.update(torch.rand(4, 3, 3))
    metric.reset()
    assert metric.compute() == {}
    metric.update(torch.rand(2, 5, 5))
    assert {int(found.count) for found in metric.compute().values()} == {2}


def test_memory_does_not_grow_with_the_data() -> None:
    metric = Running(concentration)
    sizes = set()
    for _ in range(5):
        metric.update(torch.rand(8, 4, 4))
        sizes.add(sum(t.numel() for t in metric.state_dict().values()))
    assert len(sizes) == 1


def test_functions_of_ones_own() -> None:
    metric = Running(lambda x: {"sum": x.sum(1), "max": x.amax(1)})
    metric.update(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert metric.compute()["sum"].mean.item() == 5
    plain = Running(lambda x: x)
    plain.update(torch.ones(3))
    assert plain.compute()["score"].mean.item() == 1
    with pytest.raises(TypeError, match="needs b scores"):
        Running(lambda: "no").update()


def test_a_batch_that_fails_leaves_everything_as_it_was() -> None:
    metric = Running(lambda a, b: {"a": a, "b": b}, keep=True)
    metric.update(torch.ones(2), torch.ones(2, 3))
    before = metric.state_dict()
    with pytest.raises(ValueError, match="until now a value was"):
        metric.update(torch.zeros(2), torch.zeros(2, 4))  # curves of another length
    after = metric.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


CASES: list[tuple[Any, dict[str, Any]]] = [
    (deletion_insertion, {"protocol": PROTOCOL}),
    (samp.metrics.mu_fidelity, {"subsets": 5, "groups": samp.Pixels()}),
    (samp.metrics.sensitivity_n, {"subsets": 5, "sizes": [1, 3]}),
    (samp.metrics.infidelity, {"perturbations": 5}),
]


@pytest.mark.parametrize(("function", "settings"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_every_metric_that_asks_the_model_runs(function: Any, settings: dict[str, Any]) -> None:
    if function is samp.metrics.infidelity:
        pytest.importorskip("captum", reason="needs the extra compare")
    model, (x, maps) = net(), samples(4)
    metric = Running(function, model, target=1, **settings)
    metric.update(x[:3], maps[:3])
    metric.update(x[3:], maps[3:])
    whole = per_sample(function(model, x, maps, target=1, **settings))
    found = metric.compute()
    assert found.keys() == whole.keys()
    for name, values in whole.items():
        seen = int(found[name].count.max()) + int(found[name].left_out.min())
        assert seen >= len(x)
        torch.testing.assert_close(found[name].mean, values.double().nanmean(0), rtol=1e-6, atol=1e-8, equal_nan=True)


@pytest.mark.parametrize(
    "function", [samp.metrics.concentration, lambda m: samp.metrics.completeness(m, m.sum((1, 2)))]
)
def test_every_metric_of_maps_alone_runs(function: Any) -> None:
    metric = Running(function)
    metric.update(torch.rand(4, 3, 3))
    assert metric.compute()
    assert all(int(found.count) == 4 for found in metric.compute().values())


def test_scores_can_be_chosen_where_curves_do_not_fit() -> None:
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    metric = Running(deletion_insertion, model, target=0, only=("deletion", "insertion"))
    for size in (8, 12):
        metric.update(torch.rand(2, 1, size, size), torch.rand(2, size, size))
    assert int(metric.compute()["deletion"].count) == 4
    assert "insertion" in repr(metric)
    misspelt = Running(deletion_insertion, model, target=0, only=["insertoin"])
    with pytest.raises(ValueError, match="insertion"):
        misspelt.update(torch.rand(1, 1, 4, 4), torch.rand(1, 4, 4))


def test_infinite_scores_are_left_out_and_counted() -> None:
    metric = Running(lambda x: x)
    metric.update(torch.tensor([1.0, torch.inf, -torch.inf, torch.nan]))
    found = metric.compute()["score"]
    assert (int(found.count), int(found.left_out), float(found.mean)) == (1, 3, 1.0)


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    metric = Running(concentration, keep=True)
    metric.update(torch.rand(3, 4, 4))
    before = metric.state_dict()
    plain = Running(concentration)
    plain.update(torch.rand(2, 4, 4))
    for bad in (plain.state_dict(), {"a": torch.zeros(1)}, {"gini/mean": torch.zeros(1)}):
        with pytest.raises(ValueError, match=r"holds|scores"):
            metric.load_state_dict(bad)
    after = metric.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_settings_and_keeping_must_be_the_same_to_merge() -> None:
    one = Running(deletion_insertion, None, protocol="mnist")
    for other in (
        Running(deletion_insertion, None, protocol="rise"),
        Running(deletion_insertion, None, protocol="mnist", keep=True),
        Running(deletion_insertion, None, protocol="mnist", only=["deletion"]),
    ):
        with pytest.raises(TypeError, match="same function and settings"):
            one.merge(other)


def test_what_does_not_belong_together_is_not_merged() -> None:
    with pytest.raises(TypeError, match="same function and settings"):
        Running(concentration).merge(Running(deletion_insertion, None))
    with pytest.raises(ValueError, match="keep=True"):
        Running(concentration).scores()


def games() -> list[Any]:
    truth = [
        Annotation((Box("dog", 0, 0, 2, 2), Box("cat", 5, 5, 9, 9)), (10, 10)),
        Annotation((Box("dog", 0, 0, 9, 9),), (10, 10)),
        Annotation((Box("cat", 5, 5, 9, 9), Box("dog", 0, 0, 2, 2)), (10, 10)),
    ]
    maps = torch.zeros(3, 10, 10)
    maps[0, 1, 1] = maps[1, 9, 9] = maps[2, 1, 1] = 1
    labels = ["dog", "dog", "cat"]
    return [pointing_game(maps[i : i + 1], truth[i : i + 1], labels[i : i + 1], tolerance=0) for i in range(3)]


def test_running_games_count_by_class_and_merge() -> None:
    one, two = RunningGame(), RunningGame()
    first, second, third = games()
    one.update(first)
    two.update(second)
    two.update(third)
    one.merge(two)
    found = one.compute()
    assert found["all"] == pytest.approx((0.5 + 0.0) / 2)  # dog: hit and miss; cat: miss
    assert found["overall"] == pytest.approx(1 / 3)
    assert found["difficult"] == pytest.approx((1.0 + 0.0) / 2)  # the second photo's dog fills it
    assert found["difficult overall"] == pytest.approx(1 / 2)
    one.reset()
    assert math.isnan(one.compute()["all"])


def test_running_games_do_not_mix_tolerances_or_guess_what_is_difficult() -> None:
    game, mask = RunningGame(), torch.ones(1, 2, 2, dtype=torch.bool)
    game.update(games()[0])
    game.update(pointing_game(torch.rand(1, 2, 2), mask, ["dog"], tolerance=0))  # masks say nothing of difficulty
    assert math.isnan(game.compute()["difficult"])
    assert game.compute()["all"] == 1.0
    with pytest.raises(ValueError, match="do not go together"):
        game.update(pointing_game(torch.rand(1, 2, 2), mask, ["dog"], tolerance=3))
    with pytest.raises(TypeError, match="pointing_game returned"):
        game.update(torch.ones(1))  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(TypeError, match="RunningGame"):
        Running(pointing_game).update(torch.rand(1, 2, 2), mask)
