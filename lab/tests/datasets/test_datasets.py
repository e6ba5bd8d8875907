"""What holds for every data set: order, draws, names, and pictures that are opened only when asked for."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from samp_lab.datasets import ARRAY_READERS, READERS, ArrayDataset, Entry, Images, arrays, open_dataset


def numbered(count: int) -> Images:
    return Images("numbers", [Entry(f"{i:03d}", i % 10, lambda: Image.new("L", (2, 2))) for i in range(count)])


def test_a_draw_is_without_replacement_and_of_the_data_set():
    images = numbered(100)
    drawn = [entry.id for entry in images.sample(30, seed=5)]
    assert len(set(drawn)) == 30
    assert set(drawn) <= {entry.id for entry in images}


def test_a_larger_draw_begins_with_the_smaller_one():
    images = numbered(100)
    assert [e.id for e in images.sample(40, 3)][:7] == [e.id for e in images.sample(7, 3)]


def test_a_draw_depends_on_the_seed_and_on_nothing_else():
    images = numbered(100)
    reversed_order = Images("other", list(reversed(images.entries)))
    assert [e.id for e in images.sample(20, 1)] == [e.id for e in reversed_order.sample(20, 1)]
    assert [e.id for e in images.sample(20, 1)] != [e.id for e in images.sample(20, 2)]


def test_draws_of_many_seeds_take_each_picture_equally_often():
    images = numbered(10)
    taken = [entry.label for seed in range(1000) for entry in images.sample(3, seed)]
    # 300 expected each, standard deviation sqrt(1000 * 0.3 * 0.7) = 14.5: five of them
    assert np.abs(np.bincount(taken, minlength=10) - 300).max() < 73


def test_none_draws_all_in_their_order():
    images = numbered(5)
    assert images.sample(None, 0) is images


@pytest.mark.parametrize("count", [0, -1, True, 2.5])
def test_a_draw_of_no_whole_number_is_refused(count):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        numbered(5).sample(count, 0)


def test_a_draw_of_more_than_there_is_says_how_many_there_are():
    with pytest.raises(ValueError, match="numbers has 5 pictures, not 6"):
        numbered(5).sample(6, 0)


def test_the_fingerprint_is_the_hash_of_the_ids_in_order():
    images = numbered(3)
    assert images.fingerprint() == hashlib.sha256(b"000\n001\n002\n").hexdigest()
    assert images.fingerprint() != Images("numbers", list(reversed(images.entries))).fingerprint()


def test_an_id_in_bytes_that_are_no_text_is_hashed_all_the_same():
    images = Images("odd", [Entry("caf\udce9.png", None, lambda: Image.new("L", (1, 1)))])
    assert images.fingerprint() == hashlib.sha256(b"caf\xe9.png\n").hexdigest()
    assert len(images.sample(1, 0)) == 1


def test_the_same_id_twice_is_refused():
    one = Entry("a", 0, lambda: Image.new("L", (1, 1)))
    with pytest.raises(ValueError, match="mine has the id a twice"):
        Images("mine", [one, one])


def test_an_annotation_is_read_once_and_not_before_it_is_asked_for():
    calls = []
    entry = Entry("a", None, lambda: Image.new("L", (1, 1)), lambda: calls.append(1) or "boxes")
    assert not calls
    assert entry.annotation == entry.annotation == "boxes"
    assert len(calls) == 1


def test_a_picture_of_an_array_takes_only_its_own_pixels_to_another_process():
    pixels = np.arange(1000 * 4 * 4, dtype=np.uint32).astype(np.uint8).reshape(1000, 4, 4)
    images = ArrayDataset("tiny", "test", pixels, np.zeros(1000, np.int64), ("a",)).images()
    sent = pickle.dumps(images[3])
    assert len(sent) < 1000
    assert np.array_equal(np.asarray(pickle.loads(sent).picture()), pixels[3])


def test_pictures_and_labels_of_different_number_are_refused():
    with pytest.raises(ValueError, match="tiny has 2 pictures but 3 labels"):
        ArrayDataset("tiny", "test", np.zeros((2, 4, 4), np.uint8), np.zeros(3, np.int64), ())


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="did you mean 'cifar10'"):
        open_dataset("cifar", tmp_path)
    with pytest.raises(ValueError, match="unknown data set in arrays 'voc'"):
        arrays("voc", tmp_path)


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*gone of data"):
        open_dataset("mnist", tmp_path / "gone")


@pytest.mark.parametrize("name", READERS)
def test_missing_data_says_what_was_looked_for_and_how_to_get_it(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"data set {name} is not there: looked for") as caught:
        open_dataset(name, tmp_path)
    said = str(caught.value)
    assert str(tmp_path) in said
    assert any(advice in said for advice in ("samp bench download", "image-net.org", "cocodataset.org", "put photos"))
    assert "\n" not in said


COUNTS = {"mnist": 10_000, "mnist-train": 60_000, "imagenet": 250, "photos": 8, "coco": 254, "voc": 8, "cub": 200}


@pytest.mark.parametrize("name", COUNTS)
def test_real_data_is_found_below_the_folder_of_all_data(name, data):
    images = open_dataset(name, data)
    ids = [entry.id for entry in images]
    assert len(images) == COUNTS[name]
    assert ids == sorted(ids)
    assert all(label is None or 0 <= label < len(images.classes) for label in images.labels)
    assert images.credit
    assert images.free == (name.startswith("mnist") or name == "photos")
    assert images[0].picture().size[0] > 0


@pytest.mark.parametrize("name", ["imagenet", "photos", "coco", "cub", "voc"])
def test_real_data_is_found_in_its_own_folder(name, data):
    home = {"imagenet": "imagenet250", "coco": "coco254", "cub": "cub200imgs", "voc": "voc2007_8"}.get(name, name)
    inside = open_dataset(name, data / home)
    assert inside.fingerprint() == open_dataset(name, data).fingerprint()


@pytest.mark.parametrize("name", ARRAY_READERS)
def test_arrays_hold_the_pixels_and_labels_of_the_pictures(name, data):
    pixels, labels = arrays(name, data)
    images = open_dataset(name, data)
    assert pixels.dtype == np.uint8
    assert labels.dtype == np.int64
    assert images.labels == tuple(labels)
    for number in (0, 17, len(images) - 1):
        assert np.array_equal(np.asarray(images[number].picture()), pixels[number])


def test_a_broken_picture_amid_others_is_a_matter_of_its_own_entry(tmp_path):
    for name in "abc":
        Image.new("RGB", (4, 4)).save(tmp_path / f"{name}.png")
    (tmp_path / "b.png").write_bytes(b"no picture")
    Path(tmp_path / "c.png").write_bytes((tmp_path / "a.png").read_bytes()[:40])
    images = open_dataset("folder", tmp_path)
    assert images[0].picture().size == (4, 4)
    for number, name in ((1, "b.png"), (2, "c.png")):
        with pytest.raises(ValueError, match=f"{name} cannot be read as an image"):
            images[number].picture()
