"""Credit: what each element earns between two neighbouring points of a walk (Eq. 3).

A credit is a function of two `Step`s with the same rows, `before` and `after` the move, that returns r n. With
dx = x_after − x_before:

| name | credit of a segment | sums to the score change |
|---|---|---|
| `momentum` | momentum gradient before · dx (Algorithm 1) | as `left`, with a larger error for larger λ |
| `left` | ∇f(x_before) · dx | in the limit, error of order η |
| `right` | ∇f(x_after) · dx | in the limit, error of order η |
| `trapezoid` | mean of the two | in the limit, error of order η², or η where the gradient jumps (ReLU) |
| `shared` | `momentum` plus the segment's residual, shared by abs(credit) | always |
| `shared_trapezoid` | `trapezoid` plus its residual, shared likewise | always |
| `idgi` | the score change, shared by ∇f(x_before)² | always, except for segments that start with zero gradient |

The first four give weight × difference on a linear model and nothing to an element without gradient, and they are
additive in f along a fixed path. The shared ones keep the first two properties but not additivity. Where a segment
changed the score although none of its elements had any credit (`blind`), they share by abs(dx), so that an element
without gradient can earn there. `idgi` depends on the gradient alone: an element without gradient earns nothing, one
that did not move can earn, all elements of a segment earn with the same sign, and neither weight × difference nor
additivity holds.

A credit that is known only after the walk has ended is not a function of two steps but an `Account`
(`samp.engine.record`), which a plan passes to `record_walk`; `samp.engine.concave_credit`, used by coupled, is one.

A segment that does not move (a path may pause) earns nothing by any of them, even if the model's score differs by
rounding between two calls at the same point.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.engine.walk import Step
from samp.lookup import look_up

Credit = Callable[[Step, Step], Tensor]


def momentum(before: Step, after: Step) -> Tensor:
    """Return the paper's credit: the momentum gradient that the move was chosen by, times the move.

    >>> import samp
    >>> model, x = torch.nn.Linear(3, 1, bias=False).eval(), torch.rand(1, 3)
    >>> result = samp.explain(model, x, method=samp.SAMPPlusPlus(credit="momentum", direction="to_image"))
    >>> torch.allclose(result.values, model.weight * x)  # exact on a linear model
    True
    """
    return before.guide * (after.x - before.x)


def left(before: Step, after: Step) -> Tensor:
    """Return the gradient before the move, times the move.

    >>> import samp
    >>> one_step = samp.SAMP(pixels_per_step=1, credit="left", direction="to_image")
    >>> samp.explain(lambda x: (x**2).sum(1), torch.tensor([[3.0]]), method=one_step).values.item()  # 2·0 · 3
    0.0
    """
    return before.gradient * (after.x - before.x)


def right(before: Step, after: Step) -> Tensor:
    """Return the gradient after the move, times the move.

    >>> import samp
    >>> one_step = samp.SAMP(pixels_per_step=1, credit="right", direction="to_image")
    >>> samp.explain(lambda x: (x**2).sum(1), torch.tensor([[3.0]]), method=one_step).values.item()  # 2·3 · 3
    18.0
    """
    return after.gradient * (after.x - before.x)


def trapezoid(before: Step, after: Step) -> Tensor:
    """Return the mean of the gradients before and after the move, times the move.

    >>> import samp
    >>> one_step = samp.SAMP(pixels_per_step=1, credit="trapezoid", direction="to_image")
    >>> samp.explain(lambda x: (x**2).sum(1), torch.tensor([[3.0]]), method=one_step).values.item()  # f(3) − f(0)
    9.0
    """
    return (before.gradient + after.gradient) * (after.x - before.x) / 2


@dataclass(frozen=True)
class Shared:
    """An exact credit: the score change that `base` misses is shared over the segment by abs(base credit).

    Its sum over a walk is f(x^E) − f(x^S) up to rounding. This is harmless where `base` is nearly exact, as with small
    steps; on an ImageNet net with steps of thousands of pixels the shared part outweighs the rest and blurs the
    ranking.

    >>> import samp
    >>> exact = samp.SAMP(credit=Shared(right), direction="to_image")
    >>> result = samp.explain(lambda x: (x**3).sum(1), torch.tensor([[1.0, 2.0]]), method=exact)
    >>> result.values.sum().item(), result.residual.item()
    (9.0, 0.0)
    """

    base: Credit

    def __call__(self, before: Step, after: Step) -> Tensor:
        credit = self.base(before, after)
        weight = credit.abs()
        total = weight.sum(1, keepdim=True)
        weight = torch.where(total == 0, (after.x - before.x).abs(), weight)
        total = weight.sum(1, keepdim=True)  # 0 where nothing moved: no element to share with
        change = (after.value - before.value)[:, None]
        return credit + (change - credit.sum(1, keepdim=True)) * (weight / torch.where(total > 0, total, 1))

    def blind(self, before: Step, after: Step) -> Tensor:
        """Return a mask (r) of segments that changed the score without base credit, and so were shared by abs(dx)."""
        unseen = (self.base(before, after) == 0).all(1) & (after.value != before.value)
        return unseen & _moved_mask(before, after)


def idgi(before: Step, after: Step) -> Tensor:
    """Return IDGI's credit (Yang et al., CVPR 2023): the score change, shared by the squared gradient before the move.

    Only the part of a move along the gradient changes the score to first order; IDGI treats the contribution of the
    rest as noise, and credit = g² · Δf / Σg² leaves it out. A segment that starts with zero gradient earns nothing,
    which shows in the residual.

    >>> import samp
    >>> move = samp.IG(steps=1, baseline=torch.tensor([[0.0, 1.0]]), credit="idgi")  # only the first element moves
    >>> weight = torch.tensor([3.0, 4.0])
    >>> samp.explain(lambda x: x @ weight, torch.tensor([[25.0, 1.0]]), method=move).values.tolist()
    [[27.0, 48.0]]
    """
    size = before.gradient.abs().amax(1, keepdim=True)
    share = (before.gradient / torch.where(size > 0, size, 1)) ** 2  # scaled first: squares of 1e-25 are 0 in float32
    total = share.sum(1, keepdim=True)
    change = (after.value - before.value).where(_moved_mask(before, after), 0)
    return share * (change[:, None] / torch.where(total > 0, total, 1))


def _moved_mask(before: Step, after: Step) -> Tensor:
    """Return a mask (r) of the segments in which any element moved."""
    return (after.x != before.x).any(1)


def uses_guide_only(credit: Credit) -> bool:
    """Return whether a credit reads guides but no gradients, so that these need not be kept.

    >>> uses_guide_only(momentum), uses_guide_only(Shared(momentum)), uses_guide_only(left)
    (True, True, False)
    """
    return credit is momentum or (type(credit) is Shared and uses_guide_only(credit.base))


CREDITS: dict[str, Credit] = {
    "momentum": momentum,
    "left": left,
    "right": right,
    "trapezoid": trapezoid,
    "shared": Shared(momentum),
    "shared_trapezoid": Shared(trapezoid),
    "idgi": idgi,
}


def _takes_two(credit: Credit) -> bool:
    """Return whether the credit can be called with two arguments, as far as its signature shows."""
    try:
        inspect.signature(getattr(credit, "forward", credit)).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # some built-in callables have no signature
        pass
    return True


def resolve_credit(credit: str | Credit) -> Credit:
    """Return the credit of this name, or the given function of two Steps itself.

    Raises ValueError for an unknown name, and TypeError for what is not a function of two arguments.

    >>> resolve_credit("left") is left
    True
    """
    if isinstance(credit, str):
        return look_up(credit, CREDITS, "credit")
    if not callable(credit) or isinstance(credit, type) or not _takes_two(credit):
        raise TypeError(f"a credit is a name or a function of two Steps, not {credit!r}.")
    return credit
