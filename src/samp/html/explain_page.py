"""The page of an explained photo: for each class its pictures and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from samp.attribution import Attribution
from samp.html.embed import embed_image
from samp.html.facts import Record, lines, notes, title
from samp.html.render import render_page
from samp.models.prediction import ClassifiedPhoto
from samp.plots.sheet import panels


def explanation_page(classified: ClassifiedPhoto, result: Attribution, records: Sequence[Record]) -> str:
    """Return the page of one photo, with a section for each record; it loads nothing and runs no script."""
    name, first = PurePath(records[0]["photo"]).name, records[0]
    versions = ", ".join(f"{package} {version}" for package, version in first["versions"].items())
    values = {
        "title": f"{name}: why?",
        "lead": "",
        "model": classified.classifier.name,
        "name": name,
        "sections": [_section(classified, result, sample, record) for sample, record in enumerate(records)],
        # pairs, as names may come twice: ImageNet has two maillots and two cranes
        "best": [(one["class"], _format_score(one["score"])) for one in first["best"]],
        "made": f"{versions}; {first['device']}, {first['dtype']}, seed {first['seed']}",
        "records": list(records),
    }
    return render_page("explain.html", values, styles=["explain.css"])


def _section(classified: ClassifiedPhoto, result: Attribution, sample: int, record: Record) -> Record:
    pictures = [(embed_image(image), caption) for image, caption in panels(classified.crop, result, sample)]
    return {
        "title": title(record),
        "panels": pictures,
        "numbers": [(label, text) for label, text in lines(record).items() if label != "method"],
        "note": notes(record, classified.classifier)[0],
    }


def _format_score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"  # some nets rule out classes by −∞
