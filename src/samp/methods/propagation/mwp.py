"""Excitation backpropagation (Zhang et al., 2016 and 2018): winning probabilities, passed down to what excites a unit.

A unit's probability carries the sign of the change in it that would excite the winner: plus for all units of a net of
non-negative activations, as in the paper; minus for a negative value with a negative weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods.propagation.forward_backward import Rows, attribute_in_batches, backward, forward
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.multipliers import vjp
from samp.methods.propagation.operation_call import Call, Pull

Linear = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class MWP:
    """Marginal winning probability: P(i) = Σ_j P(j) · (a_i w_ij)⁺ / Σ_i' (a_i' w_i'j)⁺, from 1 at the score.

    Zhang et al. (2018, IJCV, arXiv:1608.00507). No settings. On the non-negative activations that they assume,
    (a w)⁺ is their a·w⁺. Images and linear layers also hold negative values: one that excites by a negative weight
    wins too, and shares with what made it negative. The map sums to 1, less what is lost in units that nothing
    excites: a unit driven by its bias alone has no child to give its probability to. `details["kept"]` is the part that
    arrives: all of it on SqueezeNet, about 1 % on MobileNetV2, whose depthwise convolutions lose the rest (their units
    have nine children and are often driven by the shift after them alone). Batch normalisation and activations pass the
    probability on.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False))
    >>> _ = model[0].weight.data.copy_(torch.tensor([[1.0, 3.0]]))
    >>> samp.explain(model.eval(), torch.ones(1, 2), method=MWP()).values.tolist()
    [[0.25, 0.75]]
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Zhang et al. 2018, arXiv:1608.00507", "1 gradient", "1, less what bias-driven units lose"
    )

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the winning probabilities of every sample's elements, from 1 at its score."""

        def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
            mode = Excitation("mwp")
            score, leaf = forward(mode, resolved, resolved.x[samples], samples)
            values = backward(score, leaf).abs()
            return {"values": values, "kept": values.sum(1)}, mode

        return attribute_in_batches(problem, run, self, work)


@dataclass(frozen=True)
class ContrastiveMWP:
    """MWP of the class less MWP of its contrast, the class with its last weights negated.

    Zhang et al. (2018, IJCV, arXiv:1608.00507). No settings. The two differ from the last weighted operation of the
    model on. The map sums to 0 where nothing is lost (see `MWP`); `details["kept"]` is the part of each that arrives.
    It is not cut off at 0: take `values.clamp(min=0)` for the paper's pictures.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 1, bias=False))
    >>> _ = model[0].weight.data.copy_(torch.tensor([[1.0, 3.0, -2.0]]))
    >>> samp.explain(model.eval(), torch.ones(1, 3), method=ContrastiveMWP()).values.tolist()
    [[0.25, 0.75, -1.0]]
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Zhang et al. 2018, arXiv:1608.00507", "1 forward, 2 gradients", "0, up to what bias-driven units lose"
    )

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the difference of two winning probabilities for every sample's elements."""

        def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
            mode = Excitation("cmwp")
            score, leaf = forward(mode, resolved, resolved.x[samples], samples)
            if not mode.layers:
                raise NotImplementedError("cmwp negates the last layer's weights, and this model has none: use 'mwp'.")
            own = backward(score, leaf, keep_graph=True).abs()
            mode.sign = -1
            contrast = backward(score, leaf).abs()
            return {"values": own - contrast, "kept": torch.stack([own.sum(1), contrast.sum(1)], 1)}, mode

        return attribute_in_batches(problem, run, self, work, gradients=2)


class Excitation(Propagation):
    """Rules whose gradients are signed winning probabilities: each shares those of its output among its inputs."""

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.layers = 0
        self.sign = 1
        """Of the last layer's weights."""

    on_maximum = Propagation.use_gradient

    def pass_on(self, call: Call, sign: Tensor | float = 1.0) -> object:
        """Give all probability of a unit to its one child; `sign` is that of the child's weight."""
        if len(call.inputs) != 1:
            raise self.no_rule_error(call.name, " of several inputs")

        def forward(x: Tensor) -> tuple[Tensor, Pull]:
            shape = x.shape
            return call.at(x), lambda grad: [(grad * sign).sum_to_size(shape)]

        return self.use_rule(call, forward)

    on_elementwise = pass_on

    def on_scale(self, call: Call) -> object:
        """Pass on through a constant factor, on either side."""
        if len(call.inputs) != 1 or call.name == "rdiv":
            raise self.no_rule_error(call.name, " of two things that depend on the input")
        return self.pass_on(call, call.at(torch.ones_like(call.inputs[0])).sign())

    on_multiply = on_divide = on_scale

    def on_batch_norm(self, call: Call) -> object:
        """Pass on through a scale for each channel; its shift is a bias."""
        (x,) = call.inputs
        one = torch.ones_like(x[:1])
        return self.pass_on(call, (call.at(one) - call.at(0 * one)).sign())

    def on_add(self, call: Call) -> object:
        """Share between branches in proportion to their parts of the sum's sign; a constant is a bias."""
        if len(call.inputs) == 1:
            (x,) = call.inputs
            return self.pass_on(call, (call.at(torch.ones_like(x)) - call.at(torch.zeros_like(x))).sign())

        def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Pull]:
            alone = [call.at(x, torch.zeros_like(y)), call.at(torch.zeros_like(x), y)]
            signs = [x.sign(), y.sign()]

            def pull(grad: Tensor) -> list[Tensor]:
                parts = [(part * grad.sign()).clamp(min=0) for part in alone]
                share = _divide_or_zero(grad.abs(), parts[0] + parts[1])
                return [s * (p * share).sum_to_size(s.shape) for p, s in zip(parts, signs, strict=True)]

            return call.at(x, y), pull

        return self.use_rule(call, forward)

    def on_sum(self, call: Call) -> object:
        """Share through a sum or a mean, whose weights are all positive."""

        def forward(x: Tensor) -> tuple[Tensor, Pull]:
            kept = x.clone()
            return call.at(x), lambda grad: [
                _share_probability(grad, kept, lambda sign: [((sign * kept).clamp(min=0), call.at)])
            ]

        return self.use_rule(call, forward)

    def on_linear(self, call: Call) -> object:
        """Share through a linear map; its bias gets nothing."""
        weight, without_bias = _linear(self, call)
        self.layers += 1
        number = self.layers

        def forward(x: Tensor) -> tuple[Tensor, Pull]:
            positive, negative = x.clamp(min=0), x.clamp(max=0)
            both = bool((negative < 0).any())

            def exciting(sign: int) -> list[tuple[Tensor, Linear]]:
                sign = sign * self.sign if number == self.layers else sign
                up, down = (sign * weight).clamp(min=0), (sign * weight).clamp(max=0)
                parts = [(positive, _bind_weight(without_bias, up)), (negative, _bind_weight(without_bias, down))]
                return parts if both else parts[:1]

            return call.at(x), lambda grad: [_share_probability(grad, positive + negative, exciting)]

        return self.use_rule(call, forward)


def _linear(mode: Excitation, call: Call) -> tuple[Tensor, Callable[[Tensor, Tensor], Tensor]]:
    """Return the constant factor of a linear map, and the map without its bias as a function of both factors."""
    args, kwargs = call.args_and_kwargs
    if len(call.inputs) != 1 or len(args) < 2:
        raise mode.no_rule_error(call.name, " of two things that depend on the input")
    if call.name.startswith(("linear", "conv")):
        rest = args[3:]
        named = {name: value for name, value in kwargs.items() if name != "bias"}
        return args[1], lambda a, w: call.func(a, w, None, *rest, **named)
    if args[0] is call.inputs[0]:
        return args[1], lambda a, w: call.func(a, w)
    return args[0], lambda a, w: call.func(w, a)


def _bind_weight(function: Callable[[Tensor, Tensor], Tensor], weight: Tensor) -> Linear:
    return lambda a: function(a, weight)


def _share_probability(grad: Tensor, x: Tensor, exciting: Callable[[int], Sequence[tuple[Tensor, Linear]]]) -> Tensor:
    """Return Σ a · ∂z/∂a · P / Σ z over parts a with maps z(a) ≥ 0 that push the sum to the sign of its probability."""
    probability = torch.zeros_like(x)
    for sign in (1, -1):
        wanted = (sign * grad).clamp(min=0)
        if bool(wanted.any()):
            parts = exciting(sign)
            share = _divide_or_zero(wanted, torch.stack([z(a) for a, z in parts]).sum(0))
            probability += torch.stack([a * vjp(z, [a], share)[0] for a, z in parts]).sum(0)
    return probability * x.sign()


def _divide_or_zero(probability: Tensor, excitation: Tensor) -> Tensor:
    enough = excitation > torch.finfo(excitation.dtype).tiny
    return torch.where(enough, probability / excitation, 0.0)
