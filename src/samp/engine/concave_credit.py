"""Concave credit: each step earns the rise of the score curve's least concave majorant over that step.

Along a walk, t counts the groups moved so far and F(t) is the score gained, all directions together. The least concave
majorant of F is the lowest concave curve that is nowhere below F and shares its end points. A step from t to t' earns
the majorant's rise from t to t', and the groups that moved in it share that rise in proportion to their effect,
abs(gradient · move), where abs(gradient) is the mean of its values before and after the step. So the credit up to any
step is the majorant there, and at the end it is F(end) − F(start).

A group whose gradient was zero while it moved has no effect: it adds nothing to t and earns nothing.

Letters: R rows at the start, r rows still walking, d directions, n elements of one direction, g groups, k steps,
s places, the most groups that may move in one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.engine.problem import Compiler, keep_function
from samp.engine.record import sum_rows
from samp.engine.walk import Route, Step
from samp.groups import Grouping


@dataclass(frozen=True, eq=False)
class Move:
    """One step: which groups moved, how far in total, and how much the score rose."""

    rows: Tensor  # r
    group: Tensor | None  # r s, the groups with the largest effects, which include all that moved; None for all groups
    effect: Tensor  # r s
    length: Tensor  # r, how many groups with an effect moved, each as a fraction of its distance
    rise: Tensor  # r d, of the score; a fall counts as a rise where the score should fall


class ConcaveAccount:
    """The `Account` of concave credit: stores every step, since the credit is known only at the end of the walk."""

    needs_gradients: ClassVar[bool] = True

    def __init__(
        self, route: Route, own: Grouping, weight: Tensor, places: int | None, compiler: Compiler = keep_function
    ) -> None:
        """`own` groups the elements of one direction; `weight` (d) weighs each score in the walk's objective.

        `places` is the most groups that move in one step, or None if any number may.
        """
        self.route, self.own, self.weight = route, own, weight
        self.places = None if places is None else min(places, own.count)
        self.step_effects = compiler(_step_effects)
        self.distance = self._sum_directions((route.end - route.start).abs_())  # R n
        self.group_distance = own.pool(self.distance)  # R g
        self.effect = torch.zeros_like(self.distance)  # R n
        self.moves: list[Move] = []

    @property
    def device(self) -> torch.device:
        return self.distance.device

    def add(self, before: Step, after: Step) -> None:
        """Store the step from `before` to `after`, and add its effects to those of the elements."""
        rows = after.rows if len(after.rows) < len(self.distance) else slice(None)  # a slice copies nothing
        effect = self.effect[rows]
        groups = self.own.select(after.rows)
        read = self.step_effects(before, after, self.weight, self.group_distance[rows], groups, self.places, effect)
        if isinstance(rows, Tensor):
            self.effect[rows] = effect
        self.moves.append(Move(after.rows, *read, (after.value - before.value) * self.weight.sign()))

    def credit_so_far(self) -> Tensor:
        """Return the credit that the walks would have if they ended here (R dn)."""
        return self.values() if self.moves else torch.zeros_like(self.route.end)

    def values(self) -> Tensor:
        """Return the credit of all directions (R dn); a group's elements share it by their effects on the whole walk.

        Rows whose gradient was zero throughout have no effects: their elements share by how far they moved.
        """
        rise, length = self._curve()
        unseen = (length.sum(1) == 0)[:, None].to(self.distance.device)  # R 1
        by_distance = (rise.sum(1).to(self.distance)[:, :, None] * _shares(self.group_distance)[:, None]).masked_fill(
            ~unseen[:, None], 0
        )
        credit = self._share_among_groups(majorant_rises(rise, length).to(self.distance)) + by_distance  # R d g
        part = torch.where(unseen, self.distance, self.effect)
        share = (part / self.own.spread(self.own.pool(part))).nan_to_num(0)
        return torch.cat([share * self.own.spread(one) for one in credit.unbind(1)], 1)

    def blind(self) -> Tensor:
        """Return how many steps of each row (R) changed the score although nothing that moved had a gradient."""
        count = torch.zeros(len(self.distance), dtype=torch.long, device=self.distance.device)
        for move in self.moves:
            count.index_add_(0, move.rows, ((move.length == 0) & (move.rise != 0).any(1)).long())
        return count

    def _share_among_groups(self, rises: Tensor) -> Tensor:
        """Return the credit of each group (R d g): each step's rise (R k d), shared among the groups that moved."""
        directions = len(self.weight)
        earned = self.distance.new_zeros(len(self.distance), directions, self.own.count)
        for number, move in enumerate(self.moves):
            part = rises[move.rows, number, :, None] * _shares(move.effect)[:, None]  # r d s
            if move.group is None:
                earned[move.rows] += part
                continue
            rows = move.rows[:, None] * directions + torch.arange(directions, device=part.device)  # r d
            into = rows[:, :, None] * self.own.count + move.group[:, None]  # r d s
            earned.view(-1).scatter_add_(0, into.flatten(), part.flatten())
        return earned

    def _curve(self) -> tuple[Tensor, Tensor]:
        """Return the rises (R k d) and lengths (R k) of all steps, on the CPU; 0 after a row's last step."""
        sums = sum_rows(self.distance[:1]).new_zeros(len(self.distance), len(self.moves), 1 + len(self.weight))
        for number, move in enumerate(self.moves):
            sums[move.rows, number] = torch.cat([move.length[:, None], move.rise], 1).to(sums)
        sums = sums.cpu().double()
        return sums[:, :, 1:], sums[:, :, 0]

    def _sum_directions(self, elements: Tensor) -> Tensor:
        """Return the sum over the directions (r n) of elements (r dn)."""
        return elements.view(len(elements), len(self.weight), -1).sum(1)


def _step_effects(
    before: Step, after: Step, weight: Tensor, whole: Tensor, groups: Grouping, places: int | None, effects: Tensor
) -> tuple[Tensor | None, Tensor, Tensor]:
    """Return the groups of a step with the largest effects (r s), these effects (r s), and how many groups moved (r).

    Without `places`, the effects are those of all groups (r g), and the groups need not be named.

    Adds the elements' own effects, summed over the directions, to `effects` (r n) in place. The gradient is that of the
    weighted scores; it is divided by the weight, which should affect only the choice of groups.
    """
    r, n = effects.shape
    dx = (after.x - before.x).abs()  # r dn
    size = before.gradient.abs() / 2 + after.gradient.abs() / 2  # halves: a sum may overflow
    effect = ((size * dx).view(r, -1, n) / weight.abs()[:, None]).sum(1)  # r n
    effects += effect
    of_groups = groups.pool(effect)  # r g
    moved = torch.where(of_groups > 0, groups.pool(dx.view(r, -1, n).sum(1)) / whole, 0)
    if places is None:
        return None, of_groups, moved.sum(1)
    largest, group = of_groups.topk(places)  # r s
    return group.int(), largest, moved.sum(1)


def _shares(effect: Tensor) -> Tensor:
    """Return each effect as a fraction of its row's sum (r s), or 0 where all are 0.

    Effects are divided by the largest first, since their sum may overflow.

    >>> _shares(torch.tensor([[3.0, 1.0], [3e38, 3e38], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]
    """
    scaled = (effect / effect.amax(1, keepdim=True)).nan_to_num(0)
    return (scaled / scaled.sum(1, keepdim=True)).nan_to_num(0)


def majorant_rises(rise: Tensor, length: Tensor) -> Tensor:
    """Return the rise of the least concave majorant of each row's curve over each step, by direction (R k d).

    The curve has rises `rise` (R k d) over lengths `length` (R k). The majorant is that of the sum over directions; the
    steps under one straight piece of it share the piece's rise in proportion to their lengths.

    >>> majorant_rises(torch.tensor([[[1.0], [5.0], [2.0]]]), torch.tensor([[1.0, 1.0, 1.0]])).flatten().tolist()
    [3.0, 3.0, 2.0]
    """
    if not length.shape[1]:
        return rise
    rows = zip(rise.sum(2).tolist(), length.tolist(), strict=True)
    piece = torch.tensor([majorant_pieces(*row) for row in rows])  # R k
    lengths = torch.zeros_like(length).scatter_add(1, piece, length).gather(1, piece)  # R k, of each step's piece
    each = piece[:, :, None].expand_as(rise)
    rises = torch.zeros_like(rise).scatter_add(1, each, rise).gather(1, each)  # R k d, likewise
    return torch.where(lengths[:, :, None] > 0, rises * (length / lengths)[:, :, None], 0)


def majorant_pieces(rise: list[float], length: list[float]) -> list[int]:
    """Return, for each step of a curve, the index of the straight piece of its least concave majorant that spans it.

    Pool adjacent violators: a step at least as steep as the piece before it joins that piece. A step of no length has
    no slope of its own and joins the piece before it, or the first.

    >>> majorant_pieces([1.0, 3.0, 1.0, 1.5, -1.0], [1.0, 1.0, 1.0, 1.0, 1.0])
    [0, 0, 1, 1, 2]
    """
    pieces: list[tuple[float, float, int]] = []  # rise, length, steps
    for piece in zip(rise, length, [1] * len(rise), strict=True):
        while pieces and (0.0 in (piece[1], pieces[-1][1]) or piece[0] * pieces[-1][1] >= pieces[-1][0] * piece[1]):
            last = pieces.pop()
            piece = (last[0] + piece[0], last[1] + piece[1], last[2] + piece[2])
        pieces.append(piece)
    return [number for number, (_, _, steps) in enumerate(pieces) for _ in range(steps)]
