"""Which weights of a net still hold what a random initialisation wrote, observed while the net is made."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

RANDOM = ("uniform_", "normal_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_")
COPIES = ("to", "half", "bfloat16", "float", "double", "cuda", "clone", "contiguous")


class Initialisations(TorchFunctionMode):
    """Records, while active, which tensors random numbers are written into, and forgets those that are overwritten.

    Random numbers that are scaled or clipped are still random; those that another tensor is copied or added into are
    not. A write that the mode does not see (by a reader in C++) changes the tensor's version. The recorded tensors are
    kept alive, so that no other tensor can take their memory and be mistaken for them.

    >>> import torch
    >>> with Initialisations() as seen:
    ...     net, other = nn.Linear(2, 1), nn.Linear(2, 1)
    ...     _ = net.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)})
    >>> seen.find_random(net), seen.find_random(other)
    ([], ['weight', 'bias'])
    """

    def __init__(self) -> None:
        super().__init__()
        self._random: dict[int, tuple[Tensor, int]] = {}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Call the function and record what it wrote; torch calls this in place of every operation."""
        first, *others = (*args, *(kwargs or {}).values()) or (None,)
        random = self._is_random(first)  # before its version changes
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in COPIES and random:
            self._record(result)
        elif name.endswith("_") and not name.endswith("__"):  # written in place
            scaled = random and not any(isinstance(value, Tensor) for value in others)
            for tensor in first if isinstance(first, list | tuple) else [first]:
                self._random.pop(_address(tensor), None)
                if (scaled and name not in ("zero_", "fill_")) or name.endswith(RANDOM):
                    self._record(tensor)
        return result

    def find_random(self, net: nn.Module) -> list[str]:
        """Return the names of the parameters that a random initialisation wrote last."""
        return [name for name, value in net.named_parameters() if self._is_random(value)]

    def _is_random(self, value: object) -> bool:
        address = _address(value)
        tensor, version = self._random.get(address, (None, 0))
        # `net.half()` gives a recorded parameter other memory, and another tensor may take what it had
        return tensor is not None and _address(tensor) == address and tensor._version == version

    def _record(self, value: object) -> None:
        if isinstance(value, Tensor) and _address(value) and not value.is_inference():  # those have no versions
            self._random[_address(value)] = value, value._version


def _address(value: object) -> int:
    """Return the address of a tensor's numbers; 0 if it has none, as on the meta device, or is no tensor."""
    try:
        return value.data_ptr() if isinstance(value, Tensor) else 0
    except RuntimeError:
        return 0


def warn_of_random(names: Sequence[str], net: nn.Module, model: str) -> None:
    """Warn that a net seems untrained if there are names of parameters that still hold random numbers.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_random(["weight"], nn.Linear(2, 1), "mynet:Net")
    >>> str(caught[0].message)[:77]
    'mynet:Net seems untrained: 1 of its 2 parameters hold what a random initialis'
    """
    if names:
        count = sum(1 for _ in net.parameters())
        warnings.warn(
            f"{model} seems untrained: {len(names)} of its {count} parameters hold what a random initialisation wrote "
            f"({', '.join(names[:3])}{', …' if len(names) > 3 else ''}). Give trained ones as `weights`, or load them "
            "where the net is made.",
            stacklevel=2,
        )
