"""The folder of a run: for each shard a file of rows, a file of maps, and a receipt written last.

    manifest.json
    numbers/000000.parquet     one row for each input
    maps/000000.safetensors    one map for each row, divided by its largest magnitude, which is `scale`
    done/000000.json           the receipt: how many rows, which failed, size and SHA-256 of both files

All three are written under temporary names and renamed once they are complete, the receipt last. A shard is valid if
its receipt is there and both files match it, so a run may be stopped at any point and by any means. A shard that takes
long is written now and then while it is unfinished, with the rows of some of its inputs; a later run continues from
these.
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

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from samp.atomic import UnwritableError, atomic_write
from samp.batch.receipts import Receipt, parse_receipt
from samp.batch.stored_maps import RowAndMap, StoredMap
from samp.batch.tables import Row, read_columns, read_table, write_table

FOLDERS = ("numbers", "maps", "done")


@dataclass(frozen=True)
class Attempts:
    """A count of attempts at a shard: a file that grows by a byte with each, so that it outlives a killed worker."""

    file: Path

    def start(self) -> int:
        """Count another attempt, and return how many there were with it."""
        try:
            with self.file.open("ab") as file:
                file.write(b".")
                return file.tell()
        except OSError:  # a full disk is not what is counted here
            return 1

    def clear(self) -> None:
        """Forget the attempts: the last one ended, well or badly, without killing its worker."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Shards:
    """The shards in a folder, with rows in files of one form ("parquet" or "jsonl").

    >>> import tempfile, torch
    >>> from samp.batch.stored_maps import encode_maps, stack_maps
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
        """Make the folders of shards; raises UnwritableError where that is not possible."""
        for name in FOLDERS:
            try:
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnwritableError(
                    f"the folder {self.folder / name} cannot be made ({error.strerror}): choose another `out`, or make "
                    "room for it."
                ) from error

    def write(self, shard: int, rows: Sequence[Row], maps: dict[str, Tensor]) -> Receipt:
        """Write the files of this shard and its receipt, and return that; former files stay until all are written.

        `maps` are those of `stack_maps`. Raises UnwritableError, whose `full` tells whether the disk is full.
        """
        # Nothing is computed here, so that a thread can do this beside the one that explains: a second thread that
        # computes has a pool of torch's threads of its own, and on two cores both together took a third longer.
        with _stage_files(self._maps(shard), self._numbers(shard), self._receipt(shard)) as (credit, numbers, done):
            with atomic_write(credit) as unfinished:
                save_file(maps, unfinished)
            with atomic_write(numbers) as unfinished:
                write_table(unfinished, rows, self.form)
            failures = {row["id"]: row["error"] for row in rows if row.get("error")}
            sizes = (numbers.stat().st_size, credit.stat().st_size)
            receipt = Receipt(shard, len(rows), failures, _sha256(numbers), _sha256(credit), sizes)
            with atomic_write(done) as unfinished:
                unfinished.write_text(json.dumps(asdict(receipt)), encoding="utf-8")
        return receipt

    def receipt(self, shard: int, thorough: bool = True) -> Receipt | None:
        """Return the receipt of a shard if its files match it, else None: then the shard has to be done (again).

        Every byte is compared by SHA-256; if not `thorough`, only the sizes and first bytes of the files. Raises
        PermissionError if a file may not be read.
        """
        try:
            receipt = parse_receipt(self._receipt(shard).read_text(encoding="utf-8"))
            if receipt.shard != shard:  # a copy of another shard's receipt, whose rows would be there twice
                return None
            matches = self._matches if thorough or receipt.sizes is None else self._seems_to_match
            return receipt if matches(receipt) else None
        except PermissionError as error:  # the shard may be valid
            raise PermissionError(f"{error.filename} may not be read: ask its owner for permission.") from error
        except (OSError, ValueError):  # missing, truncated, or something else
            return None

    def list_shards(self) -> list[int]:
        """Return the numbers of all shards that have a receipt, whether their files match it or not."""
        names = (path.stem for path in (self.folder / "done").glob("*.json"))
        return sorted({int(name) for name in names if name.isascii() and name.isdigit() and name == f"{int(name):06d}"})

    def errors_by_id(self, shard: int) -> dict[str, str | None]:
        """Return the error or None of each row of a shard, by id and in order; empty if the shard is not valid."""
        receipt = self.receipt(shard)
        if receipt is None:
            return {}
        try:
            columns = self.columns(shard, ("id", "error"))
            errors: dict[str, str | None] = dict(zip(columns["id"], columns["error"], strict=True))
        except (OSError, ValueError, KeyError, TypeError):  # another kind of table, which the receipt matches
            return {}
        return errors if len(errors) == len(columns["id"]) == receipt.rows else {}

    def rows_and_maps(self, shard: int) -> dict[str, RowAndMap]:
        """Return the row and the stored map of each input of a shard by its id; empty if the shard is not valid."""
        if not self.errors_by_id(shard):
            return {}
        try:
            rows, tensors = self.rows(shard), load_file(self._maps(shard))
            maps = [StoredMap(*one) for one in zip(tensors["maps"], tensors["scale"], strict=True)]
            return {row["id"]: (row, None if row["error"] else one) for row, one in zip(rows, maps, strict=True)}
        except (OSError, ValueError, KeyError, TypeError, SafetensorError):
            return {}

    def rows(self, shard: int) -> list[Row]:
        """Return one row for each input of the shard."""
        return read_table(self._numbers(shard))

    def columns(self, shard: int, names: Sequence[str]) -> dict[str, Sequence[Any]]:
        """Return these columns of the shard's rows."""
        return read_columns(self._numbers(shard), names)

    def maps(self, shard: int) -> Tensor:
        """Return one map for each row in float32 (float64 if the net was), with NaN where the input failed."""
        try:
            tensors = load_file(self._maps(shard))
        except SafetensorError as error:
            raise ValueError(f"{self._maps(shard)} is not whole ({error}): run again to repair it.") from error
        maps, scale = tensors["maps"], tensors["scale"]
        return maps.to(scale.dtype) * scale.view(-1, *[1] * (maps.ndim - 1))

    def map(self, shard: int, place: int) -> Tensor:
        """Return one map of a shard as `maps` does, reading no other."""
        try:
            with safe_open(self._maps(shard), "pt") as file:
                scale = file.get_tensor("scale")[place]
                whole: Tensor = file.get_slice("maps")[place : place + 1][0].to(scale.dtype) * scale
        except SafetensorError as error:
            raise ValueError(f"{self._maps(shard)} is not whole ({error}): run again to repair it.") from error
        return whole

    def attempts(self, shard: int) -> Attempts:
        """Return the count of attempts at this shard in this run."""
        return Attempts(self.folder / "done" / f".{shard:06d}.attempts")

    def clean(self) -> None:
        """Remove the temporary files and counts of attempts that killed workers left."""
        patterns = [f"{name}/.*.part" for name in FOLDERS]
        # No more than these: the folder may hold files of others.
        for pattern in (*patterns, "done/.*.attempts", ".manifest.json.*.part", ".labels.jsonl.*.part"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    def _matches(self, receipt: Receipt) -> bool:
        sums = (_sha256(self._numbers(receipt.shard)), _sha256(self._maps(receipt.shard)))
        return sums == (receipt.numbers, receipt.maps)

    def _seems_to_match(self, receipt: Receipt) -> bool:
        """Whether sizes and first bytes match: a crash of the machine leaves truncated files, or zeros."""
        numbers, maps = self._numbers(receipt.shard), self._maps(receipt.shard)
        return (
            [numbers.stat().st_size, maps.stat().st_size] == list(receipt.sizes or ())
            and _first_bytes(numbers).startswith(b"PAR1" if self.form == "parquet" else b"{")
            and _first_bytes(maps)[8:] == b"{"  # safetensors: 8 bytes for the length of the header, then the header
        )

    def _numbers(self, shard: int) -> Path:
        return self.folder / "numbers" / f"{shard:06d}.{self.form}"

    def _maps(self, shard: int) -> Path:
        return self.folder / "maps" / f"{shard:06d}.safetensors"

    def _receipt(self, shard: int) -> Path:
        return self.folder / "done" / f"{shard:06d}.json"


def describe_shards(shards: Sequence[int], most: int = 10) -> str:
    """Return a phrase that names shards by their numbers, `most` of them at most.

    >>> describe_shards([4]), describe_shards([0, 2, 3], most=2)
    ('shard 4', 'shards 0, 2, …')
    """
    numbers = ", ".join(map(str, shards[:most])) + (", …" if len(shards) > most else "")
    return f"shard{'s' * (len(shards) > 1)} {numbers}"


@contextmanager
def _stage_files(*paths: Path) -> Iterator[list[Path]]:
    """Yield temporary paths to write to; at the end they are renamed to `paths`, the last one last.

    Until then former files are not touched: a shard that is done again on a full disk is still what it was. Raises
    UnwritableError if a file cannot be written.
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
        message = f"{where} cannot be written ({why}): choose another `out`, or make room for it."
        raise UnwritableError(message, full=error.errno in (errno.ENOSPC, errno.EDQUOT)) from error
    finally:
        for new in staged:
            with suppress(OSError):
                new.unlink(missing_ok=True)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(9)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
