"""Spectral IG: the published path against an oracle, its windows, its pauses, and the cases in which it is IG."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, images, net
from samp.methods.spectral_ig import SpectralIG

SMOOTH = net(4, features=3 * 6 * 5, activation=nn.Softplus)
X = images(4, 5, 3, 6, 5)


def published(x: Tensor, start: Tensor, points: int, width: float) -> list[Tensor]:
    """The points of the published path of one image (c h w), component by component."""
    path = [start.clone() for _ in range(points)]
    for channel in range(len(x)):
        u, sigma, v = torch.linalg.svd(x[channel] - start[channel])
        for number in range(points):
            for j, strength in enumerate(sigma / sigma[0]):
                opens = (1 - width) * (1 - strength)
                entered = ((number / (points - 1) - opens) / width).clamp(0, 1)
                path[number][channel] += entered * sigma[j] * torch.outer(u[:, j], v[j])
    return path


def left_sum(path: list[Tensor], target: int) -> Tensor:
    """Gradient before each move, times the move."""
    credit = torch.zeros_like(path[0])
    for here, there in pairwise(path):
        leaf = here[None].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(SMOOTH(leaf)[:, target].sum(), leaf)
        credit += gradient[0] * (there - here)
    return credit


def two_parts() -> Tensor:
    """Two orthogonal rank-one parts of size 4 and 1: with windows of 0.4, open in 0 … 0.4 and 0.45 … 0.85."""
    u, v = torch.eye(4, dtype=torch.float64)[:2, :, None] * torch.ones(2, 1, 4, dtype=torch.float64) / 2
    return (4 * u + v * torch.tensor([1.0, -1, 1, -1]))[None, None]


@pytest.mark.parametrize(("method", "width"), [(SpectralIG(), 0.4), (SpectralIG(20, width=0.1), 0.1)])
def test_spectral_equals_the_published_method(method: SpectralIG, width: float) -> None:
    """The first at its defaults: 200 points, windows of 0.4, a left sum."""
    start = torch.full_like(X, 0.3)
    result = samp.explain(SMOOTH, X, target=1, method=SpectralIG(method.steps, width=method.width, baseline=0.3))
    for i, x in enumerate(X):
        path = published(x, start[i], method.steps + 1, width)
        torch.testing.assert_close(result.values[i], left_sum(path, 1), **CLOSE)


def test_spectral_defaults_are_the_published_ones() -> None:
    assert (SpectralIG().steps + 1, SpectralIG().width, SpectralIG().credit) == (200, 0.4, "left")


def test_spectral_components_enter_by_strength_and_the_path_pauses_between_them() -> None:
    x = two_parts()
    result = samp.explain(net(0, features=16), x, target=0, method=SpectralIG(20), keep_points=True)
    points = result.tapes["to_image"][0].points[:, 0]
    big = torch.zeros_like(x[0, 0])
    big[0] = x[0, 0, 0]
    torch.testing.assert_close(points[4], big / 2, **CLOSE)
    torch.testing.assert_close(points[8], big, **CLOSE)
    assert torch.equal(points[8], points[9])  # t = 0.4 and 0.45: the first is in, the second not yet open
    torch.testing.assert_close(points[13], big + (x[0, 0] - big) / 2, **CLOSE)  # t = 0.65
    assert torch.equal(points[18], points[19])  # past 0.85 all are in
    assert torch.equal(points[20], x[0, 0])
    assert result.scores["to_image"].isfinite().all()


@pytest.mark.parametrize("credit", ["shared", "shared_trapezoid", "idgi"])
def test_spectral_with_an_exact_credit_is_complete_over_its_pauses(credit: str) -> None:
    result = samp.explain(net(0, features=16), two_parts(), target=0, method=SpectralIG(40, credit=credit))
    assert result.values.isfinite().all()
    torch.testing.assert_close(result.residual, torch.zeros_like(result.residual), **CLOSE)


def test_spectral_walked_ahead_equals_spectral_walked_point_by_point() -> None:
    """In large batches many points are asked for at once; rows with and without pauses side by side."""
    x = torch.cat([two_parts(), images(1, 2, 1, 4, 4)])
    model, method = net(0, features=16), SpectralIG(40)
    together = samp.explain(model, x, target=0, method=method, batch_size=64)
    assert_same(together, samp.explain(model, x, target=0, method=method, batch_size=1), **CLOSE)


def test_spectral_in_the_fast_mode_walks_the_same_path() -> None:
    x, model = torch.cat([two_parts(), images(1, 2, 1, 4, 4)]).float(), net(0, features=16).float()
    exact, fast = (samp.explain(model, x, target=0, method=SpectralIG(40), speed=speed) for speed in ("exact", "fast"))
    torch.testing.assert_close(fast.values, exact.values, rtol=0.1, atol=0.1 * float(exact.values.abs().max()))


def test_spectral_with_full_windows_is_integrated_gradients() -> None:
    ig = samp.explain(SMOOTH, X, target=0, method=samp.IG(10, credit="left")).values
    torch.testing.assert_close(samp.explain(SMOOTH, X, target=0, method=SpectralIG(10, width=1.0)).values, ig, **CLOSE)


def test_spectral_of_rank_one_is_integrated_gradients_over_the_first_window() -> None:
    """One component alone is open from 0 to `width`: here the first 4 of 10 steps, and then the path stands still."""
    flat = X.mean((2, 3), keepdim=True).expand_as(X)
    ig = samp.explain(SMOOTH, flat, target=0, method=samp.IG(4, credit="left")).values
    torch.testing.assert_close(samp.explain(SMOOTH, flat, target=0, method=SpectralIG(10)).values, ig, **CLOSE)


def test_a_window_of_no_width_opens_at_once() -> None:
    result = samp.explain(net(0, features=16), two_parts(), target=0, method=SpectralIG(5, width=0.0), keep_points=True)
    norms = [torch.linalg.matrix_norm(point[0], "nuc") for point in result.tapes["to_image"][0].points]
    torch.testing.assert_close(torch.stack(norms), torch.tensor([0.0, 4, 4, 4, 5, 5]).double(), **CLOSE)
