"""The same credit by Captum's own implementation or by its definition, where one of them should agree to rounding.

Scores are read off the nets here anew, without samp's targets; texts go in as `inputs_embeds`, which samp does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from samp.baselines import Blurred
from samp_lab.matrix.families import Family, encode_words

WINDOW = 8
RELU_MODULES = ("CNN, ReLU", "ResNet", "tabular", "segmentation", "detection")
"""Captum changes the gradient of `nn.ReLU` modules, and of no ReLU in any other form."""
LAST_MAPS = {
    **dict.fromkeys(("CNN, ReLU", "CNN, ReLU6", "CNN, SiLU"), "3"),
    "ResNet": "relus.3",
    "segmentation": "2",
    "detection": "head",
}
CLASSIFIERS = ("CNN, ReLU", "CNN, ReLU6", "CNN, SiLU", "ResNet")
"""Their head is a mean over the last map and one linear layer."""


class ScoreNet(nn.Module):
    """The score of one sample of a family, b numbers: that of rows which all have this sample's target."""

    def __init__(self, family: Family, sample: int) -> None:
        super().__init__()
        self.net, self.read = family.model, _reader(family, sample)
        self.target = family.target[sample] if isinstance(family.target, list) else None

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.read(self.net, inputs)


def peer_values(name: str, family: Family) -> list[Tensor] | None:
    """Return each sample's credit by Captum or by the method's definition, or None if there is neither.

    >>> from samp_lab.matrix.families import make_family
    >>> peer_values("rise", make_family("tabular")) is None
    True
    """
    explain = _explainer(name, family)
    if explain is None:
        return None
    found = []
    for sample in range(2):
        inputs, baselines = _sample(family, sample)
        inputs = tuple(one.clone().requires_grad_() for one in inputs)
        values = explain(ScoreNet(family, sample), inputs, baselines)
        found.append(_by_feature(family, [one.detach() for one in values]))
    return found


def _explainer(name: str, family: Family) -> Callable[..., tuple[Tensor, ...]] | None:
    from captum import attr

    by_relu = family.name in RELU_MODULES
    image = not family.is_text and family.name not in ("tabular", "two inputs")
    known: dict[str, Callable[..., tuple[Tensor, ...]]] = {
        "ig": _integrate,
        "gradient": lambda net, x, _: attr.Saliency(net).attribute(x, abs=False),
        "saliency": lambda net, x, _: attr.Saliency(net).attribute(x, abs=True),
        "gradientxinput": lambda net, x, _: attr.InputXGradient(net).attribute(x),
        "ablation": _ablate_text if family.is_text else _ablate,
        **({"occlusion": _occlude, "ig-blurred": _from_blurred, "ig-both": _from_both} if image else {}),
        **({"ig-both": _integrate} if family.is_text else {}),  # two lines from one baseline, whose mean is shown
        **({"guidedbackprop": lambda net, x, _: attr.GuidedBackprop(net).attribute(x)} if by_relu else {}),
        **({"deconvolution": lambda net, x, _: attr.Deconvolution(net).attribute(x)} if by_relu else {}),
        **({"cam": _cam(LAST_MAPS[family.name])} if family.name in CLASSIFIERS else {}),
        **({"gradcam": _grad_cam(LAST_MAPS[family.name])} if family.name in LAST_MAPS else {}),
    }
    return known.get(name)


def _integrate(net: ScoreNet, inputs: tuple[Tensor, ...], baselines: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    from captum.attr import IntegratedGradients

    points = 51
    values = IntegratedGradients(net).attribute(inputs, baselines, n_steps=points, method="riemann_trapezoid")
    return tuple(one * points / (points - 1) for one in values)  # Captum's weights sum to (n − 1) / n


def _from_blurred(net: ScoreNet, inputs: tuple[Tensor, ...], _: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return _integrate(net, inputs, tuple(Blurred()(one.detach()) for one in inputs))


def _from_both(net: ScoreNet, inputs: tuple[Tensor, ...], baselines: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    lines = _integrate(net, inputs, baselines), _from_blurred(net, inputs, baselines)
    return tuple(one + other for one, other in zip(*lines, strict=True))


def _cam(layer: str) -> Callable[..., tuple[Tensor, ...]]:
    """Return Σ_k w_k A_k, with the weights w_k of the class in the linear layer."""

    def explain(net: ScoreNet, inputs: tuple[Tensor, ...], _: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        maps: list[Tensor] = []
        hook = net.net.get_submodule(layer).register_forward_hook(lambda module, given, made: maps.append(made))
        net(*inputs)
        hook.remove()
        (linear,) = (one for one in net.net.modules() if isinstance(one, nn.Linear))
        small = torch.einsum("k,bkhw->bhw", linear.weight[net.target], maps[-1])[:, None]
        return (_over_channels(F.interpolate(small, inputs[0].shape[2:], mode="bilinear"), inputs[0]),)

    return explain


def _grad_cam(layer: str) -> Callable[..., tuple[Tensor, ...]]:
    from captum.attr import LayerAttribution, LayerGradCam

    def explain(net: ScoreNet, inputs: tuple[Tensor, ...], _: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        peer = LayerGradCam(net, net.net.get_submodule(layer))
        small = cast(Tensor, peer.attribute(inputs, relu_attributions=True))
        return (_over_channels(LayerAttribution.interpolate(small, inputs[0].shape[2:], "bilinear"), inputs[0]),)

    return explain


@torch.no_grad()
def _occlude(net: ScoreNet, inputs: tuple[Tensor, ...], baselines: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the loss of score when a window is black, for each of the windows beside each other."""
    (x,), (black,) = inputs, baselines
    lost = torch.zeros_like(x[:, :1])
    for top in range(0, x.shape[2], WINDOW):
        for left in range(0, x.shape[3], WINDOW):
            place = (..., slice(top, top + WINDOW), slice(left, left + WINDOW))
            hidden = x.clone()
            hidden[place] = black[place]
            lost[place] = net(x) - net(hidden)
    return (_over_channels(lost, x),)


@torch.no_grad()
def _ablate(net: ScoreNet, inputs: tuple[Tensor, ...], baselines: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the loss of score without each number, or of images without each pixel."""
    return tuple(
        _ablate_input(net, inputs, number, baselines[number], pixels=inputs[number].dim() == 4)
        for number in range(len(inputs))
    )


def _ablate_text(net: ScoreNet, inputs: tuple[Tensor, ...], baselines: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the loss of score without each token, in equal parts over its embedding."""
    (x,), (empty,) = inputs, baselines
    with torch.no_grad():
        lost = [net(x) - net(torch.cat([x[:, :i], empty[:, :1], x[:, i + 1 :]], 1)) for i in range(x.shape[1])]
    return ((torch.stack(lost, 1)[..., None] / x.shape[2]).expand_as(x),)


def _ablate_input(net: ScoreNet, inputs: tuple[Tensor, ...], number: int, baseline: Tensor, pixels: bool) -> Tensor:
    x = inputs[number]
    groups = x[0, 0].numel() if pixels else x.numel()
    kept = ~torch.eye(groups, dtype=torch.bool)
    kept = kept.view(-1, 1, *x.shape[2:]) if pixels else kept.view(-1, *x.shape[1:])
    rows = [one.expand(groups, *one.shape[1:]) for one in inputs]
    rows[number] = torch.where(kept, x, baseline)
    lost = (net(*inputs) - net(*rows)).view(1, *x.shape[2:] if pixels else x.shape[1:])
    return _over_channels(lost[:, None], x) if pixels else lost


def _over_channels(values: Tensor, x: Tensor) -> Tensor:
    return (values / x.shape[1]).expand_as(x)


def _sample(family: Family, sample: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return the inputs of one sample and their baselines: zeros, and of texts the mean embedding."""
    if family.is_text:
        table = cast(nn.Embedding, cast(Any, family.model).get_input_embeddings()).weight.detach()
        x = table[torch.tensor(encode_words(family.texts[sample]).ids)][None]
        return (x,), (table.mean(0).expand_as(x),)
    given = family.inputs if isinstance(family.inputs, tuple) else (cast(Tensor, family.inputs),)
    inputs = tuple(one[sample : sample + 1] for one in given)
    return inputs, tuple(torch.zeros_like(one) for one in inputs)


def _by_feature(family: Family, values: list[Tensor]) -> Tensor:
    return values[0][0].sum(1) if family.is_text else torch.cat([one.flatten() for one in values])


def _reader(family: Family, sample: int) -> Callable[[nn.Module, tuple[Tensor, ...]], Tensor]:
    if family.name == "segmentation":
        return lambda net, x: net(*x)[:, 1, 8:20, 10:24].mean((1, 2))
    if family.name == "detection":
        return lambda net, x: _score_box(net(*x))
    target = family.target[sample]
    if family.is_text:
        return lambda net, x: _last(net(inputs_embeds=x[0]).logits)[:, target]
    return lambda net, x: _logits(net(*x))[:, target]


def _logits(output: Any) -> Tensor:
    logits: Tensor = output if isinstance(output, Tensor) else output.logits
    return logits


def _last(logits: Tensor) -> Tensor:
    return logits if logits.dim() == 2 else logits[:, -1]  # of a language model, the next token


def _score_box(found: Tensor) -> Tensor:
    """Return the best of class 1's score × overlap with the box from (8, 8) to (20, 20), among all candidates."""
    centre, size = found[..., :2], found[..., 2:4]
    low, high = (centre - size / 2).clamp_min(8), (centre + size / 2).clamp_max(20)
    shared = F.relu(high - low).prod(-1)
    overlap = shared / (size.prod(-1) + 144 - shared)
    return (found[..., 5] * overlap).amax(1)
