"""Every result in a real notebook: run by a kernel, and looked at in a browser, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import visit, wait_until
from notebooks import convert, outputs, run_notebook

LARGEST = 300_000  # bytes of what a result shows

CELLS = {
    "setup": """
import torch, samp
from PIL import Image
from torch import nn
torch.manual_seed(0)
classifier = samp.models.Classifier(
    nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(900, 3)).eval(),
    "tiny", 32, 0.5, 0.5, ("cup", "<b>cat</b>", "dog"),
)
photo = samp.images.read(samp.images.example_photo())
""",
    "one": "result = samp.explain(classifier, photo, target=1, method='ig', keep_points=True)\nresult",
    "batch": "samp.explain(classifier, [photo] * 20, method='gradientxinput')",
    "table": "samp.explain(nn.Linear(12, 3).eval(), torch.rand(2, 12), method='ig')",
    "show": "result.show()",
    "overlay": "result.overlay()",
    "to_pil": "result.to_pil()",
    "plot": "result.plot()",
    "top": "result.top(2)",
    "to_numpy": "result.to_numpy().shape",
    "compared": "compared = samp.compare(classifier, photo, ['ig', 'random'], judges=['road'])\ncompared",
    "curves": "compared['ig'].curves",
    "panel": "compared.panel",
    "pandas": "compared.to_pandas()",
    "run": "samp.run([photo], out='run', model=classifier, method='ig')",
    "results": "samp.batch.load('run')",
    "text": """
words = "the film was good bad".split()
encode = lambda text: samp.text.Encoded(text, [words.index(w) for w in text.split()], text.split(), [False] * 4)
net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2)).eval()
samp.text.explain(net, encode, ["the film was good", "the film was bad"], baseline="zero")
""",
    "progress": "_ = samp.explain(classifier, photo, method='ig', progress=True)",
    "player": "samp.player.widget(result, classifier, name='cup.jpg', frames=10)",
}
WITH_HTML = ("one", "batch", "table", "show", "compared", "curves", "panel", "run", "results", "text")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield run_notebook(list(CELLS.values()), tmp_path_factory.mktemp("notebook"), monkeypatch)


def shown(notebook: Any, name: str) -> dict[str, str]:
    return outputs(notebook, list(CELLS).index(name))[-1]


@pytest.mark.parametrize("name", WITH_HTML)
def test_a_result_shows_itself_in_html_of_less_than_300_kb(notebook: Any, name: str) -> None:
    html = shown(notebook, name)["text/html"]
    assert len(html) < LARGEST
    assert "Not drawn" not in html
    assert "<script" not in html


def test_the_class_is_named_and_its_name_escaped(notebook: Any) -> None:
    html = shown(notebook, "one")["text/html"]
    assert "Why &lt;b&gt;cat&lt;/b&gt; (1)?" in html
    assert html.count("<img") == 3


def test_a_batch_shows_eight_and_says_how_many_more(notebook: Any) -> None:
    html = shown(notebook, "batch")["text/html"]
    assert html.count("Why ") == 8
    assert "and 12 more samples" in html


@pytest.mark.parametrize("name", ["one", "overlay", "to_pil", "plot"])
def test_pictures_are_pngs_too(notebook: Any, name: str) -> None:
    assert len(shown(notebook, name)["image/png"]) > 500


def test_plain_answers_are_plain(notebook: Any) -> None:
    assert "credit" in shown(notebook, "top")["text/plain"]
    assert shown(notebook, "to_numpy")["text/plain"] == "(1, 32, 32)"
    assert "dataframe" in shown(notebook, "pandas")["text/html"]


def test_progress_is_a_bar_of_the_notebook(notebook: Any) -> None:
    assert "application/vnd.jupyter.widget-view+json" in shown(notebook, "progress")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_whole_in_both_looks(notebook: Any, chromium: Any, tmp_path: Path, theme: str) -> None:
    path = convert(notebook, tmp_path / "notebook.html", theme)
    with visit(chromium, path, color_scheme=theme) as seen:
        pictures = seen.page.locator("img")
        assert pictures.count() > 20
        broken = (
            "all => all.filter(one => !one.complete || !one.naturalWidth || !one.getBoundingClientRect().width).length"
        )
        assert pictures.evaluate_all(broken) == 0
        own = "e => getComputedStyle(e).color === getComputedStyle(e.closest('.jp-OutputArea-output')).color"
        assert seen.page.locator("b[dir=auto]").first.evaluate(own)  # the look's own colour of text, light or dark
        frame = seen.page.frames[-1]
        seen.page.locator("iframe").scroll_into_view_if_needed()
        where = frame.locator("#where")
        before = where.inner_text()
        frame.locator("#play").click()
        wait_until(seen.page, lambda: where.inner_text() != before)
        seen.page.screenshot(path=tmp_path / "seen.png", full_page=True)
    assert seen.faults() == []
