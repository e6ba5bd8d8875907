"""A data set as a list of pictures, each opened on use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from PIL import Image

from samp.checks import check_whole

if TYPE_CHECKING:
    from samp.annotations.boxes import Annotation


@dataclass(frozen=True)
class Entry:
    """One picture: its id, its class if known, and a function that opens it.

    `read` and `boxes` are called on use, so that a broken file affects its own entry alone.

    >>> entry = Entry("test/00042", 7, lambda: Image.new("L", (28, 28)))
    >>> entry.picture().size, entry.annotation
    ((28, 28), None)
    """

    id: str
    label: int | None
    read: Callable[[], Image.Image] = field(repr=False, compare=False)
    boxes: Callable[[], Annotation] | None = field(default=None, repr=False, compare=False)

    def picture(self) -> Image.Image:
        """Open and return the picture; raise OSError or ValueError with its name if that fails."""
        return self.read()

    @cached_property
    def annotation(self) -> Annotation | None:
        """The boxes in pixels of the picture, read on first use; None if the data set has none."""
        return self.boxes() if self.boxes else None


@dataclass(frozen=True, eq=False)
class Images:
    """The pictures of a data set in a fixed order, with their classes, licence and credit.

    `free` is whether they may be published, `credit` their source and terms. `mapping` holds the ImageNet classes of
    each class with boxes.

    >>> black = Entry("a.png", 0, lambda: Image.new("RGB", (4, 4)))
    >>> images = Images("mine", [black], classes=("dark",))
    >>> len(images), images[0].id, images.labels
    (1, 'a.png', (0,))
    """

    name: str
    entries: Sequence[Entry] = field(repr=False)
    classes: tuple[str, ...] = field(default=(), repr=False)
    free: bool = False
    credit: str = ""
    mapping: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for entry in self.entries:
            if entry.id in seen:
                raise ValueError(f"{self.name} has the id {entry.id} twice: each picture needs one of its own.")
            seen.add(entry.id)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def labels(self) -> tuple[int | None, ...]:
        """The class of each picture, None if not known."""
        return tuple(entry.label for entry in self.entries)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the ids in their order, which identifies the selection, not the content.

        >>> Images("none", []).fingerprint()[:8]
        'e3b0c442'
        """
        return _hash("".join(f"{entry.id}\n" for entry in self.entries)).hex()

    def sample(self, count: int | None, seed: int) -> Images:
        """Return `count` pictures drawn without replacement, in the order of the draw; None returns all in order.

        The draw sorts by a hash of seed and id, so that it is the same on every machine, a larger draw begins with the
        smaller one, and added pictures do not change the order of the others.

        >>> images = Images("mine", [Entry(name, None, lambda: Image.new("L", (1, 1))) for name in "abcde"])
        >>> [entry.id for entry in images.sample(2, seed=0)], [entry.id for entry in images.sample(3, seed=0)]
        (['e', 'b'], ['e', 'b', 'a'])
        """
        if count is None:
            return self
        if check_whole("the number of pictures to draw", count, 1) > len(self):
            raise ValueError(f"{self.name} has {len(self)} pictures, not {count}: ask for that many at most.")
        drawn = sorted(self.entries, key=lambda entry: _hash(f"{seed} {entry.id}"))
        return replace(self, entries=tuple(drawn[:count]))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()  # file names may be no UTF-8
