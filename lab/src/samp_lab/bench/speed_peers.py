"""Walks and integrals of samp beside those of other libraries, each with its own loop over gradients of the same net.

Whoever computes a map takes gradients; what its library adds is what remains of the rate of bare calls. Rows take as
many gradients as SAMP++ where a library can be told how many; those with another number are compared by their rate.
Libraries that cannot be imported are named with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

import samp
from samp_lab.bench.peers import saliency_call
from samp_lab.bench.speed_tables import BareRate

STEPS = 30  # gradients an image of SAMP++ in both directions


@dataclass(frozen=True)
class Task:
    """What every library is asked: the gradients of the first class, at most so many rows in a call."""

    model: nn.Module
    x: Tensor
    rows: int


@dataclass(frozen=True)
class Contender:
    """A method of a library; `explain` returns nothing that is used."""

    library: str
    method: str
    explain: Callable[[Task], object]
    module: str = "samp"
    """What must be there to import."""


@dataclass(frozen=True)
class PeerRate:
    """Seconds of a contender for all images and the inputs whose gradients it took, or why there are none."""

    library: str
    method: str
    images: int
    seconds: float = 0.0
    gradients: int = 0
    error: str = ""


def _by_samp(name: str, **settings: Any) -> Callable[[Task], object]:
    def explain(task: Task) -> object:
        method = samp.methods.resolve_method(name) if not settings else samp.IG(**settings)
        return samp.explain(task.model, task.x, target=0, method=method, batch_size=task.rows)

    return explain


def _by_captum(task: Task) -> object:
    from captum.attr import IntegratedGradients

    peer = IntegratedGradients(task.model)
    return peer.attribute(task.x, target=0, n_steps=STEPS, internal_batch_size=task.rows)


def _by_saliency(task: Task) -> object:
    """One image at a time, as it must."""
    from saliency.core import IntegratedGradients

    call, pixels = saliency_call(task.model, task.x.device), task.x.permute(0, 2, 3, 1).cpu().double().numpy()
    return [
        IntegratedGradients().GetMask(image, call, 0, x_steps=STEPS, batch_size=min(task.rows, STEPS))
        for image in pixels
    ]


def _by_shap(task: Task) -> object:
    """Of one output: otherwise it takes the gradients of each class."""
    from shap import GradientExplainer

    class FirstClass(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            scores: Tensor = task.model(x)
            return scores[:, :1]

    peer = GradientExplainer(FirstClass(), torch.zeros_like(task.x[:1]), batch_size=task.rows)
    return peer.shap_values(task.x, nsamples=STEPS, rseed=0)


def _by_grad_cam(task: Task) -> object:
    from pytorch_grad_cam import GradCAM
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    layer = [module for module in task.model.modules() if isinstance(module, nn.Conv2d)][-1]
    with GradCAM(model=task.model, target_layers=[layer]) as peer:
        return peer(task.x, targets=[ClassifierOutputTarget(0)] * len(task.x))


CONTENDERS = (
    Contender("samp", "consensus (default)", _by_samp("consensus")),
    Contender("samp", "samp++", _by_samp("samp++")),
    Contender("samp", f"ig, {STEPS} steps", _by_samp("ig", steps=STEPS)),
    Contender("captum", f"IntegratedGradients, {STEPS} steps", _by_captum, "captum.attr"),
    Contender("saliency", f"IntegratedGradients, {STEPS} steps", _by_saliency, "saliency.core"),
    Contender("shap", f"GradientExplainer, {STEPS} samples", _by_shap, "shap"),
    Contender("samp", "gradcam", _by_samp("gradcam")),
    Contender("pytorch-grad-cam", "GradCAM", _by_grad_cam, "pytorch_grad_cam"),
)


def measure_contenders(
    task: Task, median: Callable[[Callable[[], object]], float], contenders: Sequence[Contender] = CONTENDERS
) -> Iterator[PeerRate]:
    """Yield the time of each library, by `median` of repeated runs after one that is not counted."""
    for one in contenders:
        try:
            import_module(one.module)
        except Exception as error:  # torchvision raises RuntimeError where torch is another
            yield PeerRate(one.library, one.method, len(task.x), error=f"not imported: {_first_line(error)}")
            continue
        try:
            taken = count_gradients(task, one)
            seconds = median(lambda one=one: one.explain(task))  # type: ignore[misc]  # mypy infers no such lambda
        except Exception as error:
            yield PeerRate(one.library, one.method, len(task.x), error=_first_line(error))
            continue
        yield PeerRate(one.library, one.method, len(task.x), seconds, taken)


def count_gradients(task: Task, contender: Contender) -> int:
    """Run a contender once, and return of how many inputs it took the gradient."""
    counted = 0

    def note(module: nn.Module, given: tuple[Any, ...], scores: Any) -> None:
        nonlocal counted
        if isinstance(scores, Tensor) and scores.requires_grad:
            counted += len(scores)

    handle = task.model.register_forward_hook(note)
    try:
        contender.explain(task)
    finally:
        handle.remove()
    return counted


def peer_table(rows: Iterable[PeerRate], bare: Sequence[BareRate], batch: int) -> str:
    """Return the libraries as Markdown, beside the bare float32 calls of this batch."""
    best = max(one.rate for one in bare if one.batch == batch and one.way.startswith("float32"))
    lines = [
        f"| library | method | images | gradients an image | s | gradients/s | of bare float32 calls of {batch} |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row.error:
            lines.append(f"| {row.library} | {row.method} | {row.images} | {row.error} | – | – | – |")
            continue
        rate = row.gradients / row.seconds
        lines.append(
            f"| {row.library} | {row.method} | {row.images} | {row.gradients / row.images:.1f} | {row.seconds:.2f} "
            f"| {rate:,.1f} | **{rate / best:.1%}** |"
        )
    return "\n".join(lines)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]}"
