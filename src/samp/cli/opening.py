"""The option --open: show what was written, where there is a screen to show it on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from samp.cli.terminal import say

open_option = click.option("--open", "show", is_flag=True, help="Open what was written, in the browser.")


def open_file(file: Path) -> bool:
    """Open the file in the browser and return whether that worked; if not, a line on stderr says why."""
    import webbrowser  # not needed otherwise

    if not has_screen():
        say(f"samp: there is no screen here, so nothing was opened: copy {file} to where there is one.", err=True)
        return False
    try:
        opened = webbrowser.open(file.resolve().as_uri())
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        say(f"samp: no browser was found: open {file} yourself, or name one in $BROWSER.", err=True)
    return opened


def has_screen() -> bool:
    """Return whether a window can be opened: without one, Python would start a browser of text in this terminal.

    $BROWSER names a program of the user's choice, which may need none.
    """
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
