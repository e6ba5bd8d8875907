"""Concave credit: the slope of the least concave majorant of a walk's score curve.

Along a walk, t counts the groups moved so far and F(t) is the score gained, all directions together. The least concave
majorant of F is the lowest concave curve that is nowhere below it and has its ends; a group that moves by a fraction dt
where the majorant has slope F'(t) earns F'(t)·dt. So credit falls along the walk and sums to F(end) − F(start).

A group without any gradient where it moves does not count: it moves in no t and earns nothing.

Letters: R rows at the outset, r rows still walking, d directions, n elements of one direction, g groups, k steps,
s places, as many as groups may move in one step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import total
from samp.groups import Grouping
from samp.walk import Route, Step

Piece = tuple[float, float, int]  # rise, length and segments
LONG = 32.0  # groups, and a fiftieth of the way: a piece of so many says little about each of them
ALIKE = 0.5  # of a long piece's slope: the next one, if long too, falls together with it
STEEP = 8.0  # how much higher than its mean a piece may start, from its low end


def pieces(rise: list[float], length: list[float]) -> list[int]:
    """The straight pieces of a curve's least concave majorant: for each segment, the number of its piece.

    Pool adjacent violators: a segment at least as steep as the piece before it joins that piece. A segment of no length
    has no slope of its own and joins the piece before it, or the first.

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
    long = max(LONG, sum(length) / 50)
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
    return piece[1] == 0 or last[1] == 0 or piece[0] * last[1] >= last[0] * piece[1]


@dataclass(frozen=True, eq=False)
class Slopes:
    """The majorant of each row at each of its steps, and how its slope falls along the piece that the step belongs to.

    Pieces give way to each other: from its start to its end a piece falls from `high` to `low`, half way to its
    neighbours, as low + (high − low)·(1 − u)^power, u from 0 to 1. The power is the one that keeps the piece's sum.
    """

    slope: Tensor  # R k d
    low: Tensor  # R k, of all directions together
    high: Tensor  # R k
    length: Tensor  # R k, of the piece
    passed: Tensor  # R k, how much of the piece lies before the step

    @classmethod
    def of(cls, rise: Tensor, length: Tensor) -> Slopes:
        """The slopes of curves with these rises (R k d) over these lengths (R k).

        >>> steep = Slopes.of(torch.tensor([[[8.0], [2.0]]]), torch.tensor([[2.0, 1.0]]))
        >>> steep.slope.squeeze().tolist(), steep.high.tolist(), steep.low.tolist()
        ([4.0, 2.0], [[11.0, 3.0]], [[3.0, 1.0]])
        """
        both = rise.sum(2)
        piece = torch.tensor([stretches(*row) for row in zip(both.tolist(), length.tolist(), strict=True)])  # R k
        lengths = torch.zeros_like(length).scatter_add(1, piece, length)  # R p
        rises = torch.zeros_like(rise).scatter_add(1, piece[:, :, None].expand_as(rise), rise)  # R p d
        slope = torch.where(lengths[:, :, None] > 0, rises / lengths[:, :, None], 0)
        starts = lengths.cumsum(1) - lengths
        low, high = _ends(slope.sum(2), piece.amax(1, keepdim=True))
        return cls(
            slope=slope.gather(1, piece[:, :, None].expand_as(rise)),
            low=low.gather(1, piece),
            high=high.gather(1, piece),
            length=lengths.gather(1, piece),
            passed=length.cumsum(1) - length - starts.gather(1, piece),
        )

    def at(self, rows: Tensor, number: int) -> Slopes:
        """The slopes of these rows at this step, to be read at places (r s)."""
        return Slopes(*(t[rows, number, None] for t in self._parts()))

    def to(self, x: Tensor) -> Slopes:
        """These slopes in the dtype and on the device of x."""
        return Slopes(*(t.to(x) for t in self._parts()))

    def tilt(self, start: Tensor, end: Tensor) -> Tensor:
        """r s: how far the mean from start to end of a step lies above the slope of its piece (all directions)."""
        slope = self.slope.sum(2)
        power = torch.where(slope > self.low, (self.high - self.low) / (slope - self.low), 1)  # one more than the power
        left = torch.where(self.length > 0, 1 - (self.passed + start) / self.length, 0).clamp(min=0)
        gone = torch.where(self.length > 0, (end - start) / self.length, 0)
        part = torch.where(left > 0, gone / left, 1).clamp(max=1)
        mean = left**power * -torch.expm1(power * torch.log1p(-part)) / (power * gone)  # of (1 − u)^(power − 1)
        return torch.where(gone > 0, (self.high - self.low) * mean - (slope - self.low), 0)

    def _parts(self) -> tuple[Tensor, ...]:
        return self.slope, self.low, self.high, self.length, self.passed


def _ends(slope: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """Low and high ends of pieces (R p) with these slopes; `last` (R 1) is each row's last piece, and padding follows.

    An end meets that of the next piece half way, but does not cross 0. What has no neighbour falls evenly to its end,
    and nothing starts higher than `STEEP` times as far above its low end as its mean is.
    """
    between = (slope[:, 1:] + slope[:, :-1]) / 2
    between = torch.where(torch.arange(between.shape[1]) < last, between, -torch.inf)
    high = F.pad(between, (1, 0), value=torch.inf)
    high = torch.where(slope <= 0, high.clamp(max=0), high)
    low = F.pad(between, (0, 1), value=-torch.inf)
    low = torch.where(low.isinf(), torch.where(high.isinf(), 0, 2 * slope - high), low)
    low = torch.where(slope >= 0, low.clamp(min=0), low)
    return low, torch.minimum(high, low + STEEP * (slope - low))


@dataclass(frozen=True, eq=False)
class Move:
    """What moved in one step: each row's groups in order of their gain, padded with fractions of 0."""

    rows: Tensor  # r
    group: Tensor  # r s
    gain: Tensor  # r s, of the whole way
    fraction: Tensor  # r s, of the whole way
    counts: Tensor  # r s, whether the group had any gradient there
    rise: Tensor  # r d, of the score; falls count as rises where the score should fall


class Concave:
    """The account of concave credit, which is known only at the end: it keeps per step which groups moved how far."""

    def __init__(self, route: Route, own: Grouping, sign: Tensor, places: int) -> None:
        """`own` groups the elements of one direction; `sign` (d) is +1 where the score should rise, else −1."""
        self.route, self.own, self.sign, self.places = route, own, sign, places
        self.way = route.end - route.start  # R dn
        self.whole = route.groups.pool(self.way.abs())  # R g
        self.effect = torch.zeros_like(self._joint(self.way))  # R n
        self.moves: list[Move] = []

    def add(self, before: Step, after: Step) -> None:
        """Keep a step: its groups, sorted by gain, and how far each went of its whole way."""
        rows, groups, dx = after.rows, self.route.groups.select(after.rows), after.x - before.x
        effect = (before.gradient.abs() + after.gradient.abs()) * dx.abs()  # r dn
        self.effect.index_add_(0, rows, self._joint(effect))
        moved = groups.pool(dx.abs()) / self.whole[rows]  # r g, NaN where there is no way to go
        gain = torch.where(moved > 0, groups.pool(before.guide * self.way[rows]), -torch.inf)
        gain, group = gain.topk(min(self.places, gain.shape[1]))  # r s
        fraction = moved.gather(1, group).nan_to_num(0)
        counts = groups.pool(effect).gather(1, group) > 0
        self.moves.append(Move(rows, group.int(), gain, fraction, counts, (after.value - before.value) * self.sign))

    def values(self) -> Tensor:
        """R dn: each direction's part of the credit; a group's elements share by abs(gradient of F · dx)."""
        credit, way = self._credit(), self._joint(self.way.abs())
        part = torch.where(self.own.spread(self.own.pool(self.effect) > 0), self.effect, way)
        share = (part / self.own.spread(self.own.pool(part))).nan_to_num(0)
        return torch.cat([share * self.own.spread(one) for one in credit.unbind(1)], 1)

    def blind(self) -> Tensor:
        """R: steps that changed the score although no group that moved had any gradient."""
        count = torch.zeros(len(self.way), dtype=torch.long, device=self.way.device)
        for move in self.moves:
            count.index_add_(0, move.rows, (~_any_counts(move) & (move.rise != 0).any(1)).long())
        return count

    def _credit(self) -> Tensor:
        """R d g: what each group earned in each direction."""
        earned = self.way.new_zeros(len(self.way) * len(self.sign), self.whole.shape[1])
        if not self.moves:
            return earned.view(len(self.way), len(self.sign), -1)
        rise, length, weightless = self._curve()
        slopes = Slopes.of(rise, length).to(self.way)
        for number, move in enumerate(self.moves):
            fraction = move.fraction * (move.counts | weightless[move.rows])
            here = slopes.at(move.rows, number)
            along = here.tilt(*spans(fraction, move.gain)) / len(self.sign)  # r s
            for i in range(len(self.sign)):
                rows = move.rows * len(self.sign) + i
                earned[rows] = earned[rows].scatter_add(1, move.group.long(), fraction * (here.slope[:, :, i] + along))
        return earned.view(len(self.way), len(self.sign), -1)

    def _curve(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rises (R k d) and lengths (R k) of all steps, on the CPU; and the rows (R 1) of which no group counts.

        Of those rows all groups count, since there is no better way to tell them apart.
        """
        shape = (len(self.way), len(self.moves))
        rise = self.way.new_zeros(*shape, len(self.sign))
        counted, moved = torch.zeros(2, *shape, dtype=total(self.way[:1]).dtype, device=self.way.device)
        for number, move in enumerate(self.moves):
            rise[move.rows, number] = move.rise
            counted[move.rows, number] = total(move.fraction * move.counts)
            moved[move.rows, number] = total(move.fraction)
        rise, counted, moved = (t.cpu().double() for t in (rise, counted, moved))
        weightless = (counted == 0).all(1, keepdim=True)
        return rise, torch.where(weightless, moved, counted), weightless.to(self.way.device)

    def _joint(self, elements: Tensor) -> Tensor:
        """r n: elements of all directions (r dn) added up."""
        return elements.view(len(elements), len(self.sign), -1).sum(1)


def spans(fraction: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
    """r s each: where each fraction starts and ends on the way from 0 to their sum; those of equal gain move as one.

    >>> start, end = spans(torch.tensor([[1.0, 2.0, 2.0]]), torch.tensor([[5.0, 3.0, 3.0]]))
    >>> start.tolist(), end.tolist()
    ([[0.0, 1.0, 1.0]], [[1.0, 5.0, 5.0]])
    """
    last = fraction.cumsum(1)
    new = F.pad(gain[:, 1:] != gain[:, :-1], (1, 1), value=True)  # whether a run of equal gains starts here
    start = torch.where(new[:, :-1], last - fraction, 0).cummax(1).values
    end = torch.where(new[:, 1:], last, torch.inf).flip(1).cummin(1).values.flip(1)
    return start, end


def _any_counts(move: Move) -> Tensor:
    return (move.counts & (move.fraction > 0)).any(1)
