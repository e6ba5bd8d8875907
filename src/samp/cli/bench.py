"""`samp bench`: measurements that can be run again."""

from __future__ import annotations

import click


@click.group()
def bench() -> None:
    """Measure samp on this machine."""


@bench.command()
@click.option(
    "--net", default="efficientnet-lite0", show_default=True, help="efficientnet-lite0 or resnet50 (random weights)."
)
@click.option("--images", default=1, show_default=True, help="Images explained in one call.")
@click.option("--batch-size", default="auto", show_default=True, help="Walks per model call.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--repeats", default=5, show_default=True, help="Pairs of runs; the table shows their median.")
def overhead(net: str, images: int, batch_size: str, device: str, repeats: int) -> None:
    """Time of SAMP++ over the time of the bare value-and-gradient calls it makes.

    Example: samp bench overhead --net resnet50 --images 32 --batch-size 64 --device cuda
    """
    from samp.bench.overhead import measure, table

    click.echo(table(measure(net, images, "auto" if batch_size == "auto" else int(batch_size), device, repeats)))
