"""The path player of the embedded photo, as `samp play` makes it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path


def write_player(root: Path, out: Path) -> None:
    """Write the page of `samp play` on the embedded photo; made again once a source of samp has changed."""
    kept = root / "build" / f"player-{digest_of(root / 'src' / 'samp')}.html"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        for old in kept.parent.glob("player-*.html"):
            old.unlink()
        subprocess.run([sys.executable, "-m", "samp", "play", "--out", str(kept)], check=True, cwd=root)
    shutil.copyfile(kept, out)


def digest_of(folder: Path) -> str:
    """Return a hash of all files of a package."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
