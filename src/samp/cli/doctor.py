"""`samp doctor`: what there is on this machine, and whether samp works on it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from samp.cli.checkup import Checkup


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON object.")
def doctor(as_json: bool) -> None:
    """Check that samp works on this machine: versions, devices, extras, and a self-check of ten seconds or so.

    The self-check explains the embedded photo with a credit that must sum to the score change exactly. Exit codes: 0 if
    it did, 1 if it did not.

    Example: samp doctor --json
    """
    from samp.cli.checkup import examine

    checkup = examine()
    click.echo(json.dumps(checkup.as_dict()) if as_json else _report(checkup))
    sys.exit(0 if checkup.well else 1)


def _report(checkup: Checkup) -> str:
    blocks = []
    for heading, findings in checkup.as_dict().items():
        if isinstance(findings, dict):
            width = max(map(len, findings), default=0) + 2
            blocks.append(
                "\n".join([heading, *(f"  {name + ':':<{width}}{_words(v)}" for name, v in findings.items())])
            )
    verdict = "All is well." if checkup.well else "Something is wrong: see the self-check above."
    return "\n\n".join([*blocks, verdict])


def _words(finding: Any) -> str:
    if isinstance(finding, dict):
        return ", ".join(f"{name} {value or 'MISSING'}" for name, value in finding.items())
    return str(finding)
