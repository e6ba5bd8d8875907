"""Guided backpropagation and deconvolution, which change the gradient at rectifiers only, and gradient × input."""

from __future__ import annotations

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


@dataclass(frozen=True)
class GradientXInput:
    """x · ∂f/∂x, the first-order Taylor term at the image (Shrikumar et al., 2016, arXiv:1605.01713). No settings.

    >>> import samp
    >>> samp.explain(lambda x: x.square().sum(1), torch.tensor([[1.0, 2.0]]), method=GradientXInput()).values.tolist()
    [[2.0, 8.0]]
    """

    about: ClassVar[MethodInfo] = MethodInfo("Shrikumar et al. 2016, arXiv:1605.01713", "1 gradient", "no")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return x times the gradient, for every sample."""

        def work(resolved: Problem, samples: Tensor) -> tuple[Rows, None]:
            x = resolved.x[samples]
            return {"values": x * resolved.gradient(x, samples)}, None

        return attribute_in_batches(problem, run, self, work)


@dataclass(frozen=True)
class GuidedBackprop:
    """The gradient, stopped at each rectifier that was off or where it is negative.

    Springenberg et al. (2015, arXiv:1412.6806). No settings. ReLU, ReLU6, `hardtanh(0, ·)`, `clamp(min=0)`,
    `maximum(x, 0)` and masks such as `x * (x > 0)` are rectifiers in all their forms; other activations keep their
    gradient. A model without any is refused, since its map would be the plain gradient.

    >>> import samp
    >>> samp.explain(lambda x: -torch.relu(x).sum(1), torch.ones(1, 2), method=GuidedBackprop()).values.abs().tolist()
    [[0.0, 0.0]]
    """

    about: ClassVar[MethodInfo] = MethodInfo("Springenberg et al. 2015, arXiv:1412.6806", "1 gradient", "no")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return what guided backward passes bring to every sample's elements."""
        return _attribute(problem, run, self, deconvolution=False)


@dataclass(frozen=True)
class Deconvolution:
    """The gradient, stopped at each rectifier where it is negative, whether the rectifier was on or not.

    Zeiler & Fergus (2014, arXiv:1311.2901). No settings; rectifiers are those of `GuidedBackprop`.

    >>> import samp
    >>> samp.explain(lambda x: torch.relu(x).sum(1), -torch.ones(1, 2), method=Deconvolution()).values.tolist()
    [[1.0, 1.0]]
    """

    about: ClassVar[MethodInfo] = MethodInfo("Zeiler & Fergus 2014, arXiv:1311.2901", "1 gradient", "no")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return what deconvolving backward passes bring to every sample's elements."""
        return _attribute(problem, run, self, deconvolution=True)


def _attribute(problem: Problem, run: RunOptions, method: object, deconvolution: bool) -> Attribution:
    def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
        mode = RectifiedGradient(type(method).__name__, deconvolution)
        score, leaf = forward(mode, resolved, resolved.x[samples], samples)
        if not mode.rule_counts:
            raise NotImplementedError(
                f"{mode.method} changes the gradient at ReLUs only, and this model has none: "
                "use 'gradientxinput', 'deeplift' or a path method such as 'ig'."
            )
        return {"values": backward(score, leaf)}, mode

    return attribute_in_batches(problem, run, method, work)


class RectifiedGradient(Propagation):
    """Rectifiers let only positive gradients through; all other operations keep torch's gradient.

    So do those of the target, which are no layers of the model: a detection's overlap is cut off at 0, too.
    """

    def __init__(self, method: str, deconvolution: bool) -> None:
        super().__init__(method)
        self.deconvolution, self.inside_model = deconvolution, True

    def on_output(self) -> None:
        self.inside_model = False

    def on_unknown(self, call: Call) -> object:
        """Keep torch's gradient, which any operation has."""
        return self._rectify(call) if _is_rectifier(call) else call.run()

    on_sum = on_linear = on_add = on_scale = on_maximum = Propagation.use_gradient
    on_batch_norm = on_softmax = on_log_softmax = on_divide = on_layer_norm = on_group_norm = on_rms_norm = (
        Propagation.use_gradient
    )
    on_attention = on_add_product = Propagation.use_gradient

    def on_elementwise(self, call: Call) -> object:
        return self._rectify(call) if _is_rectifier(call) else self.use_gradient(call)

    def on_mask(self, call: Call) -> object:
        return self._rectify(call) if self._masks_itself(call) else call.run()

    def on_multiply(self, call: Call) -> object:
        return self._rectify(call) if self._masks_itself(call) else self.use_gradient(call)

    def _masks_itself(self, call: Call) -> bool:
        """Return whether this is a ReLU made by a mask: the mask is computed from the tensor that it masks."""
        sources = [self.tracker.source(value) for value in call.flat_args if self.tracker.is_detached(value)]
        if len(call.inputs) != 1 or not sources or sources[0] is None:
            return False
        (x,) = call.inputs
        return torch.equal(sources[0], x) and torch.equal(call.at(x.detach()), x.detach().clamp(min=0))

    def _rectify(self, call: Call) -> object:
        """Run a rectifier with max(gradient, 0) as its rule, for guided backpropagation only where it is on."""
        if not self.inside_model:
            return self.use_gradient(call)

        def forward(x: Tensor) -> tuple[Tensor, Pull]:
            on = 1.0 if self.deconvolution else vjp(call.at, [x], torch.ones_like(x))[0]
            return call.at(x), lambda grad: [grad.clamp(min=0) * on]

        return self.use_rule(call, forward)


LOWER_BOUND = {"hardtanh": ("min_val", -1.0), "clamp": ("min", None), "clip": ("min", None), "clamp_min": ("min", None)}


def _is_rectifier(call: Call) -> bool:
    """Return whether this is zero below zero: ReLU, ReLU6, bounded forms that start at 0, and maximum(x, 0)."""
    if call.name in ("maximum", "fmax", "max"):
        others = [value for value in call.flat_args if value is not None and value is not call.inputs[0]]
        return len(others) == 1 and isinstance(others[0], Tensor) and not bool(others[0].any())
    if call.name == "threshold":
        return bool(call.argument(1, "threshold") == 0 and call.argument(2, "value") == 0)
    if call.name in LOWER_BOUND:
        name, default = LOWER_BOUND[call.name]
        low = call.argument(1, name, default)
        return len(call.inputs) == 1 and not isinstance(low, Tensor) and low == 0
    return call.name in ("relu", "relu6")
