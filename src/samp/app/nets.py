"""The models that the app offers: each is loaded once, when it is first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from samp.app.photos import StoredPhoto
from samp.app.refusals import RefusedError
from samp.models import Classifier
from samp.models.prediction import ClassifiedPhoto, classify_image

MOST_CLASSES = 12


@dataclass(frozen=True, eq=False)
class OfferedModel:
    """A model by name: how it is loaded, and the Python that loads it the same way."""

    load: Callable[[], Classifier]
    python: str
    """An expression that makes the classifier."""
    label: str = ""


class Nets:
    """The offered models, of which each is loaded once; threads share them."""

    def __init__(self, offered: Mapping[str, OfferedModel]) -> None:
        self.offered = dict(offered)
        self.locks = {name: threading.Lock() for name in offered}
        self.loaded: dict[str, Classifier] = {}

    @property
    def default(self) -> str:
        """The name of the model that is offered first."""
        return next(iter(self.offered))

    def check(self, name: object) -> str:
        """Return the name; raise RefusedError if no model of it is offered."""
        if not isinstance(name, str) or name not in self.offered:
            raise RefusedError(404, f"no model {name!r} is offered here: choose one of {', '.join(self.offered)}.")
        return name

    def get(self, name: object) -> Classifier:
        """Return the model of this name; raise RefusedError if none is offered, and what loading it raises."""
        known = self.check(name)
        with self.locks[known]:
            if known not in self.loaded:
                self.loaded[known] = self.offered[known].load()
            return self.loaded[known]

    def label(self, name: str) -> str:
        """Return what people call the model: what it calls itself, once it is loaded."""
        return self.offered[name].label or (self.loaded[name].name if name in self.loaded else name)

    def classify(self, name: object, photo: StoredPhoto, target: int | None = None) -> ClassifiedPhoto:
        """Return the photo with the model's scores for it and the class to explain."""
        classifier = self.get(name)
        wanted = None if target is None else str(target)
        classified = classify_image(photo.read(), Path(photo.name), classifier, wanted)
        self.loaded[str(name)] = classified.classifier  # with the names of its classes, as far as they are known
        return classified

    def find_classes(self, name: object, words: str) -> list[tuple[int, str]]:
        """Return number and label of the classes whose names hold all of these words, best matches first.

        A number finds its own class. Without words the first classes are returned.
        """
        classes = self.get(name).classes or self._named_classes(name)
        wanted = words.casefold().replace("_", " ").split()
        if len(wanted) == 1 and wanted[0].isdecimal() and int(wanted[0]) < len(classes):
            return [(int(wanted[0]), classes[int(wanted[0])])]
        plain = [label.casefold().replace("_", " ") for label in classes]
        found = [index for index, label in enumerate(plain) if all(word in label for word in wanted)]
        found.sort(key=lambda index: (plain[index] != " ".join(wanted), not _begins(plain[index], wanted), index))
        return [(index, classes[index]) for index in found[:MOST_CLASSES]]

    def _named_classes(self, name: object) -> tuple[str, ...]:
        """Return labels of a model that brings none: its outputs are counted on a grey picture."""
        classifier = self.get(name)
        grey = Image.new("RGB", classifier.shape[::-1], "grey")
        classified = classify_image(grey, Path("grey"), classifier)
        return tuple(classified.classifier.label(index) for index in range(len(classified.scores)))


def _begins(label: str, wanted: list[str]) -> bool:
    """Return whether every wanted word begins a word of the label."""
    return all(any(own.startswith(word) for own in label.split()) for word in wanted)
