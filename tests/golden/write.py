"""Write tests/golden/golden.json anew: `python tests/golden/write.py`.

Only when behaviour is meant to change; CHANGELOG.md then says what changed and why.
`git diff` shows the cases that did, one line each.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # for `golden`

    from golden import cases, store

    started, found = time.monotonic(), {}
    with store.one_thread():
        for name, case in cases.CASES.items():
            if not cases.missing(case):
                begun = time.monotonic()
                found[name] = cases.compute(case)
                if "-v" in sys.argv:
                    print(f"{time.monotonic() - begun:6.2f} s  {name}  {found[name].get('error', '')}")
    store.write(found)
    print(f"{len(found)} cases in {time.monotonic() - started:.1f} s, {store.FILE.stat().st_size / 1e6:.2f} MB")
