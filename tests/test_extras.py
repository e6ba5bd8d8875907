"""A message on a missing package names a command that works for the way in which samp was installed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from samp import extras
from samp.extras import install_command, lab_install_command

SOURCE = Path(extras.__file__).parent


def said_by_an_installation(
    place: Path, direct_url: dict[str, Any] | None, call: str = "install_command('compare', 'other')"
) -> str:
    """Return what this call returns in a samp that pip put into this folder with this record of where it came from."""
    (place / "samp").mkdir(parents=True)
    for name in ("__init__.py", "extras.py"):
        shutil.copy(SOURCE / name, place / "samp" / name)
    info = place / "samp-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: samp\nVersion: 0.1.0\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))
    code = f"import sys; sys.path.insert(0, {str(place)!r})\nfrom samp.extras import *\n"
    asked = [sys.executable, "-c", f"{code}print({call})"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def test_from_an_index_the_name_is_enough(tmp_path: Path) -> None:
    assert said_by_an_installation(tmp_path, None) == "pip install 'samp[compare]' other"


def test_from_a_clone_the_clone_is_named() -> None:
    root = Path(__file__).resolve().parents[1]
    assert shlex.split(install_command("compare")) == ["pip", "install", "-e", f"{root}[compare]"]


def test_from_a_folder_or_an_archive_that_is_named_while_it_is_there(tmp_path: Path) -> None:
    origin = tmp_path / "it's a clone"
    origin.mkdir()
    note = {"url": origin.as_uri(), "dir_info": {}}
    assert shlex.split(said_by_an_installation(tmp_path / "one", note)) == [
        *("pip", "install", f"{origin}[compare]", "other")
    ]
    origin.rmdir()
    assert said_by_an_installation(tmp_path / "two", note) == "pip install 'samp[compare]' other"


def test_from_a_repository_that_is_named(tmp_path: Path) -> None:
    note = {
        "url": "https://example.org/samp.git",
        "vcs_info": {"vcs": "git", "commit_id": "1f", "requested_revision": "v1"},
    }
    assert said_by_an_installation(tmp_path, note) == (
        "pip install 'samp[compare] @ git+https://example.org/samp.git@v1' other"
    )


LAB = "lab_install_command()"


def test_the_laboratory_lies_in_the_clone() -> None:
    root = Path(__file__).resolve().parents[1]
    assert shlex.split(lab_install_command()) == ["pip", "install", "-e", str(root / "lab")]


def test_the_laboratory_comes_from_an_index_a_folder_or_a_repository_as_samp_did(tmp_path: Path) -> None:
    assert said_by_an_installation(tmp_path / "index", None, LAB) == "pip install samp-lab"
    clone = tmp_path / "a clone"
    (clone / "lab").mkdir(parents=True)
    note = {"url": clone.as_uri(), "dir_info": {}}
    assert said_by_an_installation(tmp_path / "archive", note, LAB) == "pip install samp-lab"
    (clone / "lab" / "pyproject.toml").touch()
    assert shlex.split(said_by_an_installation(tmp_path / "folder", note, LAB)) == ["pip", "install", f"{clone}/lab"]
    note = {"url": "https://example.org/samp.git", "vcs_info": {"vcs": "git", "commit_id": "1f"}}
    assert shlex.split(said_by_an_installation(tmp_path / "repository", note, LAB))[2:] == [
        "samp-lab @ git+https://example.org/samp.git#subdirectory=lab"
    ]


def test_no_message_names_a_distribution_by_itself() -> None:
    """All of them ask `install_command`."""
    for file in sorted(SOURCE.rglob("*.py")):
        assert not re.search(r"pip install\W+samp\[", file.read_text(encoding="utf-8")), file
