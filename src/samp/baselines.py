"""Baselines: the input without information, where a walk starts or ends.

A baseline is anything callable as `baseline(x, seed) -> tensor like x`, a tensor, a number, or a name. "zero" is 0 *in
the space of the model's input*: black where it takes plain pixels, the mean colour (often mid-grey) where they are
normalised. The library does not know how pixels become inputs, so here "black" is another name of "zero", and "white"
is 1; `samp.models.Classifier` does know, and `samp.baselines.Colour` of its `colour("black")` is black as the photo
has it, as `--baseline black` is on the command line. Noise is drawn once per input shape and shared by the batch, so a
sample's result does not depend on its neighbours.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import cast

import torch
from torch import Tensor

from samp.checks import check_real
from samp.isolation import observe
from samp.lookup import look_up
from samp.reflected_blur import blur_along


@dataclass(frozen=True)
class Constant:
    """One number everywhere, in the space of the model's input: 0 is "zero" (or "black"), 1 is "white".

    >>> Constant(0.5)(torch.rand(1, 2)).tolist()
    [[0.5, 0.5]]
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"baseline {self.value} is not a finite number.")

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        return x.new_full((1,) * x.ndim, self.value).expand_as(x)  # a view of one number


@dataclass(frozen=True)
class Colour:
    """One number per channel of a `b c h w` image: a colour in the space of the model's input.

    >>> black = Colour("black", (-2.0, -1.5))
    >>> black(torch.rand(1, 2, 1, 2)).tolist(), black
    ([[[[-2.0, -2.0]], [[-1.5, -1.5]]]], Colour(name='black', values=(-2.0, -1.5)))
    """

    name: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or not all(map(math.isfinite, self.values)):
            raise ValueError(f"a colour has a finite number for each channel, not {self.values}.")

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        if x.ndim != 4 or x.shape[1] != len(self.values):
            raise ValueError(
                f"{self.name} has {len(self.values)} channels but the input has shape {tuple(x.shape)}: give a colour "
                "with a number for each channel of b c h w images."
            )
        # photos become inputs in float32, so a pixel of this colour equals it in every dtype
        return torch.tensor(self.values, dtype=torch.float32).to(x).view(1, -1, 1, 1).expand_as(x)


@dataclass(frozen=True)
class Uniform:
    """Uniform noise from `low` to `high`, the same for every sample of a batch.

    >>> bool((Uniform()(torch.zeros(2, 3), seed=1) == Uniform()(torch.ones(2, 3), seed=1)).all())
    True
    """

    low: float = 0.0
    high: float = 1.0

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        noise = torch.rand(x.shape[1:], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return (self.low + (self.high - self.low) * noise).to(x.dtype).to(x.device).expand_as(x)


@dataclass(frozen=True)
class GaussianNoise:
    """Gaussian noise with `mean` and `std`, the same for every sample of a batch.

    >>> GaussianNoise(std=0.0)(torch.ones(1, 2)).tolist()
    [[0.0, 0.0]]
    """

    mean: float = 0.0
    std: float = 1.0

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        noise = torch.randn(x.shape[1:], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return (self.mean + self.std * noise).to(x.dtype).to(x.device).expand_as(x)


@dataclass(frozen=True)
class Blurred:
    """The image under a Gaussian blur whose kernel sums to 1, reflected at the border.

    `None` takes the paper's settings: σ 5, with kernel 11 up to 32 pixels, 31 at 224 and interpolated in between;
    above 224 pixels kernel and σ both grow with the image.

    >>> Blurred.for_image(28, 28), Blurred.for_image(224, 224), Blurred.for_image(448, 448)
    (Blurred(kernel=11, sigma=5.0), Blurred(kernel=31, sigma=5.0), Blurred(kernel=63, sigma=10.0))
    >>> constant = torch.ones(1, 1, 8, 8)
    >>> torch.allclose(Blurred(5, 2.0)(constant), constant)
    True
    """

    kernel: int | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        if self.kernel is not None and (self.kernel < 1 or self.kernel % 2 == 0):
            raise ValueError(f"a blur kernel has an odd width of at least 1, not {self.kernel}.")
        if self.sigma is not None and not self.sigma > 0:
            raise ValueError(f"a blur needs a σ above 0, not {self.sigma}.")

    @classmethod
    def for_image(cls, height: int, width: int) -> Blurred:
        """Return the paper's blur for an image of this size."""
        return cls(*_paper_blur(max(height, width)))

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        if x.ndim != 4:
            raise ValueError(
                f"only b c h w images can be blurred, but the input has shape {tuple(x.shape)}: pass another baseline, "
                "such as 0."
            )
        height, width = x.shape[2:]
        paper_kernel, paper_sigma = _paper_blur(max(height, width))
        kernel = paper_kernel if self.kernel is None else self.kernel
        sigma = paper_sigma if self.sigma is None else self.sigma
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return blur_along(blur_along(wide, 2, kernel, sigma), 3, kernel, sigma).to(x.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class TensorBaseline:
    """A tensor as the baseline: of the input's shape, or with the same number of axes and broadcastable to it."""

    tensor: Tensor

    def __post_init__(self) -> None:
        check_real(self.tensor, "the baseline")

    def __repr__(self) -> str:
        return f"tensor of shape {tuple(self.tensor.shape)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorBaseline) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def digest(self) -> str:
        """Return the SHA-256 of its shape and values.

        >>> zeros, others, ones = (TensorBaseline(torch.full((1,), value)) for value in (0.0, 0.0, 1.0))
        >>> zeros.digest() == others.digest() != ones.digest()
        True
        """
        numbers = self.tensor.detach().cpu().double()
        return hashlib.sha256(f"{tuple(numbers.shape)}".encode() + numbers.numpy().tobytes()).hexdigest()

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        given, wanted = tuple(self.tensor.shape), tuple(x.shape)
        fits = len(given) == len(wanted) and all(a in (1, b) for a, b in zip(given, wanted, strict=True))
        if not fits and given != ():
            hint = "add the batch axis" if given == wanted[1:] else f"give it shape {wanted}"
            raise ValueError(f"baseline has shape {given} but the input has {wanted}: {hint}, or pass baseline=0.")
        return self.tensor.to(x).expand_as(x)


zero = Constant(0.0)
black = zero  # the former name, which protocols and stored results have; black only where 0 is
white = Constant(1.0)
# `samp.cli.options`, which must not import torch, repeats these names; a test compares them.
BASELINES: dict[str, Callable[..., Tensor]] = {
    "zero": zero,
    "black": black,
    "white": white,
    "uniform": Uniform(),
    "gaussian": GaussianNoise(),
    "blurred": Blurred(),
}

# Finite for a finite input, so their result is not checked: that would wait for the device.
ALWAYS_FINITE = (Constant, Colour, Uniform, GaussianNoise, Blurred)

Baseline = Callable[..., Tensor] | Tensor | float | str
InputBaselines = Baseline | list[Baseline]
"""One baseline for all inputs of the model, or a list with one for each."""
BaselineSetting = InputBaselines | tuple[InputBaselines, InputBaselines] | None
"""The `baseline` of a path method: one for both directions, a pair (deletion, insertion), or None for its default."""


def resolve_baseline(baseline: object) -> Callable[..., Tensor]:
    """Return the callable baseline for a name, a number, a tensor or a callable; raise TypeError for anything else.

    >>> resolve_baseline("zero"), resolve_baseline(0.5), resolve_baseline(torch.zeros(1, 3))
    (Constant(value=0.0), Constant(value=0.5), tensor of shape (1, 3))
    """
    if isinstance(baseline, str):
        return look_up(baseline, BASELINES, "baseline")
    if isinstance(baseline, Tensor):
        return TensorBaseline(baseline)
    if isinstance(baseline, Real):
        return Constant(float(baseline))
    if isinstance(baseline, type):
        raise TypeError(f"the baseline is the class {baseline.__name__}: pass an object of it, or a function.")
    if callable(baseline):
        return cast(Callable[..., Tensor], baseline)  # `evaluate_baseline` checks its result
    raise TypeError(
        f"a baseline is a name, a number, a tensor or a callable, not {type(baseline).__name__}: "
        "turn an array into a tensor with torch.as_tensor."
    )


def wrap_tensors(baseline: object) -> object:
    """Return the baseline with its tensors as `TensorBaseline`, which has the `==` and repr that a dataclass needs."""
    if isinstance(baseline, tuple | list):
        return type(baseline)(wrap_tensors(one) for one in baseline)
    return TensorBaseline(baseline) if isinstance(baseline, Tensor) else baseline


def label_baseline(baseline: object) -> Callable[..., Tensor] | list[Baseline]:
    """Return the baseline as it is named in results: a tensor by its shape."""
    return [resolve_baseline(one) for one in baseline] if isinstance(baseline, list) else resolve_baseline(baseline)


def evaluate_baseline(baseline: InputBaselines, inputs: Sequence[Tensor], seed: int = 0) -> list[Tensor]:
    """Return the baseline of each input; a *list* holds one baseline per input, anything else is used for all.

    Raises ValueError for a list of another length, and for a baseline of another shape or with NaN or Inf.

    >>> [tuple(t.shape) for t in evaluate_baseline([0, "white"], [torch.rand(2, 3), torch.rand(2, 4)])]
    [(2, 3), (2, 4)]
    """
    each = list(baseline) if isinstance(baseline, list) else [baseline] * len(inputs)
    if len(each) != len(inputs):
        raise ValueError(f"the list of baselines has {len(each)} entries but the model takes {len(inputs)} inputs.")
    return [_evaluate_one(resolve_baseline(one), x, seed) for one, x in zip(each, inputs, strict=True)]


def _evaluate_one(baseline: Callable[..., Tensor], x: Tensor, seed: int) -> Tensor:
    builtin = isinstance(baseline, (*ALWAYS_FINITE, TensorBaseline))
    args = (seed,) if _takes_seed(baseline) else ()
    # a function of the user may write into its argument and draw from the global random generators
    made = baseline(x, *args) if builtin else observe(baseline, lambda: baseline(x.clone(), *args))
    if not isinstance(made, Tensor) or made.shape != x.shape:
        came = tuple(made.shape) if isinstance(made, Tensor) else type(made).__name__
        raise ValueError(
            f"baseline {baseline!r} gave {came} for an input of shape {tuple(x.shape)}: return a tensor of that shape."
        )
    if not isinstance(baseline, ALWAYS_FINITE) and not torch.isfinite(made).all():
        raise ValueError(f"baseline {baseline!r} holds NaN or Inf.")
    return made


def _takes_seed(baseline: Callable[..., Tensor]) -> bool:
    """Return whether the second argument is named `seed` or required; `sigma` of `f(x, sigma=3)` is no seed."""
    try:
        _, *others = inspect.signature(baseline).parameters.values()
    except ValueError:  # some built-in callables have no signature
        return False
    return any(p.name == "seed" or (p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD) for p in others[:1])


def _paper_blur(size: int) -> tuple[int, float]:
    """Return the paper's kernel and σ for an image with this many pixels along its longer side."""
    if size <= 32:
        return 11, 5.0
    if size <= 224:
        return _odd(11 + 20 * (size - 32) / 192), 5.0
    return _odd(31 * size / 224), 5.0 * size / 224


def _odd(width: float) -> int:
    return 2 * int(width / 2) + 1
