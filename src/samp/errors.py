"""`NonFiniteError`, which every method raises for a score, gradient or credit that is NaN or Inf."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from samp.attribution import Attribution


class NonFiniteError(ValueError):
    """A score, gradient or credit is NaN or Inf; `result` holds all samples, with NaN for those that failed.

    >>> import samp
    >>> try:
    ...     samp.explain(lambda x: x.log().sum(1), torch.tensor([[1.0], [-1.0]]), method=samp.IG(baseline=2.0))
    ... except NonFiniteError as error:
    ...     print(error.result.values.isnan().tolist())
    [[False], [True]]
    """

    def __init__(self, message: str, result: Attribution) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[NonFiniteError], tuple[str, Attribution]]:
        return type(self), (str(self), self.result)  # pickled with its result, to pass from a worker


def non_finite_error(result: Attribution, failed: Tensor) -> NonFiniteError:
    """Return the error for samples (b) whose score or credit is not finite, with NaN for their credit in its result."""
    numbers = failed.nonzero().squeeze(1).tolist()
    return NonFiniteError(
        f"score or credit turned NaN or Inf in samples {numbers} ({result.method}): try float32 or float64 inputs, "
        "another baseline or another method; all other samples are in this error's .result.",
        _mask_failed(result, failed),
    )


def _mask_failed(result: Attribution, failed: Tensor) -> Attribution:
    """Return the result with NaN for all credit of the samples that failed."""

    def mask(values: Tensor) -> Tensor:
        rows = failed.to(values.device).view(-1, *[1] * (values.ndim - 1))
        return values.masked_fill(rows, torch.nan)

    values = result.values
    return replace(
        result,
        values=mask(values) if isinstance(values, Tensor) else tuple(map(mask, values)),
        group_values=mask(result.group_values),
    )
