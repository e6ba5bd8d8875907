"""Execute the tutorials and write their pages: `python docs/build_tutorials.py [NAME…]`.

A tutorial is a script in docs/tutorials, in cells: `# %% [markdown]` begins text and `# %%` code, as Jupyter (by
jupytext), VS Code, PyCharm and Spyder read it. A cell that shows a picture says what is on it:
`# %% alt="The region"`.

The script is run cell by cell in a Jupyter kernel, in an empty folder. What it shows goes into NAME.md, pictures into
NAME-1.png, NAME-2.png, …; NAME.ipynb has the cells with the same outputs, to be read or downloaded and run. The page
holds the SHA-256 of its script, so that a test sees when it is behind. Without names, all tutorials are executed.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image
from traitlets.config import Config

FOLDER = Path(__file__).with_name("tutorials")
MARK = re.compile(r'^# %%(?P<markdown> \[markdown\])?(?: alt="(?P<alt>[^"]*)")?\s*$')
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
LARGEST = 100_000  # bytes of a picture
SECONDS = 1800  # for one cell: a busy machine may be fifteen times as slow


@dataclass(frozen=True)
class Cell:
    """A piece of a tutorial: text in Markdown, or code."""

    text: str
    is_code: bool
    alt: str = ""
    """What the picture shows that this code makes."""


@dataclass
class Page:
    """A page as it grows: its lines, its pictures as PNG files in bytes, and the notebook of the same."""

    name: str
    notebook: Any
    lines: list[str] = field(default_factory=list)
    pictures: list[bytes] = field(default_factory=list)

    def add_text(self, text: str, fence: str = "") -> None:
        """Append a paragraph, or a block of code or output."""
        self.lines += [f"```{fence}", text.rstrip(), "```", ""] if fence else [text.rstrip(), ""]

    def add_picture(self, png: bytes, alt: str) -> None:
        """Append a picture, shrunk; raise ValueError if nothing says what is on it."""
        if not alt:
            raise ValueError(f'{self.name} shows a picture: begin its cell with `# %% alt="what is on it"`.')
        self.pictures.append(shrink(png))
        self.lines += [f"![{alt}]({self.name}-{len(self.pictures)}.png)", ""]


def main(names: Sequence[str]) -> None:
    """Execute these tutorials, or all, and write their pages, pictures and notebooks."""
    for source in [FOLDER / f"{name}.py" for name in names] or sources():
        page = make_page(source)
        for old in FOLDER.glob(f"{source.stem}-*.png"):
            old.unlink()
        for number, png in enumerate(page.pictures, 1):
            (FOLDER / f"{source.stem}-{number}.png").write_bytes(png)
        source.with_suffix(".md").write_text("\n".join(page.lines), encoding="utf-8")
        source.with_suffix(".ipynb").write_text(nbformat.writes(page.notebook) + "\n", encoding="utf-8")
        print(f"{source.stem}: {len(page.pictures)} pictures, {sum(map(len, page.pictures)) / 1000:.0f} kB")


def sources() -> list[Path]:
    """Return the scripts of all tutorials, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read_cells(source: Path) -> list[Cell]:
    """Return the cells of a script; raise ValueError for one that begins with code, or a line `# %%…` of another form.

    Markdown stands in comments.
    """
    cells: list[Cell] = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        mark = MARK.match(line)
        if line.startswith("# %%") and not mark:
            raise ValueError(f"{source.name}, line {number}: a cell begins with # %%, # %% [markdown] or # %% alt=….")
        if mark:
            cells.append(Cell("", is_code=not mark["markdown"], alt=mark["alt"] or ""))
        elif cells:
            last = cells[-1]
            text = line if last.is_code else re.sub(r"^# ?", "", line)
            cells[-1] = Cell(f"{last.text}{text}\n", last.is_code, last.alt)
        elif line.strip():
            raise ValueError(f"{source.name} begins with {line!r}: begin with a cell, # %% [markdown].")
    return [Cell(cell.text.strip("\n"), cell.is_code, cell.alt) for cell in cells]


def make_notebook(source: Path, checks: str = "") -> Any:
    """Return the tutorial as a notebook that was not run yet; code in `checks` becomes its last cell."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = read_cells(source) + [Cell(checks, is_code=True)] * bool(checks)
    for number, cell in enumerate(cells):
        new = nbformat.v4.new_code_cell if cell.is_code else nbformat.v4.new_markdown_cell
        notebook.cells.append(new(cell.text, id=f"cell-{number}"))
    return notebook


def execute(source: Path, checks: str = "") -> Any:
    """Return the notebook after it was run in an empty folder, `checks` last.

    Raises nbclient's `CellExecutionError` if a cell fails.
    """
    notebook = make_notebook(source, checks)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        # a kernel listens on files rather than on ports where it can, so that several never ask for the same
        where = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            startup_timeout=SECONDS,
            iopub_timeout=SECONDS,
            coalesce_streams=True,  # a kernel may cut what is printed anywhere
            resources={"metadata": {"path": folder}},
            config=Config({"KernelManager": where}),
        )
        client.execute()
    return notebook


def make_page(source: Path) -> Page:
    """Return the page of a tutorial, which is run for it; raise ValueError for what a page cannot show."""
    page = Page(source.stem, make_notebook(source))
    page.add_text(f"<!-- Written by docs/build_tutorials.py from {source.name}, {stamp(source)}. -->")
    for cell, ran, kept in zip(read_cells(source), execute(source).cells, page.notebook.cells, strict=True):
        page.add_text(cell.text, "python" if cell.is_code else "")
        if cell.is_code:
            kept["execution_count"] = ran["execution_count"]
            kept["outputs"] = [_add_output(page, output, cell.alt) for output in ran["outputs"]]
    page.add_text(f"*Run it yourself: [as a notebook]({source.stem}.ipynb), or [as a script]({source.name}) in cells.*")
    return page


def stamp(source: Path) -> str:
    """Return the words by which a page names the state of its script."""
    return f"SHA-256 {hashlib.sha256(source.read_bytes()).hexdigest()}"


def shrink(png: bytes) -> bytes:
    """Return the picture in 256 colours, and smaller if it still has more than `LARGEST` bytes."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    while len(small := _in_few_colours(picture)) > LARGEST:
        picture = picture.resize((picture.width * 7 // 8, picture.height * 7 // 8), Image.Resampling.LANCZOS)
    return small


def _in_few_colours(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    # other quantisers spend their colours on greys
    palette = picture.quantize(256, method=Image.Quantize.FASTOCTREE)
    picture.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _add_output(page: Page, output: Any, alt: str) -> Any:
    """Append what a cell printed or showed: a picture or Markdown where it has one, else its text.

    Returns what the notebook keeps of it: just that, which is the same wherever the tutorial was run.
    """
    if output.get("name") == "stderr":
        raise ValueError(f"{page.name} writes to stderr, which a reader would take for an error: {output['text']}")
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        page.add_picture(base64.b64decode(data["image/png"]), alt)
        shown = {"image/png": base64.b64encode(page.pictures[-1]).decode(), "text/plain": alt}
        return nbformat.v4.new_output("display_data", shown)
    if "text/markdown" in data:
        page.add_text(data["text/markdown"])
        return nbformat.v4.new_output("display_data", {"text/markdown": data["text/markdown"]})
    text = ANSI.sub("", data["text/plain"]).rstrip()
    page.add_text(text, "text")
    return nbformat.v4.new_output("stream", name="stdout", text=text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
