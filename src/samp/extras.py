"""What to type to install an optional part of samp, for the way in which samp itself was installed."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install_command(extra: str, *packages: str) -> str:
    """Return the pip command that installs this extra, and further packages if any are named.

    A clone, a folder, an archive or a repository that samp was installed from is named in it: an index may have no
    samp, or another version.

    >>> install_command("compare").startswith("pip install ")
    True
    """
    return shlex.join(["pip", "install", *_requirement(extra), *packages])


def lab_install_command() -> str:
    """Return the pip command that installs the laboratory, which is a package of its own in the same repository.

    >>> lab_install_command().startswith("pip install ")
    True
    """
    checkout, origin = _checkout(), _origin()
    if checkout is not None:
        return shlex.join(["pip", "install", "-e", str(checkout / "lab")])
    if "vcs_info" in origin:
        version = origin["vcs_info"].get("requested_revision")
        place = f"{origin['vcs_info']['vcs']}+{origin['url']}" + (f"@{version}" if version else "")
        return shlex.join(["pip", "install", f"samp-lab @ {place}#subdirectory=lab"])
    return "pip install samp-lab"


def _requirement(extra: str) -> list[str]:
    """The arguments of `pip install` that stand for samp with this extra."""
    checkout = _checkout()
    if checkout is not None:
        return ["-e", f"{checkout}[{extra}]"]
    origin = _origin()
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        version = origin["vcs_info"].get("requested_revision")
        return [f"samp[{extra}] @ {origin['vcs_info']['vcs']}+{url}" + (f"@{version}" if version else "")]
    if urlsplit(url).scheme == "file":
        place = Path(url2pathname(urlsplit(url).path))
        return [f"{place}[{extra}]"] if place.exists() else [f"samp[{extra}]"]
    return [f"samp[{extra}] @ {url}" if url else f"samp[{extra}]"]


def _checkout() -> Path | None:
    """The clone that the running code lies in, if it lies in one."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "src" / "samp" / "py.typed").is_file() else None


def _origin() -> dict[str, Any]:
    """What pip noted of where samp came from (PEP 610); empty if it came from an index."""
    try:
        noted = distribution("samp").read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    origin: dict[str, Any] = json.loads(noted) if noted else {}
    return origin
