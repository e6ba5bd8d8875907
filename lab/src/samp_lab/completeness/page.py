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
the net's own input space; each method has its library's or its paper's settings unless the row names others. Where the
score hardly changes, any error is a large share of it, so read the median.
"""
WHY = """
Exact sums come from rules that hold for every operation (DeepLIFT, LRP with what it absorbs) or from credit that
shares out each step's own change (`consensus`, `coupled`). Sums over sampled points, as in IG and GradientSHAP,
approach it with more. The paper's `samp++` credits by momentum, which ranks and does not sum. Captum's DeepLift and
shap's DeepExplainer know modules by their class; elsewhere, as at functional GELU, products of activations, soft-max
and normalisation, they keep the gradient. shap's own check of the sum, on by default, raises an error there; it is
off here, so that the gap shows. Captum returns the gap to those who ask for its convergence delta. Captum also asks
for nets that use no module twice: ResNet-50 reuses its ReLUs, which its DeepLift refuses and its LRP does not.
"""


def make_page(found: Mapping[str, Any]) -> str:
    """Return the page for the contents of completeness.json."""
    nets = found["nets"]
    rows = [Row(**row) for net in nets.values() for row in net["rows"]]
    parts = [
        INTRO.format(exact=EXACT),
        *_table(rows, nets),
        "## What the rows say\n",
        *_findings(rows),
        WHY,
        "## Refusals\n",
        *_refusals(rows),
        "\n## How it was made\n",
        *[_describe_net(name, net) for name, net in nets.items()],
        "\nThe commands write `results/completeness.json`, and this page from that file.",
    ]
    return "\n".join(parts) + "\n"


def _describe_net(name: str, net: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{library} {number}" for library, number in net["versions"].items())
    commands = " and ".join(f"`{command}`" for command in net["commands"])
    counts = sorted({row["inputs"] for row in net["rows"] if row["inputs"]})
    inputs = f"{' or '.join(map(str, counts))} input{'' if counts == [1] else 's'} a row"
    day = f"{'the last on ' if len(net['commands']) > 1 else ''}{net['date']}"
    return f"- {name}: {net['about']}; {inputs}. {commands}, {day}; {net['machine']}; {versions}."


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
    """Return a gap in one or two digits: as a percentage where it is no rounding and no overflow.

    >>> _number(2.34e-7), _number(0.0123), _number(13.0), _number(5.4e25)
    ('2e-07', '1.2 %', '1,300 %', '5e+25')
    """
    if gap >= 1e4:
        return f"{gap:.0e}"
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
