"""DeepLIFT with the rescale rule (Shrikumar et al., 2017), and Deep SHAP (Lundberg & Lee, 2017).

The baseline goes through the model first, and the inputs of each operation without a constant slope are recorded. Then
the image goes through it, and each such operation gets the multiplier Δout / Δin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, black, evaluate_baseline, label_baseline, wrap_tensors
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods.propagation import composites, multipliers
from samp.methods.propagation.forward_backward import Rows, attribute_in_batches, backward, forward
from samp.methods.propagation.mask_rule import MaskRule
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.operation_call import Call, Forward, apply_rule
from samp.methods.propagation.operation_kinds import KINDS

ROUNDING = 1e-2  # of the score: a credit that misses its exact sum by more is refused


@dataclass(frozen=True)
class DeepLIFT:
    """m = Δout / Δin at every nonlinearity, chained back: the credit (x − x⁰)·m sums to f(x) − f(x⁰).

    The rescale rule of Shrikumar et al. (2017, arXiv:1704.02685). Max pooling gives Δout to the place of the larger
    maximum, a product of two inputs is shared by the symmetric rule (each factor times the other's mean), soft-max
    and layer normalisation are split into their parts, and the effect of a mask such as `x > 0` in a product, a
    `masked_fill` or a `where` goes to x: all of it complete, up to rounding. Other numbers, masks and indices without a
    gradient that differ between image and baseline are refused. The paper has no default baseline for photos; black (0)
    is that of its MNIST study.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    >>> result = samp.explain(model, torch.rand(2, 3), method=DeepLIFT())
    >>> bool(result.residual.abs().max() < 1e-5), result.details["operations"]["by rule"]
    (True, {'relu': 1})
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Shrikumar et al. 2017, arXiv:1704.02685", "2 forwards, 1 gradient", "f(x) − f(baseline)"
    )
    baseline: InputBaselines = black

    def __post_init__(self) -> None:
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return (x − x⁰)·m for every sample: two forward passes, then the multipliers back to the input."""
        reference = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        label = replace(self, baseline=label_baseline(self.baseline))
        return attribute_in_batches(
            problem, run, label, lambda resolved, rows: _rescale_credit(resolved, rows, [reference]), forwards=1
        )


@dataclass(frozen=True)
class DeepSHAP:
    """DeepLIFT averaged over several baselines: the credit sums to f(x) − mean f(x⁰).

    Lundberg & Lee (2017, arXiv:1705.07874) take samples of the training data as baselines and fix no number of them:
    pass your own as `DeepSHAP(tuple(background.split(1)))`. The default is black, white, uniform and Gaussian noise,
    which need no data; noise is drawn from the run's seed.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    >>> result = samp.explain(model, torch.rand(2, 3), method=DeepSHAP(("black", 0.5)))
    >>> bool(result.residual.abs().max() < 1e-5)
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Lundberg & Lee 2017, arXiv:1705.07874", "2 forwards, 1 gradient per baseline", "f(x) − mean f(baseline)"
    )
    baselines: Sequence[InputBaselines] = ("black", "white", "uniform", "gaussian")

    def __post_init__(self) -> None:
        if not isinstance(self.baselines, tuple | list) or not self.baselines:
            raise ValueError(f"baselines is a tuple of at least one baseline, not {self.baselines!r}.")
        object.__setattr__(self, "baselines", wrap_tensors(tuple(self.baselines)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean of DeepLIFT against each baseline, for every sample."""
        references = [problem.flatten(evaluate_baseline(one, problem.inputs, run.seed)) for one in self.baselines]
        label = replace(self, baselines=tuple(map(label_baseline, self.baselines)))
        count = len(references)

        def work(resolved: Problem, samples: Tensor) -> tuple[Rows, Propagation]:
            return _rescale_credit(resolved, samples, references)

        return attribute_in_batches(problem, run, label, work, gradients=count, forwards=count)


def _rescale_credit(problem: Problem, samples: Tensor, references: Sequence[Tensor]) -> tuple[Rows, Propagation]:
    """Return credit and score change of these samples, averaged over the references (each b n), and the last mode."""
    values, changes = [], []
    for reference in references:
        mode = Rescale()
        x, start = problem.x[samples], reference[samples]
        low = forward(mode, problem, start, samples)[0].detach()
        mode.compare()
        score, leaf = forward(mode, problem, x, samples)
        mode.finish()
        values.append((x - start) * backward(score, leaf))
        _check_sum(values[-1], score.detach(), low)
        changes.append((score.detach() - low).to(x.dtype))
    return {"values": torch.stack(values).mean(0), "change": torch.stack(changes).mean(0)}, mode


def _check_sum(values: Tensor, score: Tensor, low: Tensor) -> None:
    """Raise ValueError if rounding has eaten the rule's exact sum, score − low, of finite rows.

    Multipliers grow without bound where a normalisation divides by almost nothing, as it does for a baseline of zeros.
    """
    change = (score - low).to(values)
    size = torch.stack([score.abs(), low.abs()]).amax(0).to(values)
    gap = (change - values.sum(1)).abs()
    allowed = max(ROUNDING, 64 * torch.finfo(score.dtype).eps) * size
    wrong = (gap > allowed) & size.isfinite() & values.isfinite().all(1)
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"DeepLIFT's credit sums to {float(values[row].sum()):.3g}, but the score changes by "
            f"{float(change[row]):.3g}: its multipliers lost all precision, most likely where a normalisation divides "
            "by almost 0 at the baseline, or the model gives another score at every call. Use another baseline, the "
            "model in float64, or a path method such as 'ig'."
        )


class Rescale(Propagation):
    """The rescale rule in two forward passes.

    The first, of the baseline, records the inputs of each nonlinear operation. `compare` announces the second, of the
    image, in which each nonlinear operation gets its multipliers. `finish` checks that both ran the same operations.
    """

    def __init__(self) -> None:
        super().__init__("DeepLIFT")
        self.tape: list[tuple[str, list[Tensor]]] = []
        self.comparing = False

    def compare(self) -> None:
        """Start comparing: the next forward pass is the image's."""
        self.comparing = True
        self.tape.reverse()
        self.rule_counts.clear()
        self.gradient_counts.clear()

    def finish(self) -> None:
        """Raise NotImplementedError if the baseline went through operations that the image did not."""
        if self.tape:
            raise self._divergence_error("nothing", self.tape[-1][0])

    def _divergence_error(self, image: str, baseline: str) -> NotImplementedError:
        return NotImplementedError(
            "DeepLIFT compares image and baseline operation by operation, but the model's way depends on its input "
            f"({image} for the image, {baseline} for the baseline): use a path method such as 'ig'."
        )

    def _record_or_apply(self, call: Call, rule: Callable[[Call, Sequence[Tensor]], Forward]) -> object:
        if not self.comparing:
            self.tape.append((call.name, [x.detach().clone() for x in call.inputs]))
            return call.run()
        return self.use_rule(call, rule(call, self._next_references(call.name, call.inputs)))

    def _next_references(self, name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the baseline's tensors at this operation; raise NotImplementedError if it is not the baseline's."""
        recorded, references = self.tape.pop() if self.tape else ("nothing", [])
        if recorded != name or [r.shape for r in references] != [x.shape for x in tensors]:
            raise self._divergence_error(name, recorded)
        return references

    def dispatch(self, call: Call) -> object:
        """Return the operation's result by its rule, or by the mask rule if a detached argument is not the baseline's.

        Raises NotImplementedError where the detached argument is not a mask that the rule covers.
        """
        masks = [value for value in call.flat_args if self.tracker.is_detached(value)]
        if not masks:
            return super().dispatch(call)
        source = self.tracker.source(masks[0])
        tensors = [*call.inputs, *masks, *([] if source is None else [source])]
        name = f"{call.name} by a mask"
        if not self.comparing:
            self.tape.append((name, [x.detach().clone() for x in tensors]))
            return super().dispatch(call)
        references = self._next_references(name, tensors)
        if all(map(torch.equal, masks, references[len(call.inputs) :])):
            return super().dispatch(call)
        return self._apply_mask_rule(call, masks, source, references)

    def _apply_mask_rule(
        self, call: Call, masks: Sequence[Tensor], source: Tensor | None, references: Sequence[Tensor]
    ) -> Tensor:
        """Return the result by the rule for one mask that differs from the baseline's and comes from this source."""
        if len(masks) > 1 or source is None or KINDS.get(call.name) not in ("multiply", "mask"):
            raise self._mask_error(call)
        position = next(position for position, value in enumerate(call.flat_args) if value is masks[0])
        *inputs, mask, source_before = references
        self.rule_counts[call.name] += 1
        try:
            return apply_rule(MaskRule(call, position, inputs, mask, source_before), *call.inputs, source)
        except ValueError as error:
            raise self._mask_error(call) from error

    def _mask_error(self, call: Call) -> NotImplementedError:
        return self.no_rule_error(
            call.name, " with a mask, an index or a number that depends on the input and has no gradient"
        )

    def _apply_to_one(self, call: Call, rule: Callable[[Call, Tensor], Forward]) -> object:
        if len(call.inputs) != 1:
            raise self.no_rule_error(call.name, " of several inputs")
        return self._record_or_apply(call, lambda call, references: rule(call, references[0]))

    on_sum = on_add = on_scale = on_batch_norm = Propagation.use_gradient

    def on_linear(self, call: Call) -> object:
        """Linear where one factor is constant, a product where both depend on the input."""
        if len(call.inputs) == 1:
            return self.use_gradient(call)
        if len(call.inputs) > 2:
            raise self.no_rule_error(call.name, " of three inputs")
        return self._record_or_apply(call, multipliers.product)

    on_multiply = on_linear

    def on_elementwise(self, call: Call) -> object:
        return self._apply_to_one(call, multipliers.secant)

    def on_maximum(self, call: Call) -> object:
        if call.args_and_kwargs[1].get("return_indices"):
            raise self.no_rule_error(call.name, " with indices")
        return self._apply_to_one(call, multipliers.max_pool)

    def on_softmax(self, call: Call) -> object:
        return self._apply_to_one(call, multipliers.softmax)

    def on_log_softmax(self, call: Call) -> object:
        return self._apply_to_one(call, multipliers.log_softmax)

    def on_divide(self, call: Call) -> object:
        """Run x / y as x times 1/y."""
        (x, y), _ = call.args_and_kwargs
        x, y = (y, x) if call.name == "rdiv" else (x, y)
        if not (isinstance(y, Tensor) and y.requires_grad):
            return self.use_gradient(call)
        with self:
            return torch.mul(y.reciprocal(), x)

    def on_layer_norm(self, call: Call) -> object:
        """Run the operations of (x − mean) / √(variance + eps) one by one."""
        with self:
            return composites.layer_norm(call)

    def on_group_norm(self, call: Call) -> object:
        """Run it as the layer normalisation of each group of channels."""
        with self:
            return composites.group_norm(call)

    def on_rms_norm(self, call: Call) -> object:
        """Run the operations of x / √(mean square + eps) one by one."""
        with self:
            return composites.rms_norm(call)

    def on_attention(self, call: Call) -> object:
        """Run scaled dot-product attention as its two products and soft-max."""
        with self:
            return composites.attend(call)
