"""Nets that other packages download: with short timeouts, and one kind of error for all that can fail."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from safetensors import SafetensorError

CONNECT = 10.0  # seconds to wait for a connection to the hub
STALL = 30.0  # seconds without a single byte, after which a download is given up


class HubError(OSError):
    """A net of another package could not be downloaded or made; the message has an alternative.

    >>> isinstance(HubError("hf:a/b could not be loaded"), OSError)
    True
    """


@contextmanager
def fetch(model: str, instead: str | None, from_hub: bool) -> Iterator[None]:
    """Within this context, turn whatever a package raises while it makes the net `model` into one `HubError`.

    `instead` is the advice at the end of its message, None for a net from a folder. If the net is `from_hub`, Hugging
    Face's, and the hub cannot be reached, only its cache is used: its own retries take a minute.

    >>> with fetch("torchvision:net", instead="give `weights`", from_hub=False):
    ...     raise OSError("no route to host")
    Traceback (most recent call last):
    ...
    samp.models.fetching.HubError: torchvision:net could not be loaded (no route to host): check its name and the
    network, or give `weights`.
    """
    missing = _why_offline() if from_hub else None
    try:
        with _short_waits(), _hub_from_cache(missing is not None):
            yield
    except HubError:
        raise
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:  # packages raise any of these
        if "trust_remote_code" in str(error):
            raise HubError(
                f"{model} brings Python code of its own, which samp does not run: load it in your own code and give "
                "that as `model`, as module:factory."
            ) from error
        not_cached = missing and isinstance(error, OSError)  # any other error is about what the cache holds
        reason = f"{missing}, and its cache has not got it" if not_cached else _first_line(error)
        advice = (
            f"check its name and the network, or {instead}" if instead else "give a folder as save_pretrained writes it"
        )
        raise HubError(f"{model} could not be loaded ({reason}): {advice}.") from error


def is_folder(name: str) -> bool:
    """Return whether `name` is a folder rather than a repository of the hub; raise HubError for a path that is neither.

    >>> is_folder("google/vit-base-patch16-224")
    False
    >>> is_folder("/nowhere/vit")
    Traceback (most recent call last):
    samp.models.fetching.HubError: hf:/nowhere/vit could not be loaded: there is no folder /nowhere/vit.
    """
    if Path(name).is_dir():
        return True
    if Path(name).exists() or name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise HubError(f"hf:{name} could not be loaded: there is no folder {name}.")
    return False


def _why_offline() -> str | None:
    """Return why the hub cannot be reached: it is switched off, or no connection can be made. None if it can be."""
    for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(switch, "").upper() in ("1", "ON", "YES", "TRUE"):
            return f"{switch} is set"
    place = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    host, scheme = place.hostname or "huggingface.co", place.scheme or "https"
    proxies = getproxies()
    if (scheme in proxies or "all" in proxies) and not proxy_bypass(host):
        return None  # only a request shows whether the proxy reaches it
    try:
        socket.create_connection((host, place.port or (80 if scheme == "http" else 443)), CONNECT).close()
    except OSError as error:
        return f"{host} cannot be reached: {error.strerror or error}"
    return None


@contextmanager
def _hub_from_cache(only: bool) -> Iterator[None]:
    """Within this context, if `only`, let huggingface_hub use nothing but its cache, as HF_HUB_OFFLINE=1 does."""
    constants: Any = sys.modules.get("huggingface_hub.constants") if only else None
    if not hasattr(constants, "is_offline_mode"):  # not in use, or an older version, which does not retry
        yield
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _short_waits() -> Iterator[None]:
    """Within this context, give Python's own connections (torch.hub's) a timeout; by default they wait forever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(STALL if before is None else before)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _first_line(error: Exception) -> str:
    reason = getattr(error, "reason", "") or error  # of a URLError, the error of the connection
    lines = str(getattr(reason, "strerror", None) or reason).strip().splitlines()  # without "[Errno -2]"
    return lines[0].rstrip(".") if lines else type(error).__name__
