"""MNIST's files against their raw bytes, and against files that are not what they should be."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from samp_lab.datasets import arrays, open_dataset, read_idx

IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


@pytest.fixture
def digits(tmp_path):
    """Three pictures of 2 × 3 pixels in MNIST's files."""
    pixels = np.random.default_rng(0).integers(0, 256, (3, 2, 3), np.uint8)
    (tmp_path / IMAGES).write_bytes(idx(pixels))
    (tmp_path / LABELS).write_bytes(idx(np.array([7, 2, 1], np.uint8)))
    return tmp_path, pixels


def test_idx_files_are_read_byte_for_byte(digits):
    folder, pixels = digits
    read, labels = arrays("mnist", folder, check=False)
    assert np.array_equal(read, pixels)
    assert labels.tolist() == [7, 2, 1]


@pytest.mark.parametrize("home", ["", "mnist", "MNIST/raw"])
@pytest.mark.parametrize("packed", [False, True])
def test_idx_files_are_found_packed_or_not_in_their_usual_places(home, packed, tmp_path):
    place = tmp_path / home
    place.mkdir(parents=True, exist_ok=True)
    for name, values in ((IMAGES, np.full((1, 2, 2), 9, np.uint8)), (LABELS, np.array([4], np.uint8))):
        content = idx(values)
        (place / f"{name}.gz").write_bytes(gzip.compress(content)) if packed else (place / name).write_bytes(content)
    images = open_dataset("mnist", tmp_path, check=False)
    assert images.labels == (4,)
    assert np.asarray(images[0].picture()).tolist() == [[9, 9], [9, 9]]


def test_an_unpacked_file_comes_before_the_packed_one(digits):
    folder, pixels = digits
    (folder / f"{IMAGES}.gz").write_bytes(b"half of a downl")
    assert np.array_equal(arrays("mnist", folder, check=False)[0], pixels)


def test_other_data_in_mnist_files_is_refused_unless_unchecked_and_never_called_free(digits):
    with pytest.raises(ValueError, match=f"{IMAGES} is not the published file, by its SHA-256"):
        open_dataset("mnist", digits[0])
    assert not open_dataset("mnist", digits[0], check=False).free


@pytest.mark.parametrize("kept", [16, 20, 33])
@pytest.mark.parametrize("packed", [False, True])
def test_a_truncated_idx_file_is_said(kept, packed, digits):
    path = digits[0] / IMAGES
    cut = path.read_bytes()[:kept]
    path.write_bytes(gzip.compress(cut) if packed else cut)
    with pytest.raises(ValueError, match=rf"{IMAGES} has {kept - 16} bytes after a header of \(3, 2, 3\), 18 bytes"):
        read_idx(path, 3)


def test_an_idx_file_with_bytes_to_spare_is_said(digits):
    path = digits[0] / IMAGES
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ValueError, match="has more after a header"):
        read_idx(path, 3)


def test_a_truncated_gz_file_is_said(digits):
    path = digits[0] / IMAGES
    path.write_bytes(gzip.compress(path.read_bytes())[:-12])
    with pytest.raises(ValueError, match=f"{IMAGES} cannot be unpacked"):
        read_idx(path, 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "begins with nothing"),
        (b"\x89PNG\r\n", "begins with 89504e47, not with 00000803"),
        (bytes([0, 0, 8, 1, 0, 0, 0, 0]), "begins with 00000801, not with 00000803"),
        (bytes([0, 0, 13, 3]), "begins with 00000d03"),
        (bytes([0, 0, 8, 3, 0, 0]), "ends within its header of 16 bytes"),
        (bytes([0, 0, 8, 3, 127, *[255] * 3, *[0, 0, 0, 1] * 2]), "which is more than 1,073,741,824 bytes"),
    ],
)
def test_a_file_that_is_no_idx_file_is_said(content, said, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_idx(tmp_path / "file", 3)


def test_labels_of_another_number_are_said(digits):
    (digits[0] / LABELS).write_bytes(idx(np.array([7, 2], np.uint8)))
    with pytest.raises(ValueError, match="mnist has 3 pictures but 2 labels"):
        arrays("mnist", digits[0], check=False)


def test_the_first_digits_of_mnist_are_the_known_ones(data):
    assert open_dataset("mnist", data).labels[:5] == (7, 2, 1, 0, 4)
    assert open_dataset("mnist-train", data).labels[:5] == (5, 0, 4, 1, 9)


def test_mnist_is_read_as_its_raw_bytes_stand_there(data):
    raw = gzip.decompress((data / "mnist" / f"{IMAGES}.gz").read_bytes())
    pixels, _ = arrays("mnist", data)
    number, row, column = 42, 13, 9
    assert pixels[number, row, column] == raw[16 + 784 * number + 28 * row + column]
    assert pixels.tobytes() == raw[16:]
