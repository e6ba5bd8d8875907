"""Fit a linear layer to features: softmax regression by L-BFGS, or least squares in closed form.

Both work in float64 on features of mean 0 and deviation 1, and return the layer for the features as they came.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

ITERATIONS = 500
TOLERANCE = 1e-7  # of every entry of the gradient, whose largest is about 0.1 at the start


def fit_head(features: Tensor, targets: Tensor, decay: float, loss: str = "cross entropy") -> Mapping[str, Tensor]:
    """Return `weight` (classes features) and `bias` (classes) in float64 of the loss's only minimum.

    `targets` (b classes) are probabilities, or logits for the loss "squares". Raises RuntimeError if the minimum was
    not reached.

    >>> features = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    >>> head = fit_head(features, functional.one_hot((features[:, 0] > 0).long(), 2), decay=1e-3)
    >>> predicted = (features.double() @ head["weight"].T + head["bias"]).argmax(1)
    >>> bool((predicted == (features[:, 0] > 0)).all())
    True
    """
    features, targets = features.double(), targets.double()
    mean, deviation = features.mean(0), features.std(0, correction=0).clamp(min=1e-12)
    scaled = (features - mean) / deviation
    solve = _solve_least_squares if loss == "squares" else _solve_softmax_regression
    weight, bias = solve(scaled, targets, decay)
    weight = weight / deviation
    return {"weight": weight, "bias": bias - weight @ mean}


def _solve_least_squares(features: Tensor, targets: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Minimise mean ‖W x + b − t‖²/2 + decay/2 · ‖W‖² for features of mean 0."""
    bias, count = targets.mean(0), len(features)
    gram = features.T @ features / count + decay * torch.eye(features.shape[1], dtype=features.dtype)
    return torch.linalg.solve(gram, features.T @ (targets - bias) / count).T, bias


def _solve_softmax_regression(features: Tensor, targets: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Minimise mean cross entropy + decay/2 · (‖W‖² + ‖b‖²); the bias is in it, or classes without examples would have
    none that is best."""
    inputs = torch.cat([features, torch.ones_like(features[:, :1])], 1)
    layer = torch.zeros(targets.shape[1], inputs.shape[1], dtype=inputs.dtype, requires_grad=True)
    search = torch.optim.LBFGS(
        [layer], max_iter=ITERATIONS, tolerance_grad=TOLERANCE, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def compute_loss() -> Tensor:
        search.zero_grad()
        loss = functional.cross_entropy(inputs @ layer.T, targets) + decay / 2 * layer.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        return loss

    search.step(compute_loss)  # type: ignore[no-untyped-call]  # the same
    compute_loss()
    largest = 0.0 if layer.grad is None else float(layer.grad.abs().max())
    if largest > 100 * TOLERANCE:
        raise RuntimeError(f"the head's loss still has a gradient of {largest:.1e}: take a larger decay than {decay}.")
    found = layer.detach()
    return found[:, :-1], found[:, -1]
