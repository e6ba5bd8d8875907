"""The final result of a method in a job, as it is kept, exported and asked again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PIL import Image

from samp.app.photos import StoredPhoto
from samp.html.facts import ExplainedPhoto


@dataclass(frozen=True, eq=False)
class Outcome:
    """An explained photo without its pixels: these are decoded again from the photo's file when they are needed."""

    photo: StoredPhoto
    explained: ExplainedPhoto

    @classmethod
    def of(cls, photo: StoredPhoto, explained: ExplainedPhoto) -> Outcome:
        """Return the outcome, which lets go of the decoded photo: 50 megapixels take 150 MB."""
        without = replace(explained.classified, photo=Image.new("RGB", (1, 1)))
        return cls(photo, replace(explained, classified=without))

    def whole(self) -> ExplainedPhoto:
        """Return the explained photo with its pixels."""
        classified = replace(self.explained.classified, photo=self.photo.read())
        return replace(self.explained, classified=classified)
