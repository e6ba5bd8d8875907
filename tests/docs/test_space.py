"""The Gradio app of examples/space: it starts, answers over its interface, and refuses what it cannot explain.

Gradio is in no extra of samp: `.ci/site` runs this file in an environment of its own, and it skips elsewhere.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from browser import launch_browser
from samp.images import example_photo

SPACE = Path(__file__).parents[2] / "examples" / "space"
SOURCE = (SPACE / "app.py").read_text(encoding="utf-8")


def test_the_app_has_at_most_sixty_lines_and_says_how_it_is_run() -> None:
    assert len(SOURCE.splitlines()) <= 60
    assert "python examples/space/app.py" in SOURCE
    head = (SPACE / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert "sdk: gradio" in head
    assert "app_file: app.py" in head


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return where the app listens, on this machine alone."""
    pytest.importorskip("gradio", reason="needs Gradio: .ci/site installs it in an environment of its own")
    pytest.importorskip("efficientnet_lite_pytorch", reason="needs the extra demo")
    spec = importlib.util.spec_from_file_location("space_app", SPACE / "app.py")
    assert spec
    assert spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, local, _ = module.app.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    yield local
    module.app.close()


@pytest.fixture(scope="module")
def client(address: str) -> Any:
    return pytest.importorskip("gradio_client").Client(address, verbose=False)


def photo() -> Any:
    return pytest.importorskip("gradio_client").handle_file(str(example_photo()))


def test_it_explains_the_predicted_class(client: Any) -> None:
    picture, label, said = client.predict(photo(), "", "draft", api_name="/explain")
    assert label["label"] == "espresso"
    assert label["confidences"][0]["confidence"] > 0.9
    assert "Half of the positive credit lies on " in said
    assert "(36 gradients)" in said
    with Image.open(picture) as drawn:
        assert min(drawn.size) > 300
        assert len(drawn.convert("RGB").getcolors(1 << 24) or ()) > 1000  # a photo, and no blank sheet


def test_it_explains_another_class_by_its_name(client: Any) -> None:
    other, _, said = client.predict(photo(), "cup", "draft", api_name="/explain")
    own, _, _ = client.predict(photo(), "", "draft", api_name="/explain")
    assert "Half of the positive credit" in said
    assert Path(other).read_bytes() != Path(own).read_bytes()


def test_an_unknown_class_and_no_photo_are_refused_in_a_sentence(client: Any) -> None:
    with pytest.raises(Exception, match="no class"):
        client.predict(photo(), "no such thing", "draft", api_name="/explain")
    with pytest.raises(Exception, match="Choose a photo"):
        client.predict(None, "", "draft", api_name="/explain")


def test_its_page_answers_in_a_browser(address: str) -> None:
    with launch_browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(300_000)
        page.goto(address)
        page.get_by_role("button", name="Submit").click()
        page.get_by_text("espresso").first.wait_for()
        page.close()
