"""The page of the leaderboard in a real browser: nothing from the network, headings sort, narrow screens and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from browser import Visit, contrast, scrolls_sideways, visit
from panel_results import JUDGES, QUALITY, make_panel, make_results
from paper_results import EVIL
from samp.metrics import MeanRank
from samp_lab.leaderboard.board import Board
from samp_lab.leaderboard.chart import FRAME, Point, rank_chart
from samp_lab.leaderboard.duels import find_duels
from samp_lab.leaderboard.page import render_board
from samp_lab.leaderboard.results_file import NetResult, PanelResults


def write_page(folder: Path, results: PanelResults) -> Path:
    board = Board(results)
    path = folder / "panel.html"
    path.write_text(render_board(board, find_duels(board)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve methods and twenty judges on two nets; one method and one judge are missing on the second."""
    results = make_results(photos=12)
    second = results.nets["resnet50"]
    quality = {name: good for name, (_, good) in QUALITY.items() if name != "IG"}
    panel = replace(make_panel(quality, JUDGES[:-2], 12, 1), left_out={"seed": "maps cannot be made again"})
    nets = {**results.nets, "resnet50": NetResult("resnet50", panel, second.gradients, second.facts)}
    return write_page(tmp_path_factory.mktemp("panel"), PanelResults(nets, results.about))


@pytest.fixture
def seen(chromium: Any, path: Path) -> Iterator[Visit]:
    with visit(chromium, path) as visited:
        yield visited
    assert visited.faults() == []


def column(page: Any, table: str, number: int) -> list[float | None]:
    """The numbers of a column from top to bottom; None for those that are missing."""
    values = page.eval_on_selector_all(
        f"#{table} tbody tr", "(rows, n) => rows.map(row => row.cells[n].dataset.value)", number
    )
    return [float(value) if value else None for value in values]


def known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


# ---- what it shows


def test_it_has_a_section_for_each_net_and_says_what_each_judge_asks(seen: Visit) -> None:
    headings = seen.page.eval_on_selector_all("h2", "all => all.map(one => one.textContent)")
    assert headings == [
        "In short",
        "Judge by judge: ours against each rival",
        "Ranks under each judge, over all nets",
        "MobileNetV2",
        "ResNet-50",
        "What each judge asks",
        "How it was made",
    ]
    asked = seen.page.locator("#judges dt").all_inner_texts()
    assert len(asked) == len(JUDGES)
    assert "MPRT ↓" in asked
    assert "NVIDIA H200" in seen.page.locator("#made").inner_text()
    assert "Not asked: seed: maps cannot be made again." in seen.page.locator("#net-resnet50").inner_text()


def test_every_link_leads_somewhere_and_every_table_has_a_name(seen: Visit) -> None:
    lost = "all => all.map(one => one.hash.slice(1)).filter(anchor => !document.getElementById(anchor))"
    assert seen.page.locator("a[href^='#']").evaluate_all(lost) == []
    assert seen.page.locator("table:not(:has(caption))").count() == 0
    ids = seen.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(set(ids)) == len(ids)


def test_the_best_of_every_judge_is_marked_once(seen: Visit) -> None:
    table = seen.page.locator("#net-mobilenet-v2-table")
    assert table.locator("tbody strong").count() == 1 + 19  # the mean rank and all judges that rank
    assert column(seen.page, "net-mobilenet-v2-table", 1) == sorted(
        known(column(seen.page, "net-mobilenet-v2-table", 1))
    )


def test_a_method_of_one_net_is_named_and_has_a_dash(seen: Visit) -> None:
    row = seen.page.locator("#standings tbody tr", has_text=re.compile("^IG"))
    assert row.locator("td").nth(1).inner_text() == "–"
    assert "without a rank over all nets: IG." in seen.page.locator("#in-short").inner_text()


def test_claims_that_fail_come_first_in_words(seen: Visit) -> None:
    found = seen.page.locator(".claims .state").all_inner_texts()
    assert len(found) == 3 + 4  # best ranks of both nets and of all; SAMP++ twice on each net
    assert found == sorted(found, key=["✗ fails", "? open", "✓ holds"].index)


# ---- sorting


def test_a_click_sorts_the_best_first_and_another_the_worst(seen: Visit) -> None:
    table, page = "net-mobilenet-v2-table", seen.page
    for heading, reverse in (("ROAD ↑", True), ("MPRT ↓", False)):
        heads = page.locator(f"#{table} thead button").all_inner_texts()
        number = [head.replace("\N{NO-BREAK SPACE}", " ") for head in heads].index(heading)
        button = page.locator(f"#{table} thead button").nth(number)
        button.click()
        values = known(column(page, table, number))
        assert values == sorted(values, reverse=reverse)
        assert page.locator(f"#{table} tbody tr").first.locator("td").nth(number - 1).locator("strong").count() == 1
        button.click()
        assert known(column(page, table, number)) == values[::-1]
        sorted_by = page.locator(f"#{table} th[aria-sort]")
        assert sorted_by.count() == 1
        assert sorted_by.get_attribute("aria-sort") == ("ascending" if reverse else "descending")


def test_rows_without_a_number_stay_last_and_other_tables_stay_as_they_are(seen: Visit) -> None:
    before = column(seen.page, "net-resnet50-table", 1)
    head = seen.page.locator("#standings thead button").nth(2)
    for _ in range(2):
        head.click()
        assert column(seen.page, "standings", 2)[-1] is None
    assert column(seen.page, "net-resnet50-table", 1) == before


def test_sorting_works_by_keyboard(seen: Visit) -> None:
    page = seen.page
    page.locator("#standings").evaluate("table => table.parentElement.focus()")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("gradients")
    page.keyboard.press("Enter")
    values = column(page, "standings", 1)
    assert values == sorted(known(values))


# ---- room and colours


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1800])
def test_nothing_is_wider_than_the_window(chromium: Any, path: Path, width: int) -> None:
    with visit(chromium, path, width=width, height=800, is_mobile=width < 500) as visited:
        assert not scrolls_sideways(visited.page)
    assert visited.faults() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(chromium: Any, path: Path, scheme: str) -> None:
    with visit(chromium, path, color_scheme=scheme) as visited:
        for selector in (
            "h2",
            "#standings button",
            "#standings .below",
            "#duels-table .fails",
            ".claims .state",
            ".verdicts li",
        ):
            assert contrast(visited.page, selector) >= 4.5, selector
    assert visited.faults() == []


def test_names_are_shown_as_they_are_and_run_nothing(chromium: Any, tmp_path: Path) -> None:
    panel = make_panel({f"coupled {EVIL}": 1.0, EVIL: 0.0}, [("road", EVIL), ("sds", "SDS")])
    nets = {EVIL: NetResult(EVIL, replace(panel, left_out={EVIL: EVIL}), {EVIL: 3.0, f"coupled {EVIL}": 2.0})}
    page = write_page(tmp_path, PanelResults(nets, {"machine": EVIL, "command": EVIL}))
    with visit(chromium, page) as visited:
        assert visited.page.title() == "The panel"
        assert visited.page.locator("body").inner_text().count(EVIL) >= 10
        assert visited.page.locator("img").count() == 0
    assert visited.faults() == []


# ---- the chart


def point(name: str, gradients: float, rank: float, ours: bool = False) -> Point:
    return Point(name, gradients, MeanRank(rank, rank - 0.2, rank + 0.2, 0.95), ours)


def test_better_ranks_lie_higher_and_more_gradients_further_right() -> None:
    chart = str(rank_chart([point("a", 10, 3), point("b", 100, 1.5, ours=True)], "chart"))
    places = {
        title.partition(":")[0]: (float(x), float(y))
        for title, x, y in re.findall(r'<title>([^<]*)</title><circle cx="([\d.]+)" cy="([\d.]+)"', chart)
    }
    assert places["b"][0] > places["a"][0]
    assert places["b"][1] < places["a"][1]
    assert chart.count('class="method ours"') == 1


def test_labels_of_crowded_points_do_not_cover_each_other() -> None:
    crowd = [point(f"method {n}", 30 + n, 2 + 0.4 * n) for n in range(8)]
    chart = str(rank_chart(crowd, "chart"))
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(start|end|middle)">method', chart)
    assert len(found) == 8
    boxes = [(float(x) - {"start": 0, "middle": 27, "end": 54}[anchor], float(y)) for x, y, anchor in found]
    close = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n] if abs(a[1] - b[1]) < 11 and abs(a[0] - b[0]) < 54]
    assert close == []
    assert all(FRAME.left <= x <= FRAME.width - 54 for x, _ in boxes)


def test_methods_without_gradients_stand_at_a_mark_of_their_own() -> None:
    chart = str(rank_chart([point("random", 0, 3), point("IG", 50, 1)], "chart"))
    assert ">0</text>" in chart
    assert "nan" not in chart


@pytest.mark.parametrize("gradients", [0, 0.3, 0.5, 0.8, 1, 1.2, 51, 1e4])
def test_one_method_alone_has_a_chart_whatever_it_takes(gradients: float) -> None:
    chart = str(rank_chart([point("a", gradients, 1)], "chart"))
    assert chart.count("<circle") == 1
    assert chart.count('text-anchor="middle">') > 1  # a mark on the axis, besides its name


def test_what_is_not_known_is_left_out() -> None:
    nothing = point("a", float("nan"), 1)
    assert rank_chart([nothing], "chart") is None
    assert "<title>a" not in str(rank_chart([nothing, point("b", 1, 1)], "chart"))
    assert "whisker" not in str(rank_chart([Point("b", 1, MeanRank(1, float("nan"), float("nan"), 0.95), True)], "c"))
