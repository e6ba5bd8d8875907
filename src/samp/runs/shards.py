"""The folder of a run: for each shard a file of rows, a file of maps, and a receipt written last.

    manifest.json
    numbers/000000.parquet     one row for each input
    maps/000000.safetensors    one map for each row, divided by its largest size, which is `scale`
    done/000000.json           the receipt: how many rows, which failed, SHA-256 of both files

Every file is written under another name and renamed when whole, and a shard counts once its receipt is there and both
files are as it says. So a run may be stopped at any point and by any means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from samp.files import UnwritableError, whole
from samp.runs.tables import Row, read_table, write_table

FOLDERS = ("numbers", "maps", "done")


@dataclass(frozen=True)
class Receipt:
    """What a shard that is done holds."""

    shard: int
    rows: int
    failures: dict[str, str]
    """Why each input that failed did, by its id."""
    numbers: str
    """SHA-256 of the file of rows."""
    maps: str
    """SHA-256 of the file of maps."""


@dataclass(frozen=True)
class Attempts:
    """A file that grows by a byte with each attempt: the only count that outlives a killed worker."""

    file: Path

    def begun(self) -> int:
        """Another attempt begins; how many that makes."""
        try:
            with self.file.open("ab") as file:
                file.write(b".")
                return file.tell()
        except OSError:  # a full disk is not what is counted here
            return 1

    def over(self) -> None:
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
    ...     _ = shards.write(0, [{"id": "a", "score": 0.5}], [torch.ones(2, 2)], torch.float16)
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
                    f"the folder {self.folder / name} cannot be made ({error.strerror}): choose another --out, or make "
                    "room for it."
                ) from error

    def write(self, shard: int, rows: Sequence[Row], maps: Sequence[Tensor | None], dtype: torch.dtype) -> Receipt:
        """The files of this shard, and last its receipt; what was there before counts no more."""
        self._receipt(shard).unlink(missing_ok=True)
        with whole(self._maps(shard)) as unfinished:
            save_file(packed(maps, dtype), unfinished)
        with whole(self._numbers(shard)) as unfinished:
            write_table(unfinished, rows, self.form)
        failures = {row["id"]: row["error"] for row in rows if row.get("error")}
        receipt = Receipt(shard, len(rows), failures, _sha256(self._numbers(shard)), _sha256(self._maps(shard)))
        with whole(self._receipt(shard)) as unfinished:
            unfinished.write_text(json.dumps(asdict(receipt)), encoding="utf-8")
        return receipt

    def receipt(self, shard: int) -> Receipt | None:
        """The receipt of a shard whose files are as it says, or None: then it is to be done (again)."""
        try:
            receipt = Receipt(**json.loads(self._receipt(shard).read_text(encoding="utf-8")))
            sound = receipt.shard == shard
            sound = sound and receipt.numbers == _sha256(self._numbers(shard))
            return receipt if sound and receipt.maps == _sha256(self._maps(shard)) else None
        except (OSError, ValueError, TypeError):  # not there, cut short, or of another kind
            return None

    def rows(self, shard: int) -> list[Row]:
        """One row for each input of the shard."""
        return read_table(self._numbers(shard))

    def maps(self, shard: int) -> Tensor:
        """One map for each row in float32; NaN where the row failed."""
        try:
            found = load_file(self._maps(shard))
        except SafetensorError as error:
            raise ValueError(f"{self._maps(shard)} is not whole ({error}): run again to repair it.") from error
        maps, scale = found["maps"].float(), found["scale"]
        return maps * scale.view(-1, *[1] * (maps.ndim - 1))

    def attempts(self, shard: int) -> Attempts:
        """How often this shard was begun in this run."""
        return Attempts(self.folder / "done" / f".{shard:06d}.attempts")

    def clean(self) -> None:
        """Take away what a killed writer left unfinished, and forget how often it tried."""
        kinds = [f"{name}/.*.part" for name in FOLDERS]
        for kind in (*kinds, "done/.*.attempts", ".manifest.json.*.part"):  # the folder itself may hold others' files
            for path in self.folder.glob(kind):
                path.unlink(missing_ok=True)

    def _numbers(self, shard: int) -> Path:
        return self.folder / "numbers" / f"{shard:06d}.{self.form}"

    def _maps(self, shard: int) -> Path:
        return self.folder / "maps" / f"{shard:06d}.safetensors"

    def _receipt(self, shard: int) -> Path:
        return self.folder / "done" / f"{shard:06d}.json"


def packed(maps: Sequence[Tensor | None], dtype: torch.dtype) -> dict[str, Tensor]:
    """Maps of one shape in one tensor, each divided by its largest size: float16 alone would lose small credit.

    >>> packed([torch.tensor([1e-9, 2e-9]), None], torch.float16)["maps"]
    tensor([[0.5000, 1.0000],
            [   nan,    nan]], dtype=torch.float16)
    """
    shape = next((found.shape for found in maps if found is not None), torch.Size((0,)))
    full = torch.stack([torch.full(shape, torch.nan) if found is None else found.float() for found in maps])
    largest = full.abs().flatten(1).nan_to_num().amax(1) if full.numel() else torch.zeros(len(full))
    scale = torch.where(largest > 0, largest, 1.0)
    return {"maps": (full / scale.view(-1, *[1] * len(shape))).to(dtype), "scale": scale}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
