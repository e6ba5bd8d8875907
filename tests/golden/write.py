"""Write tests/golden/golden.json anew: `python tests/golden/write.py [-v] [WORD ...]`.

Only when behaviour is meant to change; CHANGELOG.md then says what changed and why.
`git diff` shows the cases that did, one line each. With words, only the cases whose names contain one of them are
computed, and all others stay as the file has them; cases that are no longer there go.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # for `golden`

    from golden import cases, store

    words = [word for word in sys.argv[1:] if word != "-v"]
    kept = store.read() if words else {"cases": {}}
    if words:
        here, there = store.fingerprint(), kept["environment"]
        if {**here, store.BLAS: ""} != {**there, store.BLAS: ""}:
            sys.exit("the file was written in another environment: write all cases anew, without words.")
        words += store.FITTED if here[store.BLAS] != there.get(store.BLAS) else ()
    started, found = time.monotonic(), {n: fact for n, fact in kept["cases"].items() if n in cases.CASES}
    with store.one_thread():
        for name, case in cases.CASES.items():
            if not cases.missing(case) and (not words or any(word in name for word in words)):
                begun = time.monotonic()
                found[name] = cases.compute(case)
                if "-v" in sys.argv:
                    print(f"{time.monotonic() - begun:6.2f} s  {name}  {found[name].get('error', '')}")
    store.write(found)
    print(f"{len(found)} cases in {time.monotonic() - started:.1f} s, {store.FILE.stat().st_size / 1e6:.2f} MB")
