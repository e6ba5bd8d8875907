"""What a panel makes of its scores: means, ranks, intervals, tests, tables, joins and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from laws import images
from samp.metrics import Bootstrap, Criterion, Panel, compare_pairs, holm, join_panels

HIGH, LOW = Criterion("high", "high", "higher", "…"), Criterion("low", "low", "lower", "…")
PLAIN = Criterion("plain", "plain", None, "…")
NAMES = ("a", "b", "c")


def scores(seed: int, shift: float = 0.0, count: int = 8) -> dict[str, Tensor]:
    drawn = images(seed, len(NAMES), count)
    return {name: drawn[n] + shift * n for n, name in enumerate(NAMES)}


def a_panel(**rows: Mapping[str, Tensor]) -> Panel:
    known = {one.key: one for one in (HIGH, LOW, PLAIN)}
    return Panel(tuple(known[key] for key in rows), rows)


def test_ranks_follow_the_means_and_the_direction() -> None:
    row = {"a": torch.tensor([0.0, 1.0]), "b": torch.tensor([3.0, 4.0]), "c": torch.tensor([2.0, 2.0])}
    ranks = a_panel(high=row, low=row, plain=row).ranks()
    assert ranks == {"a": {"high": 3, "low": 1}, "b": {"high": 1, "low": 3}, "c": {"high": 2, "low": 2}}


def test_equal_means_share_the_mean_of_their_ranks() -> None:
    values = torch.tensor([[0.1, 0.3], [0.3, 0.1], [0.2, 0.2 + 1e-14]], dtype=torch.float64)
    row = dict(zip(NAMES, values, strict=True))
    assert a_panel(high=row).ranks() == {name: {"high": 2.0} for name in NAMES}


def test_images_without_a_number_are_left_out_and_a_method_without_any_comes_last() -> None:
    nan = torch.nan
    row = {"a": torch.tensor([nan, nan]), "b": torch.tensor([-5.0, nan]), "c": torch.tensor([1.0, -20.0])}
    found = a_panel(high=row, low={name: torch.full((2,), nan) for name in NAMES})
    assert found.ranks() == {"a": {"high": 3}, "b": {"high": 1}, "c": {"high": 2}}
    assert found.means()["high"]["b"] == -5
    assert "–" in found.table()


def test_intervals_equal_a_plain_loop() -> None:
    found = a_panel(high=scores(0, 0.05), low=scores(1), plain=scores(2))
    found.scores["high"]["b"][:2] = torch.nan
    drawing = Bootstrap(confidence=0.9, resamples=300, seed=3)
    generator, draws = torch.Generator().manual_seed(3), []
    for drawn in torch.randint(8, (300, 8), generator=generator):
        ranks = []
        for key, sign in (("high", -1), ("low", 1)):
            means = [sign * float(found.scores[key][name][drawn].nanmean()) for name in NAMES]
            ranks.append([1 + sum(other < mean for other in means) for mean in means])
        draws.append(np.mean(ranks, 0))
    low, high = np.quantile(np.array(draws), [0.05, 0.95], axis=0)
    for n, (name, rank) in enumerate(found.mean_rank(drawing).items()):
        assert rank.mean == pytest.approx(np.mean(list(found.ranks()[name].values())))
        assert (rank.low, rank.high) == pytest.approx((low[n], high[n]))
    assert found.mean_rank(drawing) == found.mean_rank(drawing)


def test_clear_winners_have_narrow_intervals_and_equals_wide_ones() -> None:
    clear, even = a_panel(low=scores(0, 2.0)).mean_rank(), a_panel(low=scores(0)).mean_rank()
    assert [(rank.low, rank.high) for rank in clear.values()] == [(1, 1), (2, 2), (3, 3)]
    assert all(rank.high > rank.low for rank in even.values())


def test_comparisons_are_paired_and_corrected_on_request() -> None:
    pytest.importorskip("scipy")
    found = a_panel(high=scores(0, 0.3), low=scores(1, 0.2), plain=scores(2))
    plain, corrected = found.compare("c", "a"), found.compare("c", "a", correct=True)
    assert plain["low"] == compare_pairs(found.scores["low"]["c"], found.scores["low"]["a"], "lower")
    assert list(plain) == ["high", "low"]  # what does not rank is not tested
    assert [one.p for one in corrected.values()] == holm([one.p for one in plain.values()])
    assert corrected["high"].wins == plain["high"].wins
    with pytest.raises(ValueError, match="unknown method 'd'"):
        found.compare("a", "d")


def test_the_table_shows_means_arrows_the_best_and_the_mean_rank() -> None:
    pytest.importorskip("scipy")
    row = {"a": torch.full((8,), -0.5), "b": torch.full((8,), 0.25), "c": torch.zeros(8)}
    found = a_panel(high=row, low=scores(0, 2.0), plain=row)
    lines = found.table(against="c").splitlines()
    assert lines[0] == "| method | high ↑ | low ↓ | plain | mean rank ↓ | against c |"
    assert lines[2].startswith("| a | −0.500 | **")
    assert lines[3].startswith("| b | **0.250** |")
    assert "| 0.250 |" in lines[3]  # a judge that does not rank marks nothing
    assert lines[2].endswith("| 1 better, 1 worse of 2 |")
    assert lines[3].endswith("| 2 better, 0 worse of 2 |")
    assert lines[4].endswith("| – |")
    assert "**1.50 [1.50, 1.50]**" in lines[3]
    assert "**0.250 [0.250, 0.250]**" in found.table(intervals=True)


def test_nothing_is_marked_where_all_are_equal() -> None:
    assert "**" not in a_panel(high={name: torch.ones(3) for name in NAMES}).table()


def test_one_photo_has_no_intervals_and_no_tests() -> None:
    found = a_panel(high=scores(0, 1.0, count=1))
    table = found.table(intervals=True, against="a")
    assert table.endswith("(one photo: no intervals, no tests)")
    assert "nan" not in table
    assert "[" not in table
    assert "against" not in table
    assert np.isnan(found.mean_rank()["a"].low)
    with pytest.raises(ValueError, match="one photo: no intervals, no tests: give the panel several images"):
        found.compare("a", "b")


def test_json_and_back_is_the_same_panel() -> None:
    row = scores(0)
    row["b"][3] = torch.nan
    found = Panel((HIGH,), {"high": row}, {"low": "no truth"}, {"high": 0}, ({"seed": 4},))
    text = json.dumps(found.to_json(), allow_nan=False)
    again = Panel.from_json(json.loads(text))
    assert json.dumps(again.to_json()) == text
    assert again.criteria == found.criteria
    assert again.mean_rank() == found.mean_rank()
    assert again.table() == found.table()
    with pytest.raises(ValueError, match=r"this is no panel as Panel.to_json\(\) writes it"):
        Panel.from_json({"judges": []})


def test_joined_panels_rank_over_all_judges_and_draw_each_set_alone() -> None:
    one, other = a_panel(high=scores(0, count=8)), a_panel(low=scores(1, count=5))
    joined = join_panels([one, other])
    for name in NAMES:
        assert joined.ranks()[name] == {**one.ranks()[name], **other.ranks()[name]}
    assert joined.image_sets == {"high": 0, "low": 1}
    assert all(rank.high > rank.low for rank in joined.mean_rank().values())
    again = join_panels([joined, Panel((PLAIN,), {"plain": scores(2)}, {"low": "no truth"})])
    assert again.image_sets == {"high": 0, "low": 1, "plain": 2}
    assert again.left_out == {}  # somebody judged it


def test_joined_panels_of_several_nets_have_names() -> None:
    parts = [a_panel(high=scores(0)), a_panel(high=scores(1))]
    with pytest.raises(ValueError, match="high judged in several of the panels: pass names="):
        join_panels(parts)
    joined = join_panels(parts, names=["ResNet", "VGG"])
    assert [one.heading for one in joined.criteria] == ["ResNet, high", "VGG, high"]
    assert list(joined.scores) == list(joined.image_sets) == ["ResNet, high", "VGG, high"]
    with pytest.raises(ValueError, match="a name of its own"):
        join_panels(parts, names=["VGG", "VGG"])


def test_only_panels_of_the_same_methods_are_joined() -> None:
    turned = dict(reversed(scores(1).items()))
    joined = join_panels([a_panel(high=scores(0)), a_panel(low=turned)])
    assert joined.methods == NAMES
    assert torch.equal(joined.scores["low"]["a"], turned["a"])
    assert [list(row) for row in joined.scores.values()] == [list(NAMES)] * 2
    with pytest.raises(ValueError, match="different methods cannot be joined: c is not in all"):
        join_panels([a_panel(high=scores(0)), a_panel(low={"a": torch.ones(2), "b": torch.ones(2)})])
    with pytest.raises(ValueError, match="no panels to join"):
        join_panels([])
