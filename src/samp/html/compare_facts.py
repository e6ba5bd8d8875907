"""What the page, the figure and the terminal state about methods side by side: numbers, notes, meanings."""

from __future__ import annotations

from collections.abc import Mapping

from samp.compare import Compared, Row
from samp.html.facts import Record, facts
from samp.metrics.panel_result import ONE_PHOTO, Panel
from samp.models.prediction import ClassifiedPhoto

ABOUT = (
    "photo",
    "model",
    "class",
    "index",
    "against",
    "score",
    "score_is",
    "best",
    "zero",
    "seed",
    "device",
    "dtype",
    "versions",
)


def comparison_record(
    classified: ClassifiedPhoto, compared: Compared, left_out: Mapping[str, str], command: str
) -> Record:
    """Return all numbers of the comparison, ready for JSON; those that a method does not have are None."""
    common = facts(classified, compared.rows[0].attribution, 0, 0.0)
    return {
        **{key: common[key] for key in ABOUT},
        "protocol": compared.protocol.label,
        "protocol_settings": repr(compared.protocol),
        "command": command,
        "shares": compared.rows[0].curves.shares.tolist(),
        "methods": [_method(row) for row in compared.rows],
        "left_out": dict(left_out),
        **({"panel": _panel(compared.panel)} if compared.panel else {}),
    }


def missing_notes(compared: Compared, record: Record) -> list[str]:
    """Return a sentence for each thing that is missing: methods that failed, curves on a scale that does not exist."""
    notes = [f"{name} is left out: {sentence}" for name, sentence in record["left_out"].items()]
    if any(row.curves.unnormalised for row in compared.rows):
        notes.append(
            f"there are no curves, as the protocol {record['protocol']!r} divides by the photo's score, which is not "
            f"above 0 ({record['score']:.3f}): try `protocol='rise'`, or another `target`."
        )
    return notes


def _panel(panel: Panel) -> Record:
    """Return the scores of all judges, with means and ranks."""
    means = {
        key: {name: None if mean != mean else mean for name, mean in row.items()} for key, row in panel.means().items()
    }
    note = {"note": ONE_PHOTO} if panel.has_one_photo else {}
    return {**panel.to_json(), "means": means, "ranks": panel.ranks(), **note}


def _method(row: Row) -> Record:
    curves = {name: getattr(row.curves, name)[0].tolist() for name in ("deletion_curve", "insertion_curve")}
    known = {  # None, as JSON has no NaN
        name: [None if value != value else value for value in line] for name, line in curves.items()
    }
    return {"name": row.name, "method": row.attribution.method, **row.numbers(0), **known}
