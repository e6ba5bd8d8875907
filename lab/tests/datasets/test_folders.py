"""Photos in folders: which are found, what they are labelled, and what is said where labels and photos disagree."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from PIL import Image

from samp.models import imagenet_classes
from samp_lab.datasets import open_dataset
from samp_lab.datasets.folders import size_of
from samp_lab.datasets.imagenet import wnids


def photo(path: Path, size: tuple[int, int] = (6, 4)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (200, 30, 30)).save(path)
    return path


def table(folder: Path, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")


# ---- any folder ----


def test_a_flat_folder_has_no_labels_and_only_photos(tmp_path):
    for name in ("b.png", "a.JPG", ".hidden.png", "notes.txt"):
        photo(tmp_path / name) if name != "notes.txt" else (tmp_path / name).write_text("x")
    images = open_dataset("folder", tmp_path)
    assert [entry.id for entry in images] == ["a.JPG", "b.png"]
    assert images.labels == (None, None)
    assert not images.free


def test_folders_per_class_are_numbered_in_the_order_of_their_names(tmp_path):
    for name in ("dog/1.png", "cat/2.png", "cat/10.png", "empty/readme.txt"):
        photo(tmp_path / name) if name.endswith("png") else (tmp_path / "empty").mkdir()
    images = open_dataset("folder", tmp_path)
    assert images.classes == ("cat", "dog")
    assert {entry.id: entry.label for entry in images} == {"cat/10.png": 0, "cat/2.png": 0, "dog/1.png": 1}


def test_a_photo_beside_the_folders_of_classes_has_no_label(tmp_path):
    photo(tmp_path / "cat/1.png")
    photo(tmp_path / "stray.png")
    with pytest.raises(ValueError, match=r"stray.png has no label, as it lies in no folder of a class \(1 such\)"):
        open_dataset("folder", tmp_path)


def test_labels_come_from_the_table(tmp_path):
    photo(tmp_path / "a.png")
    photo(tmp_path / "deep/b.png")
    table(tmp_path, "file,class_index,species", "deep/b.png,2,wren", "a.png,0,jay")
    images = open_dataset("folder", tmp_path)
    assert {entry.id: entry.label for entry in images} == {"a.png": 0, "deep/b.png": 2}
    assert images.classes == ("jay", "1", "wren")
    assert images[1].picture().size == (6, 4)


def test_a_table_may_name_photos_that_lie_elsewhere(tmp_path):
    away = photo(tmp_path / "away/a.png")
    table(tmp_path / "here", "file,index", f"{away},0", "../away/a.png,1")
    images = open_dataset("folder", tmp_path / "here")
    assert {entry.id: entry.label for entry in images} == {away.as_posix(): 0, "../away/a.png": 1}
    assert all(entry.picture().size == (6, 4) for entry in images)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["file,index", "a.png,0", "gone.png,1"], r"labels.csv names gone.png, which is not there \(1 such\)"),
        (["file,index", "b.png,0"], r"a.png has no label in labels.csv \(1 such\)"),
        (["file,index"], "labels.csv has no lines below its columns"),
        (["photo,index", "a.png,0"], "has the columns photo, index: it needs file and index"),
        (["file,name", "a.png,cat"], "has the columns file, name: it needs file and index"),
        ([""], "has the columns none"),
        (["file,index", "a.png,cat"], "line 2: the index of a class is a whole number from 0 on, not 'cat'"),
        (["file,index", "a.png,-1"], "not '-1'"),
        (["file,index", "a.png"], "not ''"),
        (["file,index", "a.png,99999999999"], "not '99999999999'"),
        (["file,index", "a.png,0", "a.png,1"], "line 3 names the file 'a.png' again"),
        (["file,index,name", "a.png,0,cat", "b.png,0,dog"], "line 3 calls class 0 'dog', which was 'cat' before"),
    ],
)
def test_a_table_that_does_not_fit_is_said(lines, said, tmp_path):
    photo(tmp_path / "a.png")
    photo(tmp_path / "b.png")
    if "b.png" in said or "gone" in said:
        (tmp_path / "b.png").unlink()
    table(tmp_path, *lines)
    with pytest.raises((ValueError, FileNotFoundError), match=said):
        open_dataset("folder", tmp_path)


def test_a_table_that_is_no_text_is_said(tmp_path):
    (tmp_path / "labels.csv").write_bytes(b"file,index\n\xff\xfe.png,0\n")
    with pytest.raises(ValueError, match=r"labels.csv is no table in UTF-8 with commas"):
        open_dataset("folder", tmp_path)


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"looked for photos, folders of photos, or labels.csv"):
        open_dataset("folder", tmp_path)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_size_from_the_head_of_a_file_is_that_of_the_picture_shown(orientation, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", (30, 20)).save(tmp_path / "turned.jpg", exif=exif)
    picture = open_dataset("folder", tmp_path)[0].picture()
    assert size_of(tmp_path / "turned.jpg") == (picture.height, picture.width)


# ---- ImageNet ----


def test_folders_are_labelled_by_wordnet_id_or_by_name(tmp_path):
    for name in ("n02123045", "Egyptian_cat", "golden retriever"):
        photo(tmp_path / "imagenet" / name / "1.png")
    images = open_dataset("imagenet", tmp_path)
    assert {entry.id.split("/")[0]: entry.label for entry in images} == {
        "n02123045": 281,
        "Egyptian_cat": 285,
        "golden retriever": 207,
    }
    assert images.classes == imagenet_classes()


@pytest.mark.parametrize("name", ["siamang gibbon ape", "crane"])
def test_a_folder_called_after_no_class_or_after_two_is_said(name, tmp_path):
    photo(tmp_path / "n02123045/1.png")
    photo(tmp_path / name / "1.png")
    with pytest.raises(ValueError, match=f"{name} is called after no class of ImageNet"):
        open_dataset("imagenet", tmp_path)


@pytest.mark.parametrize("line", ["a.png,1000,", "a.png,281,n02123394"])
def test_labels_that_are_not_imagenets_are_said(line, tmp_path):
    photo(tmp_path / "a.png")
    table(tmp_path, "file,index,wnid", line)
    with pytest.raises(ValueError, match=r"none of ImageNet's 1,000"):
        open_dataset("imagenet", tmp_path)


def test_a_column_of_wordnet_ids_may_be_left_out(tmp_path):
    photo(tmp_path / "a.png")
    table(tmp_path, "file,index", "a.png,281")
    assert open_dataset("imagenet", tmp_path).labels == (281,)


def test_wordnet_ids_are_a_thousand_and_sorted():
    assert len(set(wnids())) == 1000
    assert list(wnids()) == sorted(wnids())


def test_real_labels_agree_with_the_names_of_the_files(data):
    """A file of this folder is called after its index and WordNet id."""
    for entry in open_dataset("imagenet", data):
        index, wnid = entry.id.removesuffix(".jpg").split("_")
        assert (entry.label, wnids()[entry.label]) == (int(index), wnid)


def test_wordnet_ids_are_those_of_the_real_table(data):
    with (data / "imagenet_classes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["wnid"] for row in rows] == list(wnids())
    assert tuple(row["name"] for row in rows) == imagenet_classes()


# ---- free photos ----


def test_photos_take_their_label_from_their_name(tmp_path):
    photo(tmp_path / "n02123045_281_tabby_cat.jpg")
    photo(tmp_path / "photos_of_281.jpg")
    images = open_dataset("photos", tmp_path)
    assert images.labels == (281, None)


def test_photos_are_free_only_if_all_are_known_to_be(tmp_path):
    photo(tmp_path / "photos/coffee.png")
    assert open_dataset("photos", tmp_path).free
    photo(tmp_path / "photos/holiday.png")
    assert not open_dataset("photos", tmp_path).free


def test_the_cats_among_the_real_photos_are_labelled(data):
    labels = {entry.id.split("_")[-2]: entry.label for entry in open_dataset("photos", data) if entry.label}
    assert labels == {"tabby": 281, "Persian": 283, "Siamese": 284, "Egyptian": 285}
