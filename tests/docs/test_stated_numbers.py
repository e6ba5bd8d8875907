"""Numbers that the README and the guide repeat are those of the report and of the benchmarks."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README, GUIDE, REPORT, BENCHMARKS = (
    (ROOT / page).read_text(encoding="utf-8")
    for page in ("README.md", "docs/guide.md", "results/report.md", "docs/benchmarks.md")
)
BEDS = {
    "MNIST": "MNIST, the paper's CNN",
    "CIFAR-10": "CIFAR-10, the paper's CNN",
    "ImageNet": "ImageNet photos, MobileNetV2",
}
SCORES = r"([−\d.]+) / ([\d.]+)"


@cache
def table1(bed: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Deletion and insertion of each row of the report's Table 1: ours and the paper's."""
    section = REPORT.partition('<a id="table1"></a>')[2].partition(f"### {BEDS[bed]}\n")[2].partition("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    numbers = {name: [cell.strip("*").split("*")[0].split(" ")[0] for cell in cells] for name, *cells in rows[2:]}
    return {name: {"ours": (c[0], c[3]), "paper": (c[1], c[4])} for name, c in numbers.items()}


def as_number(text: str) -> float:
    return float(text.replace("−", "-"))


def assert_same(stated: str, measured: str) -> None:
    """The stated number is the measured one, to the digits that are stated."""
    digits = len(stated.partition(".")[2])
    assert abs(as_number(stated) - as_number(measured)) <= 0.5 * 10**-digits + 1e-9, (stated, measured)


def test_both_pages_count_the_claims_as_the_report_does() -> None:
    counts = re.search(r"Of (\d+) claims of the paper .*?, (\d+) hold, (\d+) are open and (\d+) fail", REPORT)
    assert counts
    for page in (README, GUIDE):
        text = " ".join(page.split())
        stated = re.findall(r"of (\d+) comparisons that the paper draws, (\d+) hold, (\d+) stay open and (\d+)", text)
        assert stated == [counts.groups()]
    total, *parts = map(int, counts.groups())
    assert total == sum(parts)


def test_the_readme_states_the_scores_of_the_report() -> None:
    text = " ".join(README.split())
    scores = re.search(rf"MobileNetV2 {SCORES} against {SCORES}", text)
    assert scores
    photos = table1("ImageNet")
    assert scores.groups() == (*photos["coupled"]["ours"], *photos["SAMP++"]["ours"])
    insertion = re.search(r"best Insertion on MNIST \(([\d.]+) against our ([\d.]+)\)", text)
    assert insertion
    digits = table1("MNIST")
    assert insertion.groups() == (digits["IG, blurred"]["ours"][1], digits["coupled"]["ours"][1])
    for bed in ("MNIST", "CIFAR-10"):
        best = max(table1(bed), key=lambda name: as_number(table1(bed)[name]["ours"][1]))
        assert best == "IG, blurred"


@pytest.mark.parametrize("row", ["IG", "Guided IG", "SAMP", "SAMP++", "coupled"])
def test_the_table_of_the_guide_is_that_of_the_report(row: str) -> None:
    (line,) = re.findall(
        rf"^\| {re.escape(row)}(?: \(ours\))? \|(.*)\|$", GUIDE.partition("MNIST: paper")[2], re.MULTILINE
    )
    cells = [cell.strip(" *†") for cell in line.split("|")]
    for bed, paper, ours in zip(BEDS, cells[::2], cells[1::2], strict=True):
        for kind, cell in (("paper", paper), ("ours", ours)):
            stated = re.fullmatch(SCORES, cell)
            assert stated or (kind == "paper" and row == "coupled")
            for number, measured in zip(stated.groups() if stated else (), table1(bed)[row][kind], strict=bool(stated)):
                assert_same(number, measured)


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
