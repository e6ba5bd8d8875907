"""Files of nets and weights that are cut short or hit: a sentence that names the file, and no advice to trust it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import evil_models
from evil_models import harmless
from samp import models
from samp.models.weights import load_weights

HUGE = struct.pack("<Q", 2**62) + b"{" + b" " * 20


@pytest.mark.parametrize(
    "content",
    [
        HUGE,  # a header longer than any file
        struct.pack("<Q", 40) + b'{"w":{"dtype":"F32","shape":[9],"data_o',  # and one that is cut short
        struct.pack("<Q", 64)
        + b'{"w":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]}}'.ljust(64)[:64],
        b"",
        b"PK\x03\x04 and nothing behind it",
        b"\x80\x02not a pickle",
        b"not a net",
    ],
)
@pytest.mark.parametrize("name", ["weights.safetensors", "weights.pth", "net.pt2"])
@pytest.mark.parametrize("trust", [False, True])
def test_damaged_files_get_a_sentence_that_names_them_and_speaks_of_no_trust(
    tmp_path: Path, content: bytes, name: str, trust: bool
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name) as raised:
        models.load("squeezenet1_1", tmp_path / name, trust=trust)
    assert "trust" not in str(raised.value).replace(str(tmp_path), "")
    with pytest.raises(ValueError, match=name) as raised:
        models.load(str(tmp_path / name), trust=trust)
    assert "trust" not in str(raised.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("length", [30, 300, 1000, -30])
@pytest.mark.parametrize("kind", ["program", "pickle", "weights"])
def test_files_cut_short_get_a_sentence(tmp_path: Path, kind: str, length: int) -> None:
    path = tmp_path / "net.pt"
    if kind == "program":
        evil_models.export_program(path)
    else:
        torch.save(harmless() if kind == "pickle" else harmless().state_dict(), path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"net\.pt (is not a whole|cannot be read as a) file of torch"):
        models.load(str(path), trust=True)


def save_in_an_archive(net: nn.Module, path: Path) -> None:
    torch.save(net.state_dict(), path)


def save_as_of_old(net: nn.Module, path: Path) -> None:
    torch.save(net.state_dict(), path, _use_new_zipfile_serialization=False)


def save_tensors(net: nn.Module, path: Path) -> None:
    save_file(net.state_dict(), path)


@pytest.mark.parametrize("save", [save_in_an_archive, save_as_of_old, save_tensors])
@pytest.mark.filterwarnings("ignore")  # torch warns of pickles that were hit
def test_weights_hit_anywhere_load_or_get_a_sentence(tmp_path: Path, save: Callable[[nn.Module, Path], None]) -> None:
    """torch looks at no checksum, so other numbers may load; no error but ours may come out."""
    path, draw = tmp_path / "weights.pth", random.Random(0)
    save(harmless(), path)
    whole = path.read_bytes()
    for hit in range(150):
        content = bytearray(whole)
        for _ in range(1 + hit % 3):
            content[draw.randrange(min(len(whole), 1500))] ^= 1 << draw.randrange(8)
        path.write_bytes(content if hit % 5 else content[: draw.randrange(len(content))])
        try:
            load_weights(harmless(), path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017  # both outcomes are right


def test_damage_that_looks_like_code_leads_to_no_trust(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    save_in_an_archive(harmless(), path)
    whole = path.read_bytes()
    assert b"_rebuild_tensor_v2" in whole
    path.write_bytes(whole.replace(b"_rebuild_tensor_v2", b"_rebuild_tensor_v6", 1))
    with pytest.raises(ValueError, match="cannot be read as a file of torch") as raised:
        models.load("squeezenet1_1", path)
    assert "trust" not in str(raised.value).replace(str(tmp_path), "")
