"""How much a visitor of the app may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on what is uploaded, kept and computed."""

    bytes: int = 32 * 2**20
    """Of an uploaded file."""
    pixels: int = 50_000_000
    """Of an uploaded photo, read from its header before it is decoded."""
    photos: int = 32
    """Uploaded photos that are kept; the oldest goes first."""
    kept_bytes: int = 256 * 2**20
    """Of all uploaded files together."""
    waiting: int = 16
    """Jobs in the queue."""
    history: int = 24
    """Jobs that are kept when they have ended; the oldest goes first."""
    seconds: float | None = None
    """The longest that a job may compute; None for as long as it takes."""


IN_PUBLIC = Limits(waiting=6, history=48, seconds=180.0)
MOST_METHODS = 4
BODY = 4 * 2**20  # bytes of a request that is no photo
