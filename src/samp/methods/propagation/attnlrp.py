"""LRP for transformers: AttnLRP (Achtibat et al., 2024) and LibraGrad (Mehri et al., 2025).

Both add rules to those of `lrp.Relevance`, with relevance carried as R / activation. They treat the divisor of a
normalisation as a constant, and differ in the soft-max: AttnLRP takes its gradient, LibraGrad cuts it off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_numbers
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods.propagation import composites
from samp.methods.propagation.forward_backward import Rows, attribute_in_batches, backward, forward
from samp.methods.propagation.lrp import Relevance
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.multipliers import vjp
from samp.methods.propagation.operation_call import Call, Pull

DIVISORS = ("rsqrt", "reciprocal")
NORMS = ("norm", "vector_norm", "linalg_vector_norm")
OF_TRANSFORMERS = {"softmax", "layer_norm", "group_norm", "rms_norm", *DIVISORS, *NORMS, "div", "true_divide"}


@dataclass(frozen=True)
class AttnLRP:
    """LRP with rules for attention (Achtibat et al., ICML 2024, arXiv:2402.05602).

    Soft-max by its Taylor expansion (Prop. 3.1: R_i = x_i (R'_i − s_i Σ R')), products of two activations half to each
    factor (Prop. 3.3), normalisation by the identity rule with a constant divisor (Prop. 3.4), activations by the
    identity rule, everything linear by the ε rule. The paper fixes no ε; it is LRP's. For vision transformers the paper
    also tunes a γ rule on linear layers, which is not here. Biases, ε and the soft-max's expansion absorb relevance:
    `details["absorbed"]` is how much, and credit + absorbed = score. Equal to the authors' package lxt on its rules. A
    model without soft-max or normalisation inside is refused: its map would be LRP's.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(24, 2))
    >>> result = samp.explain(net.eval(), torch.rand(2, 4, 6), method=AttnLRP())
    >>> bool(result.residual.abs().max() < 1e-4)  # of score − absorbed
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Achtibat et al. 2024, arXiv:2402.05602", "1 gradient", "f(x) less what biases, soft-max and ε absorb"
    )
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        check_numbers(epsilon=self.epsilon)
        if not 0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon is a finite number of at least 0, not {self.epsilon}.")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the relevance of every sample's elements, with its score as the relevance of the output."""
        return _attribute(self, problem, run, lambda rows: AttentionRules(self.epsilon, rows, "AttnLRP"))


@dataclass(frozen=True)
class LibraGrad:
    """Gradient × input on backward paths that are pruned and scaled to balance (Mehri et al., CVPR 2025).

    Our reading of arXiv:2411.16760: attention weights and the divisors of normalisations count as constants, the gate
    of GELU and its kin too (so an activation passes x·f(x)/x), and a product of two activations gives half to each. The
    net is then affine in its input, and credit + what biases absorb (`details["absorbed"]`) = score: the paper's
    FullGrad-completeness. No settings. A model without soft-max or normalisation inside is refused.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(24, 2))
    >>> result = samp.explain(net.eval(), torch.rand(2, 4, 6), method=LibraGrad())
    >>> bool(result.residual.abs().max() < 1e-4)  # of score − absorbed
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Mehri et al. 2025, arXiv:2411.16760", "1 gradient", "f(x) less what biases absorb"
    )

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return x times the balanced gradient, for every sample."""
        return _attribute(self, problem, run, BalancedRules)


def _attribute(
    method: object, problem: Problem, run: RunOptions, make_rules: Callable[[int], AttentionRules]
) -> Attribution:
    def explain(resolved: Problem, samples: Tensor) -> tuple[Rows, AttentionRules]:
        rules, x = make_rules(len(samples)), resolved.x[samples]
        score, leaf = forward(rules, resolved, x, samples)
        rules.check_is_transformer()
        values = x * backward(score, leaf)
        absorbed = rules.absorbed.to(x)
        return {"values": values, "change": score.detach().to(x) - absorbed, "absorbed": absorbed}, rules

    def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
        rows, rules = explain(resolved, samples)
        if len(samples) == 1 or _is_closed(rows):
            return rows, rules
        # layers such as nn.MultiheadAttention put the tokens first: only alone is a sample's absorbed sum its own
        parts = [explain(resolved, sample[None])[0] for sample in samples]
        return {**rows, **{name: torch.cat([part[name] for part in parts]) for name in ("change", "absorbed")}}, rules

    return attribute_in_batches(problem, run, method, work)


def _is_closed(rows: Rows) -> bool:
    """Return whether each row's credit and absorbed relevance sum to its score, up to rounding."""
    change, absorbed = rows["change"], rows["absorbed"]
    gap = (change - rows["values"].sum(1)).abs()
    rounding = torch.finfo(change.dtype).eps ** 0.6  # 7e-5 in float32
    return bool((gap <= rounding * (absorbed.abs() + (change + absorbed).abs())).all())


class AttentionRules(Relevance):
    """AttnLRP's rules."""

    def check_is_transformer(self) -> None:
        """Raise NotImplementedError unless a rule fired that LRP does not have."""
        if not OF_TRANSFORMERS & set(self.rule_counts):
            raise NotImplementedError(
                f"{self.method} adds rules for soft-max and normalisation to LRP's, and this model has neither inside: "
                "use 'lrp' (or 'gradientxinput', which LRP is on nets of ReLUs without ε)."
            )

    def on_softmax(self, call: Call) -> object:
        """Propagate by the gradient; the rest of the expansion, s − x·∂s/∂x, is a bias."""

        def forward(x: Tensor) -> tuple[Tensor, Pull]:
            value: Tensor = call.at(x)

            def pull(grad: Tensor) -> list[Tensor]:
                (slopes,) = vjp(call.at, [x], grad)
                passed = torch.where(slopes == 0, 0.0, slopes * x)  # masked scores are −∞
                self.absorb((grad * value).to(passed) - passed)
                return [slopes]

            return value, pull

        return self.use_rule(call, forward)

    def on_attention(self, call: Call) -> object:
        """Run scaled dot-product attention as its two products and soft-max."""
        with self:
            return composites.attend(call)

    def on_layer_norm(self, call: Call) -> object:
        """Centre by the ε rule, and divide by a constant."""
        return self._normalise(call, composites.layer_norm)

    def on_group_norm(self, call: Call) -> object:
        return self._normalise(call, composites.group_norm)

    def on_rms_norm(self, call: Call) -> object:
        return self._normalise(call, composites.rms_norm)

    def _normalise(self, call: Call, normalise: Callable[[Call, composites.Divisor], Tensor]) -> object:
        self.rule_counts[call.name] += 1
        with self:
            return normalise(call, Tensor.detach)

    def on_elementwise(self, call: Call) -> object:
        """Take the divisor of a normalisation that the model writes out as a constant; others by the identity rule."""
        return self._hold(call) if call.name in DIVISORS else super().on_elementwise(call)

    def on_divide(self, call: Call) -> object:
        """Give the quotient's relevance to the numerator."""
        (x, y), _ = call.args_and_kwargs
        x, y = (y, x) if call.name == "rdiv" else (x, y)
        if not (isinstance(y, Tensor) and y.requires_grad):
            return self.use_gradient(call)
        if not (isinstance(x, Tensor) and x.requires_grad):
            return self._hold(call)
        self.rule_counts[call.name] += 1
        return x / y.detach()

    def on_unknown(self, call: Call) -> object:
        return self._hold(call) if call.name in NORMS else super().on_unknown(call)

    def _hold(self, call: Call) -> Tensor:
        """Return the operation's value as a constant."""
        self.rule_counts[call.name] += 1
        value: Tensor = call.run()
        return value.detach()


class BalancedRules(AttentionRules):
    """LibraGrad's rules: those of AttnLRP without ε, with attention weights as constants."""

    def __init__(self, rows: int) -> None:
        super().__init__(0.0, rows, "LibraGrad")

    def on_softmax(self, call: Call) -> object:
        """Prune the path through the attention weights."""
        return self._hold(call)
