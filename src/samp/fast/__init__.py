"""`speed="fast"`: gradients through a copy of the net in bfloat16, compiled and captured; a compiled walk beside the
engine's.

    gradients   `Fast`, which picks the fastest way to call that works
    walk        the walk of `samp.engine`, compiled
    compiled    functions compiled when first called
    model_copy  the net in bfloat16 and channels last
    model_state what a net is made of, and why it may not be copied
    cache       what is kept of a net from one explanation to the next
    cuda_graphs captured calls
    inputs      from points of a walk to inputs of the net, and back
"""

from typing import Literal

Speed = Literal["exact", "fast"]
SPEEDS: tuple[Speed, ...] = ("exact", "fast")

__all__ = ["SPEEDS", "Speed"]
