"""`samp methods`: the table of all methods."""

from __future__ import annotations

import click

from samp.cli.terminal import say_block


@click.command()
def methods() -> None:
    """List all methods: name, settings, source, cost and promises, as a Markdown table; then other names for them.

    Example: samp methods
    """
    from samp.methods import table
    from samp.methods.registry import format_aliases

    say_block(f"{table()}\n\nOther names that are understood: {format_aliases()}.")
