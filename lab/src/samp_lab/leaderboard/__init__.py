"""The leaderboard: methods × judges × nets out of panel.json, as a page, as Markdown, and in the report."""

from __future__ import annotations

from pathlib import Path

from samp.atomic import atomic_write


def write_leaderboard(folder: Path) -> tuple[Path, Path]:
    """Write panel.md and panel.html from the panel.json in a folder alone, and return both paths.

    The same file gives the same pages, byte for byte. Raises FileNotFoundError if there is no panel.json, and
    ValueError if it is damaged.
    """
    from samp_lab.leaderboard.board import Board
    from samp_lab.leaderboard.duels import find_duels
    from samp_lab.leaderboard.page import render_board
    from samp_lab.leaderboard.results_file import FILE, read_results
    from samp_lab.leaderboard.section import make_whole_section
    from samp_lab.report.markdown import render_section

    board = Board(read_results(folder / FILE))
    duels = find_duels(board)
    written = folder / "panel.md", folder / "panel.html"
    texts = render_section(make_whole_section(board, duels), folder / "figures"), render_board(board, duels)
    for path, text in zip(written, texts, strict=True):
        with atomic_write(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return written
