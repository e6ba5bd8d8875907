"""Page one: every claim of the paper once, judged by the paper's own nets, under both readings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paper_results import FixedExperiment, cells_of, table_rows, write_results
from samp_lab.paper_claims import CLAIMS
from samp_lab.report.chapter import Chapter
from samp_lab.report.contents import gather_report
from samp_lab.report.html_page import render_html
from samp_lab.report.markdown import render_markdown
from samp_lab.report.other_nets import main_net, mark_other_nets
from samp_lab.report.page_one import HEADS, ClaimLine, claims_sentence, claims_table, gather_claims, read_whys
from samp_lab.sections import Section, State, Verdict, Verdicts
from samp_lab.setups import parse_setup

MNIST = parse_setup("mnist").title


def verdict(state: State, part: str = "time", reading: str = "text", setup: str = MNIST, ours: str = "+1") -> Verdict:
    return Verdict("a faster than b", "× 0.5", ours, state, setup, part, reading)


def line_of(*rows: Verdict, key: str = "time", name: str = "table7") -> ClaimLine:
    chapter = Chapter(Section(name, "Table 7", (Verdicts(rows),)), ())
    return next(line for line in gather_claims([chapter], {}) if line.key == key)


def cells(line: ClaimLine) -> dict[str, str]:
    return dict(zip(HEADS, claims_table([line]).rows[0], strict=True))


def test_every_claim_has_one_line_and_those_that_nobody_measured_say_so(tmp_path: Path) -> None:
    judged = FixedExperiment("table7", "Table 7: times", (Verdicts((verdict("holds"),)),))
    report = gather_report(write_results(tmp_path, cells_of([judged], ["mnist"])), [judged])
    assert [line.key for line in report.claims] == list(CLAIMS)
    text = render_markdown(report).partition("## Contents")[0]
    rows = [row for row in table_rows(text) if row[0] not in ("claim", "---")]
    assert len(rows) == len(CLAIMS)
    verdicts = [row[HEADS.index("verdict")] for row in rows]
    assert verdicts.count("– not measured") == len(CLAIMS) - 1
    assert verdicts[list(CLAIMS).index("time")] == "✓ holds"
    assert render_html(report).count("– not measured</span>") == len(CLAIMS) - 1
    assert "(#table7)" in rows[list(CLAIMS).index("time")][0]


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (["holds", "holds"], "✓ 2 of 2 hold"),
        (["holds", "open", "holds"], "? 2 of 3 hold (1 open)"),
        (["holds", "open", "fails", "fails"], "✗ 1 of 4 hold (1 open, 2 fail)"),
        (["fails", "open"], "✗ 0 of 2 hold (1 open, 1 fails)"),
        (["holds", "missing"], "✓ +1"),
    ],
)
def test_several_verdicts_are_counted_and_all_must_hold(states: list[State], said: str) -> None:
    assert cells(line_of(*map(verdict, states)))["text"] == said


def test_one_verdict_shows_its_number_or_its_state_if_that_is_long() -> None:
    found = line_of(verdict("fails", ours="× 7.36 [7.04, 7.79], p = 0.01"))
    assert cells(found)["text"] == "✗ × 7.36 [7.04, 7.79]"
    assert cells(line_of(verdict("fails", ours="a very long story " * 4)))["text"] == "✗ fails"


def test_readings_stand_side_by_side_and_may_disagree() -> None:
    both = line_of(verdict("fails"), verdict("holds", reading="authors", ours="+2"))
    assert (cells(both)["text"], cells(both)["authors"], cells(both)["verdict"]) == ("✗ +1", "✓ +2", "≠ by reading")
    same = line_of(verdict("open"), verdict("open", reading="authors"))
    assert cells(same)["verdict"] == "? open"
    alone = line_of(verdict("holds", reading="authors"))
    assert (cells(alone)["text"], cells(alone)["verdict"]) == ("–", "✓ holds")


def test_other_nets_are_counted_and_decide_nothing() -> None:
    other = replace(verdict("fails"), main=False)
    found = line_of(verdict("holds"), other, replace(other, state="holds"))
    assert (cells(found)["verdict"], cells(found)["other nets"]) == ("✓ holds", "1 of 2 hold")
    assert cells(line_of(other))["verdict"] == "– not with the paper's net"


def test_the_sentence_counts_the_lines() -> None:
    chapter = Chapter(Section("a", "A", (Verdicts((verdict("holds"), verdict("fails", "shapley"))),)), ())
    said = claims_sentence(gather_claims([chapter], {}))
    rest = len(CLAIMS) - 2
    assert said == (
        f"Of {len(CLAIMS)} claims of the paper, 1 holds, 0 are open, 1 fails and 0 depend on the reading; "
        f"{rest} were not measured with the paper's net."
    )


def test_a_verdict_on_an_unknown_claim_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown claim of the paper 'tyme': did you mean 'time'\?"):
        line_of(verdict("holds", part="tyme"))


# ---- why


def test_reasons_are_read_by_claim_and_shown(tmp_path: Path) -> None:
    (tmp_path / "remarks").mkdir()
    (tmp_path / "remarks" / "claims.md").write_text("time: Steps: few.\n\nshapley:  As said. \n", encoding="utf-8")
    assert read_whys(tmp_path / "remarks" / "claims.md") == {"time": "Steps: few.", "shapley": "As said."}
    report = gather_report(write_results(tmp_path, []), [])
    assert [line.why for line in report.claims if line.why] == ["Steps: few.", "As said."]
    assert "Steps: few." in render_markdown(report)
    assert "Steps: few." in render_html(report)


@pytest.mark.parametrize(
    ("line", "said"),
    [("tine: Why.", r"'tine', which is no claim .* concentration, sparse"), ("Why.", "write `key: sentence`")],
)
def test_a_reason_for_nothing_is_refused(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "claims.md").write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        read_whys(tmp_path / "claims.md")


# ---- which nets decide


@pytest.mark.parametrize(
    ("data", "reading", "setups", "net"),
    [
        ("mnist", "text", ["mnist/mnist-seed1", "mnist"], "mnist"),
        ("mnist", "authors", ["mnist", "mnist@authors", "mnist/mnist-authors-seed1@authors"], "mnist-authors"),
        ("imagenet", "text", ["imagenet/squeezenet1_1", "imagenet/resnet50"], "resnet50"),
        ("imagenet", "authors", ["imagenet@authors"], "resnet50-uncropped"),
        ("coco", "text", ["coco/mobilenet_v2"], "mobilenet_v2"),  # the one setup that a figure has
        ("imagenet", "text", ["mnist"], "resnet50"),  # measured on data that the experiment is not for
    ],
)
def test_the_papers_net_decides_or_the_only_one(data: str, reading: str, setups: list[str], net: str) -> None:
    assert main_net(data, reading, setups) == net


def test_verdicts_are_marked_by_the_title_of_their_setup() -> None:
    names = ["imagenet", "imagenet@authors", "imagenet/mobilenet_v2", "mnist", "mnist/mnist-seed2"]
    setups = [parse_setup(name) for name in names]
    rows = [verdict("holds", setup=f"{one.title}{end}") for one in setups for end in ("", ": image to black")]
    section = Section("a", "A", (Verdicts((*rows, verdict("holds", setup="elsewhere"))),))
    marked = mark_other_nets(section, setups, names)
    assert [row.main for row in marked.verdicts] == [True] * 4 + [False] * 2 + [True] * 2 + [False] * 2 + [True]


def test_readings_disagree_only_where_both_judge_the_same_data() -> None:
    digits, photos = (
        replace(verdict(state), setup=f"{data}, a net") for state, data in (("holds", "A"), ("fails", "B"))
    )
    theirs = replace(digits, reading="authors")
    assert cells(line_of(digits, photos, theirs))["verdict"] == "✗ fails"  # alike on A; B was judged once
    assert cells(line_of(replace(digits, state="fails"), theirs))["verdict"] == "≠ by reading"
    assert cells(line_of(replace(digits, state="open"), theirs))["verdict"] == "? open"
