"""`samp doctor`: what there is on this machine, and whether samp works on it."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from samp.cli.terminal import say, say_block


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON object.")
def doctor(as_json: bool) -> None:
    """Check that samp works on this machine: versions, devices, extras, and a self-check of ten seconds or so.

    The self-check explains the embedded photo on each device with a credit that must sum to the score change exactly.
    Exit codes: 0 if it did, 1 if it did not.

    Example: samp doctor --json
    """
    from samp.cli.checkup import all_passed, examine

    found = {}
    for heading, findings in examine():
        found[heading] = findings
        if not as_json:
            say_block(f"{_block(heading, findings)}\n")
    fine = all_passed(found)
    if as_json:
        say(json.dumps({**found, "well": fine}))
    else:
        say("All is well." if fine else "Something is wrong: see the self-check above.")
    sys.exit(0 if fine else 1)


def _block(heading: str, findings: dict[str, Any]) -> str:
    width = max(map(len, findings), default=0) + 2
    return "\n".join([heading, *(f"  {name + ':':<{width}}{_words(value)}" for name, value in findings.items())])


def _words(finding: Any) -> str:
    if isinstance(finding, dict):
        return ", ".join(f"{name} {value or 'MISSING'}" for name, value in finding.items())
    return str(finding)
