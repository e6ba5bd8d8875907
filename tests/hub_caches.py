"""A cache as huggingface_hub keeps it, and a command run with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def put(folder: Path, repository: str, cache: Path) -> None:
    """Put the files of a folder into the cache, as a download of this repository would have."""
    home = cache / f"models--{repository.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(COMMIT)
    shutil.copytree(folder, home / "snapshots" / COMMIT)


def closed_port() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def explain(model: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `samp explain` with this model and environment, where the hub cannot be reached."""
    clean = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith("HF_")}
    words = [sys.executable, "-m", "samp", "explain", "--model", model, "--method", "gradient"]
    return subprocess.run(
        [*words, "--out", str(folder / "why.png")],
        env={**clean, "HF_ENDPOINT": closed_port(), **environment},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
