"""A run that is done, read back: its rows, its maps, and how it was made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from samp.batch import manifest
from samp.batch.columns import READ_COLUMNS, Columns
from samp.batch.shards import Shards
from samp.batch.tables import Row


@dataclass(frozen=True, eq=False)
class RunResults:
    """The folder of a run; shards whose receipt is missing or does not hold are left out.

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
    """The shards that are there."""
    damaged: tuple[int, ...] = ()
    """Those that were done, and are not as their receipts say any more."""

    @property
    def shards(self) -> Shards:
        return Shards(self.folder, self.settings["numbers"])

    def rows(self) -> list[Row]:
        """One row for each input, in the order of the data set."""
        return [row for number in self.numbers for row in self.shards.rows(number)]

    def maps(self) -> Iterator[tuple[str, Tensor]]:
        """The id and the map (h w, float32) of each input that has one, shard by shard."""
        for number in self.numbers:
            for row, found in zip(self.shards.rows(number), self.shards.maps(number), strict=True):
                if not row["error"]:
                    yield row["id"], found

    def columns(self) -> Columns:
        """The numbers of all rows as arrays: what a page about a million inputs is made of."""
        return Columns.from_shards((number, self.shards.columns(number, READ_COLUMNS)) for number in self.numbers)

    def row(self, shard: int, place: int) -> Row:
        """One row, by its shard and its place in there."""
        return self.shards.rows(shard)[place]

    def map(self, shard: int, place: int) -> Tensor:
        """One map (h w, float32), read without the others of its shard."""
        return self.shards.map(shard, place)


def load(folder: str | os.PathLike[str], thorough: bool = False) -> RunResults:
    """The run in this folder.

    Whether its files are as their receipts say is told by their sizes and beginnings; `thorough` reads every byte.

    >>> load("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no run in nowhere (no manifest.json): give the folder of one.
    """
    place = Path(folder)
    found = manifest.read(place)
    if found is None:
        raise FileNotFoundError(f"there is no run in {folder} (no {manifest.NAME}): give the folder of one.")
    settings = found["settings"]
    shards = Shards(place, settings["numbers"])
    most = -(-settings["inputs"] // settings["shard_size"])
    begun = [number for number in shards.list_shards() if number < most]
    with ThreadPoolExecutor() as pool:  # files to be checked are waited for
        sound = pool.map(lambda number: _is_sound(shards, number, settings, thorough), begun)
        there = dict(zip(begun, sound, strict=True))
    good, bad = ([number for number in begun if there[number] is wanted] for wanted in (True, False))
    return RunResults(place, settings, found["about"], tuple(good), tuple(bad))


def _is_sound(shards: Shards, number: int, settings: dict[str, Any], thorough: bool) -> bool:
    """Whether the shard is as its receipt says, with no more rows than it has inputs."""
    receipt = shards.receipt(number, thorough)
    if receipt is None or not 0 < receipt.rows <= settings["inputs"] - number * settings["shard_size"]:
        return False
    return receipt.rows <= settings["shard_size"] and (not thorough or len(shards.errors_by_id(number)) == receipt.rows)
