"""Running the user's code as if it were alone: random states and buffers are as before when it ends."""

from samp.isolation.isolate import Isolation, is_free, isolate, observe

__all__ = ["Isolation", "is_free", "isolate", "observe"]
