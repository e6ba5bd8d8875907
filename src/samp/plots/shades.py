"""How credit becomes brightness or colour: small objects that draw one map and describe its scale in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.image import AxesImage

from samp.plots.palette import HEAT, SIGNED
from samp.plots.reading import Array, check_photo_fits, format_number
from samp.plots.shading import DIM, FULL_WHITE_QUANTILE

DIVERGING = LinearSegmentedColormap.from_list("samp_signed", SIGNED, N=257)
GLOW = LinearSegmentedColormap.from_list("samp_glow", HEAT)
GREY = LinearSegmentedColormap.from_list("samp_grey", ["black", "white"])


class Shade(Protocol):
    """Draws a map (h w) into axes, over a photo (h w 3) if it needs one, and describes how credit is scaled."""

    def draw(self, axes: Axes, credit: Array, photo: Array) -> AxesImage: ...

    def words(self, credit: Array) -> str: ...

    def rule(self) -> str: ...


@dataclass(frozen=True)
class Grey:
    """Positive credit in grey, as in the paper: black at 0 and below, white from this percentile up.

    A percentile of 100 clips nothing.

    >>> Grey().limits(np.array([[-1.0, 0.0], [2.0, 2.0]]))
    (0.0, 2.0)
    """

    percentile: float = 100 * FULL_WHITE_QUANTILE

    def __post_init__(self) -> None:
        _check(self.percentile)

    def limits(self, credit: Array) -> tuple[float, float]:
        """The credit of black and of white; 0 and 1 where none is positive."""
        return 0.0, _full(credit.clip(min=0), self.percentile)

    def draw(self, axes: Axes, credit: Array, photo: Array) -> AxesImage:
        """The map (h w) in these axes."""
        return _image(axes, credit, self.limits(credit), GREY)

    def words(self, credit: Array) -> str:
        """How this map is scaled, with its numbers."""
        if (words := _nothing_positive(credit, "black")) is not None:
            return words
        full = self.limits(credit)[1]
        return (
            f"Grey is linear in credit: white from {format_number(full)} "
            f"({_rank(credit.clip(min=0), self.percentile)}; "
            f"{_share(credit > full)} of pixels clipped), black at 0 and below ({_share(credit < 0)} negative)."
        )

    def rule(self) -> str:
        """How any map is scaled."""
        return f"white from its {_nth(self.percentile)} percentile up, black at 0 and below"


@dataclass(frozen=True)
class Signed:
    """Credit of both signs, orange for and blue against, white at exactly 0 and full at ± the percentile of |credit|.

    >>> Signed(percentile=100).limits(np.array([[-3.0, 2.0]]))
    (-3.0, 3.0)
    """

    percentile: float = 100 * FULL_WHITE_QUANTILE

    def __post_init__(self) -> None:
        _check(self.percentile)

    def limits(self, credit: Array) -> tuple[float, float]:
        """The credit of full blue and of full orange: the same but for its sign."""
        full = _full(abs(credit), self.percentile)
        return -full, full

    def draw(self, axes: Axes, credit: Array, photo: Array) -> AxesImage:
        """The map (h w) in these axes."""
        image = _image(axes, credit, self.limits(credit), DIVERGING)
        if axes.bbox.width < credit.shape[1]:
            image.set_interpolation_stage("data")  # small prints show mean credit: mixed colours would be a false grey
        return image

    def words(self, credit: Array) -> str:
        """How this map is scaled, with its numbers."""
        if not credit.any():
            return "The map is zero everywhere: all white."
        full = self.limits(credit)[1]
        return (
            f"Colour is linear in credit: white at 0, full at ±{format_number(full)} "
            f"({_rank(abs(credit), self.percentile, ' of |credit|')}; {_share(abs(credit) > full)} of pixels clipped), "
            f"orange for ({_share(credit > 0)}), blue against ({_share(credit < 0)})."
        )

    def rule(self) -> str:
        """How any map is scaled."""
        return f"white at 0, full at ± the {_nth(self.percentile)} percentile of |credit|; orange for, blue against"


@dataclass(frozen=True)
class Glow:
    """Positive credit glowing on the photo in dim grey: colour is linear in credit, opacity grows with its square root.

    >>> Glow().limits(np.zeros((2, 2)))
    (0.0, 1.0)
    """

    percentile: float = 100 * FULL_WHITE_QUANTILE

    def __post_init__(self) -> None:
        _check(self.percentile)

    def limits(self, credit: Array) -> tuple[float, float]:
        """The credit at which the glow begins, and that at which it is full."""
        return Grey(self.percentile).limits(credit)

    def draw(self, axes: Axes, credit: Array, photo: Array) -> AxesImage:
        """The map (h w) over the photo (h w 3)."""
        check_photo_fits(photo, credit)
        axes.imshow(DIM * photo @ [0.299, 0.587, 0.114], cmap=GREY, vmin=0, vmax=1)
        limits = self.limits(credit)
        return _image(axes, credit, limits, GLOW, np.sqrt((credit / limits[1]).clip(0, 1)))

    def words(self, credit: Array) -> str:
        """How this map is scaled, with its numbers."""
        if (words := _nothing_positive(credit, "without glow")) is not None:
            return words
        full = self.limits(credit)[1]
        return (
            f"Colour is linear in credit, opacity in its square root: full from {format_number(full)} "
            f"({_rank(credit.clip(min=0), self.percentile)}; {_share(credit > full)} of pixels clipped), "
            f"none at 0 and below ({_share(credit < 0)} negative). Photo in grey at {DIM:.0%} brightness."
        )

    def rule(self) -> str:
        """How any map is scaled."""
        return f"full glow from its {_nth(self.percentile)} percentile up, none at 0 and below; photo in dim grey"


def _image(
    axes: Axes, credit: Array, limits: tuple[float, float], colours: Colormap, alpha: Array | None = None
) -> AxesImage:
    return axes.imshow(credit, cmap=colours, vmin=limits[0], vmax=limits[1], alpha=alpha)


def _full(amount: Array, percentile: float) -> float:
    """The amount at full brightness: its percentile, its maximum where that is 0 (few bright pixels), 1 if all is 0."""
    return float(np.percentile(amount, percentile)) or float(amount.max()) or 1.0


def _nothing_positive(credit: Array, look: str) -> str | None:
    """What to say of a map without positive credit, which looks all the same; None for any other."""
    if (credit > 0).any():
        return None
    return f"The map is zero everywhere: all {look}." if not credit.any() else f"No credit is positive: all {look}."


def _check(percentile: float) -> None:
    if not 0 < percentile <= 100:
        raise ValueError(f"a percentile lies above 0 and up to 100 (which clips nothing), not {percentile}.")


def _share(chosen: Array) -> str:
    return f"{chosen.mean():.1%}"


def _rank(amount: Array, percentile: float, of: str = "") -> str:
    """What `_full` is, in words."""
    rank = f"{_nth(percentile)} percentile"
    return rank + of if np.percentile(amount, percentile) > 0 else f"maximum{of}, as the {rank} is 0"


def _nth(percentile: float) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(int(percentile) % 10, "th") if percentile == int(percentile) else "th"
    return f"{percentile:g}{'th' if percentile in (11, 12, 13) else ending}"
