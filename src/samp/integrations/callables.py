"""Models of other frameworks: functions of NumPy arrays that give scores and gradients become models to explain.

Three forms, each of which is wrapped by one class: `ValueAndGradient` (scores and their gradients), `OutputAndVJP`
(any output, and its vector–Jacobian product, as `jax.vjp` and TensorFlow's tapes have it) and `CallModelFunction` (the
convention of PAIR's package saliency). Torch sees one operation, so path and perturbation methods work as with any
model; methods that look inside a net (CAM, DeepLIFT, LRP) refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

Array = NDArray[Any]
Pullback = Callable[[Array], Array]
# The names that saliency gives to these entries, as strings: the package itself is not needed.
GRADIENTS, VALUES = "INPUT_OUTPUT_GRADIENTS", "OUTPUT_LAYER_VALUES"


@dataclass(frozen=True, eq=False)
class ValueAndGradient:
    """The model of a function `x -> (scores, gradients)` of arrays: each sample's score (b) and its gradient (b *d).

    - `function`: gets the inputs as an array of their dtype, b *d.
    - `value`: a cheaper function `x -> scores`, for calls that need no gradient.
    - `channels_last`: the function takes images as b h w c, where samp has b c h w.

    The class to explain is the function's own affair: there is one score per sample, so leave `target` out.

    >>> import samp
    >>> weights = np.array([1.0, -2.0, 3.0])
    >>> model = ValueAndGradient(lambda x: (x**2 @ weights, 2 * x * weights))
    >>> samp.explain(model, np.array([[1.0, 1.0, 2.0]]), method=samp.IG(steps=200)).values.round(decimals=2)
    tensor([[ 1., -2., 12.]], dtype=torch.float64)
    """

    function: Callable[[Array], tuple[Any, Any]]
    value: Callable[[Array], Any] | None = None
    channels_last: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        """Return the scores of these inputs (b); raise TypeError or ValueError for what are no scores and gradients."""
        return _evaluate(x, self.channels_last, self._pull, _scorer(self.value))

    def _pull(self, x: Array) -> tuple[Any, Pullback]:
        found = self.function(x)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise TypeError(
                f"{_name(self.function)} gave {type(found).__name__}, not a pair (scores, gradients): return both, "
                "with shapes (b,) and that of x."
            )
        scores, gradients = found
        return _check_scores(scores, x, self.function), _scale_rows(_check_gradients(gradients, x, self.function))


@dataclass(frozen=True, eq=False)
class OutputAndVJP:
    """The model of a function `x -> (output, vjp)` of arrays, whose output may have any shape b …, such as b classes.

    `vjp(weights)` returns the gradient by x (b *d) of the sum of `weights` × output, alone or in a tuple of one, as
    `jax.vjp` does. Every `target` of samp works. `output` is a cheaper function `x -> output` for calls that need no
    gradient; `channels_last` is as in `ValueAndGradient`.

    >>> import samp
    >>> weights = np.random.default_rng(0).normal(size=(3, 4))
    >>> model = OutputAndVJP(lambda x: (x @ weights, lambda weight: weight @ weights.T))
    >>> result = samp.explain(model, np.ones((1, 3)), target=samp.Margin(2, against=0), method="ig")
    >>> np.allclose(result.values[0], weights[:, 2] - weights[:, 0])
    True
    """

    function: Callable[[Array], tuple[Any, Callable[..., Any]]]
    output: Callable[[Array], Any] | None = None
    channels_last: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs of these inputs (b …); raise TypeError or ValueError for what are none."""
        return _evaluate(x, self.channels_last, self._pull, self.output)

    def _pull(self, x: Array) -> tuple[Any, Pullback]:
        found = self.function(x)
        if not isinstance(found, tuple | list) or len(found) != 2 or not callable(found[1]):
            raise TypeError(
                f"{_name(self.function)} gave {type(found).__name__}, not a pair (output, vjp): return both."
            )
        output, vjp = found

        def pull(weights: Array) -> Array:
            gradient = vjp(weights)
            gradient = gradient[0] if isinstance(gradient, tuple | list) and len(gradient) == 1 else gradient
            return _check_gradients(gradient, x, vjp)

        return output, pull


@dataclass(frozen=True, eq=False)
class CallModelFunction:
    """The model of a `call_model_function(x_batch, call_model_args, expected_keys)` as in PAIR's package saliency.

    - `args`: its `call_model_args`, in which such functions keep the class, for example.
    - `scores`: a function `x_batch -> scores`. Needed unless `function` returns "OUTPUT_LAYER_VALUES" (b) when asked
      for it beside "INPUT_OUTPUT_GRADIENTS": gradients alone do not say what the credit should sum to.
    - `channels_last`: images are b h w c there, as is usual, and b c h w here.

    >>> import samp
    >>> def call_model(x_batch, call_model_args=None, expected_keys=None):
    ...     return {"INPUT_OUTPUT_GRADIENTS": 2 * x_batch, "OUTPUT_LAYER_VALUES": (x_batch**2).sum((1, 2, 3))}
    >>> samp.explain(CallModelFunction(call_model), torch.full((1, 3, 2, 2), 0.5), method="ig").map.round(decimals=2)
    tensor([[[0.7500, 0.7500],
             [0.7500, 0.7500]]])
    """

    function: Callable[..., Any]
    args: Any = None
    scores: Callable[[Array], Any] | None = None
    channels_last: bool = True

    def __call__(self, x: Tensor) -> Tensor:
        """Return the scores of these inputs (b); raise TypeError or ValueError if the function gives other things."""
        return _evaluate(x, self.channels_last, self._pull, _scorer(self.scores))

    def _pull(self, x: Array) -> tuple[Any, Pullback]:
        keys = [GRADIENTS] if self.scores is not None else [GRADIENTS, VALUES]
        found = self.function(x, call_model_args=self.args, expected_keys=keys)
        if not isinstance(found, Mapping) or any(found.get(key) is None for key in keys):
            came = f"a dict with {sorted(map(str, found))}" if isinstance(found, Mapping) else type(found).__name__
            raise ValueError(
                f"{_name(self.function)} gave {came}, but was asked for {keys}: return these, or pass scores=, a "
                "function x_batch -> scores, if it gives gradients only."
            )
        scores = found[VALUES] if self.scores is None else self.scores(x)
        whose = self.function if self.scores is None else self.scores
        return _check_scores(scores, x, whose), _scale_rows(_check_gradients(found[GRADIENTS], x, self.function))


class ForeignModel(torch.autograd.Function):
    """One operation for torch: the output of foreign code, and its gradient by the pullback that came with it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pull: Callable[[Array], tuple[Any, Pullback]]) -> Tensor:
        output, ctx.pullback = pull(_as_array(x))
        ctx.like = x.new_empty(0)  # its dtype and device
        return _as_tensor(output, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor, None]:
        gradient: Array = ctx.pullback(_as_array(weights))
        return _as_tensor(gradient, ctx.like), None


def _evaluate(
    x: Tensor,
    channels_last: bool,
    pull: Callable[[Array], tuple[Any, Pullback]],
    value: Callable[[Array], Any] | None,
) -> Tensor:
    """Return the output of foreign code for these inputs, connected to them if gradients are wanted."""
    if channels_last and x.ndim != 4:
        raise ValueError(f"channels_last is about images b c h w, but the input has {tuple(x.shape)}: leave it out.")
    x = x.movedim(1, -1) if channels_last else x
    if not (torch.is_grad_enabled() and x.requires_grad) and value is not None:
        return _check_batch(_as_tensor(value(_as_array(x)), x), x)
    output: Tensor = ForeignModel.apply(x, pull)  # type: ignore[no-untyped-call]  # of torch
    return _check_batch(output, x)


def _scorer(function: Callable[[Array], Any] | None) -> Callable[[Array], Any] | None:
    """Return the function with its scores checked (b), or None for None."""
    return None if function is None else lambda x: _check_scores(function(x), x, function)


def _check_batch(output: Tensor, x: Tensor) -> Tensor:
    if not output.ndim or len(output) != len(x):
        raise ValueError(f"the function gave shape {tuple(output.shape)} for {len(x)} samples: axis 0 is the batch.")
    return output


def _check_scores(scores: Any, x: Array, function: Any) -> Array:
    """Return the scores (b); raise ValueError for another shape."""
    array = np.asarray(scores)
    if array.size != len(x) or (array.ndim and len(array) != len(x)):
        raise ValueError(
            f"{_name(function)} gave scores of shape {array.shape} for {len(x)} samples: return one for each, (b,), "
            "that of the class to explain. To choose among classes later, take samp.callables.OutputAndVJP."
        )
    return array.reshape(len(x))


def _check_gradients(gradients: Any, x: Array, function: Any) -> Array:
    """Return the gradients (b *d); raise ValueError unless they have the shape of x."""
    array = np.asarray(gradients)
    if array.shape != x.shape:
        raise ValueError(
            f"{_name(function)} gave gradients of shape {array.shape} for x of {x.shape}: return that shape."
        )
    return array


def _scale_rows(gradients: Array) -> Pullback:
    """Return the vector–Jacobian product of scores that depend on their own sample only."""
    return lambda weights: gradients * weights.reshape(-1, *[1] * (gradients.ndim - 1))


def _as_array(x: Tensor) -> Array:
    """Return a copy as an array, which the function may change; bfloat16, which NumPy lacks, as float32."""
    detached = x.detach().cpu()
    array: Array = (detached.float() if x.dtype == torch.bfloat16 else detached).contiguous().numpy().copy()
    return array


def _as_tensor(array: Any, like: Tensor) -> Tensor:
    """Return a tensor of a copy: the function may use its array again."""
    return torch.from_numpy(np.array(array, order="C")).to(like.device, like.dtype)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__name__)
