"""Draw docs/explanation.png, player.png and compare.png: `python docs/build_pictures.py`.

The commands are those that the documentation names, on the embedded photos; headless chromium takes screenshots of the
pages that they write. It needs the extras `demo` and `viz`, Playwright with chromium, and about two minutes on a CPU.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import sync_playwright

from samp.cli import main as samp

DOCS = Path(__file__).resolve().parent
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]  # as a container needs them


def run_samp(*words: str | Path) -> None:
    """Run a command of samp; exit with its output if it fails."""
    result = CliRunner().invoke(samp, list(map(str, words)))
    if result.exit_code:
        raise SystemExit(result.output)


def take_screenshot(page: Any, file: Path, picture: Path, keys: Sequence[str], last: str) -> None:
    """Save the page after these keys, from its top to the end of the element `last`; 256 colours keep it small."""
    page.goto(file.as_uri())
    page.wait_for_timeout(2000)  # until it has unpacked its pictures and handles keys
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(1000)  # until it has drawn itself
    box = page.locator(last).first.bounding_box()
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": box["y"] + box["height"] + 8}
    shot = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    shot.convert("RGB").quantize(256).save(picture, optimize=True)


def main() -> None:
    """Make the three pictures."""
    os.chdir(DOCS.parent)  # pictures hold the names of their photos, which should not depend on the machine
    cat = "src/samp/data/chelsea.jpg"
    run_samp("explain", cat, "--quality", "fine", "--out", DOCS / "explanation.png")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        player, comparison = Path(folder) / "player.html", Path(folder) / "compare.html"
        run_samp("play", cat, "--out", player)
        run_samp("compare", "--out", comparison)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        narrow, wide = (chromium.new_page(viewport={"width": width, "height": 960}) for width in (1000, 1180))
        # Past the walk in which pixels appear, and a third of the steps into the one in which they disappear.
        take_screenshot(narrow, player, DOCS / "player.png", ["Home", *["ArrowRight"] * 80], ".path")
        take_screenshot(wide, comparison, DOCS / "compare.png", [], ".scroll")
        chromium.close()


if __name__ == "__main__":
    main()
