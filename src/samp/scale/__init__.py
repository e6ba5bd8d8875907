"""The same work as `samp.runs` does in one process, on workers of Ray (extra `scale`); the only importer of ray."""

from __future__ import annotations

from samp.scale.engine import over_ray

__all__ = ["over_ray"]
