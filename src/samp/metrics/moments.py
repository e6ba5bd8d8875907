"""Mean, spread and correlation of a stream: bounded memory, and the same result however it is split and merged.

Batches are joined by Chan, Golub and LeVeque's rule: of two parts with n and m values whose means differ by δ, the
squares about the common mean are M2 + M2' + δ² n m / (n + m). Means are kept relative to the first value of the part,
so that values of 10⁹ ± 1 lose no digits of their spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Values = Tensor | NDArray[np.generic] | Sequence[float] | Sequence[Sequence[float]]  # b, or b × k
FIELDS = ("count", "left_out", "origin", "offset", "m2", "minimum", "maximum")


@dataclass(frozen=True, eq=False)
class StreamStatistics:
    """The moments of a stream; each a number, or k of them for b × k values.

    >>> StreamStatistics.__dataclass_fields__.keys() >= {"count", "left_out", "mean", "sd"}
    True
    """

    count: Tensor
    """How many values were added."""
    left_out: Tensor
    """How many values were NaN and left out."""
    mean: Tensor
    """NaN without a value, as are `minimum` and `maximum`."""
    sd: Tensor
    """Standard deviation with n − 1 in the divisor; NaN below two values."""
    minimum: Tensor
    maximum: Tensor


class Moments:
    """Count, mean, standard deviation and range of values that arrive in batches of b or b × k.

    NaN is left out, in each column by itself. The state is seven float64 or int64 tensors on the CPU, of the shape of
    one value, which the first batch determines.

    >>> scores, others = Moments(), Moments()
    >>> scores.update(torch.tensor([1.0, 2.0]))
    >>> others.update(torch.tensor([6.0, torch.nan]))
    >>> scores.merge(others)
    >>> moments = scores.compute()
    >>> moments.mean.item(), int(moments.count), int(moments.left_out)
    (3.0, 3, 1)
    """

    count: Tensor
    left_out: Tensor
    origin: Tensor
    offset: Tensor
    m2: Tensor
    minimum: Tensor
    maximum: Tensor

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all values, and their shape."""
        for name in FIELDS:
            setattr(self, name, torch.zeros((), dtype=torch.int64 if name in FIELDS[:2] else torch.float64))
        self.minimum, self.maximum = self.minimum + torch.inf, self.maximum - torch.inf

    def update(self, values: Values) -> None:
        """Add b or b × k values."""
        self.merge(_batch_moments(_check_values(values)))

    def merge(self, other: Moments) -> None:
        """Add the values of another worker's stream."""
        if not isinstance(other, Moments):
            raise TypeError(f"Moments merge with Moments, not with {type(other).__name__}.")
        _check_shapes(self, other)
        count = self.count + other.count
        share = _share(other.count, count)
        between = other._mean_gap(self)
        self.m2 = self.m2 + other.m2 + between**2 * self.count * share
        # a side without values has no origin of its own
        self.offset = torch.where(self.count > 0, self.offset + between * share, other.offset)
        self.origin = torch.where(self.count > 0, self.origin, other.origin)
        self.minimum = torch.minimum(self.minimum, other.minimum)
        self.maximum = torch.maximum(self.maximum, other.maximum)
        self.count, self.left_out = count, self.left_out + other.left_out

    def compute(self) -> StreamStatistics:
        """The moments of all values so far."""
        some, sd = self.count > 0, (self.m2 / (self.count - 1).clamp(min=1)).sqrt()
        return StreamStatistics(
            count=self.count.clone(),
            left_out=self.left_out.clone(),
            mean=torch.where(some, self.origin + self.offset, torch.nan),
            sd=torch.where(self.count > 1, sd, torch.nan),
            minimum=torch.where(some, self.minimum, torch.nan),
            maximum=torch.where(some, self.maximum, torch.nan),
        )

    def state_dict(self) -> dict[str, Tensor]:
        """The state as plain tensors."""
        return {name: getattr(self, name).clone() for name in FIELDS}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a state of `state_dict`."""
        if set(state) != set(FIELDS):
            raise ValueError(f"a state of Moments holds {', '.join(FIELDS)}, not {', '.join(sorted(state))}.")
        for name in FIELDS:
            setattr(self, name, state[name].detach().cpu().to(getattr(self, name).dtype, copy=True))

    def _mean_gap(self, other: Moments) -> Tensor:
        """How far this mean lies above the other's; 0 where one of them has none."""
        between = (self.origin - other.origin) + (self.offset - other.offset)
        return torch.where((self.count > 0) & (other.count > 0), between, 0)


class Correlation:
    """Pearson's correlation of pairs that arrive in batches of b or b × k, in each column by itself.

    A pair with NaN on either side is left out. Without any spread on one side there is no correlation: NaN.

    >>> pairs = Correlation()
    >>> pairs.update(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0]))
    >>> round(pairs.compute().item(), 12)
    1.0
    """

    x: Moments
    y: Moments
    product: Tensor
    """The sum of (x − mean x)(y − mean y)."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all values, and their shape."""
        self.x, self.y, self.product = Moments(), Moments(), torch.zeros((), dtype=torch.float64)

    def update(self, x: Values, y: Values) -> None:
        """Add b or b × k pairs."""
        xs, ys = _check_values(x), _check_values(y)
        if xs.shape != ys.shape:
            raise ValueError(f"pairs need two of a shape, not {tuple(xs.shape)} and {tuple(ys.shape)}.")
        unknown = xs.isnan() | ys.isnan()
        xs, ys = xs.masked_fill(unknown, torch.nan), ys.masked_fill(unknown, torch.nan)
        batch = Correlation()
        batch.x, batch.y = _batch_moments(xs), _batch_moments(ys)
        batch.product = (_centre(xs, batch.x) * _centre(ys, batch.y)).sum(0)
        self.merge(batch)

    def merge(self, other: Correlation) -> None:
        """Add the values of another worker's stream."""
        if not isinstance(other, Correlation):
            raise TypeError(f"Correlation merges with Correlation, not with {type(other).__name__}.")
        _check_shapes(self.x, other.x)
        weight = self.x.count * _share(other.x.count, self.x.count + other.x.count)
        between = other.x._mean_gap(self.x) * other.y._mean_gap(self.y)
        self.product = self.product + other.product + between * weight
        self.x.merge(other.x)
        self.y.merge(other.y)

    @property
    def count(self) -> Tensor:
        """How many pairs were added."""
        return self.x.count

    @property
    def left_out(self) -> Tensor:
        """How many pairs had a NaN and were left out."""
        return self.x.left_out

    def compute(self) -> Tensor:
        """The correlation, or k of them."""
        spread = self.x.m2.sqrt() * self.y.m2.sqrt()
        return torch.where(spread > 0, (self.product / spread).clamp(-1, 1), torch.nan)

    def state_dict(self) -> dict[str, Tensor]:
        """The state as plain tensors."""
        sides = {f"{side}.{name}": t for side in "xy" for name, t in getattr(self, side).state_dict().items()}
        return {**sides, "product": self.product.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a state of `state_dict`."""
        if set(state) != set(self.state_dict()):
            raise ValueError(f"this is no state of Correlation: it holds {', '.join(sorted(state))}.")
        for side in "xy":
            getattr(self, side).load_state_dict({name: state[f"{side}.{name}"] for name in FIELDS})
        self.product = state["product"].detach().cpu().to(torch.float64, copy=True)


def _batch_moments(values: Tensor) -> Moments:
    """The moments of one batch, in two passes: the mean first, then the squares about it."""
    moments, known = Moments(), ~values.isnan()
    moments.count, moments.left_out = known.sum(0), (~known).sum(0)
    if not len(values):
        moments.count, moments.left_out = (torch.zeros(values.shape[1:], dtype=torch.int64) for _ in range(2))
        return moments
    first = values.gather(0, known.int().argmax(0, keepdim=True))[0]
    moments.origin = first.nan_to_num(0)
    moments.offset = torch.where(known, values - moments.origin, 0).sum(0) / moments.count.clamp(min=1)  # k
    moments.m2 = (_centre(values, moments) ** 2).sum(0)
    moments.minimum = torch.where(known, values, torch.inf).amin(0)
    moments.maximum = torch.where(known, values, -torch.inf).amax(0)
    return moments


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole in float64, since torch divides integers in float32; 0 where the whole is 0."""
    return part.double() / whole.clamp(min=1)


def _centre(values: Tensor, moments: Moments) -> Tensor:
    """Each value's deviation from the mean of these moments; 0 for NaN."""
    return ((values - moments.origin) - moments.offset).nan_to_num(0)


def _check_values(given: Values) -> Tensor:
    on_cpu = given.detach().cpu() if isinstance(given, Tensor) else given  # first, since not every device has float64
    values = torch.as_tensor(on_cpu, dtype=torch.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"a batch has b or b × k values, not shape {tuple(values.shape)}.")
    if values.isinf().any():
        raise ValueError("the values hold Inf, which has no mean: pass NaN for what could not be measured.")
    return values


def _check_shapes(mine: Moments, other: Moments) -> None:
    """Raise ValueError if the values of two streams differ in shape; an empty stream fits any."""
    if mine.count.shape == other.count.shape or any(_is_empty(moments) for moments in (mine, other)):
        return
    shapes = [tuple(moments.count.shape) or "one number" for moments in (mine, other)]
    raise ValueError(f"until now a value was {shapes[0]}, but this one is {shapes[1]}: reset() first.")


def _is_empty(moments: Moments) -> bool:
    return moments.count.ndim == 0 and int(moments.count + moments.left_out) == 0
