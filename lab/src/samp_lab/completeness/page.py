"""docs/completeness.md, made of results/completeness.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from samp_lab.completeness.measure import Row

EXACT = 1e-4
"""Of the sum: what float32 rounding leaves of an exact one on nets of some 50 layers."""
SUMS_TO = {
    "change": "f(x) − f(0)",
    "score": "f(x)",
    "score less absorbed": "f(x), with what the method says biases absorb",
}
INTRO = """# Does the credit sum to the score?

Path methods, DeepLIFT and LRP promise that credit sums to the change of the score. This page measures it: the gap
|Σ credit − Δf| / |Δf|, median over inputs, with the largest in brackets. **Bold** is exact up to float32 rounding
(largest gap below {exact:g}). Each input is explained for the class that the net predicts, from a baseline of zeros in
the net's own input space; each method has its library's or its paper's settings unless the row names others.
"""


def make_page(found: Mapping[str, Any]) -> str:
    """Return the page for the contents of completeness.json."""
    rows = [Row(**row) for row in found["rows"]]
    parts = [
        INTRO.format(exact=EXACT),
        *(_table(rows, found["nets"])),
        "## What the rows say\n",
        *_findings(rows),
        "\n## Refusals\n",
        *_refusals(rows),
        "\n## How it was made\n",
        *[f"- {name}: {net['about']} ({net['inputs']} inputs)." for name, net in found["nets"].items()],
        f"- Machine: {found['machine']}; {found['date']}.",
        "- Versions: " + ", ".join(f"{name} {number}" for name, number in found["versions"].items()) + ".",
        f"- Command: `{found['command']}`, which writes `results/completeness.json` and this page;"
        " `--render` writes the page again from the file.",
    ]
    return "\n".join(parts) + "\n"


def _table(rows: Sequence[Row], nets: Mapping[str, Any]) -> list[str]:
    cells = {(row.library, row.method, row.sums_to, row.net): row for row in rows}
    lines = [f"| method | sums to | {' | '.join(nets)} |", f"|---|---|{'---|' * len(nets)}"]
    for library, method, sums_to in dict.fromkeys((row.library, row.method, row.sums_to) for row in rows):
        values = [format_gap(cells.get((library, method, sums_to, net))) for net in nets]
        lines.append(f"| {library} `{method}` | {SUMS_TO[sums_to]} | {' | '.join(values)} |")
    return [*lines, ""]


def format_gap(row: Row | None) -> str:
    """Return a cell of the table.

    >>> format_gap(Row("net", "samp", "ig", "change", 2e-7, 3e-6, 4)), format_gap(Row("net", "samp", "lrp", "score"))
    ('**2e-07** (3e-06)', 'refused')
    >>> format_gap(Row("net", "shap", "DeepExplainer", "change", refusal="not installed: shap"))
    'not installed'
    """
    if row is None:
        return "–"
    if row.median is None or row.largest is None:
        return "not installed" if row.refusal.startswith("not installed") else "refused"
    mark = "**" if row.largest < EXACT else ""
    return f"{mark}{_number(row.median)}{mark} ({_number(row.largest)})"


def _number(gap: float) -> str:
    """Return a gap in two digits: as a percentage where it is no rounding.

    >>> _number(2.34e-7), _number(0.0123), _number(13.0)
    ('2e-07', '1.2 %', '1,300 %')
    """
    if gap < EXACT:
        return f"{gap:.0e}"
    share = 100 * gap
    return f"{share:,.0f} %" if share >= 10 else f"{share:.2g} %"


def _findings(rows: Sequence[Row]) -> list[str]:
    """Return a line for each method that ran: on how many nets it sums, and its worst net otherwise."""
    lines = []
    for key in dict.fromkeys((row.library, row.method, row.sums_to) for row in rows):
        library, method, sums_to = key
        ran = [row for row in rows if (row.library, row.method, row.sums_to) == key and row.largest is not None]
        if not ran:
            continue
        exact = sum((row.largest or 0.0) < EXACT for row in ran)
        worst = max(ran, key=lambda row: row.median or 0.0)
        end = "" if exact == len(ran) else f"; worst median on {worst.net}: {_number(worst.median or 0.0)}"
        lines.append(f"- {library} `{method}` ({SUMS_TO[sums_to]}): exact on {exact} of {len(ran)} nets{end}.")
    return lines


def _refusals(rows: Sequence[Row]) -> list[str]:
    texts: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.refusal:
            nets = texts.setdefault((row.library, row.method, row.refusal), [])
            nets += [] if row.net in nets else [row.net]
    lines = [f"- {lib} `{method}` on {', '.join(nets)}: {text}" for (lib, method, text), nets in texts.items()]
    return lines or ["None."]
