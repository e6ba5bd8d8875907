"""Coupled, SAMP and SAMP++ as Captum knows methods: they take the place of `captum.attr.IntegratedGradients`.

They work unchanged inside Captum's `NoiseTunnel`, `sensitivity_max`, `infidelity` and `visualization`, which ask for
names and not for a base class, so Captum itself is not imported here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

from torch import Tensor

from samp import methods
from samp.attribution import Direction
from samp.engine.credit import Credit
from samp.engine.forward_args import per_sample_tensors
from samp.engine.inputs import Inputs
from samp.explain import explain
from samp.methods.coupled import Quality
from samp.targets import Target

__all__ = ["SAMP", "Coupled", "SAMPPlusPlus"]

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def _with_wrapped(attribute: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """`attribute` with a `__wrapped__`: Captum's methods have one from their logging, and NoiseTunnel calls that."""

    @functools.wraps(attribute)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        return attribute(*args, **kwargs)

    return call


@dataclass(frozen=True, eq=False)
class _DropIn:
    """What Captum asks of a method besides `attribute`, and what every `attribute` comes down to."""

    forward_func: Callable[..., Any]
    method: ClassVar[methods.SAMP | methods.Coupled]

    @property
    def multiplies_by_inputs(self) -> bool:
        """Credit is for the movement from the baseline, so these are global attributions in Captum's sense."""
        return True

    def has_convergence_delta(self) -> bool:
        """Whether `attribute` can return a delta: always."""
        return True

    def _attribute(
        self,
        inputs: Inputs,
        settings: dict[str, Any],
        *,
        baselines: Any,
        target: Target,
        forward_args: Any,
        batch_size: int | None,
        feature_mask: Tensor | tuple[Tensor, ...] | None,
        direction: Literal["both"] | Direction | None,
        with_delta: bool,
        seed: int,
        progress: bool,
    ) -> Any:
        """The credit of the method with these settings, and the delta if asked for; as `SAMP.attribute` says."""
        method = replace(
            self.method,
            direction=direction or ("both" if baselines is None else "to_image"),
            baseline=list(baselines) if isinstance(baselines, tuple) else baselines,
            **settings,
        )
        result = explain(
            self.forward_func,
            inputs,
            target=target,
            method=method,
            groups=feature_mask,
            forward_args=_read_forward_args(forward_args, inputs),
            batch_size="auto" if batch_size is None else batch_size,
            progress=progress,
            seed=seed,
        )
        attributions = _cast_like(inputs, result.values)
        return (attributions, -result.residual) if with_delta else attributions


@dataclass(frozen=True, eq=False)
class SAMP(_DropIn):
    """SAMP for Captum's users; `forward_func` is the model or any function of its inputs.

    >>> import torch, samp
    >>> model = torch.nn.Linear(4, 3).eval()
    >>> attributions, delta = samp.captum.SAMP(model).attribute(
    ...     torch.ones(2, 4), baselines=0.0, target=1, n_steps=2, return_convergence_delta=True
    ... )
    >>> torch.allclose(attributions, model.weight[1].expand(2, 4)), delta.abs().max().item() < 1e-5
    (True, True)
    """

    method: ClassVar[methods.SAMP | methods.Coupled] = methods.SAMP()

    @_with_wrapped
    def attribute(
        self,
        inputs: Inputs,
        baselines: Any = None,
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
        """The credit of every input element, in the shape, dtype and kind (tensor or tuple) of `inputs`.

        - `baselines`: a number, tensor (batch size 1 serves all samples), name or callable, or a tuple with one per
          input. With one given the walk goes from it to the input, so the credit aims at f(input) − f(baseline).
          Without, both directions are walked with the baselines of `samp.SAMP`, and their credits are summed.
          (`NoiseTunnel` turns an explicit `baselines=None` into 0: there, leave it out.)
        - `target`: as in Captum. `None` is the one score of outputs `(b,)` or `(b, 1)`; where there are several
          classes, each sample's predicted one, so name the class if noise could change it.
        - `additional_forward_args`: one further argument of the model, or a tuple of them. As in Captum axis 0 of a
          tensor is the batch; what all samples share is passed as `samp.ForAll(tensor)`.
        - `n_steps`: moves s = ⌈groups / n_steps⌉ groups per step; `None` leaves s as in `samp.SAMP`. The constraint
          of `eta` adds up to ⌈1 / eta⌉ steps.
        - `internal_batch_size`: how many walks the model is given at once; `None` finds a size that fits.
        - `return_convergence_delta`: return `(attributions, delta)`; `delta`, of shape `(b,)`, is the sum of the
          credit minus the change of the score, both directions together if both are walked.
        - `feature_mask`: integers that name the group of each element; batch size 1 serves all samples. `None` takes
          pixels for `b c h w` and single elements for all else.
        - `credit`, `eta`, `momentum`: as in `samp.SAMP`; "paper" stands for the published setting of this class.
        - `direction`: "to_image", "to_baseline" or "both", if not as `baselines` says.
        - `seed`, `progress`: as in `samp.explain`.
        """
        published = {"eta": eta, "momentum": momentum}
        settings: dict[str, Any] = {"steps": n_steps, "credit": credit}
        settings |= {name: value for name, value in published.items() if value != "paper"}
        return self._attribute(
            inputs,
            settings,
            baselines=baselines,
            target=target,
            forward_args=additional_forward_args,
            batch_size=internal_batch_size,
            feature_mask=feature_mask,
            direction=direction,
            with_delta=return_convergence_delta,
            seed=seed,
            progress=progress,
        )


@dataclass(frozen=True, eq=False)
class SAMPPlusPlus(SAMP):
    """SAMP++ for Captum's users: `SAMP` with η 0.1 and λ 0.5 where the call does not say otherwise.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> samp.captum.SAMPPlusPlus(model).attribute(torch.rand(2, 3, 4, 4), target=[0, 3]).shape
    torch.Size([2, 3, 4, 4])
    """

    method: ClassVar[methods.SAMP | methods.Coupled] = methods.SAMPPlusPlus()


@dataclass(frozen=True, eq=False)
class Coupled(_DropIn):
    """The coupled walk, samp's default, for Captum's users: its convergence delta is 0, up to rounding.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> attributions, delta = samp.captum.Coupled(model).attribute(
    ...     torch.rand(2, 3, 4, 4), target=1, quality="draft", return_convergence_delta=True
    ... )
    >>> attributions.shape, delta.abs().max().item() < 1e-5
    (torch.Size([2, 3, 4, 4]), True)
    """

    method: ClassVar[methods.SAMP | methods.Coupled] = methods.Coupled()

    @_with_wrapped
    def attribute(
        self,
        inputs: Inputs,
        baselines: Any = None,
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
        """The credit of every input element, in the shape, dtype and kind (tensor or tuple) of `inputs`.

        - `n_steps`, `quality`, `eta`, `momentum`, `growth`, `weight`: as in `samp.Coupled`, where `n_steps` is called
          `steps`; `None` is what `quality` says.
        - All else as in `SAMP.attribute`. With `baselines` given the walk goes one way, from them to the input; the
          strength of this method is to go both ways, so leave them out where black and blurred images serve.
        """
        return self._attribute(
            inputs,
            {
                "quality": quality,
                "steps": n_steps,
                "eta": eta,
                "momentum": momentum,
                "growth": growth,
                "weight": weight,
            },
            baselines=baselines,
            target=target,
            forward_args=additional_forward_args,
            batch_size=internal_batch_size,
            feature_mask=feature_mask,
            direction=direction,
            with_delta=return_convergence_delta,
            seed=seed,
            progress=progress,
        )


def _read_forward_args(forward_args: Any, inputs: Inputs) -> tuple[Any, ...]:
    """Captum's reading: only a tuple is several arguments, a list is one; axis 0 of a tensor is the batch."""
    if forward_args is None:
        return ()
    several = forward_args if isinstance(forward_args, tuple) else (forward_args,)
    first = inputs[0] if isinstance(inputs, tuple | list) and inputs else inputs
    return per_sample_tensors(several, len(first)) if isinstance(first, Tensor) and first.ndim else several


def _cast_like(inputs: Any, values: Tensor | tuple[Tensor, ...]) -> Inputs:
    """The credit in the dtype of its input; an array's is left as it is."""
    if isinstance(values, Tensor):
        return values.to(inputs.dtype) if isinstance(inputs, Tensor) else values
    pairs = zip(values, inputs, strict=True)
    return tuple(value.to(x.dtype) if isinstance(x, Tensor) else value for value, x in pairs)
