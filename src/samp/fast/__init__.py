"""As fast as the gradients: calls in bfloat16, compiled, captured; many points of a fixed path per call."""

from typing import Literal

from samp.fast.gradients import Fast

Speed = Literal["exact", "fast"]
SPEEDS: tuple[Speed, ...] = ("exact", "fast")

__all__ = ["SPEEDS", "Fast", "Speed"]
