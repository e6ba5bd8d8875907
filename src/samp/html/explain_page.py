"""The page of an explained photo: for each class the region, the model's answers, other pictures and the numbers."""

from __future__ import annotations

from pathlib import PurePath

from samp.html.embed import embed_image
from samp.html.facts import ExplainedPhoto, Record, lines
from samp.html.render import render_page
from samp.plots.answer_rows import AnswerRow, answer_rows, region_rows
from samp.plots.sheet import make_pictures


def explanation_page(explained: ExplainedPhoto) -> str:
    """Return the page of one photo, with a section for each class; it loads nothing and runs no script."""
    first = explained.records[0]
    name = PurePath(first["photo"]).name
    versions = ", ".join(f"{package} {version}" for package, version in first["versions"].items())
    values = {
        "title": f"{name}: why?",
        "lead": "",
        "model": first["model"],
        "name": name,
        "sections": [_section(explained, sample) for sample in range(len(explained.records))],
        # pairs, as names may come twice: ImageNet has two maillots and two cranes
        "best": [(one["class"], _format_score(one["score"])) for one in first["best"]],
        "made": f"{versions}; {first['device']}, {first['dtype']}, seed {first['seed']}",
        "records": list(explained.records),
    }
    return render_page("explain.html", values, styles=["explain.css"])


def _section(explained: ExplainedPhoto, sample: int) -> Record:
    classified, record, answers = explained.classified, explained.records[sample], explained.answers[sample]
    pictures = make_pictures(
        classified.photo,
        explained.result,
        sample,
        answers=answers,
        box=classified.crop_box,
        signed=explained.signed,
    )
    image, caption = pictures.photo
    title, answer = explained.headline(sample)
    hidden = ("method", "answer", "region")  # shown above the table, or below it
    return {
        "title": title,
        "answer": answer,
        "photo": embed_image(image, "JPEG"),
        "caption": caption,
        "answers": _bars(answer_rows(answers)),
        "asked": f"How likely it finds {answers.explained.label} in",
        "parts": _bars(region_rows(answers)),
        "panels": [(embed_image(image), caption) for image, caption in pictures.panels],
        "numbers": [(label, text) for label, text in lines(record).items() if label not in hidden],
        "notes": explained.notes(sample)[:2],
    }


def _bars(rows: list[AnswerRow]) -> list[Record]:
    """Return what the template draws of each row; `width` is in percent, None without a probability."""
    return [
        {
            "label": row.label,
            "text": row.text,
            "remark": row.remark,
            "explained": row.explained,
            "width": None if row.probability is None else f"{100 * min(max(row.probability, 0.005), 1):.1f}%",
        }
        for row in rows
    ]


def _format_score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"  # some nets rule out classes by −∞
