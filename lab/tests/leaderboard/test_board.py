"""Standings and duels against what their numbers say; nets, judges and methods that are missing somewhere."""

from __future__ import annotations

import math

import pytest
import torch

from panel_results import ABOUT, make_panel
from samp.metrics import Criterion, Panel, panel
from samp_lab.leaderboard.board import Board
from samp_lab.leaderboard.claims import list_claims
from samp_lab.leaderboard.duels import LEVEL, find_duels
from samp_lab.leaderboard.results_file import NetResult, PanelResults
from samp_lab.leaderboard.section import duel_grid, make_section, make_whole_section, means_grid, standings_grid
from samp_lab.leaderboard.wording import verdict_lines

ROAD, MPRT = Criterion("road", "ROAD", "higher", "r"), Criterion("mprt", "MPRT", "lower", "m")
GINI = Criterion("gini", "Gini", None, "g")


def values(start: float, photos: int = 20) -> torch.Tensor:
    """Scores a bit apart, so that a shift of 1 is a win on every photo."""
    return start + torch.linspace(0, 0.9, photos, dtype=torch.float64)


def scores(**starts: float) -> dict[str, torch.Tensor]:
    return {name: values(start) for name, start in starts.items()}


def board_of(**panels: Panel) -> Board:
    nets = {net: NetResult(net, one, dict.fromkeys(one.methods, 10.0), {"photos": 20}) for net, one in panels.items()}
    return Board(PanelResults(nets, ABOUT))


@pytest.fixture
def uneven() -> Board:
    """Ours wins ROAD on both nets and loses MPRT on the only net that has it; "late" is on one net alone."""
    first = Panel(
        (ROAD, MPRT, GINI),
        {
            "road": scores(coupled=3, IG=1, random=0),
            "mprt": scores(coupled=3, IG=1, random=5),
            "gini": scores(coupled=0, IG=1, random=2),
        },
        {"sds": "no room"},
    )
    second = Panel((ROAD,), {"road": scores(random=0, coupled=3, IG=1, late=9)})
    return board_of(resnet50=first, mobilenet_v2=second)


def test_mean_ranks_are_those_of_all_judges_of_all_nets(uneven: Board) -> None:
    assert {name: rank.mean for name, rank in uneven.net_ranks["resnet50"].items()} == {
        "coupled": 1.5,
        "IG": 1.5,
        "random": 3.0,
    }
    # over both nets without "late": coupled 1, 2, 1; IG 2, 1, 2; random 3, 3, 3
    assert {name: rank.mean for name, rank in uneven.ranks.items()} == {
        "coupled": pytest.approx(4 / 3),
        "IG": pytest.approx(5 / 3),
        "random": 3.0,
    }
    assert uneven.ranks["random"].low == uneven.ranks["random"].high == 3.0


def test_a_method_of_one_net_stands_last_and_has_a_rank_there_alone(uneven: Board) -> None:
    assert uneven.methods == ["coupled", "IG", "random", "late"]
    assert uneven.net_ranks["mobilenet_v2"]["late"].mean == 1.0
    assert [row[0] for row in means_grid(uneven, uneven.nets[1]).rows] == ["late", "coupled", "IG", "random"]
    row = standings_grid(uneven).rows[-1]
    assert row[:4] == ("late", "10", "–", "–")
    assert row[4].startswith("**1.00** [")
    assert any("Not on every net" in getattr(block, "text", "") for block in make_section(uneven, []).blocks)


def test_judges_are_ranked_over_the_nets_that_have_them(uneven: Board) -> None:
    assert [judge.key for judge in uneven.judges] == ["road", "mprt", "gini"]
    assert uneven.judge_ranks == {
        "road": {"coupled": 1.0, "IG": 2.0, "random": 3.0},
        "mprt": {"coupled": 2.0, "IG": 1.0, "random": 3.0},
    }


def test_duels_name_every_loss_and_respect_the_direction(uneven: Board) -> None:
    duel = next(one for one in find_duels(uneven) if one.rival == "IG")
    assert [one.judge.key for one in duel.better] == ["road", "road"]
    assert duel.name_losses() == "ResNet-50: MPRT"
    assert duel.worse[0].difference == pytest.approx(2)
    assert duel.tests == 3
    assert all(one.p < LEVEL for one in (*duel.better, *duel.worse))


def test_what_the_test_cannot_tell_apart_is_level() -> None:
    noise = torch.randn(20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    one = Panel((ROAD,), {"road": {"coupled": values(0), "IG": values(0) + 0.01 * (noise - noise.median())}})
    (duel,) = find_duels(board_of(a=one))
    assert (len(duel.worse), len(duel.level), len(duel.better)) == (0, 1, 0)


def test_a_judge_without_numbers_is_no_test_and_a_dash() -> None:
    nothing = torch.full((20,), math.nan, dtype=torch.float64)
    some = values(1).clone()
    some[3] = math.nan
    one = Panel((ROAD, MPRT), {"road": {"coupled": some, "IG": values(0)}, "mprt": {"coupled": nothing, "IG": nothing}})
    board = board_of(a=one)
    (duel,) = find_duels(board)
    assert duel.tests == 1
    assert len(duel.better) == 1
    mean = (20 * 1.45 - (1 + 0.9 * 3 / 19)) / 19  # all but the fourth
    assert means_grid(board, board.nets[0]).rows[0][2:] == (f"**{mean:.3f}**", "–")
    assert board.judge_ranks == {"road": {"coupled": 1.0, "IG": 2.0}}


def test_the_sentence_on_a_rival_that_wins_comes_first(uneven: Board) -> None:
    lines = verdict_lines(uneven, find_duels(uneven))
    assert lines[0].startswith("Best mean rank on MobileNetV2: late with 1.00")
    assert "the best of ours is coupled with 2.00" in lines[0]
    assert lines[1] == "coupled is worse than a rival in 2 of 7 tests (IG: 1; late: 1), better in 5, level in 0."
    assert any(line.startswith("Best mean rank over all nets: coupled with 1.33") for line in lines[2:])


def test_without_a_loss_the_sentence_says_so() -> None:
    board = board_of(a=Panel((ROAD,), {"road": scores(coupled=3, IG=1)}))
    assert verdict_lines(board, find_duels(board)) == [
        "Best mean rank on a: coupled with 1.00 [1.00, 1.00]; the best rival is IG with 2.00 [2.00, 2.00].",
        "coupled is worse than no rival by any judge in 1 test; better in 1, level in 0.",
    ]


def test_one_photo_has_ranks_and_neither_intervals_nor_tests() -> None:
    one = Panel((ROAD,), {"road": {"coupled": torch.ones(1), "IG": torch.zeros(1)}})
    board = board_of(a=one)
    assert find_duels(board) == []
    assert standings_grid(board).rows[0][2] == "**1.00**"
    assert not any(getattr(block, "heads", ("",))[0] == "ours" for block in make_section(board, []).blocks)


def test_ours_are_found_by_name_unless_the_file_names_them() -> None:
    one = make_panel({"Consensus fine": 1.0, "IG": 0.0}, [("road", "ROAD")])
    nets = {"a": NetResult("a", one, {})}
    assert Board(PanelResults(nets)).is_ours("Consensus fine")
    named = Board(PanelResults(nets, {"ours": ["IG"]}))
    assert [(duel.ours, duel.rival) for duel in find_duels(named)] == [("IG", "Consensus fine")]


def test_unknown_gradients_are_a_dash() -> None:
    board = Board(PanelResults({"a": NetResult("a", Panel((ROAD,), {"road": scores(IG=1)}), {})}))
    assert standings_grid(board).rows[0][1] == "–"


def test_nets_without_a_common_method_have_no_rank_over_all() -> None:
    board = board_of(
        a=Panel((ROAD,), {"road": scores(coupled=1)}),
        b=Panel((ROAD,), {"road": scores(IG=1)}),
    )
    assert board.ranks == {}
    assert [row[2] for row in standings_grid(board).rows] == ["–", "–"]
    assert find_duels(board) == []


def test_a_panel_measured_on_tiny_nets_makes_a_whole_section() -> None:
    images = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    measured = {}
    for seed, net in enumerate(("resnet50", "mobilenet_v2")):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3)).eval()
        exact = (model[1].weight[0].view(8, 8) * images[:, 0]).detach()
        maps = {"coupled": exact, "IG": exact.roll(1, 2), "random": torch.rand(6, 8, 8)}
        keys = ["sds", "concentration"] if seed else ["paper", "sds", "concentration"]
        measured[net] = panel(model, images, maps, target=0, judges=keys)
    board = board_of(**measured)
    assert board.methods[0] == "coupled"
    titles = [getattr(block, "title", "") for block in make_whole_section(board, find_duels(board)).blocks]
    assert {"ResNet-50: means of the judges", "MobileNetV2: means of the judges", "What each judge asks"} <= set(titles)


def test_the_table_of_duels_has_the_losses_of_each_own_method_first(uneven: Board) -> None:
    rows = duel_grid(find_duels(uneven)).rows
    assert [row[:2] for row in rows] == [("coupled", "IG"), ("coupled", "late"), ("coupled", "random")]
    assert rows[-1] == ("coupled", "random", "0", "0", "3", "–")


def test_a_duel_can_be_looked_at_on_one_net(uneven: Board) -> None:
    whole = next(one for one in find_duels(uneven) if one.rival == "IG")
    here, there = (whole.on_net(net) for net in ("ResNet-50", "MobileNetV2"))
    assert [len(part) for part in (here.worse, here.level, here.better)] == [1, 0, 1]
    assert [len(part) for part in (there.worse, there.level, there.better)] == [0, 0, 1]
    assert whole.on_net("SqueezeNet 1.1").tests == 0


# ---- claims


def states(board: Board) -> dict[tuple[str, str], str]:
    """{(test bed, beginning of the claim): state}."""
    return {(one.setup, one.claim.split(" ")[0]): one.state for one in list_claims(board, find_duels(board))}


def test_the_claim_of_the_best_rank_follows_the_intervals(uneven: Board) -> None:
    found = {where: state for (where, claim), state in states(uneven).items() if claim == "One"}
    assert found == {"all nets": "holds", "ResNet-50": "open"}  # MobileNetV2 has a single judge


def test_claims_that_fail_come_first() -> None:
    lost = Panel((ROAD, MPRT), {"road": scores(coupled=1, IG=3), "mprt": scores(coupled=3, IG=1)})
    won = Panel((ROAD, MPRT), {"road": scores(coupled=3, IG=1), "mprt": scores(coupled=1, IG=3)})
    assert [one.state for one in list_claims(board_of(a=won, b=lost), [])] == ["fails", "open", "holds"]


def many(count: int, **starts: float) -> dict[str, dict[str, torch.Tensor]]:
    return {f"j{n}": scores(**starts) for n in range(count)}


@pytest.mark.parametrize(("wins", "losses", "state"), [(10, 0, "holds"), (9, 1, "fails"), (12, 1, "fails")])
def test_the_claim_at_the_price_of_samp_needs_ten_wins_and_no_loss(wins: int, losses: int, state: str) -> None:
    table = many(wins, **{"coupled": 3, "coupled fine": 2, "SAMP++": 1})
    table |= {f"k{n}": scores(**{"coupled": 0, "coupled fine": 2, "SAMP++": 1}) for n in range(losses)}
    judges = tuple(Criterion(key, key.upper(), "higher", "…") for key in table)
    board = board_of(a=Panel(judges, table))
    board.nets[0].gradients.update({"coupled": 11.0, "coupled fine": 100.0})  # type: ignore[attr-defined]  # a dict behind a Mapping
    (claim,) = [one for one in list_claims(board, find_duels(board)) if "gradients" in one.claim]
    assert claim.state == state
    assert claim.claim == "coupled (11 gradients): worse than SAMP++ by no judge, better by 10 or more"
    assert claim.ours.startswith(f"worse {losses}, better {wins}, level 0")
    assert claim.ours.endswith("; worse by K0") == bool(losses)


def test_the_claim_at_the_price_of_samp_is_open_with_nine_wins_and_not_asked_of_fewer_judges() -> None:
    table = many(9, **{"coupled": 3, "SAMP++": 1})
    judges = tuple(Criterion(key, key, "higher", "…") for key in [*table, "same"])
    ten = board_of(a=Panel(judges, {**table, "same": scores(**{"coupled": 1, "SAMP++": 1})}))
    nine = board_of(a=Panel(judges[:9], table))
    assert states(nine) == {("a", "One"): "holds"}
    assert states(ten)[("a", "coupled")] == "open"
