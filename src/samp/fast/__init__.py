"""`speed="fast"`: gradients through a bfloat16 copy of the net, compiled and captured, and a compiled walk.

gradients   `Fast`, which calls the net in the fastest way that works
walk        the walk of `samp.engine`, compiled
compiled    functions that are compiled on their first call
model_copy  the net in bfloat16 and channels last
model_state tensors and settings of a net, and the reasons not to copy it
cache       prepared nets, reused from one explanation to the next
cuda_graphs calls captured as CUDA graphs
inputs      conversion between points of a walk and inputs of the net
"""

from typing import Literal

Speed = Literal["exact", "fast"]
SPEEDS: tuple[Speed, ...] = ("exact", "fast")

__all__ = ["SPEEDS", "Speed"]
