"""Concave credit: the slope of the least concave majorant of a walk's score curve.

Along a walk, t counts the groups moved so far and F(t) is the score gained, all directions together. The least concave
majorant of F is the lowest concave curve that is nowhere below it and has its ends; a group that moves by a fraction dt
where the majorant has slope F'(t) earns F'(t)·dt. So credit falls along the walk and sums to F(end) − F(start).

A group without any gradient where it moves does not count: it moves in no t and earns nothing.

Letters: R rows at the outset, r rows still walking, d directions, n elements of one direction, g groups, k steps,
s places, as many as groups may move in one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import total
from samp.groups import Grouping
from samp.majorant import Slopes
from samp.walk import Fuse, Route, Step, as_it_is

AT_ONCE = 2**22  # places of moves that are worked on together, a dozen numbers each


@dataclass(frozen=True, eq=False)
class Move:
    """What moved in one step, or in several: a row's groups in order of their gain, padded with fractions of 0."""

    rows: Tensor  # r
    numbers: Tensor  # r, of the step, from 0
    group: Tensor  # r s
    gain: Tensor  # r s, of the whole way
    fraction: Tensor  # r s, of the whole way
    counts: Tensor  # r s, whether the group had any gradient there
    rise: Tensor  # r d, of the score; falls count as rises where the score should fall

    @classmethod
    def together(cls, moves: list[Move]) -> Move:
        """All of these, one after the other."""
        return cls(*(torch.cat([getattr(move, f.name) for move in moves]) for f in fields(cls)))


class Concave:
    """The account of concave credit, which is known only at the end: it keeps per step which groups moved how far."""

    def __init__(self, route: Route, own: Grouping, sign: Tensor, places: int, fuse: Fuse = as_it_is) -> None:
        """`own` groups the elements of one direction; `sign` (d) is +1 where the score should rise, else −1."""
        self.route, self.own, self.sign, self.places = route, own, sign, min(places, route.groups.count)
        self.read = fuse(_read)
        self.way = route.end - route.start  # R dn
        self.whole = route.groups.pool(self.way.abs())  # R g
        self.effect = torch.zeros_like(self._joint(self.way))  # R n
        self.moves: list[Move] = []

    def add(self, before: Step, after: Step) -> None:
        """Keep a step: its groups, sorted by gain, and how far each went of its whole way."""
        rows = after.rows if len(after.rows) < len(self.way) else slice(None)  # which copies nothing
        groups, effect = self.route.groups.select(after.rows), self.effect[rows]
        read = self.read(before, after, self.way[rows], self.whole[rows], groups, self.places, effect)
        if isinstance(rows, Tensor):
            self.effect[rows] = effect
        numbers = torch.full_like(after.rows, len(self.moves))
        self.moves.append(Move(after.rows, numbers, *read, (after.value - before.value) * self.sign))

    def values(self) -> Tensor:
        """R dn: each direction's part of the credit; a group's elements share by abs(gradient of F · dx)."""
        credit, way = self._credit(), self._joint(self.way.abs())
        part = torch.where(self.own.spread(self.own.pool(self.effect) > 0), self.effect, way)
        share = (part / self.own.spread(self.own.pool(part))).nan_to_num(0)
        return torch.cat([share * self.own.spread(one) for one in credit.unbind(1)], 1)

    def blind(self) -> Tensor:
        """R: steps that changed the score although no group that moved had any gradient."""
        count = torch.zeros(len(self.way), dtype=torch.long, device=self.way.device)
        for move in map(Move.together, self._few_at_once()):
            seen = (move.counts & (move.fraction > 0)).any(1)
            count.index_add_(0, move.rows, (~seen & (move.rise != 0).any(1)).long())
        return count

    def _credit(self) -> Tensor:
        """R d g: what each group earned in each direction."""
        directions = len(self.sign)
        earned = self.way.new_zeros(len(self.way) * directions, self.whole.shape[1])
        if self.moves:
            rise, length, weightless = self._curve()
            slopes = Slopes.of(rise, length).to(self.way)
            for moves in self._few_at_once():
                credit = self._of(Move.together(moves), slopes, weightless)
                # step by step: a group that moved in several would else be summed in any order
                for move, part in zip(moves, torch.split(credit, [len(m.rows) for m in moves]), strict=True):
                    into = move.rows[:, None] * directions + torch.arange(directions, device=earned.device)  # r d
                    into = into[:, :, None] * earned.shape[1] + move.group[:, None]  # r d s
                    earned.view(-1).scatter_add_(0, into.flatten(), part.flatten())
        return earned.view(len(self.way), directions, -1)

    def _few_at_once(self) -> Iterator[list[Move]]:
        """The moves in lists that are short enough to be worked on at once: one by one would cost time, all memory."""
        each = max(AT_ONCE // max(len(self.way) * self.places, 1), 1)
        return (self.moves[first : first + each] for first in range(0, len(self.moves), each))

    def _of(self, move: Move, slopes: Slopes, weightless: Tensor) -> Tensor:
        """r d s: what each move earns in each direction."""
        here = slopes.at(move.rows, move.numbers)
        fraction = move.fraction * (move.counts | weightless[move.rows])
        along = here.tilt(*spans(fraction, move.gain)) / len(self.sign)  # r s
        return fraction[:, None] * (here.slope.transpose(1, 2) + along[:, None])

    def _curve(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rises (R k d) and lengths (R k) of all steps, on the CPU; and the rows (R 1) of which no group counts.

        Of those rows all groups count, since there is no better way to tell them apart.
        """
        sums = total(self.way[:1]).new_zeros(len(self.way), len(self.moves), 2 + len(self.sign))
        for move in map(Move.together, self._few_at_once()):
            read = torch.stack([total(move.fraction * move.counts), total(move.fraction)], 1)  # r 2
            sums[move.rows, move.numbers] = torch.cat([read, move.rise.to(read)], 1)
        counted, moved, *rise = sums.cpu().double().unbind(2)
        weightless = (counted == 0).all(1, keepdim=True)
        length = torch.where(weightless, moved, counted)
        return torch.stack(rise, 2), length, weightless.to(self.way.device)

    def _joint(self, elements: Tensor) -> Tensor:
        """r n: elements of all directions (r dn) added up."""
        return elements.view(len(elements), len(self.sign), -1).sum(1)


def _read(
    before: Step, after: Step, way: Tensor, whole: Tensor, groups: Grouping, places: int, effects: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """In a step's first places (r s) which groups moved, their gain, how far, and whether they count; what it did to
    elements, of all directions together, is added to `effects` (r n).
    """
    dx = (after.x - before.x).abs()
    effect = (before.gradient.abs() + after.gradient.abs()) * dx  # r dn
    effects += effect.view(len(effect), -1, effects.shape[1]).sum(1)
    moved = groups.pool(dx) / whole  # r g, NaN where there is no way to go
    gain = torch.where(moved > 0, groups.pool(before.guide * way), -torch.inf)
    gain, group = gain.topk(places)  # r s
    counts = groups.pool(effect).gather(1, group) > 0
    return group.int(), gain, moved.gather(1, group).nan_to_num(0), counts


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
