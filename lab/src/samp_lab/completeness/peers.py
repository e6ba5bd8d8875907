"""Captum's and shap's counterparts, called as their documentation says, on one sample at a time."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Peer = Callable[[nn.Module, Tensor, Tensor, int], Tensor]
"""Takes a net, an input (1 *d), its baseline and the output's index; returns credit."""


def captum_method(name: str, baseline: bool = True, **settings: Any) -> Peer:
    """Return a caller of one of Captum's classes; LRP takes no baseline."""

    def attribute(net: nn.Module, x: Tensor, start: Tensor, target: int) -> Tensor:
        import captum.attr

        given = {"baselines": start} if baseline else {}
        with warnings.catch_warnings(), _fixed_seed():
            warnings.simplefilter("ignore")  # that it sets hooks
            method = getattr(captum.attr, name)(copy.deepcopy(net))  # a failed run leaves hooks behind
            values: Tensor = method.attribute(x.clone().requires_grad_(), target=target, **given, **settings)
        return values.detach()

    return attribute


@contextmanager
def _fixed_seed() -> Iterator[None]:
    """Within this context torch and NumPy draw from seed 0: Captum's GradientShap draws from both."""
    state = np.random.get_state()  # the generator that Captum uses
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        np.random.seed(0)  # the same
        try:
            yield
        finally:
            np.random.set_state(state)  # the same


class OneOutput(nn.Module):
    """The net's output at one index, b 1: shap explains all outputs otherwise."""

    def __init__(self, net: nn.Module, target: int) -> None:
        super().__init__()
        self.net, self.target = net, target

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)[:, self.target : self.target + 1]
        return out


def shap_method(name: str, **settings: Any) -> Peer:
    """Return a caller of one of shap's explainers, with the baseline as its background."""

    def attribute(net: nn.Module, x: Tensor, start: Tensor, target: int) -> Tensor:
        import shap

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # modules that it does not know
            # a background of one row is averaged over like one of many
            explainer = getattr(shap, name)(OneOutput(copy.deepcopy(net), target), start.clone())
            values = explainer.shap_values(x.clone(), **settings)
        return torch.as_tensor(np.asarray(values)).reshape(-1)

    return attribute


CAPTUM: dict[str, Peer] = {
    "IntegratedGradients(n_steps=50)": captum_method("IntegratedGradients", n_steps=50, internal_batch_size=10),
    "DeepLift": captum_method("DeepLift"),
    "GradientShap(n_samples=50, stdevs=0)": captum_method("GradientShap", n_samples=50, stdevs=0.0),
    "LRP": captum_method("LRP", baseline=False),
}
SHAP: dict[str, Peer] = {
    "DeepExplainer": shap_method("DeepExplainer", check_additivity=False),
    "GradientExplainer(nsamples=50)": shap_method("GradientExplainer", nsamples=50, rseed=0),
}
