"""The command line: `samp explain`, `samp methods`, `samp bench`. Nothing here imports torch before it is needed."""

from __future__ import annotations

import sys
from typing import Any

import click

from samp import __version__
from samp.cli.bench import bench
from samp.cli.explain import explain
from samp.cli.methods import methods


class OneSentence(click.Group):
    """A group whose errors are one sentence and exit code 2; `--debug` shows where they came from."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"samp: {error}", err=True)
            sys.exit(2)


@click.group(cls=OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="samp")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def main(debug: bool) -> None:
    """Why did the model say that? Attributions that are clear, rigorous and fast."""


main.add_command(explain)
main.add_command(bench)
main.add_command(methods)
