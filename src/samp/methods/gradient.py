"""The plain gradient of the score, also known as a saliency map (Simonyan et al., 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from samp.attribution import Attribution
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods.propagation.forward_backward import Rows, attribute_in_batches


@dataclass(frozen=True)
class Gradient:
    """∂f/∂x at the image (Simonyan et al., 2014, arXiv:1312.6034): the score's response to small changes of the input.

    The name "gradient" keeps the sign. "saliency" is `magnitude=True`, the absolute value, as in the paper and in
    Captum's `Saliency`. A pixel's value in `map` is the sum over its channels; the paper takes the largest of them,
    which is `values.amax(1)`.

    >>> import samp, torch
    >>> x = torch.tensor([[1.0, -2.0]])
    >>> samp.explain(lambda x: x.square().sum(1), x, method=Gradient()).values.tolist()
    [[2.0, -4.0]]
    >>> samp.explain(lambda x: x.square().sum(1), x, method="saliency").values.tolist()
    [[2.0, 4.0]]
    """

    about: ClassVar[MethodInfo] = MethodInfo("Simonyan et al. 2014, arXiv:1312.6034", "1 gradient", "no")
    magnitude: bool = False

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the gradient of every sample."""

        def work(resolved: Problem, samples: Tensor) -> tuple[Rows, None]:
            gradient = resolved.gradient(resolved.x[samples], samples)
            return {"values": gradient.abs() if self.magnitude else gradient}, None

        return attribute_in_batches(problem, run, self, work)


METHODS = {"gradient": Gradient(), "saliency": Gradient(magnitude=True)}
