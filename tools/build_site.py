"""Build the documentation site: `python tools/build_site.py`, then open build/site/index.html.

The pages are made from docs/ into build/pages (links that leave docs/, the API page by page, the path player). MkDocs
or Zensical builds them with warnings as errors. Then the result is checked: every link and anchor leads somewhere, and
no page loads anything from the network. `--with zensical` builds with the other one, into the same folder; `--llms`
writes docs/llms.txt.

    pip install -e '.[demo,viz,site]'
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from docsite.check import check_site
from docsite.llms import index_text
from docsite.pages import write_pages
from docsite.player import write_player

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
COMMANDS = {
    "mkdocs": ["-m", "mkdocs", "build", "--strict", "--clean"],
    "zensical": ["-m", "zensical", "build", "--strict", "--clean"],
}
# Material 9 announces on every start that a later MkDocs will drop plugins.
QUIET = {"NO_MKDOCS_2_WARNING": "1"}


def main() -> None:
    """Build the site and print where it is, or exit with what is wrong."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--with", dest="builder", choices=COMMANDS, default="mkdocs")
    asked.add_argument("--llms", action="store_true", help="write docs/llms.txt and stop")
    options = asked.parse_args()
    if options.llms:
        (ROOT / "docs" / "llms.txt").write_text(index_text(ROOT), encoding="utf-8", newline="\n")
        return
    write_pages(ROOT, PAGES)
    write_player(ROOT, PAGES / "player.html")
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run([sys.executable, *COMMANDS[options.builder]], cwd=ROOT, env=os.environ | QUIET, check=True)
    faults, summary = check_site(SITE)
    if faults:
        sys.exit("\n".join([*faults, f"{len(faults)} faults"]))
    print(f"{SITE / 'index.html'}: {summary}")


if __name__ == "__main__":
    main()
