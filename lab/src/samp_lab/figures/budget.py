"""Quality at 7, 14, 28, 56 and 112 gradients an image, of the methods whose number of gradients can be set."""

from __future__ import annotations

from samp.methods import IG, SAMP, Coupled, Method, SAMPPlusPlus
from samp.methods.guided_ig import GuidedIG
from samp_lab.figures.budget_curves import BudgetCurves

BUDGETS = (7, 14, 28, 56, 112)


def steps_within(budget: int) -> int:
    """Return the steps of each of two walks whose gradients, end points included, are within the budget.

    >>> [steps_within(budget) for budget in BUDGETS]
    [2, 6, 13, 27, 55]
    """
    return max(budget // 2 - 1, 1)


def samp_within(budget: int) -> Method:
    """Return SAMP within the budget: a 55th of the pixels at a time for 112 gradients."""
    return SAMP(steps=steps_within(budget))


def samp_plus_plus_within(budget: int) -> Method:
    """Return SAMP++ within the budget: twice as many pixels at a time, and η such that IC doubles the steps.

    Steps of uneven length that IC cuts leave remainders, so η is somewhat above 1 / steps; the factor was found by
    counting gradients on MNIST and on photos.

    >>> samp_plus_plus_within(28).steps, round(samp_plus_plus_within(28).eta, 3)
    (6, 0.092)
    """
    return SAMPPlusPlus(steps=_half_steps(budget), eta=min(1.2 / steps_within(budget), 1.0))


def coupled_within(budget: int) -> Method:
    """Return the coupled walk within the budget, in steps of growing size that no η cuts."""
    return Coupled(steps=steps_within(budget), eta=1.0)


def ig_within(budget: int) -> Method:
    """Return IG within the budget, its end point counted."""
    return IG(steps=budget - 1)


def guided_ig_within(budget: int) -> Method:
    """Return Guided IG within the budget, its end point counted."""
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
