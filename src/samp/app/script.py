"""The Python lines that make the same result as a job of the app."""

from __future__ import annotations

import samp
from samp.app.explaining import method_by_name, rounds_of
from samp.app.jobs import Question
from samp.app.photos import StoredPhoto


def result_script(question: Question, method: str, target: int, classifier: str) -> str:
    """Return a script that explains the same class of the same photo by the same method, and saves the result.

    `classifier` is the Python expression that loads the model. Names come in as literals, whatever they hold.
    """
    explained, settings = method_by_name(method, question.quality), _settings(method, question.quality)
    photo, photo_import = _photo(question.photo)
    given = f"net, photo.x, target=list(photo.targets), method={settings}"
    if isinstance(explained, samp.Consensus):
        call = f"*_, result = samp.explain_gradually({given}, rounds={rounds_of(explained)}, seed={question.seed})"
    else:
        call = f"result = samp.explain({given}, seed={question.seed})"
    stem = question.photo.name.rpartition(".")[0] or question.photo.name
    lines = [
        "from pathlib import Path",
        "",
        "import samp",
        *(["import torch"] if "torch." in classifier else []),
        *photo_import,
        "from samp.models import load",
        "from samp.models.prediction import classify_photo",
        "",
        f"classifier = {classifier}",
        f"photo = classify_photo({photo}, classifier, target={str(target)!r})",
        "net = photo.classifier.net",
        call,
        f"result.save(Path({f'{stem}-{method}.samp'!r}))",
        "print(result)",
    ]
    return "\n".join(lines) + "\n"


def _settings(method: str, quality: str) -> str:
    """Return the method as the argument of samp.explain."""
    kinds = {"consensus": "samp.Consensus", "coupled": "samp.Coupled"}
    return f"{kinds[method]}({quality!r})" if method in kinds else repr(method)


def _photo(photo: StoredPhoto) -> tuple[str, list[str]]:
    """Return the expression of the photo's path, and the imports that it needs."""
    if photo.is_embedded:
        return f"example_photo({photo.id!r})", ["from samp.images import example_photo"]
    return f"Path({photo.name!r})", []
