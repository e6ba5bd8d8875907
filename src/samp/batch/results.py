"""Read a run back: its rows, its maps and its settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from samp.batch import manifest
from samp.batch.columns import READ_COLUMNS, TRUE, Columns
from samp.batch.labels import LabelReader, LabelsHeader, read_header
from samp.batch.shards import Shards
from samp.batch.tables import Row
from samp.data_frames import make_frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class RunResults:
    """The valid shards in the folder of a run; see `load`.

    >>> import tempfile
    >>> from PIL import Image
    >>> from samp.models import mnist_slim
    >>> from samp.batch import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run([Image.new("L", (28, 28), 90)], out=folder, model=mnist_slim(), method="gradientxinput")
    ...     done = load(folder)
    ...     rows, maps = done.rows(), dict(done.maps())
    >>> rows[0]["id"], rows[0]["gradients"], maps["0"].shape
    ('0', 1, torch.Size([28, 28]))
    """

    folder: Path
    settings: dict[str, Any]
    about: dict[str, Any]
    numbers: tuple[int, ...]
    """The numbers of the valid shards."""
    damaged: tuple[int, ...] = ()
    """The numbers of shards whose files do not match their receipts."""

    def _repr_html_(self) -> str:
        from samp.display import run_html

        return run_html(self)

    def to_pandas(self) -> DataFrame:
        """Return `rows` as a table of pandas, with the ids as the index; of a very large run see `columns`."""
        return make_frame(self.rows(), index="id")

    @property
    def shards(self) -> Shards:
        return Shards(self.folder, self.settings["numbers"])

    def rows(self) -> list[Row]:
        """Return one row for each input, in the order of the data set."""
        return [row for number in self.numbers for row in self.shards.rows(number)]

    def maps(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the id and the map (h w, float32) of each input that has one, shard by shard."""
        for number in self.numbers:
            for row, map_ in zip(self.shards.rows(number), self.shards.maps(number), strict=True):
                if not row["error"]:
                    yield row["id"], map_

    def columns(self) -> Columns:
        """Return the numbers of all rows as arrays: for a million inputs these are small, where rows are not.

        `columns()["true"]` are the classes that the labels of the run say, NaN for inputs without one.
        """
        return Columns.from_shards(self._columns_by_shard())

    def _columns_by_shard(self) -> Iterator[tuple[int, dict[str, Sequence[Any]]]]:
        reader = LabelReader(self.folder)
        for number in self.numbers:
            part = self.shards.columns(number, (*READ_COLUMNS, "id") if reader.there else READ_COLUMNS)
            if reader.there:
                labels = reader.read(number)
                part[TRUE] = [labels.get(name) for name in part["id"]]
            yield number, part

    @property
    def labels_header(self) -> LabelsHeader | None:
        """Where the labels of the run come from, and how many there are; None if it has none."""
        return read_header(self.folder)

    def labels(self) -> dict[str, int]:
        """Return the true class of each input that has a label, by its id; empty if the run has no labels."""
        reader = LabelReader(self.folder)
        return {name: label for number in self.numbers for name, label in reader.read(number).items()}

    def mistakes(self) -> list[Row]:
        """Return the rows in which the model's answer is not the label, those it was surest of first.

        Each has three more values: `true`, the label; `true_label` and `predicted_label`, the names of both classes.
        Its map is that of `target`, which is the predicted class unless the run or the data set gave another. Raises
        ValueError if the run has no labels.

        >>> import tempfile
        >>> from PIL import Image
        >>> from samp.models import mnist_slim
        >>> from samp.batch import run
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     photos = [Image.new("L", (28, 28), 9 * grey) for grey in range(3)]
        ...     _ = run(photos, out=folder, model=mnist_slim(), method="gradientxinput", labels=[3, 3, 3])
        ...     wrong = load(folder).mistakes()
        >>> {row["true_label"] for row in wrong}, 3 in {row["predicted"] for row in wrong}
        ({'3'}, False)
        """
        if self.labels_header is None:
            raise ValueError("the run has no labels: give it some by `labels`; what is explained is not done again.")
        reader, found = LabelReader(self.folder), []
        for number in self.numbers:
            labels = reader.read(number)
            for row in self.shards.rows(number):
                true, predicted = labels.get(row["id"]), row["predicted"]
                if true is not None and predicted is not None and true != predicted:
                    names = {"true_label": self.class_name(true), "predicted_label": self.class_name(predicted)}
                    found.append({**row, "true": true, **names})
        return sorted(found, key=lambda row: -(row.get("confidence") or 0.0))

    def class_name(self, number: int) -> str:
        """Return the name of this class of the model, or "class NUMBER" if the run does not know it."""
        names = self.about.get("classes", ())
        return names[number] if 0 <= number < len(names) else f"class {number}"

    def row(self, shard: int, place: int) -> Row:
        """Return one row, by its shard and its place in it."""
        return self.shards.rows(shard)[place]

    def map(self, shard: int, place: int) -> Tensor:
        """Return one map (h w, float32), reading no other of its shard."""
        return self.shards.map(shard, place)


def load(folder: str | os.PathLike[str], thorough: bool = False) -> RunResults:
    """Return the run in this folder, without shards whose files do not match their receipts.

    Files are checked by their sizes and first bytes; `thorough` reads every byte. Raises FileNotFoundError if there is
    no run in the folder, and ValueError if its manifest is damaged.

    >>> load("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no run in nowhere (no manifest.json): give the folder that a run wrote.
    """
    place = Path(folder)
    description = manifest.read(place)
    if description is None:
        raise FileNotFoundError(f"there is no run in {folder} (no {manifest.NAME}): give the folder that a run wrote.")
    settings = description["settings"]
    shards = Shards(place, settings["numbers"])
    most = -(-settings["inputs"] // settings["shard_size"])
    there = [number for number in shards.list_shards() if number < most]
    with ThreadPoolExecutor() as pool:  # checking files waits for the disk
        valid = list(pool.map(lambda number: _is_valid(shards, number, settings, thorough), there))
    good, bad = ([n for n, ok in zip(there, valid, strict=True) if ok is wanted] for wanted in (True, False))
    return RunResults(place, settings, description["about"], tuple(good), tuple(bad))


def _is_valid(shards: Shards, number: int, settings: dict[str, Any], thorough: bool) -> bool:
    """Whether the shard's files match its receipt, with no more rows than the shard has inputs."""
    receipt = shards.receipt(number, thorough)
    if receipt is None or not 0 < receipt.rows <= settings["inputs"] - number * settings["shard_size"]:
        return False
    return receipt.rows <= settings["shard_size"] and (not thorough or len(shards.errors_by_id(number)) == receipt.rows)
