"""`samp.explain_gradually`: every round equals one explanation with as many walks, and costs only the new ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from laws import CountingModel, assert_same, images, net, seeds

PAIR = ("black", 0.7)


def rounds_of(*args: Any, **options: Any) -> list[samp.Attribution]:
    return list(samp.explain_gradually(*args, **options))


@settings(max_examples=10)
@given(
    seed=seeds,
    rounds=st.sets(st.integers(1, 6), min_size=1, max_size=4).map(sorted),
    first=st.integers(0, 2),
    direction=st.sampled_from(["both", "to_image"]),
)
def test_every_round_is_the_explanation_with_as_many_walks(
    seed: int, rounds: list[int], first: int, direction: Any
) -> None:
    """To the bit in one batch: sums go on where they ended, and the halves of the resolution are of all walks."""
    x, model = images(seed, 2, 3, 5, 5), net(seed, 75)
    settings: dict[str, Any] = {"steps": 4, "first_walk": first, "direction": direction, "baseline": PAIR}
    results = rounds_of(model, x, method=samp.Consensus(**settings), rounds=rounds, seed=seed, batch_size=1)
    assert len(results) == len(rounds)
    for walks, result in zip(rounds, results, strict=True):
        whole = samp.explain(model, x, method=samp.Consensus(walks=walks, **settings), seed=seed, batch_size=1)
        assert_same(result, whole)
        assert result.method == whole.method
        assert {**result.details} == {**whole.details}
        if walks == 1:
            assert result.resolution is None
        else:
            assert torch.equal(result.resolution, whole.resolution)


def test_every_round_is_complete_and_its_gradients_add_up() -> None:
    x, model = images(0, 2, 1, 8, 8), net(0, 64)
    for walks, result in zip((1, 2, 4, 8, 16), samp.explain_gradually(model, x), strict=True):
        assert (result.residual.abs() < 1e-10).all()
        assert result.gradients.tolist() == [2 * 14 * walks] * 2


def test_only_new_walks_are_computed_and_the_class_is_predicted_once() -> None:
    model = CountingModel(net(0, 27))
    spent = []
    for result in samp.explain_gradually(
        model, images(0, 3, 3, 3, 3), rounds=(1, 3, 4), method=samp.Consensus(steps=4)
    ):
        spent.append(model.rows_with_gradient)
        assert int(result.gradients.sum()) == model.rows_with_gradient
        assert model.rows - model.rows_with_gradient == 3 + 3 * result.details["forwards"]  # the class; the ends, once
    assert spent == [3 * 2 * 5 * walks for walks in (1, 3, 4)]


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    model = CountingModel(net(0, 27))
    results = samp.explain_gradually(model, images(0, 1, 3, 3, 3))
    assert model.rows == 0
    next(results)
    rows = model.rows
    results.close()
    assert model.rows == rows


def test_a_result_stays_as_it_was_when_the_next_is_made() -> None:
    results = samp.explain_gradually(net(0, 27), images(0, 2, 3, 3, 3), rounds=(1, 2, 3), keep_points=True)
    first = next(results)
    kept = [first.values.clone(), first.gradients.clone(), first.blind["to_image"].clone()]
    for later in results:
        assert not torch.equal(later.values, kept[0])
        assert torch.equal(later.tapes["to_image"][1].points, first.tapes["to_image"][1].points)
    for now, before in zip([first.values, first.gradients, first.blind["to_image"]], kept, strict=True):
        assert torch.equal(now, before)


def test_maps_get_clearer() -> None:
    """Each agrees better than the one before with the mean of many other walks."""
    x, model = images(0, 1, 1, 12, 12), net(0, 144)
    truth = samp.explain(model, x, target=0, method=samp.Consensus(walks=64, steps=6, noise=0.3), seed=9).map.flatten()
    results = rounds_of(model, x, 0, samp.Consensus(steps=6, noise=0.3), rounds=(1, 4, 16))
    agreement = [float(torch.corrcoef(torch.stack([truth, one.map.flatten()]))[0, 1]) for one in results]
    assert agreement == sorted(agreement)
    assert agreement[-1] > 0.9


@pytest.mark.parametrize("method", [None, "consensus", "Consensus", samp.Consensus()])
def test_the_method_is_consensus_by_whatever_name(method: Any) -> None:
    x, model = images(0, 2, 1, 4, 4), net(0, 16)
    (result,) = rounds_of(model, x, 1, method, rounds=[4])
    assert_same(result, samp.explain(model, x, target=1, method=samp.Consensus()))


def test_other_arguments_are_those_of_explain(capsys: pytest.CaptureFixture[str]) -> None:
    class Shifted(nn.Module):
        def forward(self, x: Tensor, shift: Tensor) -> Tensor:
            return (x.flatten(1) ** 2).sum(1) * shift

    x, shift = images(0, 2, 1, 4, 4), samp.PerSample(torch.tensor([1.0, 3.0]))
    options: dict[str, Any] = {"groups": samp.Patches(2), "forward_args": shift, "seed": 5, "batch_size": 4}
    *_, last = rounds_of(Shifted(), x, rounds=(1, 4), progress=True, speed="fast", **options)
    exact = samp.explain(Shifted(), x, method="consensus", **options)
    torch.testing.assert_close(last.values, exact.values, rtol=1e-5, atol=1e-7)
    bar = capsys.readouterr().err
    assert bar.count("\n") == 1  # one for all rounds
    assert "4/4 walks" in bar.split("\r")[-1]


def test_a_failed_sample_ends_it_with_the_others_results() -> None:
    x = torch.cat([images(0, 1, 4), torch.full((1, 4), 9.0).double()])
    results = samp.explain_gradually(lambda x: x.sum(1) + torch.where(x.sum(1) > 20, torch.nan, 0.0), x)
    with pytest.raises(samp.NonFiniteError, match="sample 1") as caught:
        next(results)
    assert caught.value.result.values[0].isfinite().all()


@pytest.mark.parametrize("method", ["coupled", "ig", samp.Coupled("fine")])
def test_other_methods_are_refused_with_what_to_do(method: Any) -> None:
    with pytest.raises(ValueError, match=r"is no mean of walks: leave method out, pass a samp\.Consensus\(\), or use"):
        samp.explain_gradually(net(0), images(0, 1, 12), method=method)


def test_a_number_of_walks_is_refused_since_rounds_say_it() -> None:
    with pytest.raises(ValueError, match=r"rounds says .* leave out walks=4, and end rounds with it"):
        samp.explain_gradually(net(0), images(0, 1, 12), method=samp.Consensus(walks=4))


@pytest.mark.parametrize("rounds", [(), (0, 1), (2, 1), (1, 1), (1.5,), "12", 4, (True, 2)])
def test_rounds_that_do_not_increase_are_refused_at_once(rounds: Any) -> None:
    with pytest.raises(ValueError, match=r"rounds are increasing numbers of walks.*, not "):
        samp.explain_gradually(net(0), images(0, 1, 12), rounds=rounds)
