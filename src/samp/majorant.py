"""The least concave majorant of a walk's score curve, and how its slope falls along each straight piece.

Letters: R rows at the outset, r rows still walking, d directions, k steps, p pieces, s places in a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Piece = tuple[float, float, int]  # rise, length and segments
LONG = 32.0  # groups, and one in so many of the way: a piece of that length says little about each of them
ONE_IN = 50
ALIKE = 0.5  # of a long piece's slope: the next one, if long too, falls together with it
STEEP = 8.0  # how much higher than its mean a long piece may start, from its low end; a short one falls evenly
SAME = 1e-4  # slopes that differ by less are the same, up to the rounding of scores


def pieces(rise: list[float], length: list[float]) -> list[int]:
    """The straight pieces of a curve's least concave majorant: for each segment, the number of its piece.

    Pool adjacent violators: a segment at least as steep as the piece before it, up to rounding, joins that piece. A
    segment of no length has no slope of its own and joins the piece before it, or the first.

    >>> pieces([1.0, 3.0, 1.0, 1.5, -1.0], [1.0, 1.0, 1.0, 1.0, 1.0])
    [0, 0, 1, 1, 2]
    """
    return _numbered(_majorant(rise, length))


def stretches(rise: list[float], length: list[float]) -> list[int]:
    """As `pieces`, with long ones together that rise and are at least `ALIKE` times as steep as the first of them.

    Long pieces come of steps that moved many groups at once, and little is known of what each of these did; a short
    piece stays by itself, so steps of a few groups keep what the curve says of them.

    >>> stretches([300.0, 200.0, 90.0], [100.0, 100.0, 100.0]), stretches([3.0, 2.0, 0.9], [1.0, 1.0, 1.0])
    ([0, 0, 1], [0, 1, 2])
    """
    long = max(sum(length) / ONE_IN, LONG)
    joined: list[Piece] = []
    steepest: Piece = (0.0, 0.0, 0)
    for piece in _majorant(rise, length):
        alike = steepest[0] > 0 and piece[0] * steepest[1] >= ALIKE * steepest[0] * piece[1]
        if alike and min(piece[1], steepest[1]) >= long:
            joined[-1] = _added(joined[-1], piece)
        else:
            joined.append(piece)
            steepest = piece
    return _numbered(joined)


def _majorant(rise: list[float], length: list[float]) -> list[Piece]:
    found: list[Piece] = []
    for piece in zip(rise, length, [1] * len(rise), strict=True):
        while found and _as_steep(piece, found[-1]):
            piece = _added(found.pop(), piece)
        found.append(piece)
    return found


def _numbered(found: list[Piece]) -> list[int]:
    return [number for number, (_, _, segments) in enumerate(found) for _ in range(segments)]


def _added(one: Piece, other: Piece) -> Piece:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _as_steep(piece: Piece, last: Piece) -> bool:
    if piece[1] == 0 or last[1] == 0:
        return True
    mine, theirs = piece[0] * last[1], last[0] * piece[1]
    return mine >= theirs - SAME * abs(theirs)  # or rounding would decide what is one piece


@dataclass(frozen=True, eq=False)
class Slopes:
    """The majorant of each row at each of its steps, and how its slope falls along the piece that the step belongs to.

    Pieces give way to each other: from its start to its end a piece falls from `high` to `low`, half way to its
    neighbours, as low + (high − low)·(1 − u)^(power − 1), u from 0 to 1. The power is the one that keeps the piece's
    sum: (high − low) / (slope − low), at least 1.
    """

    slope: Tensor  # R k d
    above: Tensor  # R k, the slope of all directions together less its low end
    power: Tensor  # R k
    length: Tensor  # R k, of the piece
    passed: Tensor  # R k, how much of the piece lies before the step

    @classmethod
    def of(cls, rise: Tensor, length: Tensor) -> Slopes:
        """The slopes of curves with these rises (R k d) over these lengths (R k).

        >>> steep = Slopes.of(torch.tensor([[[8.0], [2.0]]]), torch.tensor([[2.0, 1.0]]))
        >>> steep.slope.squeeze().tolist(), steep.above.tolist(), steep.power.tolist()
        ([4.0, 2.0], [[1.0, 1.0]], [[2.0, 2.0]])
        """
        both = rise.sum(2)
        piece = torch.tensor([stretches(*row) for row in zip(both.tolist(), length.tolist(), strict=True)])  # R k
        lengths = torch.zeros_like(length).scatter_add(1, piece, length)  # R p
        rises = torch.zeros_like(rise).scatter_add(1, piece[:, :, None].expand_as(rise), rise)  # R p d
        slope = torch.where(lengths[:, :, None] > 0, rises / lengths[:, :, None], 0)
        starts = lengths.cumsum(1) - lengths
        above, power = _fall(slope.sum(2), piece.amax(1, keepdim=True), _steepness(both, length, piece, lengths))
        return cls(
            slope=slope.gather(1, piece[:, :, None].expand_as(rise)),
            above=above.gather(1, piece),
            power=power.gather(1, piece),
            length=lengths.gather(1, piece),
            passed=length.cumsum(1) - length - starts.gather(1, piece),
        )

    def at(self, rows: Tensor, numbers: Tensor) -> Slopes:
        """The slopes of these rows (r), each at its step (r), to be read at places (r s)."""
        return Slopes(*(t[rows, numbers, None] for t in self._parts()))

    def to(self, x: Tensor) -> Slopes:
        """These slopes in the dtype and on the device of x."""
        return Slopes(*(t.to(x) for t in self._parts()))

    def tilt(self, start: Tensor, end: Tensor) -> Tensor:
        """r s: how far the mean from start to end of a step lies above the slope of its piece (all directions)."""
        left = torch.where(self.length > 0, 1 - (self.passed + start) / self.length, 0).clamp(min=0)
        gone = torch.where(self.length > 0, (end - start) / self.length, 0)
        part = torch.where(left > 0, gone / left, 1).clamp(max=1)
        # power times the mean of (1 − u)^(power − 1) from start to end
        height = left**self.power * -torch.expm1(self.power * torch.log1p(-part)) / gone
        return torch.where(gone > 0, self.above * (height - 1), 0)

    def _parts(self) -> tuple[Tensor, ...]:
        return self.slope, self.above, self.power, self.length, self.passed


def _steepness(rise: Tensor, length: Tensor, piece: Tensor, lengths: Tensor) -> Tensor:
    """R p: how many times as high as its mean a piece may start, above its low end.

    A long piece falls steeply, a short one evenly. A short one of several steps that rise alike does not fall: groups
    of equal effect earn the same, whichever went first.
    """
    slope = torch.zeros_like(rise).scatter_add(1, piece, rise) / lengths  # R p
    apart = torch.where(length > 0, (rise / length - slope.gather(1, piece)).abs(), 0)  # R k
    apart = torch.zeros_like(rise).scatter_reduce(1, piece, apart, "amax")
    steps = torch.zeros_like(rise).scatter_add(1, piece, (length > 0).to(rise))
    even = torch.where((steps > 1) & (apart <= SAME * slope.abs()), 1.0, 2.0).to(rise)
    long = (lengths.sum(1, keepdim=True) / ONE_IN).clamp(min=LONG)
    return torch.where(lengths >= long, STEEP, even)


def _fall(slope: Tensor, last: Tensor, steepness: Tensor) -> tuple[Tensor, Tensor]:
    """`above` and `power` of pieces (R p) with these slopes; `last` (R 1) is each row's last, and padding follows.

    An end meets that of the next piece half way, but does not cross 0; what has no neighbour falls evenly to its end.
    """
    between = (slope[:, 1:] + slope[:, :-1]) / 2
    between = torch.where(torch.arange(between.shape[1]) < last, between, -torch.inf)
    high = F.pad(between, (1, 0), value=torch.inf)
    high = torch.where(slope <= 0, high.clamp(max=0), high)
    low = F.pad(between, (0, 1), value=-torch.inf)
    low = torch.where(low.isinf(), torch.where(high.isinf(), 0, 2 * slope - high), low)
    low = torch.where(slope >= 0, low.clamp(min=0), low)
    above = slope - low
    power = torch.where(above > 0, (high - low) / above, 1).clamp(min=1)
    return above, torch.minimum(power, steepness)
