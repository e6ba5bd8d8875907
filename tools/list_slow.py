"""Write tests/slow.txt, the tests that `pytest -m "not slow"` leaves out, from the durations that pytest prints.

    pytest --durations=0 --durations-min=0.05 > durations.txt
    python tools/list_slow.py durations.txt

A test is slow if its cases take more than `LIMIT` seconds together; a file, if its other tests take more than `FILE`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "tests" / "slow.txt"
LIMIT, FILE = 0.3, 4.0
LINE = re.compile(r"([\d.]+)s (?:call|setup|teardown)\s+(\S+)")


def slow_tests(lines: Iterable[str]) -> list[str]:
    """Return the slow tests and files in these lines of pytest's output, sorted.

    >>> slow_tests(["0.30s call     tests/a.py::test_one[x]", "0.20s setup    tests/a.py::test_one[y]"])
    ['tests/a.py::test_one']
    """
    seconds: Counter[str] = Counter()
    for match in map(LINE.match, lines):
        if match:
            seconds[match[2].partition("[")[0]] += float(match[1])  # type: ignore[assignment]  # counts of seconds
    slow = {test for test, took in seconds.items() if took > LIMIT}
    rest: Counter[str] = Counter()
    for test, took in seconds.items():
        rest[test.partition("::")[0]] += 0 if test in slow else took
    files = {file for file, took in rest.items() if took > FILE}
    return sorted(files | {test for test in slow if test.partition("::")[0] not in files})


def main() -> None:
    """Read pytest's output from the file given as the argument, and write the list."""
    listed = slow_tests(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    LIST.write_text("# Written by tools/list_slow.py.\n" + "\n".join(listed) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
