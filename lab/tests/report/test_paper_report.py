"""The report of the experiments: what is shown, what is counted, and that text never becomes markup."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path
from statistics import fmean

import pytest
from PIL import Image

from paper_results import MACHINE, FixedExperiment, cells_of, table_rows, write_results
from samp_lab.measurements.base import name_of
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.report import write_report
from samp_lab.report.contents import Report, gather_report
from samp_lab.report.disagreements import group_by_claim
from samp_lab.report.html_page import render_html
from samp_lab.report.markdown import render_markdown
from samp_lab.report.shared_tables import tally_sentence
from samp_lab.sections import Grid, Paragraph, Picture, Verdict, Verdicts
from samp_lab.setups import parse_setup
from samp_lab.store import Store
from samp_lab.tables.metric_table import MetricTable

MNIST, PHOTOS = parse_setup("mnist"), parse_setup("imagenet/mobilenet_v2")
PAPER = {"IG": (0.1, 0.2, 0.8, 0.3), "SAMP": (0.05, None, 0.9, None)}
SMALL = MetricTable("small", "Table 0: small", {"IG": "ig", "SAMP": "samp"}, ("mnist", PHOTOS.name), {"mnist": PAPER})


def gathered(folder: Path, *experiments: FixedExperiment | MetricTable, **more: object) -> Report:
    cells = cells_of(experiments, ["mnist", PHOTOS.name])
    return gather_report(write_results(folder, cells, **more), experiments)


# ---- what is shown


def test_numbers_are_the_means_of_the_results(tmp_path: Path) -> None:
    report = gathered(tmp_path, SMALL)
    entries = Store(tmp_path).read().entries
    rows = [row for row in table_rows(render_markdown(report)) if row[0] == "SAMP"]
    assert len(rows) == 2
    for row, where in zip(rows, (MNIST, PHOTOS), strict=True):
        numbers = entries[name_of(MethodCurves(where, "samp"))]["numbers"]
        ours = [cell for cell in row if "[" in cell]
        for cell, column in zip(ours, ("deletion", "insertion"), strict=True):
            assert f"{fmean(numbers[column]):.3f}" in cell.replace("−", "-")


@pytest.mark.parametrize(("images", "said"), [(1, r"\*\*−?\d\.\d{3}\*\*"), (2, r".* ± \d\.\d\d \[.*\]")])
def test_what_so_few_images_cannot_tell_is_left_out(tmp_path: Path, images: int, said: str) -> None:
    report = gathered(tmp_path, replace(SMALL, rows={"IG": "ig"}), images=images)
    (row, *_) = (row for row in table_rows(render_markdown(report)) if row[0] == "IG")
    assert re.fullmatch(said, row[1])
    assert "nan" not in "".join(row)


def test_a_method_without_any_score_has_dashes(tmp_path: Path) -> None:
    store = write_results(tmp_path, SMALL.measurements([MNIST]))
    results = json.loads(store.results_file.read_text())
    for column in ("deletion", "insertion"):
        results["cells"][name_of(MethodCurves(MNIST, "ig"))]["numbers"][column] = [None] * 12
    store.results_file.write_text(json.dumps(results))
    (row,) = (row for row in table_rows(render_markdown(gather_report(store, [SMALL]))) if row[0] == "IG")
    assert row[1:7] == ["–", "0.100 ± 0.20", "–", "–", "0.800 ± 0.30", "–"]


def test_columns_of_the_paper_are_left_out_where_it_has_no_values(tmp_path: Path) -> None:
    of_mnist, of_photos = (
        block for block in gathered(tmp_path, SMALL).chapters[0].section.blocks if isinstance(block, Grid)
    )
    assert of_mnist.full_heads[1:4] == ("deletion ↓, ours", "deletion ↓, the paper's", "deletion ↓, difference")
    assert of_photos.full_heads[1:3] == ("deletion ↓, ours", "insertion ↑, ours")
    for grid in (of_mnist, of_photos):
        assert {len(row) for row in grid.rows} == {len(grid.heads)} == {sum(columns for _, columns in grid.groups)}


def test_sections_stand_in_the_order_of_the_experiments_and_beds_in_that_of_the_paper(tmp_path: Path) -> None:
    first, second = (
        FixedExperiment("b", "B", (Picture("x.png", "X"),)),
        FixedExperiment("a", "A", (Grid(("x",), (("1",),)),)),
    )
    report = gathered(tmp_path, first, SMALL, second)
    assert [chapter.section.name for chapter in report.chapters] == ["b", "small", "a"]
    assert [row[0] for row in report.setups.rows] == [MNIST.title, PHOTOS.title]


def test_an_experiment_of_which_only_shared_cells_are_there_is_named_and_not_shown(tmp_path: Path) -> None:
    wide = MetricTable("wide", "Wide", {"IG": "ig", "XRAI": "xrai"}, ("mnist",), {})
    only = replace(SMALL, name="only", title="Only", rows={"IG": "ig"}, setups=("cub",))
    store = write_results(tmp_path, SMALL.measurements([MNIST]))
    report = gather_report(store, [SMALL, wide, only])
    assert [chapter.section.name for chapter in report.chapters] == ["small", "only"]  # all cells count, also elsewhere
    assert report.left_out == (
        f"Wide is not shown for {MNIST.title} (1 of 2 cells): samp bench wide measures the rest.",
    )


def test_what_failed_counts_as_run_and_is_said(tmp_path: Path) -> None:
    wide = replace(SMALL, rows={"IG": "ig", "XRAI": "xrai"})
    failed = {name_of(MethodCurves(MNIST, "xrai")): "scikit-image is not there"}
    store = write_results(tmp_path, [MethodCurves(MNIST, "ig")], failed=failed)
    report = gather_report(store, [wide])
    assert len(report.chapters) == 1
    assert report.left_out[0].endswith("could not be measured: scikit-image is not there.")


def test_nothing_measured_is_no_section(tmp_path: Path) -> None:
    silent = FixedExperiment("silent", "Silent", (Paragraph("only words"),))
    assert [chapter.section.name for chapter in gathered(tmp_path, silent, SMALL).chapters] == ["small"]
    everything_failed = {name_of(cell): "no room" for cell in SMALL.measurements([MNIST])}
    report = gather_report(write_results(tmp_path, [], failed=everything_failed), [SMALL])
    assert report.chapters == ()
    assert report.left_out == (f"{'; '.join(sorted(everything_failed))} could not be measured: no room.",)
    assert "No comparison of the paper was tested here yet." in render_markdown(report)
    assert "No comparison of the paper was tested here yet." in render_html(report)


def test_cells_of_older_code_are_shown_and_called_stale(tmp_path: Path) -> None:
    store = write_results(tmp_path, SMALL.measurements([MNIST]))
    results = json.loads(store.results_file.read_text())
    results["cells"][name_of(MethodCurves(MNIST, "samp"))]["stale"] = "its credit has changed since"
    store.results_file.write_text(json.dumps(results))
    report = gather_report(store, [SMALL])
    said = f"Stale, shown all the same: SAMP on {MNIST.title} (1 cell), its credit has changed since."
    assert report.left_out == (said,)
    assert len([row for row in table_rows(render_markdown(report)) if row[0] == "SAMP"]) == 1
    assert said in unescape(render_html(report))


def test_an_image_that_could_not_be_read_is_named_once(tmp_path: Path) -> None:
    store = write_results(tmp_path, SMALL.measurements([MNIST]))
    results = json.loads(store.results_file.read_text())
    for entry in results["cells"].values():
        entry["skipped"] = [{"id": "7.png", "why": "it is truncated"}]
    store.results_file.write_text(json.dumps(results))
    report = gather_report(store, [SMALL])
    assert report.left_out == ("MNIST: image 7.png was left out: it is truncated.",)
    assert report.setups.rows[0][1:3] == ("12", "1")


def test_it_says_how_it_was_made(tmp_path: Path) -> None:
    report = gathered(tmp_path, SMALL, commands=["samp bench small --seed 3"])
    for text in (render_markdown(report), render_html(report)):
        for said in (MACHINE, "samp bench small --seed 3", "feedfeedfeed", "95 % bootstrap", "Wilcoxon", "timing.json"):
            assert said in text
    assert ("Seed", "3") in report.facts


# ---- verdicts


def verdicts(*states: str, paper: str = "+1") -> Verdicts:
    return Verdicts(tuple(Verdict(f"claim {i}", paper, "+2 [1, 3]", state) for i, state in enumerate(states)))  # type: ignore[arg-type]  # all are states


def test_claims_are_counted_over_all_sections_and_our_own_apart(tmp_path: Path) -> None:
    first = FixedExperiment("a", "A", (verdicts("holds", "fails", "open"), verdicts("holds")))
    second = FixedExperiment("b", "B", (verdicts("missing", "fails"), verdicts("open", paper="–")))
    report = gathered(tmp_path, first, second)
    assert report.counts(own=False) == Counter(holds=2, fails=2, open=1, missing=1)
    assert report.counts(own=True) == Counter(open=1)
    (group,) = group_by_claim(report, "fails")
    assert group.anchors == ["a", "b"]
    said = (
        "Of 5 comparisons of the paper that were tested here, 2 hold, 1 is open and 2 fail. "
        "1 more was not measured, or on too few images."
    )
    own = "Of 1 comparison of our own that was tested here, 0 hold, 1 is open and 0 fail."
    for text in (render_markdown(report), render_html(report)):
        assert said in text
        assert own in text


def test_claims_come_first_then_tables_figures_what_fails_and_our_own(tmp_path: Path) -> None:
    judged = FixedExperiment("table1", "Table 1: judged", (verdicts("holds", "open", "fails"),))
    drawn = FixedExperiment("curves", "Fig. intro: drawn", (Grid(("x",), (("1",),)),))
    ours = FixedExperiment("ours", "Ours: beyond", (verdicts("fails", paper="–"),))
    report = gathered(tmp_path, ours, drawn, judged)
    places = ["claims", "in-short", "table1", "curves", "what-fails", "what-is-open", "own", "ours", "data", "made"]
    for text, mark in ((render_markdown(report), '<a id="{}">'), (render_html(report), '<section id="{}"')):
        found = [text.index(mark.format(place)) for place in places]
        assert found == sorted(found)


@pytest.mark.parametrize(
    ("counts", "said"),
    [({"holds": 1}, "1 holds, 0 are open and 0 fail"), ({"fails": 1, "open": 2}, "0 hold, 2 are open and 1 fails")],
)
def test_the_tally_is_a_sentence(counts: dict[str, int], said: str) -> None:
    assert said in tally_sentence(Counter(counts), "of the paper")  # type: ignore[arg-type]  # all are states


# ---- files


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        store = write_results(tmp_path / name, SMALL.measurements([MNIST]))
        texts.append([path.read_bytes() for path in write_report(store, [SMALL])])
        assert texts[-1] == [path.read_bytes() for path in write_report(store, [SMALL])]
    assert texts[0] == texts[1]
    other = write_results(tmp_path / "other", SMALL.measurements([MNIST]), images=13)
    assert all(a != b.read_bytes() for a, b in zip(texts[0], write_report(other, [SMALL]), strict=True))


def test_no_results_get_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"there are no results in .*: measure some first, as `samp bench table1` does"
    ):
        write_report(Store(tmp_path))


def test_a_file_that_is_no_results_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"cells": {}}')
    with pytest.raises(ValueError, match=r"results\.json is not of samp bench: it lacks about, commands, failed\."):
        write_report(Store(tmp_path), [SMALL])


def test_all_experiments_of_the_paper_are_asked(tmp_path: Path) -> None:
    from samp_lab.tables.table3 import TABLE3

    table = TABLE3
    written, _ = write_report(write_results(tmp_path, cells_of([table], [PHOTOS.name])))
    assert f"## {table.title}" in written.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path: Path) -> None:
    store = write_results(tmp_path, SMALL.measurements([MNIST]))
    before = [path.read_bytes() for path in write_report(store, [SMALL])]
    (tmp_path / "remarks").mkdir()
    (tmp_path / "remarks" / "small.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"small\.md is no text in UTF-8"):
        write_report(store, [SMALL])
    assert before == [(tmp_path / name).read_bytes() for name in ("report.md", "report.html")]


def test_figures_are_linked_embedded_or_said_to_be_missing(tmp_path: Path) -> None:
    shown = FixedExperiment(
        "a", "A", (Picture("good.png", "Good."), Picture("gone.png", "Gone."), Picture("../secret.png", "No."))
    )
    figures = tmp_path / "figures"
    figures.mkdir()
    Image.new("RGB", (30, 20)).save(figures / "good.png")
    Image.new("RGB", (3, 2)).save(tmp_path / "secret.png")
    report = gathered(tmp_path, shown)
    assert "![Good.](figures/good.png)" in render_markdown(report)
    assert '<img width="30" height="20" alt="Good." src="data:image/png;base64,' in render_html(report)
    for text in (render_markdown(report), render_html(report)):
        assert "The figure gone.png is not there." in text
        assert "The figure ../secret.png is not there." in text
    (figures / "good.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    assert "The figure good.png is no picture that can be read: draw it again." in render_html(report)


# ---- remarks


def test_remarks_stand_below_their_experiment(tmp_path: Path) -> None:
    (tmp_path / "remarks").mkdir()
    (tmp_path / "remarks" / "small.md").write_text("Because of **nets**.", encoding="utf-8")
    (tmp_path / "remarks" / "summary.md").write_text("All in all.", encoding="utf-8")
    report = gathered(tmp_path, SMALL)
    assert "### Remarks\n\nBecause of **nets**." in render_markdown(report)
    assert "<h3>Remarks</h3>\n<p>Because of <b>nets</b>.</p>" in render_html(report)
    assert render_markdown(report).index("All in all.") < render_markdown(report).index("## How to read it")
