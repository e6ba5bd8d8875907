"""Notebooks for tests: run in a kernel of this Python, and converted to a page that looks as in JupyterLab."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 1800  # seconds for a cell: a machine may be busy with other things


def run_notebook(sources: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notebook of these cells with their outputs; a cell that fails raises its error."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    config = pytest.importorskip("traitlets.config")  # of nbclient
    kernel = folder / "jupyter" / "kernels" / "here"
    kernel.mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "here", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with tempfile.TemporaryDirectory() as sockets:  # files where there are such: of two kernels, both may get one port
        where = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
        client = nbclient.NotebookClient(
            notebook,
            timeout=PATIENCE,
            startup_timeout=PATIENCE,
            iopub_timeout=PATIENCE,
            kernel_name="here",
            config=config.Config({"KernelManager": where}),
        )
        return client.execute(cwd=str(folder))


def outputs(notebook: Any, cell: int) -> list[dict[str, str]]:
    """Return what a cell shows: its outputs by MIME type, and text that it printed as "stream"."""
    return [
        one.data if "data" in one else {"stream": one.text}
        for one in notebook.cells[cell].outputs
        if one.output_type in ("display_data", "execute_result", "stream")
    ]


def convert(notebook: Any, path: Path, theme: str) -> Path:
    """Write the notebook as a page that loads nothing, in JupyterLab's light or dark look, and return its path."""
    nbconvert = pytest.importorskip("nbconvert")
    # where pip puts its templates, which it does not look for if this environment uses another one's packages
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("JUPYTER_PATH", str(Path(nbconvert.__file__).parents[4] / "share" / "jupyter"))
        exporter = nbconvert.HTMLExporter(theme=theme)
        page, _ = exporter.from_notebook_node(notebook)
    # nbconvert's own scripts load mathematics and diagrams from the network; results have none
    path.write_text(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL), encoding="utf-8")
    return path
