"""Noisy linear imputation: a fill that stays close to the image (ROAD; Rong et al., ICML 2022).

Every missing pixel equals the weighted mean of its eight neighbours, 1/6 for each of the four direct and 1/12 for each
of the four diagonal ones; at the border the weights of the neighbours that exist are scaled to sum to 1. Noise is
added afterwards. Weights, border and σ = 0.01 are those of the authors' code (tleemann/road_evaluation).

With W the weights and D their row sums, the missing pixels x solve (D − W) x = W known: symmetric and positive
definite as soon as one pixel is known. Conjugate gradients solve it for all images at once on their own device. They
are preconditioned by a multigrid V-cycle: without it large holes take hundreds of iterations, with it ten to twenty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d, pad

from samp.checks import check_whole, is_number
from samp.engine.batches import Batches

CHECK_EVERY = 4  # iterations between checks for convergence on an accelerator, since each waits for it


@dataclass(frozen=True)
class NoisyLinear:
    """Fill missing pixels by the weighted mean of their neighbours, plus noise.

    - `noise`: σ of the noise on missing pixels, in the space the model is fed. It is drawn once per image shape and
      shared by the batch, so that an image's result does not depend on its neighbours.
    - `tolerance`: of a pixel, in parts of the span of the channel's known values. It holds for float64 images; float32
      rounding can leave some 2e-4 of the span in holes of 200 pixels, a fiftieth of the noise.
    - `iterations`: the most that may be spent; at this tolerance no image needed more than 25.

    Known pixels keep their bits, and an image without missing pixels is returned unchanged. Where all pixels are
    missing, the published equations have no unique solution: each channel is then filled with its own mean. Otherwise
    values at missing pixels are not read.

    >>> image = torch.tensor([[[[0.0, 9.0, 2.0]]]])
    >>> NoisyLinear(noise=0).impute(image, torch.tensor([[[False, True, False]]]))
    tensor([[[[0., 1., 2.]]]])
    """

    noise: float = 0.01
    seed: int = 0
    tolerance: float = 1e-5
    iterations: int = 256

    def __post_init__(self) -> None:
        if not is_number(self.noise) or self.noise < 0:
            raise ValueError(f"noise is a standard deviation of at least 0, not {self.noise!r}.")
        if not is_number(self.tolerance) or self.tolerance <= 0:
            raise ValueError(f"tolerance is a number above 0, not {self.tolerance!r}.")
        check_whole("iterations", self.iterations, 1)

    @torch.no_grad()
    def impute(self, images: Tensor, missing: Tensor) -> Tensor:
        """r c h w: the images with their missing pixels (r h w, bool) filled."""
        _check(images, missing)
        batches = Batches("auto", max(images[:1].numel(), 1), images.device)
        parts = list(batches.map_slices(len(images), lambda i, j: self._smooth(images[i:j], missing[i:j])))
        if not parts:
            return images.clone()
        noisy = torch.cat([part[0] for part in parts]) + self._noise(images)
        self._check_converged(torch.cat([part[1] for part in parts]))
        return torch.where(missing[:, None], noisy.to(images.dtype), images)

    def _smooth(self, images: Tensor, missing: Tensor) -> tuple[Tensor, Tensor]:
        """The solution at the missing pixels, and which rows of it are good."""
        wide = images.to(torch.promote_types(images.dtype, torch.float32))
        hole = missing[:, None]
        lowest, highest = _span(wide, hole)
        middle, half = (lowest + highest) / 2, (highest - lowest) / 2
        known = torch.where(hole, 0, (wide - middle) / torch.where(half > 0, half, 1))  # −1 … 1
        levels = _levels(hole.to(wide.dtype))
        solution, done = _solve(levels, levels[0].hole * _neighbours(known), self.tolerance, self.iterations)
        # a mean lies within the range of its values; rounding may not
        return torch.clamp(middle + half * solution, lowest, highest), done

    def _noise(self, images: Tensor) -> Tensor:
        """c h w, drawn on the CPU: the same on every device."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = torch.randn(images.shape[1:], generator=generator, dtype=torch.float64)
        return (self.noise * drawn).to(torch.promote_types(images.dtype, torch.float32)).to(images.device)

    def _check_converged(self, done: Tensor) -> None:
        if not done.all():
            raise RuntimeError(
                f"imputation did not converge within {self.iterations} iterations for image {done.int().argmin()}: "
                "look for NaN or Inf among its known pixels, or allow more iterations."
            )


class _Level(NamedTuple):
    """One grid of the multigrid: 1 at missing pixels and 0 elsewhere, and each pixel's sum of neighbours' weights."""

    hole: Tensor  # r 1 h w
    weight: Tensor  # 1 1 h w

    def residual(self, right: Tensor, x: Tensor) -> Tensor:
        """right − (D − W) x at the missing pixels."""
        return right - self.hole * (self.weight * x - _neighbours(x))


def _solve(levels: list[_Level], right: Tensor, tolerance: float, iterations: int) -> tuple[Tensor, Tensor]:
    """x with (D − W) x = right, and which rows converged.

    Each channel of each row stops moving once its own preconditioned residual, which estimates the error of x itself,
    is small: the result of a row does not depend on how long the others take.
    """
    x, residual = torch.zeros_like(right), right
    step = guess = _cycle(levels, residual)
    slope, done = _dot(residual, guess), _small(guess, tolerance)
    for iteration in range(iterations):
        if (right.device.type == "cpu" or iteration % CHECK_EVERY == 0) and done.all():
            break
        change = levels[0].residual(torch.zeros_like(step), step)  # −(D − W) step
        length = torch.where(done, 0, slope / -_dot(step, change))
        x, residual = x + length * step, residual + length * change
        guess = _cycle(levels, residual)
        before, slope = slope, _dot(residual, guess)
        done = done | _small(guess, tolerance)
        step = guess + torch.where(done, 0, slope / before) * step
    return x, done.flatten(1).all(1)


def _cycle(levels: list[_Level], right: Tensor) -> Tensor:
    """One V-cycle: about (D − W)⁻¹ right. Symmetric and positive definite, as conjugate gradients need it.

    A plain Jacobi step is the best smoother: with these weights it takes two thirds off every wave that the next grid
    cannot hold. A coarse pixel is missing where all its fine ones are; there the same equations hold, unscaled, as the
    energy of a smooth function in two dimensions does not depend on the grid.
    """
    level, *coarser = levels
    x = level.hole * right / level.weight
    if coarser:
        down = coarser[0].hole * _coarse(_blur(level.residual(right, x)))
        x = x + level.hole * _blur(_fine(_cycle(coarser, down), x.shape))
    return x + level.residual(right, x) * level.hole / level.weight


def _levels(hole: Tensor) -> list[_Level]:
    """The image's own grid and ever coarser ones, down to two pixels a side."""
    ones = torch.ones_like(hole[:1])
    levels = [_Level(hole, _neighbours(ones).clamp(min=torch.finfo(hole.dtype).tiny))]  # a lone pixel has no neighbour
    if max(hole.shape[2:]) <= 2:
        return levels
    return levels + _levels(-max_pool2d(-_even(hole, 1.0), 2))


def _neighbours(x: Tensor) -> Tensor:
    """The sum of the eight neighbours with their weights; none lies outside the image."""
    return _blur(x).mul_(4 / 3).sub_(x, alpha=1 / 3)


def _blur(x: Tensor) -> Tensor:
    """Weights 1 2 1 along both axes, summing to 1, with zeros outside: shifted images added in a fixed order.

    The weights of the neighbours and the interpolation between grids are made of it.
    """
    return _blur_by_shifts(x) if x.device.type == "cpu" else _blur_by_pooling(x)


def _blur_by_pooling(x: Tensor) -> Tensor:
    """The mean of two by two pixels, twice: two kernels in place of eleven, and a seventh of the memory traffic.

    That is what an accelerator's time goes into; on a CPU pooling is four times slower than shifting.
    """
    return avg_pool2d(avg_pool2d(x, 2, stride=1, padding=1), 2, stride=1)


def _blur_by_shifts(x: Tensor) -> Tensor:
    rows = 2 * x
    rows[:, :, 1:] += x[:, :, :-1]
    rows[:, :, :-1] += x[:, :, 1:]
    both = 2 * rows
    both[..., 1:] += rows[..., :-1]
    both[..., :-1] += rows[..., 1:]
    return both.div_(16)


def _coarse(x: Tensor) -> Tensor:
    """The sum of every two by two pixels: the transpose of `_fine`."""
    x = _even(x, 0.0)
    rows = x[:, :, ::2] + x[:, :, 1::2]
    return rows[..., ::2] + rows[..., 1::2]


def _fine(x: Tensor, shape: torch.Size) -> Tensor:
    """Every pixel repeated in blocks of two by two, cropped to this shape."""
    return x.repeat_interleave(2, 2).repeat_interleave(2, 3)[:, :, : shape[2], : shape[3]]


def _even(x: Tensor, value: float) -> Tensor:
    return pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2), value=value)


def _span(images: Tensor, hole: Tensor) -> tuple[Tensor, Tensor]:
    """r c 1 1: the smallest and largest known value; the mean of the channel, twice, where no pixel is known."""
    unknown = hole.flatten(1).all(1).view(-1, 1, 1, 1)
    mean = images.mean((2, 3), keepdim=True)
    ends: list[Callable[..., Tensor]] = [torch.amin, torch.amax]
    out = (math.inf, -math.inf)
    lowest, highest = (end(images.masked_fill(hole, o), (2, 3), True) for end, o in zip(ends, out, strict=True))
    return torch.where(unknown, mean, lowest), torch.where(unknown, mean, highest)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum((2, 3), keepdim=True)


def _small(error: Tensor, tolerance: float) -> Tensor:
    return error.abs().amax((2, 3), keepdim=True) <= tolerance


def _check(images: Tensor, missing: Tensor) -> None:
    if images.ndim != 4 or not images.is_floating_point():
        raise ValueError(f"images are r c h w floats, not {tuple(images.shape)} of {images.dtype}.")
    if 0 in images.shape[1:]:
        raise ValueError(f"images of shape {tuple(images.shape)} have no pixels: give at least one.")
    wanted = (len(images), *images.shape[2:])
    if missing.dtype != torch.bool or tuple(missing.shape) != wanted:
        raise ValueError(
            f"missing is a bool mask of shape {wanted} for these images, not {tuple(missing.shape)} of {missing.dtype}."
        )
    if missing.device != images.device:
        raise ValueError(f"the images are on {images.device} but missing on {missing.device}: move one of them.")
