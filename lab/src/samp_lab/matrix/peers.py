"""The same credit by Captum's own implementation, where it has one that should agree to rounding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from samp_lab.matrix.families import Family


class _Logits(nn.Module):
    """A net as Captum wants it: it returns the tensor of logits."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        output = self.net(x)
        logits: Tensor = output if isinstance(output, Tensor) else output.logits
        return logits


def captum_values(name: str, family: Family) -> list[Tensor] | None:
    """Return Captum's credit of each sample, or None if Captum has no such method.

    >>> from samp_lab.matrix.families import make_family
    >>> captum_values("rise", make_family("tabular")) is None
    True
    """
    from captum import attr

    x, net = family.inputs, _Logits(family.model)
    assert isinstance(x, Tensor)
    target = torch.tensor(family.target)
    x = x.clone().requires_grad_()
    if name == "ig":
        points = 51
        values = attr.IntegratedGradients(net).attribute(
            x, torch.zeros_like(x), target, n_steps=points, method="riemann_trapezoid"
        )
        values = values * points / (points - 1)  # Captum's weights sum to (n − 1) / n
    elif name == "gradientxinput":
        values = attr.InputXGradient(net).attribute(x, target)
    elif name == "gradient":
        values = attr.Saliency(net).attribute(x, target, abs=False)
    elif name == "saliency":
        values = attr.Saliency(net).attribute(x, target, abs=True)
    else:
        return None
    return list(values.detach().flatten(1))
