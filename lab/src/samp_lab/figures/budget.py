"""Quality against the gradients spent: 7, 14, 28, 56 and 112 an image, for the methods that can be told how many."""

from __future__ import annotations

from samp.methods import IG, SAMP, Coupled, Method, SAMPPlusPlus
from samp.methods.guided_ig import GuidedIG
from samp_lab.figures.budget_curves import BudgetCurves

BUDGETS = (7, 14, 28, 56, 112)


def moves(budget: int) -> int:
    """Steps of each of two walks whose gradients, end points included, are within the budget.

    >>> [moves(budget) for budget in BUDGETS]
    [2, 6, 13, 27, 55]
    """
    return max(budget // 2 - 1, 1)


def samp(budget: int) -> Method:
    """SAMP in so many steps: a 55th of the pixels at a time for 112 gradients."""
    return SAMP(steps=moves(budget))


def samp_plus_plus(budget: int) -> Method:
    """SAMP++ with twice as many pixels at a time, and with η so that IC brings the number of steps up again.

    Steps of uneven length that IC cuts leave rests, so η is somewhat more than 1 / `moves`: by counting, on MNIST and
    on photos.

    >>> samp_plus_plus(28).steps, round(samp_plus_plus(28).eta, 3)
    (6, 0.092)
    """
    return SAMPPlusPlus(steps=_half(budget), eta=min(1.2 / moves(budget), 1.0))


def coupled(budget: int) -> Method:
    """Ours in so many steps of growing size, which no η cuts: exactly the budget's."""
    return Coupled(steps=moves(budget), eta=1.0)


def ig(budget: int) -> Method:
    """IG with its end point counted."""
    return IG(steps=budget - 1)


def guided_ig(budget: int) -> Method:
    """Guided IG with its end point counted."""
    return GuidedIG(steps=budget - 1)


def _half(budget: int) -> int:
    return max(moves(budget) // 2, 2)  # all pixels in one step would be no path


BUDGET = BudgetCurves(
    name="budget",
    title="Quality against gradients",
    methods={"coupled": coupled, "SAMP++": samp_plus_plus, "SAMP": samp, "IG": ig, "Guided IG": guided_ig},
    budgets=BUDGETS,
    beds=("mnist:even", "cifar10:even", "imagenet:even/mobilenet_v2", "imagenet:even/squeezenet1_1"),
    champion="coupled",
    rival="SAMP++",
)
