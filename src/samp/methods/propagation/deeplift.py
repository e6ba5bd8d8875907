"""DeepLIFT with the rescale rule (Shrikumar et al., 2017), and Deep SHAP (Lundberg & Lee, 2017).

The baseline goes through the model first, and each operation without a constant slope notes what it saw; then the
image follows, and each such operation's multiplier is Δout / Δin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import black, evaluate_baseline, label_baseline, wrap_tensors
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods.propagation import rescale
from samp.methods.propagation.calls import Call, Forward, apply_rule
from samp.methods.propagation.masks import Switch
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.operations import KINDS
from samp.methods.propagation.passes import Rows, attribute_in_batches, backward, forward


@dataclass(frozen=True)
class DeepLIFT:
    """m = Δout / Δin at every nonlinearity, chained back: the credit (x − x⁰)·m sums to f(x) − f(x⁰).

    The rescale rule of Shrikumar et al. (2017, arXiv:1704.02685). Max pooling gives Δout to the place of the larger
    maximum, a product of two inputs is shared by the symmetric rule (each factor times the other's mean), soft-max
    and layer normalisation are taken as their parts, and what a mask such as `x > 0` decides in a product, a
    `masked_fill` or a `where` goes to x: all of it complete, up to rounding. Other numbers, masks and indices that
    differ between image and baseline without a gradient to say so are refused. Published default: none for the
    baseline of photos; black (0) here, as in their MNIST study.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    >>> result = samp.explain(model, torch.rand(2, 3), method=DeepLIFT())
    >>> bool(result.residual.abs().max() < 1e-5), result.details["operations"]["by rule"]
    (True, {'relu': 1})
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Shrikumar et al. 2017, arXiv:1704.02685", "2 forwards, 1 gradient", "f(x) − f(baseline)"
    )
    baseline: Any = black

    def __post_init__(self) -> None:
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Baseline and image of every sample forward, multipliers back."""
        reference = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        shown = replace(self, baseline=label_baseline(self.baseline))
        return attribute_in_batches(
            problem, run, shown, lambda settled, rows: _rescale_credit(settled, rows, [reference]), forwards=1
        )


@dataclass(frozen=True)
class DeepSHAP:
    """DeepLIFT averaged over several baselines: the credit sums to f(x) − mean f(x⁰).

    Lundberg & Lee (2017, arXiv:1705.07874) take samples of the training data as baselines and fix no number of them:
    pass your own as `DeepSHAP(tuple(background.split(1)))`. By default black, white, uniform and Gaussian noise, which
    need no data; noise is drawn from the run's seed.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    >>> result = samp.explain(model, torch.rand(2, 3), method=DeepSHAP(("black", 0.5)))
    >>> bool(result.residual.abs().max() < 1e-5)
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Lundberg & Lee 2017, arXiv:1705.07874", "2 forwards, 1 gradient per baseline", "f(x) − mean f(baseline)"
    )
    baselines: Sequence[Any] = ("black", "white", "uniform", "gaussian")

    def __post_init__(self) -> None:
        if not isinstance(self.baselines, tuple | list) or not self.baselines:
            raise ValueError(f"baselines is a tuple of at least one baseline, not {self.baselines!r}.")
        object.__setattr__(self, "baselines", wrap_tensors(tuple(self.baselines)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """DeepLIFT against each baseline, averaged."""
        references = [problem.flatten(evaluate_baseline(one, problem.inputs, run.seed)) for one in self.baselines]
        shown = replace(self, baselines=tuple(map(label_baseline, self.baselines)))
        work = lambda settled, rows: _rescale_credit(settled, rows, references)  # noqa: E731  # one line reads better here
        return attribute_in_batches(problem, run, shown, work, gradients=len(references), forwards=len(references))


def _rescale_credit(problem: Problem, samples: Tensor, references: Sequence[Tensor]) -> tuple[Rows, Propagation]:
    """Credit and score change of these samples, averaged over the references (each b n)."""
    values, changes = [], []
    for reference in references:
        mode = Rescale()
        x, start = problem.x[samples], reference[samples]
        low = forward(mode, problem, start, samples)[0].detach()
        mode.compare()
        score, leaf = forward(mode, problem, x, samples)
        mode.finish()
        values.append((x - start) * backward(score, leaf))
        changes.append((score.detach() - low).to(x.dtype))
    return {"values": torch.stack(values).mean(0), "change": torch.stack(changes).mean(0)}, mode


class Rescale(Propagation):
    """First forward: note what each nonlinear operation sees. After `compare`: give it its multipliers."""

    def __init__(self) -> None:
        super().__init__("DeepLIFT")
        self.tape: list[tuple[str, list[Tensor]]] = []
        self.comparing = False

    def compare(self) -> None:
        """The next forward is the image's."""
        self.comparing = True
        self.tape.reverse()
        self.rule_counts.clear()
        self.gradient_counts.clear()

    def finish(self) -> None:
        """The image must have been through all that the baseline was."""
        if self.tape:
            raise self._divergence_error("nothing", self.tape[-1][0])

    def _divergence_error(self, image: str, baseline: str) -> NotImplementedError:
        return NotImplementedError(
            "DeepLIFT compares image and baseline operation by operation, but the model's way depends on its input "
            f"({image} for the image, {baseline} for the baseline): use a path method such as 'ig'."
        )

    def _record_or_apply(self, call: Call, rule: Callable[[Call, Sequence[Tensor]], Forward]) -> Any:
        if not self.comparing:
            self.tape.append((call.name, [x.detach().clone() for x in call.inputs]))
            return call.native()
        return self.by_rule(call, rule(call, self._baselines(call.name, call.inputs)))

    def _baselines(self, name: str, seen: Sequence[Tensor]) -> list[Tensor]:
        """What the baseline had at this point, where the image has these tensors."""
        before, references = self.tape.pop() if self.tape else ("nothing", [])
        if before != name or [r.shape for r in references] != [x.shape for x in seen]:
            raise self._divergence_error(name, before)
        return references

    def treat(self, call: Call) -> Any:
        """An operation by its rule, as long as all that it takes without a gradient is the same for the baseline."""
        places = [place for place, leaf in enumerate(call.leaves) if self.sight.is_answer(leaf)]
        if not places:
            return super().treat(call)
        seen = [*call.inputs, *(call.leaves[place] for place in places)]
        source = self.sight.source(call.leaves[places[0]])
        seen += [] if source is None else [source]
        name = f"{call.name} by a mask"
        if not self.comparing:
            self.tape.append((name, [x.detach().clone() for x in seen]))
            return super().treat(call)
        references = self._baselines(name, seen)
        if all(map(torch.equal, seen[len(call.inputs) :][: len(places)], references[len(call.inputs) :])):
            return super().treat(call)
        return self._apply_switch(call, places, source, references)

    def _apply_switch(
        self, call: Call, places: Sequence[int], source: Tensor | None, references: Sequence[Tensor]
    ) -> Any:
        """By the rule for one mask that is not the baseline's, and was read off this source."""
        if len(places) > 1 or source is None or KINDS.get(call.name) not in ("multiply", "mask"):
            raise self._mask_refusal(call)
        *inputs, mask, before = references
        self.rule_counts[call.name] += 1
        try:
            return apply_rule(Switch(call, places[0], inputs, mask, before), *call.inputs, source)
        except ValueError as error:
            raise self._mask_refusal(call) from error

    def _mask_refusal(self, call: Call) -> NotImplementedError:
        return self.refusal(
            call.name, " with a mask, an index or a number that depends on the input and has no gradient"
        )

    def _apply_to_one(self, call: Call, rule: Callable[[Call, Tensor], Forward]) -> Any:
        if len(call.inputs) != 1:
            raise self.refusal(call.name, " of several inputs")
        return self._record_or_apply(call, lambda call, references: rule(call, references[0]))

    on_sum = on_add = on_scale = on_batch_norm = Propagation.by_gradient

    def on_linear(self, call: Call) -> Any:
        """Linear where one factor is constant, a product where both depend on the input."""
        if len(call.inputs) == 1:
            return self.by_gradient(call)
        if len(call.inputs) > 2:
            raise self.refusal(call.name, " of three inputs")
        return self._record_or_apply(call, rescale.symmetric)

    on_multiply = on_linear

    def on_elementwise(self, call: Call) -> Any:
        return self._apply_to_one(call, rescale.secant)

    def on_maximum(self, call: Call) -> Any:
        if call.args[1].get("return_indices"):
            raise self.refusal(call.name, " with indices")
        return self._apply_to_one(call, rescale.winner)

    def on_softmax(self, call: Call) -> Any:
        return self._apply_to_one(call, rescale.softmax)

    def on_log_softmax(self, call: Call) -> Any:
        return self._apply_to_one(call, rescale.log_softmax)

    def on_divide(self, call: Call) -> Any:
        """x / y is x times 1/y."""
        (x, y), _ = call.args
        x, y = (y, x) if call.name == "rdiv" else (x, y)
        if not (isinstance(y, Tensor) and y.requires_grad):
            return self.by_gradient(call)
        with self:
            return torch.mul(y.reciprocal(), x)

    def on_layer_norm(self, call: Call) -> Any:
        """(x − mean) / √(variance + eps), in these operations."""
        (x,) = call.inputs
        shape, weight, bias = (call.argument(*a) for a in ((1, "normalized_shape"), (2, "weight"), (3, "bias")))
        with self:
            return _affine(_standard(x, len(shape), call.argument(4, "eps", 1e-5)), weight, bias)

    def on_group_norm(self, call: Call) -> Any:
        """Layer normalisation of each group of channels."""
        (x,) = call.inputs
        groups, weight, bias = (call.argument(*a) for a in ((1, "num_groups"), (2, "weight"), (3, "bias")))
        channels = (-1, *[1] * (x.ndim - 2))
        with self:
            standard = _standard(x.reshape(len(x), groups, -1), 1, call.argument(4, "eps", 1e-5)).view_as(x)
            return _affine(standard, *(None if t is None else t.view(channels) for t in (weight, bias)))

    def on_attention(self, call: Call) -> Any:
        """Scaled dot-product attention as its two products and soft-max."""
        (query, key, value, *_), named = call.args
        mask, scale = call.argument(3, "attn_mask"), named.get("scale")
        if call.argument(4, "dropout_p", 0.0) or call.argument(5, "is_causal", False) or named.get("enable_gqa"):
            raise self.refusal(call.name, " with dropout, is_causal or enable_gqa (pass a mask)")
        with self:
            scores = (query @ key.transpose(-2, -1)) * (scale or 1 / math.sqrt(query.shape[-1]))
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
            return scores.softmax(-1) @ value


def _standard(x: Tensor, axes: int, eps: float) -> Tensor:
    """With mean 0 and variance 1 over the last axes."""
    last = tuple(range(-axes, 0))
    centred = x - x.mean(last, keepdim=True)
    return centred * (centred.square().mean(last, keepdim=True) + eps).rsqrt()


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    scaled = x if weight is None else x * weight
    return scaled if bias is None else scaled + bias
