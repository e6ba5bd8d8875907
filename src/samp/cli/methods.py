"""`samp methods`: what there is to choose from."""

from __future__ import annotations

import click


@click.command()
def methods() -> None:
    """List all methods: name, settings, source, cost and promises, as a Markdown table.

    Example: samp methods
    """
    from samp.methods import table

    click.echo(table())
