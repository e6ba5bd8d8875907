"""Quality against the gradients spent: 7, 14, 28, 56 and 112 an image, for the methods that can be told how many."""

from __future__ import annotations

from samp.methods import IG, SAMP, Coupled, Method, SAMPPlusPlus
from samp.methods.guided_ig import GuidedIG
from samp_lab.figures.budget_curves import BudgetCurves

BUDGETS = (7, 14, 28, 56, 112)


def steps_within(budget: int) -> int:
    """Steps of each of two walks whose gradients, end points included, are within the budget.

    >>> [steps_within(budget) for budget in BUDGETS]
    [2, 6, 13, 27, 55]
    """
    return max(budget // 2 - 1, 1)


def samp_within(budget: int) -> Method:
    """SAMP in so many steps: a 55th of the pixels at a time for 112 gradients."""
    return SAMP(steps=steps_within(budget))


def samp_plus_plus_within(budget: int) -> Method:
    """SAMP++ with twice as many pixels at a time, and with η so that IC brings the number of steps up again.

    Steps of uneven length that IC cuts leave rests, so η is somewhat more than 1 / steps: by counting, on MNIST and
    on photos.

    >>> samp_plus_plus_within(28).steps, round(samp_plus_plus_within(28).eta, 3)
    (6, 0.092)
    """
    return SAMPPlusPlus(steps=_half_steps(budget), eta=min(1.2 / steps_within(budget), 1.0))


def coupled_within(budget: int) -> Method:
    """Ours in so many steps of growing size, which no η cuts: exactly the budget's."""
    return Coupled(steps=steps_within(budget), eta=1.0)


def ig_within(budget: int) -> Method:
    """IG with its end point counted."""
    return IG(steps=budget - 1)


def guided_ig_within(budget: int) -> Method:
    """Guided IG with its end point counted."""
    return GuidedIG(steps=budget - 1)


def _half_steps(budget: int) -> int:
    return max(steps_within(budget) // 2, 2)  # all pixels in one step would be no path


BUDGET = BudgetCurves(
    name="budget",
    title="Quality against gradients",
    methods={
        "coupled": coupled_within,
        "SAMP++": samp_plus_plus_within,
        "SAMP": samp_within,
        "IG": ig_within,
        "Guided IG": guided_ig_within,
    },
    budgets=BUDGETS,
    setups=("mnist:even", "cifar10:even", "imagenet:even/mobilenet_v2", "imagenet:even/squeezenet1_1"),
    champion="coupled",
    rival="SAMP++",
)
