"""`samp app`: a local web app in which photos are explained while one watches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from samp.cli.options import ModelOptions, model_options
from samp.cli.terminal import say

if TYPE_CHECKING:
    from samp.app.nets import OfferedModel


@click.command()
@click.option("--also", multiple=True, metavar="MODEL", help="A further model to choose from; several are allowed.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all of them.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free one]")
@click.option("--token", help="Token of the address, 16 letters or more.  [default: a random one]")
@click.option("--open/--no-open", "open_page", default=False, help="Open the page in a browser.  [default: no-open]")
@click.option(
    "--max-megapixels", type=click.FloatRange(0.01, 500), default=50, show_default=True, help="Of an uploaded photo."
)
@click.option(
    "--max-megabytes", type=click.FloatRange(0.01, 500), default=32, show_default=True, help="Of an uploaded file."
)
@click.option("--demo", is_flag=True, help="For a public space: embedded photos only, short jobs, no token.")
@model_options
def app(
    also: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    open_page: bool,
    max_megapixels: float,
    max_megabytes: float,
    demo: bool,
    model: ModelOptions,
) -> None:
    """Explain photos in the browser, and watch the walk while it is computed.

    Prints the address of a page that only this machine can open, and only with the token in it. Nothing leaves the
    machine, and nothing is written to disk unless it is exported. Ctrl-C ends it.

    \b
    Examples:
      samp app --open
      samp app --model torchvision:resnet50 --also efficientnet_lite0
      samp app --demo --host 0.0.0.0 --port 7860
    """
    _check(token, demo)
    model.check()
    try:
        import starlette  # noqa: F401  # only whether it is there
        import uvicorn  # noqa: F401  # likewise
    except ImportError as error:
        from samp.extras import install_command

        raise ImportError(f"samp app needs starlette and uvicorn: {install_command('app')}.") from error
    from samp.app.limits import IN_PUBLIC, Limits
    from samp.app.nets import Nets
    from samp.app.serve import Address, listen, make_token, serve
    from samp.app.server import AppState

    limits = IN_PUBLIC if demo else Limits(bytes=round(max_megabytes * 2**20), pixels=round(max_megapixels * 1e6))
    own = listen(host, port)
    nets = Nets({model.model: _offer(model)} | {name: _offer(replace(model, model=name)) for name in also})
    nets.get(nets.default)  # what is wrong with it is said now
    address = Address(host, own.getsockname()[1], None if demo else token or make_token())
    state = AppState.open(nets, limits, device=model.device, demo=demo)

    def tell(url: str) -> None:
        say(f"samp app: open {url} (Ctrl-C ends it)")
        if open_page:
            click.launch(url)

    serve(state, own, address, tell, demo=demo)
    say("samp app: closed.", err=True)


def _check(token: str | None, demo: bool) -> None:
    """Raise ValueError for a token that is short, or has letters that an address does not take."""
    if token is None:
        return
    if demo:
        raise ValueError("--demo lets everybody in: leave out --token.")
    if len(token) < 16 or not all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in token):
        raise ValueError("--token has 16 or more of the letters A-Z, a-z, 0-9, - and _: leave it out for a random one.")


def _offer(model: ModelOptions) -> OfferedModel:
    """Return how the app loads this model, and the Python that loads it the same way."""
    from samp.app.nets import OfferedModel

    given = {name: getattr(model, name) for name in ("size", "mean", "std", "channels") if getattr(model, name)}
    files = {name: str(getattr(model, name)) for name in ("weights", "classes") if getattr(model, name)}
    words = [repr(model.model), *(f"{name}={value!r}" for name, value in {**files, **given}.items())]
    python = f"load({', '.join([*words, *(['trust=True'] if model.trust else [])])})"
    if (model.device, model.dtype) != ("cpu", "float32"):
        python += f"\nclassifier.net.to({model.device!r}, torch.{model.dtype})"
    return OfferedModel(model.load, python)
