"""Numbers that the README and the guide repeat are those of the panel and of the benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

from samp_lab.leaderboard.board import Board
from samp_lab.leaderboard.duels import find_duels
from samp_lab.leaderboard.results_file import read_results

ROOT = Path(__file__).parents[2]
README, GUIDE, BENCHMARKS = (
    (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/guide.md", "docs/benchmarks.md")
)


def as_number(text: str) -> float:
    return float(text.replace("−", "-"))


def assert_same(stated: str, measured: str) -> None:
    """The stated number is the measured one, to the digits that are stated."""
    digits = len(stated.partition(".")[2])
    assert abs(as_number(stated) - as_number(measured)) <= 0.5 * 10**-digits + 1e-9, (stated, measured)


STANDS = {"`--quality fine`": "consensus, fine", "the default": "consensus"}  # how the README names ours


def test_the_readme_states_the_mean_ranks_of_the_panel() -> None:
    board = Board(read_results(ROOT / "results" / "panel.json"))
    text = " ".join(README.split())
    (methods, stated) = re.findall(r"Mean rank among (\d+) methods: (.*?) \(\[leaderboard", text)[0]
    assert int(methods) == len(board.ranks)
    pairs = [one.rsplit(" ", 1) for one in stated.split(", ")]
    assert len(pairs) == 5
    for name, rank in pairs:
        assert_same(rank, f"{board.ranks[STANDS.get(name, name)].mean:.4f}")
    best = sorted(board.ranks, key=lambda name: board.ranks[name].mean)
    assert [STANDS.get(name, name) for name, _ in pairs[:3]] == best[:3]


def test_the_readme_states_where_rivals_win_in_the_panel() -> None:
    results = read_results(ROOT / "results" / "panel.json").nets
    text = " ".join(README.split())
    truth = results["planted"].panel.means()
    (share,) = re.findall(r"all pixels of the net of known truth, ours (\d+) %", text)
    assert_same(share, f"{100 * truth['known truth']['consensus, fine']:.3f}")
    assert truth["known truth"]["IG"] == 1
    photos = [one.panel.means() for net, one in results.items() if net != "planted"]
    (pixels,) = re.findall(r"steadier under rounding \(([\d.]+) to ([\d.]+); our default ([\d.]+) to ([\d.]+)\)", text)
    for method, low, high in (("SAMP++", *pixels[:2]), ("consensus", *pixels[2:])):
        found = [means["stability: pixels"][method] for means in photos]
        assert_same(low, f"{min(found):.4f}")
        assert_same(high, f"{max(found):.4f}")
    for means in photos:
        for judge in ("auroc", "sds", "grid"):
            assert max(means[judge], key=means[judge].__getitem__) == "Grad-CAM"
        complexity = means["random-weights: complexity rise"]
        assert complexity["SAMP++"] > complexity["consensus"]


def test_what_is_stated_of_the_panel_on_a_vision_transformer_is_what_it_found() -> None:
    board = Board(read_results(ROOT / "results" / "vit" / "panel.json"))
    best, second = sorted(board.ranks.items(), key=lambda item: item[1].mean)[:2]
    assert (best[0], second[0]) == ("consensus", "attention relevance")
    remark = " ".join((ROOT / "results" / "remarks" / "panel.md").read_text(encoding="utf-8").split())
    (readme,) = re.findall(r"results/vit/panel.md\) ([\d.]+); our default ([\d.]+)\)", " ".join(README.split()))
    named = {"attention relevance with": "attention relevance", "AttnLRP with": "AttnLRP", "IG with": "IG"}
    named |= {"SAMP++ with": "SAMP++", "lowest mean rank,": "consensus"}
    for words, name in named.items():
        (rank,) = re.findall(rf"(?<!\w){re.escape(words)} ([\d.]+\d)", remark)
        assert_same(rank, f"{board.ranks[name].mean:.4f}")
    for rank, (name, _) in zip(readme, (second, best), strict=True):
        assert_same(rank, f"{board.ranks[name].mean:.4f}")
    means = board.nets[0].panel.means()
    for judge, words in (("auroc", "AUROC"), ("precision", "precision")):
        ((theirs, ours),) = re.findall(rf"{words} \(([\d.]+) against ([\d.]+)\)", remark)
        assert_same(theirs, f"{means[judge]['attention relevance']:.5f}")
        assert_same(ours, f"{means[judge]['consensus']:.5f}")
        assert float(theirs) > float(ours)
    duels = find_duels(board)
    assert f"better in {sum(len(one.better) for one in duels)} of {sum(one.tests for one in duels)} tests" in remark
    assert [(one.rival, [finding.judge.key for finding in one.worse]) for one in duels if one.worse] == [
        ("attention relevance", ["auroc", "precision"])
    ]


def test_the_ratio_of_speed_is_that_of_the_benchmarks() -> None:
    text = " ".join(README.split())
    ((many, one),) = re.findall(
        r"takes ([\d.]+) times .* calls it makes for 64 images, and ([\d.]+) times for one", text
    )
    for images, ratio in (("64", many), ("1", one)):
        assert re.search(rf"^\| H200 \| ResNet-50-shaped \| {images} \|.*\*\*{ratio}\*\*", BENCHMARKS, re.MULTILINE)
    for stated in re.findall(r"\| 30 \| (\d\.\d{3} \([\d.–]+\)) \|$", GUIDE, re.MULTILINE):
        number, _, spread = stated.partition(" ")
        assert f"**{number}** {spread}" in BENCHMARKS
