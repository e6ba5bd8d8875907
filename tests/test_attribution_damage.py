"""A result's file that is not as it was written is refused, wherever it was hit."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

import samp
from laws import assert_same, images, net
from samp.attribution_file import FORMAT, WITHOUT_CHECKSUM


@pytest.fixture(scope="module")
def result() -> samp.Attribution:
    return samp.explain(net(0), images(0, 2, 3, 2, 2), method="samp++", keep_points=True)


@pytest.fixture
def path(result: samp.Attribution, tmp_path: Path) -> Path:
    return result.save(tmp_path / "r.samp")


def assert_equal_or_refused(path: Path, result: samp.Attribution) -> bool:
    """Whether it was refused; what loads must be the same in all its parts."""
    try:
        back = samp.Attribution.load(path)
    except ValueError as error:
        return "r.samp" in str(error)
    assert_same(back, result)
    assert (back.method, back.details) == (result.method, result.details)
    return False


def flip(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_a_flipped_bit_anywhere_is_noticed(path: Path, result: samp.Attribution) -> None:
    """Some in the header's JSON change nothing (a space that becomes another): those must load as the same."""
    whole, draw = path.read_bytes(), random.Random(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    bits = draw.sample(range(8 * header), 300) + draw.sample(range(8 * header, 8 * len(whole)), 100)
    refused = 0
    for bit in bits:
        path.write_bytes(flip(whole, bit))
        refused += assert_equal_or_refused(path, result)
    assert refused >= 390


def test_every_bit_of_the_numbers_counts(path: Path, result: samp.Attribution) -> None:
    whole, draw = path.read_bytes(), random.Random(1)
    start = 8 + int.from_bytes(whole[:8], "little")
    for bit in draw.sample(range(8 * start, 8 * len(whole)), 60):
        path.write_bytes(flip(whole, bit))
        with pytest.raises(ValueError, match=r"r\.samp is damaged, its content is not what its checksum is of"):
            samp.Attribution.load(path)


def test_a_file_cut_short_or_grown_anywhere_is_refused(path: Path, result: samp.Attribution) -> None:
    whole, draw = path.read_bytes(), random.Random(2)
    for length in (0, 7, 8, 9, len(whole) - 1, *draw.sample(range(len(whole)), 60)):
        path.write_bytes(whole[:length])
        assert assert_equal_or_refused(path, result)
    path.write_bytes(whole + b"\0")
    assert assert_equal_or_refused(path, result)


def test_stretches_written_over_are_noticed(path: Path, result: samp.Attribution) -> None:
    whole, draw = path.read_bytes(), random.Random(3)
    for _ in range(100):
        start, length = draw.randrange(len(whole)), draw.randrange(1, 200)
        path.write_bytes(whole[:start] + draw.randbytes(len(whole[start : start + length])) + whole[start + length :])
        assert assert_equal_or_refused(path, result)


def parts(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}, dict(file.metadata())  # noqa: SIM118  # the file is no mapping


def reword(metadata: dict[str, str], **changed: Any) -> None:
    metadata["samp"] = json.dumps({**json.loads(metadata["samp"]), **changed})


CHANGES: dict[str, Callable[[dict[str, Tensor], dict[str, str]], Any]] = {
    "a number": lambda tensors, _: tensors["values/0"].view(-1)[0].add_(1e-7),
    "a shape": lambda tensors, _: tensors.update({"values/0": tensors["values/0"].transpose(2, 3).contiguous()[:1]}),
    "a type": lambda tensors, _: tensors.update({"gradients": tensors["gradients"].to(torch.int16)}),
    "two tensors swapped": lambda tensors, _: tensors.update(
        {"scores/to_image": tensors["scores/to_baseline"], "scores/to_baseline": tensors["scores/to_image"].clone()}
    ),
    "a direction left out": lambda tensors, _: tensors.pop("scores/to_image"),
    "a tensor left out": lambda tensors, _: tensors.pop("group_values"),
    "a tensor more": lambda tensors, _: tensors.update({"tape/to_image/2/steps": torch.zeros(1)}),
    "the method": lambda _, metadata: reword(metadata, method="SAMP()"),
    "the details": lambda _, metadata: reword(metadata, details={}),
    "no checksum": lambda _, metadata: metadata.pop("sha256"),
    "no words": lambda _, metadata: metadata.pop("samp"),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_whatever_is_changed_is_noticed(change: str, path: Path) -> None:
    tensors, metadata = parts(path)
    save_file(tensors, path, metadata)
    samp.Attribution.load(path)  # unchanged, it may be written by other hands
    CHANGES[change](tensors, metadata)
    save_file(tensors, path, metadata)
    with pytest.raises(ValueError, match=r"r\.samp is damaged"):
        samp.Attribution.load(path)


def test_files_of_the_first_format_are_read_without_a_checksum(path: Path, result: samp.Attribution) -> None:
    tensors, metadata = parts(path)
    save_file(tensors, path, {"format": WITHOUT_CHECKSUM, "samp": metadata["samp"]})
    assert not assert_equal_or_refused(path, result)


@pytest.mark.parametrize(
    "words", [None, "", "{", "[]", "3", "null", '{"method": "x"}', "[" * 100_000, '{"one_input": 1, "details": {}}']
)
def test_damage_to_them_is_told_where_it_shows(path: Path, words: str | None) -> None:
    tensors, _ = parts(path)
    save_file(tensors, path, {"format": WITHOUT_CHECKSUM, **({} if words is None else {"samp": words})})
    with pytest.raises(ValueError, match=r"r\.samp is not a whole \.samp file \(.*\): save it again"):
        samp.Attribution.load(path)


@pytest.mark.parametrize("name", ["values/0", "group_values", "gradients", "tape/to_image/0/points/0"])
def test_a_tensor_missing_in_them_is_told(path: Path, name: str) -> None:
    tensors, metadata = parts(path)
    del tensors[name]
    save_file(tensors, path, {"format": WITHOUT_CHECKSUM, "samp": metadata["samp"]})
    with pytest.raises(ValueError, match=r"r\.samp is not a whole \.samp file \(.*\): save it again"):
        samp.Attribution.load(path)


def test_no_single_bit_leads_from_this_format_to_the_one_without_a_checksum() -> None:
    apart = [bin(ord(a) ^ ord(b)).count("1") for a, b in zip(FORMAT, WITHOUT_CHECKSUM, strict=True)]
    assert sum(apart) > 1
