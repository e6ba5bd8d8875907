"""The folder of a run: for each shard a file of rows, a file of maps, and a receipt written last.

    manifest.json
    numbers/000000.parquet     one row for each input
    maps/000000.safetensors    one map for each row, divided by its largest size, which is `scale`
    done/000000.json           the receipt: how many rows, which failed, size and SHA-256 of both files

All three are written under other names, and take their places when all are whole, the receipt last. A shard counts once
its receipt is there and both files are as it says. So a run may be stopped at any point and by any means. A shard that
takes long is written unfinished now and then, as rows of some of its inputs, which a later run goes on from.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from samp.atomic import UnwritableError, atomic_write
from samp.batch.receipts import Receipt, parse_receipt
from samp.batch.tables import Row, read_columns, read_table, write_table

FOLDERS = ("numbers", "maps", "done")


@dataclass(frozen=True)
class Attempts:
    """A file that grows by a byte with each attempt: the only count that outlives a killed worker."""

    file: Path

    def start(self) -> int:
        """Another attempt begins; how many that makes."""
        try:
            with self.file.open("ab") as file:
                file.write(b".")
                return file.tell()
        except OSError:  # a full disk is not what is counted here
            return 1

    def clear(self) -> None:
        """The attempt ended, well or badly, and its worker lives."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Shards:
    """The shards in a folder, with rows in one form ("parquet" or "jsonl").

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = Shards(Path(folder), "jsonl")
    ...     shards.make_folders()
    ...     maps = stack_maps(encode_maps(torch.ones(1, 2, 2), torch.float16), torch.float16)
    ...     _ = shards.write(0, [{"id": "a", "score": 0.5}], maps)
    ...     shards.receipt(0).rows, shards.maps(0)[0].tolist()
    (1, [[1.0, 1.0], [1.0, 1.0]])
    """

    folder: Path
    form: str

    def make_folders(self) -> None:
        for name in FOLDERS:
            try:
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnwritableError(
                    f"the folder {self.folder / name} cannot be made ({error.strerror}): choose another `out`, or make "
                    "room for it."
                ) from error

    def write(self, shard: int, rows: Sequence[Row], maps: dict[str, Tensor]) -> Receipt:
        """The files of this shard and its receipt; what was there before stays until all of them are written.

        Maps come `stack_maps`: nothing is calculated here, so that another thread can do it. (One that calculates has
        helpers of its own, and all of them together slow down those of the first: by a third on two cores.)
        """
        with _stage_files(self._maps(shard), self._numbers(shard), self._receipt(shard)) as (credit, numbers, note):
            with atomic_write(credit) as unfinished:
                save_file(maps, unfinished)
            with atomic_write(numbers) as unfinished:
                write_table(unfinished, rows, self.form)
            failures = {row["id"]: row["error"] for row in rows if row.get("error")}
            sizes = (numbers.stat().st_size, credit.stat().st_size)
            receipt = Receipt(shard, len(rows), failures, _sha256(numbers), _sha256(credit), sizes)
            with atomic_write(note) as unfinished:
                unfinished.write_text(json.dumps(asdict(receipt)), encoding="utf-8")
        return receipt

    def receipt(self, shard: int, thorough: bool = True) -> Receipt | None:
        """The receipt of a shard whose files are as it says, or None: then it is to be done (again).

        Every byte is read for that; if not `thorough`, only sizes and how the files begin.
        """
        try:
            receipt = parse_receipt(self._receipt(shard).read_text(encoding="utf-8"))
            if receipt.shard != shard:  # a file of another shard that was copied here: its rows would be there twice
                return None
            as_said = self._holds if thorough or receipt.sizes is None else self._seems_to_hold
            return receipt if as_said(receipt) else None
        except PermissionError as error:  # nothing is wrong with a file that may not be read
            raise PermissionError(f"{error.filename} may not be read: ask its owner for leave.") from error
        except (OSError, ValueError):  # not there, cut short, or of another kind
            return None

    def list_shards(self) -> list[int]:
        """The numbers of all shards with a receipt, whether it holds or not."""
        names = (path.stem for path in (self.folder / "done").glob("*.json"))
        return sorted({int(name) for name in names if name.isascii() and name.isdigit() and name == f"{int(name):06d}"})

    def errors_by_id(self, shard: int) -> dict[str, str | None]:
        """The id of each row of a shard, in order, and its error if it failed; nothing of one that does not hold."""
        receipt = self.receipt(shard)
        try:
            found = self.columns(shard, ("id", "error")) if receipt else {"id": (), "error": ()}
            there = dict(zip(found["id"], found["error"], strict=True))
        except (OSError, ValueError, KeyError, TypeError):  # a table of another kind, whose SHA-256 the receipt says
            return {}
        return there if receipt and len(there) == len(found["id"]) == receipt.rows else {}

    def answers(self, shard: int) -> dict[str, Answer]:
        """The row and the map of each input of a shard, as they were written; none where the shard does not hold."""
        if not self.errors_by_id(shard):
            return {}
        try:
            rows, found = self.rows(shard), load_file(self._maps(shard))
            maps = [StoredMap(*one) for one in zip(found["maps"], found["scale"], strict=True)]
            return {row["id"]: (row, None if row["error"] else one) for row, one in zip(rows, maps, strict=True)}
        except (OSError, ValueError, KeyError, TypeError, SafetensorError):
            return {}

    def rows(self, shard: int) -> list[Row]:
        """One row for each input of the shard."""
        return read_table(self._numbers(shard))

    def columns(self, shard: int, names: Sequence[str]) -> dict[str, Sequence[Any]]:
        """Some columns of these rows."""
        return read_columns(self._numbers(shard), names)

    def maps(self, shard: int) -> Tensor:
        """One map for each row in float32 (in float64 if the net was); NaN where the row failed."""
        try:
            found = load_file(self._maps(shard))
        except SafetensorError as error:
            raise ValueError(f"{self._maps(shard)} is not whole ({error}): run again to repair it.") from error
        maps, scale = found["maps"], found["scale"]
        return maps.to(scale.dtype) * scale.view(-1, *[1] * (maps.ndim - 1))

    def map(self, shard: int, place: int) -> Tensor:
        """One map of a shard, as `maps` gives it, read without the others."""
        try:
            with safe_open(self._maps(shard), "pt") as file:
                scale = file.get_tensor("scale")[place]
                found: Tensor = file.get_slice("maps")[place : place + 1][0].to(scale.dtype) * scale
        except SafetensorError as error:
            raise ValueError(f"{self._maps(shard)} is not whole ({error}): run again to repair it.") from error
        return found

    def attempts(self, shard: int) -> Attempts:
        """How often this shard was begun in this run."""
        return Attempts(self.folder / "done" / f".{shard:06d}.attempts")

    def clean(self) -> None:
        """Take away what a killed writer left unfinished, and forget how often it tried."""
        kinds = [f"{name}/.*.part" for name in FOLDERS]
        for kind in (*kinds, "done/.*.attempts", ".manifest.json.*.part"):  # the folder itself may hold others' files
            for path in self.folder.glob(kind):
                path.unlink(missing_ok=True)

    def _holds(self, receipt: Receipt) -> bool:
        sums = (_sha256(self._numbers(receipt.shard)), _sha256(self._maps(receipt.shard)))
        return sums == (receipt.numbers, receipt.maps)

    def _seems_to_hold(self, receipt: Receipt) -> bool:
        """A crash of the machine leaves files cut short, or full of zeros."""
        numbers, maps = self._numbers(receipt.shard), self._maps(receipt.shard)
        return (
            [numbers.stat().st_size, maps.stat().st_size] == list(receipt.sizes or ())
            and _beginning(numbers).startswith(b"PAR1" if self.form == "parquet" else b"{")
            and _beginning(maps)[8:] == b"{"  # behind the length of its header, as safetensors has it
        )

    def _numbers(self, shard: int) -> Path:
        return self.folder / "numbers" / f"{shard:06d}.{self.form}"

    def _maps(self, shard: int) -> Path:
        return self.folder / "maps" / f"{shard:06d}.safetensors"

    def _receipt(self, shard: int) -> Path:
        return self.folder / "done" / f"{shard:06d}.json"


def describe_shards(shards: Sequence[int], most: int = 10) -> str:
    """Some shards by their numbers, in words.

    >>> describe_shards([4]), describe_shards([0, 2, 3], most=2)
    ('shard 4', 'shards 0, 2, …')
    """
    numbers = ", ".join(map(str, shards[:most])) + (", …" if len(shards) > most else "")
    return f"shard{'s' * (len(shards) > 1)} {numbers}"


@dataclass(frozen=True, eq=False)
class StoredMap:
    """A map as it is stored: divided by its largest size, which is `scale`; float16 alone would lose small credit."""

    map: Tensor
    scale: Tensor


def encode_maps(maps: Tensor, dtype: torch.dtype) -> list[StoredMap]:
    """Each of these maps (b *d) as it is stored. Calculated where they lie; all that comes to the CPU is the result.

    >>> [one.map.tolist() for one in encode_maps(torch.tensor([[1e-9, 2e-9], [0.0, 0.0]]), torch.float16)]
    [[0.5, 1.0], [0.0, 0.0]]
    """
    full = maps.detach()
    full = full.to(torch.promote_types(full.dtype, torch.float32))
    largest = full.abs().flatten(1).nan_to_num().amax(1) if full.numel() else full.new_zeros(len(full))
    scale = torch.where(largest > 0, largest, 1.0)
    divided = (full / scale.view(-1, *[1] * (full.ndim - 1))).to(dtype)
    return [StoredMap(*one) for one in zip(divided.cpu(), scale.cpu(), strict=True)]


Answer = tuple[Row, StoredMap | None]
"""The row of an input, and its map if it has one."""


def stack_maps(maps: Sequence[StoredMap | None], dtype: torch.dtype) -> dict[str, Tensor]:
    """Maps of one shape in one tensor, NaN where there is none.

    >>> stack_maps([*encode_maps(torch.tensor([[1.0, 2.0]]), torch.float16), None], torch.float16)["maps"]
    tensor([[0.5000, 1.0000],
            [   nan,    nan]], dtype=torch.float16)
    """
    shape = next((found.map.shape for found in maps if found is not None), torch.Size((0,)))
    none = StoredMap(torch.full(shape, torch.nan, dtype=dtype), torch.tensor(1.0))
    each = [found or none for found in maps]
    return {"maps": torch.stack([one.map for one in each]), "scale": torch.cat([one.scale[None] for one in each])}


@contextmanager
def _stage_files(*paths: Path) -> Iterator[list[Path]]:
    """Places to write to; what lies there takes the places of `paths` once all is written, the last path last.

    Until then nothing of before is touched: a shard that is done again on a full disk is still the one it was.
    """
    token = secrets.token_hex(4)  # workers on two machines may have the same process number
    staged = [path.with_name(f".{path.name}.{token}.part") for path in paths]
    try:
        yield staged
        paths[-1].unlink(missing_ok=True)  # no receipt while the others change
        for new, path in zip(staged, paths, strict=True):
            os.replace(new, path)
    except UnwritableError:
        raise
    except OSError as error:
        where, why = error.filename or paths[-1], error.strerror or error
        said = f"{where} cannot be written ({why}): choose another `out`, or make room for it."
        raise UnwritableError(said, full=error.errno in (errno.ENOSPC, errno.EDQUOT)) from error
    finally:
        for new in staged:
            with suppress(OSError):
                new.unlink(missing_ok=True)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(9)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
