"""Runs the user's code in isolation: random states and buffers are restored when it ends."""

from samp.isolation.isolate import Isolation, is_free, isolate, observe

__all__ = ["Isolation", "is_free", "isolate", "observe"]
