"""The figure of `samp compare`: it shows what the page shows, in the same colours."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from compared_photos import NAMES, classify_test_photo, tiny
from samp.cli.compare import compare_all
from samp.compare import label_methods
from samp.html.compare_facts import comparison_record
from samp.html.render import render_page

pytest.importorskip("matplotlib", reason="needs the extra viz")


def test_the_figure_shows_the_same_in_the_same_colours(tmp_path: Path) -> None:
    from matplotlib.colors import to_hex

    from samp.plots.compare_figure import draw

    asked = classify_test_photo(tmp_path)
    compared, _ = compare_all(asked, label_methods(NAMES), None, 0)
    found = comparison_record(asked, compared, {}, "samp compare")
    figure = draw(asked, compared, found)
    *maps, deletion, insertion, table = figure.axes
    assert [axes.get_title() for axes in maps if axes.get_title()] == ["photo", *NAMES]
    assert len(maps) == 1 + 2 * len(NAMES)
    for grey, outlined in zip(maps[1::2], maps[2::2], strict=True):  # the region below its map
        assert outlined.collections
        assert not grey.collections
        assert outlined.get_position().x0 == pytest.approx(grey.get_position().x0)
        assert outlined.get_position().y1 < grey.get_position().y0
    light = render_page("base.html", {"title": "", "lead": ""}).partition('[data-theme="dark"]')[0]
    for row, number, down, up in zip(compared.rows, range(8), deletion.lines, insertion.lines, strict=True):
        assert list(down.get_ydata()) == pytest.approx(row.curves.deletion_curve[0].tolist())
        assert list(up.get_ydata()) == pytest.approx(row.curves.insertion_curve[0].tolist())
        assert f"--c{number % 7}: {to_hex(down.get_color())};" in light
        assert (down.get_color(), down.get_linestyle()) == (up.get_color(), up.get_linestyle())
    assert deletion.get_ylim() == insertion.get_ylim()
    words = [one.get_text() for one in table.texts]
    for row in compared.rows:
        assert f"{float(row.curves.deletion[0]):.3f}" in words
    caption = " ".join(" ".join(one.get_text().split()) for one in figure.texts)
    assert "One photo is no statistics" in caption
    assert "RandomMap()" in caption


def test_a_figure_without_curves_can_be_drawn(tmp_path: Path) -> None:
    from samp.plots.compare_figure import draw

    asked = classify_test_photo(tmp_path, tiny(sign=-1.0))
    compared, _ = compare_all(asked, label_methods(["ig"]), None, 0)
    picture = io.BytesIO()
    figure = draw(asked, compared, comparison_record(asked, compared, {}, ""))
    figure.savefig(picture)
    assert picture.getvalue().startswith(b"\x89PNG")
    assert not any(line.get_label().startswith("ig") for axes in figure.axes for line in axes.lines)
