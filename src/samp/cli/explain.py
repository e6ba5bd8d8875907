"""`samp explain`: from a photo to an answer."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import torch
    from PIL import Image

    from samp.attribution import Attribution
    from samp.methods import Method
    from samp.models import Classifier


@click.command()
@click.argument("photo", required=False, type=click.Path(path_type=Path))
@click.option("--target", type=int, help="Class number to explain; the predicted class if left out.")
@click.option("--method", default="samp++", show_default=True, help="Name of a method.")
@click.option(
    "--eta", type=float, help="Longest step as a ratio of the walk; 0.02 draws finer maps at 3 times the cost."
)
@click.option(
    "--out", default="explanation.png", show_default=True, type=click.Path(path_type=Path), help="PNG to write."
)
@click.option("--device", default="cpu", show_default=True, help="Where to compute: cpu, cuda, mps.")
@click.option("--seed", default=0, show_default=True, help="Of random baselines.")
def explain(
    photo: Path | None, target: int | None, method: str, eta: float | None, out: Path, device: str, seed: int
) -> None:
    """Explain what EfficientNet-Lite0 sees in PHOTO (an embedded cup of coffee if left out).

    Writes a picture with the photo, the map of credit, both together and the score along the walks.

    Example: samp explain cat.jpg --eta 0.02 --out cat-why.png
    """
    import torch

    import samp
    from samp import models, photos

    if not out.parent.is_dir():
        raise FileNotFoundError(f"the folder {out.parent} does not exist: make it first, or choose another --out.")
    picture = photos.read(photo or photos.embedded())
    classifier = models.efficientnet_lite0()
    home = _device(device)
    classifier.net.to(home)
    x = classifier.prepare(picture).to(home)
    started = time.perf_counter()
    result = samp.explain(classifier.net, x, target=target, method=_method(method, eta), seed=seed)
    seconds = time.perf_counter() - started
    with torch.no_grad():
        score = float(classifier.net(x)[0, result.details["target"][0]])
    facts = _facts(classifier, result, score, seconds)
    _save(classifier.crop(picture), result, facts, out)
    for name, value in facts.items():
        click.echo(f"{name + ':':<11}{value}")
    click.echo(f"{'picture:':<11}{out}")


def _method(name: str, eta: float | None) -> Method:
    """The method of this name, with its longest step as asked for."""
    from samp.methods import named

    method = named(name)
    if eta is None:
        return method
    if not hasattr(method, "eta"):
        raise ValueError(f"{name} takes no --eta: its steps are not limited in length.")
    return replace(method, eta=eta)  # type: ignore[type-var]  # every method is a dataclass


def _device(name: str) -> torch.device:
    """The device of this name, if torch can reach it."""
    import torch

    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {name!r} cannot be used ({str(error).splitlines()[0]}): try --device cpu.") from error
    return device


def _facts(classifier: Classifier, result: Attribution, score: float, seconds: float) -> dict[str, str]:
    """What is printed and written under the picture."""
    index = result.details["target"][0]
    change, residual = sum(float(c[0]) for c in result.score_change.values()), float(result.residual[0])
    missed = f"{residual:+.3f} of a score change of {change:.3f} (credit sums to {change - residual:.3f})"
    return {
        "class": f"{classifier.classes[index]} ({index})",
        "score": f"{score:.3f} (logit, {classifier.name})",
        "residual": missed if result.score_change else "none: this method's credit is not meant to sum to the score",
        "gradients": str(int(result.gradients[0])),
        "seconds": f"{seconds:.2f}",
        "method": result.method,
    }


def _save(crop: Image.Image, result: Attribution, facts: dict[str, str], out: Path) -> None:
    from samp.drawing import sheet

    notes = [
        f"{facts['method']}; baselines in the space the model is fed, where 0 is mid-grey here",
        f"residual: {facts['residual']}; {facts['gradients']} gradients, {facts['seconds']} s",
    ]
    page = sheet(crop, result, f"Why {facts['class']}? Score {facts['score']}", notes)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        page.save(unfinished, "PNG")
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
