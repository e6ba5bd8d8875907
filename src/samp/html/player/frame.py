"""The path player in a notebook: its page in a frame of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from samp.atomic import atomic_write

HEIGHT = 900  # pixels of the frame


@dataclass(frozen=True)
class PlayerFrame:
    """A page of the player that a notebook shows as the result of a cell.

    The frame is sandboxed: its script runs, and reaches neither the notebook nor the network. Jupyter, VS Code and
    Colab show it; a notebook that is not trusted shows nothing instead.

    >>> PlayerFrame("<p>a & b</p>", "Why?", 100)._repr_html_()[:60]
    '<iframe title="Why?" srcdoc="&lt;p&gt;a &amp; b&lt;/p&gt;" s'
    """

    page: str = field(repr=False)
    """The whole page, as `samp.player.page` returns it."""
    title: str = "Path player"
    height: int = HEIGHT

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        with atomic_write(Path(path)) as unfinished:
            unfinished.write_text(self.page, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        look = f"width:100%;height:{self.height}px;border:1px solid rgba(128,128,128,.35);border-radius:6px"
        # escape() leaves what is marked as safe: the page is plain text here, markup only inside the frame
        frame = '<iframe title="{}" srcdoc="{}" sandbox="allow-scripts" style="{}"></iframe>'
        return str(Markup(frame).format(self.title, str(self.page), look))
