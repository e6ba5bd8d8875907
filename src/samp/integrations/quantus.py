"""samp as an `explain_func` of Quantus, which passes NumPy arrays and expects them back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from samp.engine.batches import BatchSize
from samp.explain import explain as explain_tensors
from samp.groups import Groups
from samp.methods import Method
from samp.targets import Model


def explain(
    model: Model,
    inputs: NDArray[Any],
    targets: Any = None,
    *,
    method: str | Method | None = None,
    device: torch.device | str | None = None,
    groups: Groups | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    **_: Any,
) -> NDArray[Any]:
    """An `explain_func` for Quantus: return one map per image, b 1 h w; for any other input, values of its shape.

    - `targets`: one class per sample, or one for all; `None` explains the predicted class.
    - `method`: a name, in upper or lower case, or an object as in `samp.explain`; its default if missing or empty.
      Quantus' `evaluate` passes its label of the function here, so use "consensus", "samp++" or "ig" as labels.
    - `device`: the device of the inputs if the model has no parameters; else they get the model's device and dtype. The
      model itself is neither moved nor switched to evaluation mode.
    - `groups`, `batch_size`, `seed`: as in `samp.explain`. Other keywords that Quantus passes are ignored.

    >>> import numpy as np, samp
    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    >>> samp.quantus.explain(model=model, inputs=np.ones((2, 3, 4, 4)), targets=np.array([0, 4]), method="samp").shape
    (2, 1, 4, 4)
    """
    result = explain_tensors(
        model,
        _to_model(model, inputs, device),
        target=_to_tensor(targets) if isinstance(targets, np.ndarray | np.generic) else targets,
        method=method or "consensus",
        groups=groups,
        batch_size=batch_size,
        seed=seed,
    )
    maps = result.map[:, None] if np.ndim(inputs) == 4 else result.map
    return np.asarray(maps.cpu())


def _to_model(model: Any, inputs: NDArray[Any], device: torch.device | str | None) -> Tensor:
    """Return the inputs on the model's device, in its dtype: Quantus perturbs in float64, whatever the model takes."""
    x = _to_tensor(inputs)
    weights = [p for p in model.parameters() if p.is_floating_point()] if isinstance(model, nn.Module) else []
    if weights:
        return x.to(weights[0].device, weights[0].dtype)
    return x.to(device, x.dtype if x.is_floating_point() else torch.float32)


def _to_tensor(array: Any) -> Tensor:
    """Return a tensor of a copy, since torch takes neither read-only nor reversed arrays."""
    return torch.from_numpy(np.array(array, order="C"))
