"""Tables of Deletion and Insertion, from numbers made by hand: both readings, agreement with the paper, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import stdev

import pytest

from samp.methods import SAMPPlusPlus
from samp_lab.effects import Effect
from samp_lab.measurements.base import name_of
from samp_lab.paper_claims import CLAIMS
from samp_lab.registry import load_experiments
from samp_lab.sections import Grid, Paragraph, Section, Verdict
from samp_lab.setups import Setup, parse_setup
from samp_lab.statistics import kendall_tau
from samp_lab.store import Results
from samp_lab.tables.agreement import mean_gap, rank_correlation, spearman_rho
from samp_lab.tables.metric_cells import split_setups
from samp_lab.tables.metric_table import MetricTable
from samp_lab.tables.table1 import ROWS, SEEDS, TABLE1
from samp_lab.tables.table2 import TABLE2
from samp_lab.tables.table3 import TABLE3
from samp_lab.tables.table8 import TABLE8

TEXT, AUTHORS = parse_setup("mnist"), parse_setup("mnist@authors")
NOWHERE = Path("no figures")
Means = Mapping[str, tuple[float, float]]
"""By row, the mean deletion and insertion."""
PAPER = {"LRP": (0.1, 0.2, 0.8, 0.1), "IG": (0.2, 0.1, 0.7, 0.1), "SAMP": (0.0, 0.1, 1.0, 0.1)}
SMALL = MetricTable(
    "small",
    "Small",
    {"LRP": "lrp", "IG": "ig", "SAMP": "samp", "random": "random"},
    ("mnist", "mnist@authors"),
    {"mnist": PAPER},
    champions=("SAMP",),
)
OURS = {"LRP": (0.2, 0.7), "IG": (0.1, 0.6), "SAMP": (-0.1, 1.3), "random": (0.5, 0.5)}
THEIRS = {"LRP": (0.1, 0.8), "IG": (0.2, 0.7), "SAMP": (0.05, 1.1), "random": (0.5, 0.5)}


def numbers(deletion: float, insertion: float, images: int, wobble: float = 0.01) -> dict[str, list[float]]:
    """Numbers of images that have these means and differ by the wobble, from image to image another way."""
    around = [wobble * (image - (images - 1) / 2) for image in range(images)]
    return {
        "deletion": [deletion + value for value in around],
        "insertion": [insertion + value for value in around],
        "gradients": [56.0] * images,
        "forwards": [3.0] * images,
    }


def results_of(table: MetricTable, means: Mapping[Setup, Means], images: int = 20) -> Results:
    cells = table.cells
    return Results(
        {
            name_of(cells.measurement(row, setup)): {"numbers": numbers(*pair, images)}
            for setup, rows in means.items()
            for row, pair in rows.items()
        },
        {},
    )


def section_of(table: MetricTable, means: Mapping[Setup, Means], images: int = 20) -> Section:
    return table.section(results_of(table, means, images), list(means), NOWHERE)


def grids(section: Section) -> list[Grid]:
    found = [block for block in section.blocks if isinstance(block, Grid)]
    for grid in found:
        widths = {len(row) for row in grid.rows} | {len(grid.heads)} | ({sum(n for _, n in grid.groups)} - {0})
        assert len(widths) == 1, grid.title
    return found


def words(section: Section) -> str:
    return "\n".join(block.text for block in section.blocks if isinstance(block, Paragraph))


def by_part(section: Section, part: str) -> list[Verdict]:
    return [verdict for verdict in section.verdicts if verdict.part == part]


# ---- agreement with the paper


def test_the_gap_is_the_mean_of_all_differences_to_the_paper() -> None:
    results = results_of(SMALL, {TEXT: OURS, AUTHORS: THEIRS})
    # |0.1|, |−0.1|, |−0.1| by deletion and |−0.1|, |−0.1|, |0.3| by insertion; random is not the paper's
    assert mean_gap(SMALL.cells, results, TEXT) == pytest.approx(0.8 / 6)
    assert mean_gap(SMALL.cells, results, AUTHORS) == pytest.approx(0.15 / 6)


def test_the_orders_are_compared_by_rank() -> None:
    results = results_of(SMALL, {TEXT: OURS})
    # by deletion the paper has SAMP, LRP, IG and ours is SAMP, IG, LRP: one of three pairs the other way
    assert rank_correlation(SMALL.cells, results, TEXT, "deletion") == pytest.approx(0.5)
    assert rank_correlation(SMALL.cells, results, TEXT, "deletion", kendall_tau) == pytest.approx(1 / 3)
    assert rank_correlation(SMALL.cells, results, TEXT, "insertion") == 1


def test_ranks_of_ties_are_shared() -> None:
    # ranks 1.5 1.5 3 and 1 2 3: covariance 1.5, variances 1.5 and 2
    assert spearman_rho([5, 5, 7], [1, 2, 3]) == pytest.approx(1.5 / (1.5 * 2) ** 0.5)


def test_a_sentence_says_how_each_reading_agrees() -> None:
    said = words(section_of(SMALL, {TEXT: OURS, AUTHORS: THEIRS}))
    assert "Reading “text”: 20 images. Mean |difference| to the paper 0.133 over 3 rows and both metrics" in said
    assert "Reading “authors”: 20 images. Mean |difference| to the paper 0.025 over 3 rows and both metrics" in said
    assert "by deletion Spearman's ρ +0.50 and Kendall's τ +0.33, by insertion Spearman's ρ +1.00" in said


# ---- grids


def test_both_readings_are_one_grid_beside_the_paper() -> None:
    first, *_ = grids(section_of(SMALL, {TEXT: OURS, AUTHORS: THEIRS}))
    assert first.title == "MNIST: the paper's CNN (text), the authors' CNN (authors)"
    assert first.full_heads[1:6] == tuple(
        f"deletion ↓, {head}" for head in ("the paper's", "text", "authors", "Δ text", "Δ authors")
    )
    assert first.full_heads[11:] == ("calls of an image, gradients", "calls of an image, forwards")
    rows = {row[0]: row for row in first.rows}
    assert rows["SAMP"][1] == "0.000 ± 0.10"
    assert rows["SAMP"][2].startswith("**−0.100** ± 0.06 [")
    assert rows["SAMP"][3].startswith("**0.050** ± 0.06 [")
    assert rows["SAMP"][4:6] == ("−0.100", "+0.050")
    assert rows["SAMP"][9:] == ("+0.300", "+0.100", "56", "3")
    assert (rows["random"][1], rows["random"][4], rows["random"][5]) == ("–", "–", "–")


def test_a_reading_that_was_not_measured_has_no_column() -> None:
    for setup, title in ((TEXT, "MNIST, the paper's CNN"), (AUTHORS, "MNIST, the authors' CNN")):
        first, *_ = grids(section_of(SMALL, {setup: OURS}))
        assert first.title == title
        assert first.heads[1:4] == ("ours", "the paper's", "difference")


def test_a_row_of_one_reading_alone_has_dashes_under_the_other() -> None:
    first, *_ = grids(section_of(SMALL, {TEXT: OURS, AUTHORS: {"IG": (0.1, 0.9)}}))
    lrp = next(row for row in first.rows if row[0] == "LRP")
    assert (lrp[3], lrp[5], lrp[11], lrp[12]) == ("–", "–", "56 / –", "3 / –")


def test_seeds_are_columns_with_their_deviation() -> None:
    seeds = [parse_setup(f"mnist/mnist-seed{seed}") for seed in (1, 2)]
    means = {
        TEXT: {"IG": (0.1, 0.6)},
        seeds[0]: {"IG": (0.2, 0.7)},
        seeds[1]: {"IG": (0.6, 0.8)},
        AUTHORS: {"IG": (0, 1)},
    }
    full, others = grids(section_of(SMALL, means))
    assert full.title.startswith("MNIST: ")
    assert others.heads == (
        "",
        "the paper's CNN, seed 1",
        "the paper's CNN, seed 2",
        "the paper's CNN: deviation over 3 seeds",
    )
    assert others.rows == (("IG", "0.200 / 0.700", "0.600 / 0.800", f"{stdev([0.1, 0.2, 0.6]):.3f} / 0.100"),)


def test_other_nets_of_a_data_set_share_one_grid() -> None:
    nets = [parse_setup(f"imagenet/{net}") for net in ("resnet50", "mobilenet_v2", "squeezenet1_1")]
    full, others = grids(section_of(SMALL, {net: {"IG": (0.1, 0.6)} for net in nets}))
    assert full.title == "ImageNet photos, ResNet-50"
    assert others.heads == ("", "MobileNetV2", "SqueezeNet 1.1")
    assert others.rows == (("IG", "0.100 / 0.600", "0.100 / 0.600"),)


def test_a_net_measured_on_fewer_images_or_another_device_says_so() -> None:
    nets = [parse_setup(f"imagenet/{net}") for net in ("resnet50", "mobilenet_v2", "dinov2_vits14")]
    few = results_of(SMALL, {nets[2]: {"IG": (0.1, 0.6)}}, images=20)
    many = results_of(SMALL, {net: {"IG": (0.1, 0.6)} for net in nets[:2]}, images=100)
    cells = {
        **{name: {**cell, "facts": {"device": "cuda"}} for name, cell in many.entries.items()},
        **{name: {**cell, "facts": {"device": "cpu"}} for name, cell in few.entries.items()},
    }
    others = grids(SMALL.section(Results(cells, {}), nets, NOWHERE))[-1]
    assert others.heads == ("", "MobileNetV2", "DINOv2 ViT-S/14 (20 images on a CPU)")


def test_a_method_that_failed_on_a_net_has_words_and_its_reason() -> None:
    own, other = parse_setup("imagenet"), parse_setup("imagenet/dinov2_vits14")
    found = results_of(SMALL, {own: {"LRP": (0.1, 0.6)}, other: {"IG": (0.1, 0.6)}})
    failed = {name_of(SMALL.cells.measurement("LRP", other)): "LRP has no rule for layer_norm"}
    section = SMALL.section(replace(found, failures=failed), [own, other], NOWHERE)
    assert grids(section)[-1].heads == ("", "DINOv2 ViT-S/14")
    assert grids(section)[-1].rows == (("LRP", "not measured"), ("IG", "0.100 / 0.600"))
    said = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert "Not measured on ImageNet photos, DINOv2 ViT-S/14: LRP: LRP has no rule for layer_norm." in said


def test_table_1_has_a_column_for_the_transformer() -> None:
    assert "imagenet/dinov2_vits14" in TABLE1.setups
    setup = parse_setup("imagenet/dinov2_vits14")
    assert (setup.name, setup.title) == ("imagenet/dinov2_vits14", "ImageNet photos, DINOv2 ViT-S/14")
    section = section_of(TABLE1, {parse_setup("imagenet"): all_rows(), setup: all_rows()})
    assert any("DINOv2 ViT-S/14" in grid.heads for grid in grids(section))


def test_without_the_own_nets_of_a_data_set_the_first_of_each_reading_is_shown_in_full() -> None:
    slim = [parse_setup(name) for name in ("mnist/mnist-slim", "mnist/mnist-slim-authors@authors", "mnist/mine")]
    assert split_setups(slim) == (slim[:2], slim[2:])
    assert split_setups([AUTHORS, TEXT, slim[0]]) == ([TEXT, AUTHORS], [slim[0]])


# ---- SAMP and SAMP++ against all others


def all_rows(worse: Mapping[str, tuple[float, float]] | None = None) -> dict[str, tuple[float, float]]:
    return {**dict.fromkeys(ROWS, (0.5, 0.5)), "SAMP": (0.1, 1.0), "SAMP++": (0.0, 1.2), **(worse or {})}


def test_both_champions_are_tested_against_all_eleven_rivals() -> None:
    section = section_of(TABLE1, {TEXT: all_rows()})
    verdicts = by_part(section, "outperforms-all")
    assert [(one.claim, one.state, one.paper, one.ours) for one in verdicts] == [
        (
            f"{row} better than all 11 others by deletion and insertion",
            "holds",
            "22 of 22 by printed means",
            "holds: 22 of 22",
        )
        for row in ("SAMP", "SAMP++")
    ]
    (tests,) = [grid for grid in grids(section) if "every test" in grid.title]
    assert (len(tests.rows), len(tests.heads)) == (11, 5)
    assert {row[0] for row in tests.rows} == set(TABLE1.values["mnist"]) - {"SAMP", "SAMP++"}


def test_one_lost_test_fails_and_is_named() -> None:
    section = section_of(TABLE1, {TEXT: all_rows({"Blur IG": (0.5, 1.1), "IG": (0.1, 0.5)})})
    samp, plus = by_part(section, "outperforms-all")
    assert (samp.state, plus.state) == ("fails", "holds")
    assert samp.ours.startswith(
        "holds: 20 of 22; fails: insertion against Blur IG (−0.100 [−0.100, −0.100], Holm's p = "
    )
    assert "open: deletion against IG (+0.000 [+0.000, +0.000], Holm's p = 1)" in samp.ours


def test_holms_family_is_all_tests_of_the_claim_on_a_setup() -> None:
    """Of 20 images that all differ alike Wilcoxon's p is 2/2^20 when exact; with ties it is the normal one's."""
    (tests,) = [grid for grid in grids(section_of(SMALL, {TEXT: OURS})) if "every test" in grid.title]
    one_rival = replace(SMALL, values={"mnist": {row: PAPER[row] for row in ("IG", "SAMP")}})
    (fewer,) = [grid for grid in grids(section_of(one_rival, {TEXT: OURS})) if "every test" in grid.title]
    p = [float(grid.rows[-1][1].partition("p = ")[2].replace("−", "-")) for grid in (tests, fewer)]
    assert p[0] / p[1] == pytest.approx(2, rel=0.05)  # four tests against two; two digits are shown


def test_a_rival_that_was_not_measured_leaves_it_open() -> None:
    rows = all_rows()
    del rows["RISE"]
    samp, _ = by_part(section_of(TABLE1, {TEXT: rows}), "outperforms-all")
    assert (samp.state, samp.ours) == ("open", "holds: 20 of 20; not measured: RISE")


def test_nineteen_images_are_too_few_to_judge() -> None:
    section = section_of(TABLE1, {TEXT: all_rows()}, images=19)
    assert {verdict.state for verdict in section.verdicts} == {"missing"}
    assert {verdict.ours for verdict in section.verdicts} == {"19 images, too few to judge"}


def test_samp_plus_plus_against_samp_is_a_claim_of_its_own() -> None:
    for setup in (TEXT, AUTHORS):
        found = by_part(section_of(TABLE1, {setup: all_rows()}), "improves")
        assert [one.claim for one in found] == [
            "SAMP++ better than SAMP, deletion ↓",
            "SAMP++ better than SAMP, insertion ↑",  # as the paper says it, though its own Insertion falls on MNIST
        ]
        assert [one.state for one in found] == ["holds", "holds"]
        assert {one.reading for one in found} == {setup.reading}


def test_blur_ig_is_told_on_the_logit_and_on_the_soft_max() -> None:
    means = {TEXT: all_rows({"Blur IG": (0.5, 1.3)}), AUTHORS: all_rows({"Blur IG": (0.5, 0.8)})}
    said = words(section_of(TABLE1, means))
    assert "MNIST: on the logit (text) 1.300 against 1.200, SAMP++ less Blur IG −0.100 [" in said
    assert "on the soft-max probability (authors) 0.800 against 1.200, SAMP++ less Blur IG +0.400 [" in said
    assert "With gradients on the logit (text): Blur IG is ahead on MNIST." in said
    assert "With gradients on the soft-max probability (authors): SAMP++ is ahead on MNIST." in said


# ---- the other tables


def test_momentum_matters_and_the_constraint_does_not_where_nothing_changes() -> None:
    setup = parse_setup("imagenet")
    means = {"SAMP": (0.2, 1.0), "+MS": (0.1, 1.2), "+IC": (0.2, 1.1), "+MS/IC": (0.1, 1.3)}
    section = section_of(TABLE2, {setup: means})
    assert {one.claim: one.state for one in by_part(section, "momentum-matters")} == {
        "+MS better than SAMP, insertion − deletion ↑": "holds",
        "+MS better than +IC, insertion − deletion ↑": "holds",
    }
    deletion, insertion = by_part(section, "constraint-neutral")
    assert (deletion.state, insertion.state) == ("holds", "fails")
    assert insertion.claim == "no significant change from SAMP to +IC, insertion ↑"
    assert insertion.paper == "“no significant impact”; its numbers: +0.072"
    assert len(section.verdicts) == 4


def test_every_bound_is_compared_with_a_tenth() -> None:
    means = {"1/10": (0.2, 1.0), "1/50": (0.2, 1.0), "1/100": (0.3, 1.0), "1/200": (0.4, 0.9)}
    found = by_part(section_of(TABLE3, {parse_setup("imagenet@authors"): means}), "constraint-neutral")
    assert [one.state for one in found] == ["holds", "holds", "fails", "holds", "fails", "fails"]
    assert {one.reading for one in found} == {"authors"}


def test_unrelated_effects_keep_their_own_family() -> None:
    table = replace(
        SMALL,
        champions=(),
        effects=(Effect("SAMP", "IG", "deletion", part="improves"), Effect("SAMP", "LRP", "deletion", part="shapley")),
    )
    assert all(", p = " in one.ours for one in section_of(table, {TEXT: OURS}).verdicts)  # each a family of one
    both = replace(table, effects=tuple(replace(one, part="improves") for one in table.effects))
    assert all(", Holm's p = " in one.ours for one in section_of(both, {TEXT: OURS}).verdicts)


def test_the_seconds_of_the_shapley_methods_belong_to_their_claim() -> None:
    cells = {cell: numbers(0.1, 0.9, 20) for cell in TABLE8.measurements([AUTHORS])}
    results = Results(
        {name_of(cell): {"numbers": columns} for cell, columns in cells.items()},
        {name_of(cell): {"seconds": [1.0] * 20} for cell in cells},
    )
    found = TABLE8.section(results, [AUTHORS], NOWHERE).verdicts
    assert len(found) == 6
    assert {(one.part, one.reading) for one in found} == {("shapley", "authors")}


# ---- what is measured


def test_every_table_has_the_authors_reading() -> None:
    setups = {one.name: one.setups for one in load_experiments()}
    for table in ("table1", "table2", "table3", "table4", "table6"):
        assert "imagenet@authors" in setups[table]
    assert {"mnist@authors", "cifar10@authors"} <= set(setups["table1"])
    assert "mnist@authors" in setups["table8"]


def test_seeds_are_measured_on_the_rows_of_the_paper_alone() -> None:
    assert len(SEEDS) == 8
    assert {parse_setup(name).name for name in SEEDS} == set(SEEDS)
    for name in SEEDS:
        assert [cell.method for cell in TABLE1.measurements([parse_setup(name)])] == [
            TABLE1.cells.measurement(row, parse_setup(name)).method for row in TABLE1.values["mnist"]
        ]
    assert len(TABLE1.measurements([TEXT])) == len(ROWS) + 1
    assert TABLE1.rows["SAMP++, η 1/50"] == SAMPPlusPlus(eta=0.02)


def test_rows_are_measured_with_the_settings_of_the_reading() -> None:
    text, authors = (TABLE1.cells.measurement("Blur IG", setup).method for setup in (TEXT, AUTHORS))
    assert text == "blurig"
    assert authors.score == "probability"  # type: ignore[union-attr]  # the authors' Blur IG, not a name


def test_every_part_is_a_claim_of_the_paper() -> None:
    tables = [one for one in load_experiments() if isinstance(one, MetricTable)]
    parts = {effect.part for table in tables for effect in table.effects}
    assert parts <= set(CLAIMS)
    assert {"improves", "momentum-matters", "constraint-neutral", "directions", "baselines"} <= parts
