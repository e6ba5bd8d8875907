"""Layer-wise relevance propagation with the ε rule (Bach et al., 2015).

Relevance R is carried as R / activation, written c. Then R_i = Σ_j x_i w_ij / (z_j + ε·sign z_j) · R_j reads
c_i = Σ_j w_ij · c_j · |z_j| / (|z_j| + ε): the gradient, damped at every sum. Sums of branches, pools and batch
normalisation are sums like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_numbers
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods.propagation import multipliers
from samp.methods.propagation.forward_backward import Rows, attribute_in_batches, backward, forward
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.operation_call import Call, Pull, apply_rule, depends_on_input


@dataclass(frozen=True)
class LRP:
    """Each sum hands its relevance down in proportion to the summands, with ε added to the sum's size.

    The ε rule (Eq. 58 of Bach et al., 2015, PLoS ONE 10(7)) in all layers; the paper fixes no ε, so it is 1e-6, the
    default of zennit (Anders et al., 2021). Activations pass relevance on unchanged, max pooling gives it to the
    maximum, a product of two inputs gives each half of it. Biases and ε absorb relevance: `details["absorbed"]` is how
    much, and credit + absorbed = score. With ε = 0 this is gradient × input on nets of ReLUs, with or without biases.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    >>> result = samp.explain(model, torch.rand(2, 3), method=LRP())
    >>> bool(result.residual.abs().max() < 1e-5)  # of score − absorbed
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Bach et al. 2015, doi:10.1371/journal.pone.0130140", "1 gradient", "f(x) less what biases and ε absorb"
    )
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        check_numbers(epsilon=self.epsilon)
        if not 0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon is a finite number of at least 0, not {self.epsilon}.")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the relevance of every sample's elements, with its score as the relevance of the output."""

        def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
            mode, x = Relevance(self.epsilon, len(samples)), resolved.x[samples]
            score, leaf = forward(mode, resolved, x, samples)
            values = x * backward(score, leaf)
            absorbed = mode.absorbed.to(x)
            return {"values": values, "change": score.detach().to(x) - absorbed, "absorbed": absorbed}, mode

        return attribute_in_batches(problem, run, self, work)


JOINS = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")


class Relevance(Propagation):
    """The ε rule, which adds up the relevance that each row loses to biases and ε in `absorbed` (r)."""

    def __init__(self, epsilon: float, rows: int, method: str = "LRP") -> None:
        super().__init__(method)
        self.epsilon, self.rows = epsilon, rows
        self.absorbed = torch.zeros(rows, dtype=torch.float64)

    on_maximum = Propagation.use_gradient

    def damp(self, call: Call, bias: Tensor | float = 0.0) -> Tensor:
        """Run the operation with its gradient damped by ε; `bias` is the part of its value that comes from no input."""
        self.rule_counts[call.name] += 1
        summed: Tensor = call.run()

        def forward(z: Tensor) -> tuple[Tensor, Pull]:
            size = z.abs()
            share = torch.where((size > 0) & size.isfinite(), size / (size + self.epsilon), 1.0)
            by_epsilon = torch.where(share == 1, 0.0, z * (1 - share))

            def pull(grad: Tensor) -> list[Tensor]:
                self.absorb(_weigh(grad, by_epsilon + share * bias))
                return [grad * share]

            return z.clone(), pull

        return apply_rule(forward, summed)

    def absorb(self, relevance: Tensor) -> None:
        """Add relevance that goes to no input to each row's sum."""
        # axis 0 holds the samples, perhaps in several parts each
        if relevance.ndim and len(relevance) % self.rows == 0:
            sums = relevance.detach().reshape(self.rows, -1).sum(1, dtype=torch.float64)
            self.absorbed = self.absorbed.to(sums.device) + sums

    def on_linear(self, call: Call) -> object:
        """Damp a linear map; with two factors that depend on the input, it is a product."""
        if len(call.inputs) > 1:
            return self.on_multiply(call)
        bias = call.argument(2, "bias") if call.name.startswith(("linear", "conv")) else None
        if bias is None:
            return self.damp(call)
        spatial = int(call.name[-2]) if call.name.startswith("conv") else 0
        return self.damp(call, bias.view(-1, *[1] * spatial))

    def on_batch_norm(self, call: Call) -> object:
        """Damp a scale and a shift; the shift, its value at zero, is a bias."""
        (x,) = call.inputs
        nothing = torch.zeros_like(x[:1] if x.ndim == 2 else x[:1].flatten(2)[..., :1])  # 1 c, or 1 c 1
        return self.damp(call, call.at(nothing).detach().view(1, -1, *[1] * (x.ndim - 2)))

    def on_sum(self, call: Call) -> object:
        return self.damp(call)

    on_scale = Propagation.use_gradient

    def on_add(self, call: Call) -> object:
        """Share between the branches in proportion; a constant is a bias."""
        if len(call.inputs) == 2:
            return self.damp(call)
        (x,) = call.inputs
        return self.damp(call, call.at(torch.zeros_like(x)).detach())

    def on_multiply(self, call: Call) -> object:
        """Treat a constant factor as a weight; give two inputs half each."""
        if len(call.inputs) == 1:
            return self.use_gradient(call)
        return self.use_rule(call, multipliers.product(call, [torch.zeros_like(x) for x in call.inputs]))

    def on_rearrange(self, call: Call) -> object:
        """Pass relevance on with its number; a constant that joins the inputs, such as a class token, is a bias."""
        constants = [value for value in call.flat_args if isinstance(value, Tensor) and not depends_on_input(value)]
        return self.on_mask(call) if constants and call.name in JOINS else call.run()

    def on_mask(self, call: Call) -> object:
        """Pass relevance to the input that the mask chose; a constant that it chose is a bias."""
        chosen: Tensor = call.run()
        filled = call.at(*map(torch.zeros_like, call.inputs)).detach()

        def forward(z: Tensor) -> tuple[Tensor, Pull]:
            def pull(grad: Tensor) -> list[Tensor]:
                self.absorb(_weigh(grad, filled))
                return [grad]

            return z.clone(), pull

        return apply_rule(forward, chosen)

    def on_divide(self, call: Call) -> object:
        """Divide by constants only."""
        (_, y), _ = call.args_and_kwargs
        if call.name == "rdiv" or (isinstance(y, Tensor) and y.requires_grad):
            raise self.no_rule_error(call.name, " by something that depends on the input")
        return self.use_gradient(call)

    def on_elementwise(self, call: Call) -> object:
        """Pass relevance on unchanged: c times f(x)/x, which needs f(0) = 0."""
        if len(call.inputs) != 1 or call.at(torch.zeros_like(call.inputs[0].flatten()[:1])).item() != 0:
            raise self.no_rule_error(call.name, ", which is not 0 at 0")
        return self.use_rule(call, multipliers.secant(call, torch.zeros_like(call.inputs[0])))

    def _refuse_transformers(self, call: Call) -> object:
        raise NotImplementedError(
            f"LRP has no rule for the operation {call.name}: use 'attnlrp', which adds rules for the soft-max, "
            "attention and normalisation of transformers, or a method that needs only gradients, such as 'consensus' "
            "or 'ig'."
        )

    on_softmax = on_attention = on_layer_norm = on_group_norm = on_rms_norm = _refuse_transformers


def _weigh(grad: Tensor, value: Tensor) -> Tensor:
    """Return the relevance grad · value, which is 0 without a gradient even where the value is infinite."""
    return torch.where(grad == 0, 0.0, grad * value)
