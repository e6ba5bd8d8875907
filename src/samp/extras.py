"""The pip commands that install optional parts of samp, depending on where samp itself was installed from."""

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

    If samp was installed from a clone, a folder, an archive or a repository, the command names that source: an index
    may have no samp, or another version.

    >>> install_command("compare").startswith("pip install ")
    True
    """
    return shlex.join(["pip", "install", *_requirement(extra), *packages])


def lab_install_command() -> str:
    """Return the pip command that installs the laboratory, a package of its own in the folder lab of the repository.

    >>> lab_install_command().startswith("pip install ")
    True
    """
    checkout, origin = _checkout(), _origin()
    if checkout is not None:
        return shlex.join(["pip", "install", "-e", str(checkout / "lab")])
    if "vcs_info" in origin:
        return shlex.join(["pip", "install", f"samp-lab @ {_repository(origin)}#subdirectory=lab"])
    folder = _local_path(origin)
    if folder is not None and (folder / "lab" / "pyproject.toml").is_file():
        return shlex.join(["pip", "install", str(folder / "lab")])
    return "pip install samp-lab"


def _requirement(extra: str) -> list[str]:
    """Return the arguments of `pip install` for samp with this extra."""
    checkout, origin = _checkout(), _origin()
    if checkout is not None:
        return ["-e", f"{checkout}[{extra}]"]
    if "vcs_info" in origin:
        return [f"samp[{extra}] @ {_repository(origin)}"]
    local = _local_path(origin)
    if local is not None:
        return [f"{local}[{extra}]"] if local.exists() else [f"samp[{extra}]"]
    return [f"samp[{extra}] @ {origin['url']}" if origin.get("url") else f"samp[{extra}]"]


def _checkout() -> Path | None:
    """Return the clone that holds the running code, or None if there is none."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "src" / "samp" / "py.typed").is_file() else None


def _origin() -> dict[str, Any]:
    """Return pip's record of where samp was installed from (PEP 610); empty if that was an index."""
    try:
        record = distribution("samp").read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    origin: dict[str, Any] = json.loads(record) if record else {}
    return origin


def _repository(origin: dict[str, Any]) -> str:
    """Return the URL by which pip clones the repository that samp came from, at the same revision."""
    revision = origin["vcs_info"].get("requested_revision")
    return f"{origin['vcs_info']['vcs']}+{origin['url']}" + (f"@{revision}" if revision else "")


def _local_path(origin: dict[str, Any]) -> Path | None:
    """Return the folder or archive on this machine that samp came from, or None if it came from elsewhere."""
    url = urlsplit(str(origin.get("url", "")))
    return Path(url2pathname(url.path)) if url.scheme == "file" else None
