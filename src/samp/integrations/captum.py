"""Consensus, Coupled, SAMP and SAMP++ with the interface of Captum's methods, as `captum.attr.IntegratedGradients`.

They work inside Captum's `NoiseTunnel`, `sensitivity_max`, `infidelity` and `visualization`, which need methods of
certain names rather than a base class, so Captum itself is not imported here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

from torch import Tensor

from samp import methods
from samp.attribution import Attribution, Direction
from samp.baselines import Baseline
from samp.engine.credit import Credit
from samp.engine.forward_args import per_sample_tensors
from samp.engine.inputs import Inputs
from samp.explain import explain
from samp.methods.coupled import Quality
from samp.targets import Model, Target

__all__ = ["SAMP", "Consensus", "Coupled", "SAMPPlusPlus"]

Baselines = Baseline | tuple[Baseline, ...] | None
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Walking = methods.SAMP | methods.Coupled | methods.Consensus


def _with_wrapped(attribute: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return `attribute` with a `__wrapped__`, which `NoiseTunnel` calls: the logging of Captum's methods adds one."""

    @functools.wraps(attribute)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return attribute(*args, **kwargs)

    return call


@dataclass(frozen=True, eq=False)
class _CaptumMethod:
    """The attributes of a method that Captum uses besides `attribute`."""

    forward_func: Model
    method: ClassVar[Walking]

    @property
    def multiplies_by_inputs(self) -> bool:
        """True: credit is for the movement from the baseline, which Captum calls a global attribution."""
        return True

    def has_convergence_delta(self) -> bool:
        """Whether `attribute` can return a delta: always."""
        return True

    def _configure(
        self, baselines: Baselines, direction: Literal["both"] | Direction | None, **settings: Any
    ) -> Walking:
        """Return the method with these settings; with baselines given, it walks from them to the input by default."""
        return replace(
            self.method,
            direction=direction or ("both" if baselines is None else "to_image"),
            baseline=list(baselines) if isinstance(baselines, tuple) else baselines,
            **settings,
        )

    def _explain(
        self,
        inputs: Inputs,
        target: Target,
        method: Walking,
        feature_mask: Tensor | tuple[Tensor, ...] | None,
        additional_forward_args: Any,
        internal_batch_size: int | None,
        progress: bool,
        seed: int,
    ) -> Attribution:
        """Return samp's result for arguments of Captum."""
        return explain(
            self.forward_func,
            inputs,
            target=target,
            method=method,
            groups=feature_mask,
            forward_args=_read_forward_args(additional_forward_args, inputs),
            batch_size="auto" if internal_batch_size is None else internal_batch_size,
            progress=progress,
            seed=seed,
        )


@dataclass(frozen=True, eq=False)
class SAMP(_CaptumMethod):
    """SAMP as a method of Captum; `forward_func` is the model or any function of its inputs.

    >>> import torch, samp
    >>> model = torch.nn.Linear(4, 3).eval()
    >>> attributions, delta = samp.captum.SAMP(model).attribute(
    ...     torch.ones(2, 4), baselines=0.0, target=1, n_steps=2, return_convergence_delta=True
    ... )
    >>> torch.allclose(attributions, model.weight[1].expand(2, 4)), delta.abs().max().item() < 1e-5
    (True, True)
    """

    method: ClassVar[Walking] = methods.SAMP()

    @_with_wrapped
    def attribute(
        self,
        inputs: Inputs,
        baselines: Baselines = None,
        target: Target = None,
        additional_forward_args: Any = None,
        n_steps: int | None = None,
        internal_batch_size: int | None = None,
        return_convergence_delta: bool = False,
        *,
        feature_mask: Tensor | tuple[Tensor, ...] | None = None,
        credit: str | Credit = "momentum",
        eta: float | Literal["paper"] | None = "paper",
        momentum: float | Literal["paper"] = "paper",
        direction: Literal["both"] | Direction | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> Any:
        """Return the credit of every input element, in the shape, dtype and kind (tensor or tuple) of `inputs`.

        - `baselines`: a number, tensor (batch size 1 serves all samples), name or callable, or a tuple with one per
          input. The walk then leads from there to the input, so the credit approximates f(input) − f(baseline).
          Without, both directions are walked with the baselines of `samp.SAMP`, and their credits are summed.
          (`NoiseTunnel` turns an explicit `baselines=None` into 0: there, leave it out.)
        - `target`: as in Captum. `None` is the one score of outputs `(b,)` or `(b, 1)`; if there are several classes,
          each sample's predicted one, so name the class if noise could change it.
        - `additional_forward_args`: one further argument of the model, or a tuple of them. As in Captum, axis 0 of a
          tensor is the batch; a tensor that all samples share is passed as `samp.ForAll(tensor)`.
        - `n_steps`: moves s = ⌈groups / n_steps⌉ groups per step; `None` leaves s as in `samp.SAMP`. The constraint
          of `eta` adds up to ⌈1 / eta⌉ steps.
        - `internal_batch_size`: how many walks the model is given at once; `None` finds a size that fits.
        - `return_convergence_delta`: return `(attributions, delta)`; `delta`, of shape `(b,)`, is the sum of the
          credit minus the change of the score, both directions together if both are walked.
        - `feature_mask`: integers that name the group of each element; batch size 1 serves all samples. `None` takes
          pixels for `b c h w` and single elements otherwise.
        - `credit`, `eta`, `momentum`: as in `samp.SAMP`; "paper" stands for the published setting of this class.
        - `direction`: "to_image", "to_baseline" or "both"; `None` follows from `baselines` as above.
        - `seed`, `progress`: as in `samp.explain`.
        """
        published = {"eta": eta, "momentum": momentum}
        chosen = {name: value for name, value in published.items() if value != "paper"}
        method = self._configure(baselines, direction, steps=n_steps, credit=credit, **chosen)
        shared = (feature_mask, additional_forward_args, internal_batch_size, progress, seed)
        return _to_captum(self._explain(inputs, target, method, *shared), inputs, return_convergence_delta)


@dataclass(frozen=True, eq=False)
class SAMPPlusPlus(SAMP):
    """SAMP++ as a method of Captum: `SAMP` with η 0.1 and λ 0.5 unless the call gives others.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> samp.captum.SAMPPlusPlus(model).attribute(torch.rand(2, 3, 4, 4), target=[0, 3]).shape
    torch.Size([2, 3, 4, 4])
    """

    method: ClassVar[Walking] = methods.SAMPPlusPlus()


@dataclass(frozen=True, eq=False)
class Consensus(_CaptumMethod):
    """The mean of several walks, samp's default, as a method of Captum: its convergence delta is 0 up to rounding.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> attributions, delta = samp.captum.Consensus(model).attribute(
    ...     torch.rand(2, 3, 4, 4), target=1, quality="draft", return_convergence_delta=True
    ... )
    >>> attributions.shape, delta.abs().max().item() < 1e-5
    (torch.Size([2, 3, 4, 4]), True)
    """

    method: ClassVar[Walking] = methods.Consensus()

    @_with_wrapped
    def attribute(
        self,
        inputs: Inputs,
        baselines: Baselines = None,
        target: Target = None,
        additional_forward_args: Any = None,
        n_steps: int | None = None,
        internal_batch_size: int | None = None,
        return_convergence_delta: bool = False,
        *,
        feature_mask: Tensor | tuple[Tensor, ...] | None = None,
        quality: Quality = "standard",
        walks: int | None = None,
        noise: float | None = None,
        softness: float | None = None,
        momentum: float | None = None,
        growth: float | None = None,
        weight: float | None = None,
        direction: Literal["both"] | Direction | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> Any:
        """Return the credit of every input element, in the shape, dtype and kind (tensor or tuple) of `inputs`.

        - `n_steps`, `quality`, `walks`, `noise`, `softness`, `momentum`, `growth`, `weight`: as in `samp.Consensus`,
          where `n_steps` is called `steps`; `None` takes the value of `quality`.
        - `seed`: of the noise as well.
        - All others as in `SAMP.attribute`. With `baselines` the walks lead one way only, from them to the input. This
          method gains from walking both ways, so leave them out if black and blurred images are good baselines.
        """
        own = {"walks": walks, "noise": noise, "softness": softness}
        own |= {"momentum": momentum, "growth": growth, "weight": weight}
        method = self._configure(baselines, direction, quality=quality, steps=n_steps, **own)
        shared = (feature_mask, additional_forward_args, internal_batch_size, progress, seed)
        return _to_captum(self._explain(inputs, target, method, *shared), inputs, return_convergence_delta)


@dataclass(frozen=True, eq=False)
class Coupled(_CaptumMethod):
    """The coupled walk as a method of Captum: its convergence delta is 0 up to rounding.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> attributions, delta = samp.captum.Coupled(model).attribute(
    ...     torch.rand(2, 3, 4, 4), target=1, quality="draft", return_convergence_delta=True
    ... )
    >>> attributions.shape, delta.abs().max().item() < 1e-5
    (torch.Size([2, 3, 4, 4]), True)
    """

    method: ClassVar[Walking] = methods.Coupled()

    @_with_wrapped
    def attribute(
        self,
        inputs: Inputs,
        baselines: Baselines = None,
        target: Target = None,
        additional_forward_args: Any = None,
        n_steps: int | None = None,
        internal_batch_size: int | None = None,
        return_convergence_delta: bool = False,
        *,
        feature_mask: Tensor | tuple[Tensor, ...] | None = None,
        quality: Quality = "standard",
        eta: float | None = None,
        momentum: float | None = None,
        growth: float | None = None,
        weight: float | None = None,
        direction: Literal["both"] | Direction | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> Any:
        """Return the credit of every input element, in the shape, dtype and kind (tensor or tuple) of `inputs`.

        - `n_steps`, `quality`, `eta`, `momentum`, `growth`, `weight`: as in `samp.Coupled`, where `n_steps` is called
          `steps`; `None` takes the value of `quality`.
        - All others as in `SAMP.attribute`. With `baselines` the walk leads one way only, from them to the input. This
          method gains from walking both ways, so leave them out if black and blurred images are good baselines.
        """
        walk = {"eta": eta, "momentum": momentum, "growth": growth, "weight": weight}
        method = self._configure(baselines, direction, quality=quality, steps=n_steps, **walk)
        shared = (feature_mask, additional_forward_args, internal_batch_size, progress, seed)
        return _to_captum(self._explain(inputs, target, method, *shared), inputs, return_convergence_delta)


def _read_forward_args(forward_args: Any, inputs: Inputs) -> tuple[Any, ...]:
    """Return further arguments as Captum reads them: only a tuple is several, and axis 0 of a tensor is the batch."""
    if forward_args is None:
        return ()
    several = forward_args if isinstance(forward_args, tuple) else (forward_args,)
    first = inputs[0] if isinstance(inputs, tuple | list) and inputs else inputs
    return per_sample_tensors(several, len(first)) if isinstance(first, Tensor) and first.ndim else several


def _to_captum(result: Attribution, inputs: Inputs, with_delta: bool) -> Any:
    """Return the attributions as Captum does, with their convergence delta (b) if `with_delta`."""
    attributions = _cast_like(inputs, result.values)
    return (attributions, -result.residual) if with_delta else attributions


def _cast_like(inputs: Any, values: Tensor | tuple[Tensor, ...]) -> Inputs:
    """Return the credit in the dtype of its input, if that is a tensor."""
    if isinstance(values, Tensor):
        return values.to(inputs.dtype) if isinstance(inputs, Tensor) else values
    pairs = zip(values, inputs, strict=True)
    return tuple(value.to(x.dtype) if isinstance(x, Tensor) else value for value, x in pairs)
