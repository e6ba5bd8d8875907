"""Concave credit: each step earns what the least concave majorant of the score curve rises over it.

Along a walk, t counts the groups moved so far and F(t) is the score gained, all directions together. The least concave
majorant of F is the lowest concave curve that is nowhere below it and has its ends. A step from t to t' earns the
majorant's rise from t to t', and the groups that moved in it share that in proportion to their effect, abs(gradient ·
move), the gradient being the mean of its size before and after the step. So the credit handed out up to any step is the
majorant there, and at the end it is F(end) − F(start).

A group without any gradient where it moved has no effect: it counts for no t and earns nothing.

Letters: R rows at the outset, r rows still walking, d directions, n elements of one direction, g groups, k steps,
s places, as many as groups may move in one step.
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
    """What one step did: to which groups, how far they moved together, and what it gained."""

    rows: Tensor  # r
    group: Tensor  # r s, those with the largest effects, all that moved among them
    effect: Tensor  # r s
    length: Tensor  # r, how many groups with an effect moved, in fractions of their way
    rise: Tensor  # r d, of the score; falls count as rises where the score should fall


class ConcaveAccount:
    """The account of concave credit, which is known only at the end: until then it keeps what each step did."""

    needs_gradients: ClassVar[bool] = True

    def __init__(
        self, route: Route, own: Grouping, weight: Tensor, places: int, compiler: Compiler = keep_function
    ) -> None:
        """`own` groups the elements of one direction; `weight` (d) is that of each score in what the walk climbs."""
        self.route, self.own, self.weight, self.places = route, own, weight, min(places, own.count)
        self.step_effects = compiler(_step_effects)
        self.distance = self._sum_directions((route.end - route.start).abs_())  # R n
        self.group_distance = own.pool(self.distance)  # R g
        self.effect = torch.zeros_like(self.distance)  # R n
        self.moves: list[Move] = []

    def add(self, before: Step, after: Step) -> None:
        """Keep what the step did, and add it to the effects of the elements."""
        rows = after.rows if len(after.rows) < len(self.distance) else slice(None)  # which copies nothing
        effect = self.effect[rows]
        groups = self.own.select(after.rows)
        read = self.step_effects(before, after, self.weight, self.group_distance[rows], groups, self.places, effect)
        if isinstance(rows, Tensor):
            self.effect[rows] = effect
        self.moves.append(Move(after.rows, *read, (after.value - before.value) * self.weight.sign()))

    def values(self) -> Tensor:
        """R dn: each direction's part of the credit; a group's elements share by their effects on the whole walk.

        Where no gradient was ever seen there is nothing to go by, and all share by how far they moved.
        """
        rise, length = self._curve()
        unseen = (length.sum(1) == 0)[:, None].to(self.distance.device)  # R 1
        by_way = (rise.sum(1).to(self.distance)[:, :, None] * _shares(self.group_distance)[:, None]).masked_fill(
            ~unseen[:, None], 0
        )
        credit = self._share_among_groups(majorant_rises(rise, length).to(self.distance)) + by_way  # R d g
        part = torch.where(unseen, self.distance, self.effect)
        share = (part / self.own.spread(self.own.pool(part))).nan_to_num(0)
        return torch.cat([share * self.own.spread(one) for one in credit.unbind(1)], 1)

    def blind(self) -> Tensor:
        """R: steps that changed the score although nothing that moved had any gradient."""
        count = torch.zeros(len(self.distance), dtype=torch.long, device=self.distance.device)
        for move in self.moves:
            count.index_add_(0, move.rows, ((move.length == 0) & (move.rise != 0).any(1)).long())
        return count

    def _share_among_groups(self, rises: Tensor) -> Tensor:
        """R d g: the rises of all steps (R k d), each shared among the groups that moved in it."""
        directions = len(self.weight)
        earned = self.distance.new_zeros(len(self.distance), directions, self.own.count)
        for number, move in enumerate(self.moves):
            part = rises[move.rows, number, :, None] * _shares(move.effect)[:, None]  # r d s
            rows = move.rows[:, None] * directions + torch.arange(directions, device=part.device)  # r d
            into = rows[:, :, None] * self.own.count + move.group[:, None]  # r d s
            earned.view(-1).scatter_add_(0, into.flatten(), part.flatten())
        return earned

    def _curve(self) -> tuple[Tensor, Tensor]:
        """Rises (R k d) and lengths (R k) of all steps, on the CPU; 0 after a row's last step."""
        sums = sum_rows(self.distance[:1]).new_zeros(len(self.distance), len(self.moves), 1 + len(self.weight))
        for number, move in enumerate(self.moves):
            sums[move.rows, number] = torch.cat([move.length[:, None], move.rise], 1).to(sums)
        sums = sums.cpu().double()
        return sums[:, :, 1:], sums[:, :, 0]

    def _sum_directions(self, elements: Tensor) -> Tensor:
        """r n: elements of all directions (r dn) added up."""
        return elements.view(len(elements), len(self.weight), -1).sum(1)


def _step_effects(
    before: Step, after: Step, weight: Tensor, whole: Tensor, groups: Grouping, places: int, effects: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The groups of a step with the largest effects (r s), these effects (r s), and how many groups moved (r).

    The elements' own effects, of all directions together, are added to `effects` (r n). The gradient is that of the
    weighted scores: divided by the weight, which bears on the choice alone.
    """
    r, n = effects.shape
    dx = (after.x - before.x).abs()  # r dn
    size = before.gradient.abs() / 2 + after.gradient.abs() / 2  # halves: a sum may overflow
    effect = ((size * dx).view(r, -1, n) / weight.abs()[:, None]).sum(1)  # r n
    effects += effect
    of_groups = groups.pool(effect)  # r g
    moved = torch.where(of_groups > 0, groups.pool(dx.view(r, -1, n).sum(1)) / whole, 0)
    largest, group = of_groups.topk(places)  # r s
    return group.int(), largest, moved.sum(1)


def _shares(effect: Tensor) -> Tensor:
    """r s: each effect as a part of its row's sum; 0 where all are. Divided by the largest first: a sum may overflow.

    >>> _shares(torch.tensor([[3.0, 1.0], [3e38, 3e38], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]
    """
    scaled = (effect / effect.amax(1, keepdim=True)).nan_to_num(0)
    return (scaled / scaled.sum(1, keepdim=True)).nan_to_num(0)


def majorant_rises(rise: Tensor, length: Tensor) -> Tensor:
    """What the least concave majorant of each row's curve rises over each of its steps, by direction (R k d).

    The curve has these rises (R k d) over these lengths (R k), and its majorant is that of all directions together:
    steps that it spans with one straight piece share the piece's rise by their lengths.

    >>> majorant_rises(torch.tensor([[[1.0], [5.0], [2.0]]]), torch.tensor([[1.0, 1.0, 1.0]])).flatten().tolist()
    [3.0, 3.0, 2.0]
    """
    if not length.shape[1]:
        return rise
    rows = zip(rise.sum(2).tolist(), length.tolist(), strict=True)
    piece = torch.tensor([majorant_pieces(*row) for row in rows])  # R k
    lengths = torch.zeros_like(length).scatter_add(1, piece, length).gather(1, piece)  # R k, of the step's piece
    each = piece[:, :, None].expand_as(rise)
    rises = torch.zeros_like(rise).scatter_add(1, each, rise).gather(1, each)  # R k d, likewise
    return torch.where(lengths[:, :, None] > 0, rises * (length / lengths)[:, :, None], 0)


def majorant_pieces(rise: list[float], length: list[float]) -> list[int]:
    """For each step of a curve, the number of the straight piece of its least concave majorant that spans it.

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
