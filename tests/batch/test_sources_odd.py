"""Data sets that are odd or harmed: tars of one name, links, names that are no text: nothing is lost, nothing twice."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import pytest
from PIL import Image

import small_runs
from samp.batch import load, run
from samp.batch.sources import Folder, Items, list_entries, source_of
from samp.batch.tars import Tars
from samp.html.report_pictures import read_pictures
from small_runs import classifier, pack_tar


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_runs.photos(tmp_path / "data", 4)


# Tars that look alike, and tars that are not whole.


def test_tars_of_one_name_in_several_folders_keep_every_input_apart(data: Path, tmp_path: Path) -> None:
    photo = [path.read_bytes() for path in sorted(data.rglob("*.png"), key=lambda path: path.name)]
    pack_tar(tmp_path / "tars/b/train-0.tar", {"1.png": photo[0], "1.cls": b"2"})
    pack_tar(tmp_path / "tars/a/train-0.tar", {"1.png": photo[1], "1.cls": b"1"})
    pack_tar(tmp_path / "tars/a/train-0/1.tar", {"x.png": photo[2]})
    pack_tar(tmp_path / "tars/a/train-0/train-0.tar", {"1.png": photo[3]})
    (tmp_path / "tars/b/link.tar").symlink_to(tmp_path / "tars/b/train-0.tar")
    source = source_of(str(tmp_path / "tars/**/*.tar"))
    entries = list_entries(source)
    assert [(entry.id, entry.target) for entry in entries] == [
        ("a/train-0.tar/1", "1"),
        ("a/train-0/1.tar/x", None),
        ("a/train-0/train-0.tar/1", None),
        ("b/train-0.tar/1", "2"),
    ]
    wanted = [photo[1], photo[2], photo[3], photo[0]]
    for entry, content in zip(entries, wanted, strict=True):
        assert source.read(entry).tobytes() == Image.open(io.BytesIO(content)).convert("RGB").tobytes()
    run(str(tmp_path / "tars/**/*.tar"), out=tmp_path / "out", model=classifier())
    assert [row["id"] for row in load(tmp_path / "out").rows()] == [entry.id for entry in entries]
    again = read_pictures(load(tmp_path / "out"), [entry.id for entry in entries])
    assert list(again) == [entry.id for entry in entries]


def test_a_tar_that_is_a_link_is_called_by_the_name_of_the_link(data: Path, tmp_path: Path) -> None:
    """As in the cache of Hugging Face's hub, where names lead to files called by their SHA-256."""
    blob = pack_tar(tmp_path / "blobs" / "8f3c", {"1.png": (data / "000.png").read_bytes()})
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "train-0.tar").symlink_to(blob)
    for place in (tmp_path / "names", tmp_path / "names" / "*.tar"):
        assert [entry.id for entry in source_of(str(place)).entries()] == ["train-0/1"]


def test_a_photo_that_a_tar_holds_under_two_names_is_two_inputs(data: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.png", tmp_path / "2.png"
    first.write_bytes((data / "000.png").read_bytes())
    second.hardlink_to(first)
    with tarfile.open(tmp_path / "linked.tar", "w") as tar:
        for path in (first, second):
            tar.add(path, path.name)
        assert tar.getmembers()[1].islnk()
    source = Tars((tmp_path / "linked.tar",))
    one, two = source.entries()
    assert (one.id, two.id) == ("linked/1", "linked/2")
    assert source.read(one).tobytes() == source.read(two).tobytes()


@pytest.mark.parametrize("harm", ["damaged", "joined", "cut short", "twice"])
def test_a_tar_of_which_some_would_be_left_out_is_refused(data: Path, tmp_path: Path, harm: str) -> None:
    members = {f"{path.stem}.png": path.read_bytes() for path in data.rglob("*.png")}
    path = pack_tar(tmp_path / "a.tar", members)
    whole = path.read_bytes()
    if harm == "damaged":  # the header of the third member
        with tarfile.open(path) as tar:
            place = tar.getmembers()[2].offset
        path.write_bytes(whole[:place] + b"x" * 512 + whole[place + 512 :])
    elif harm == "joined":
        path.write_bytes(whole + whole)
    elif harm == "cut short":
        path.write_bytes(whole[: len(whole) // 2 // 512 * 512 + 100])
    else:
        with tarfile.open(path, "a") as tar:
            tar.add(data / "000.png", "000.png")
    with pytest.raises(
        ValueError, match=r"holds 000\.png twice" if harm == "twice" else "a.tar (goes on|cannot be read)"
    ):
        Tars((path,)).entries()


# Folders: links, names, and what may not be read.


def test_linked_folders_are_walked_but_not_round_for_ever(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.png").write_bytes((data / "000.png").read_bytes())
    (data / "linked").symlink_to(other)
    (data / "b.png").symlink_to(other / "a.png")
    (data / "around").symlink_to(data)
    (other / "back").symlink_to(data)
    (other / "gone.png").symlink_to(tmp_path / "nowhere.png")
    ids = [entry.id for entry in list_entries(Folder(data))]
    assert ids == ["000.png", "001.png", "003.png", "b.png", "deeper/002.png", "linked/a.png", "linked/gone.png"]
    summary = run(data, out=tmp_path / "out", model=classifier())
    assert list(summary.failures) == ["linked/gone.png"]


def test_a_folder_that_may_not_be_read_is_told_rather_than_left_out(data: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="samp-unreadable-"))  # pytest's own folders may not be read by others at all
    place.chmod(0o755)
    me = os.geteuid()
    try:
        (place / "photo.png").write_bytes((data / "000.png").read_bytes())
        (place / "closed").mkdir(mode=0)
        if me == 0:
            os.seteuid(65534)  # for root nothing is closed
        with pytest.raises(OSError, match=r"closed cannot be read \(Permission denied\): make it readable"):
            Folder(place).entries()
    finally:
        os.seteuid(me)
        shutil.rmtree(place)


def test_a_bad_photo_with_a_name_that_is_no_text_costs_that_photo_alone(data: Path, tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(data) + b"/caf\xe9.jpg")).write_text("no photo")
    except OSError:
        pytest.skip("needs a file system that takes any name")
    summary = run(data, out=tmp_path / "out", model=classifier())
    assert summary.explained == 4
    assert list(summary.failures) == ["caf\\xe9.jpg"]
    (error,) = (row["error"] for row in load(tmp_path / "out").rows() if row["error"])
    assert "caf\\xe9.jpg cannot be read as an image" in error


def test_ids_of_any_letters_and_length_are_kept(tmp_path: Path) -> None:
    ids = ["日本語/é.jpg", "e\u0301", "line\nbreak\u2028", "x" * 100_000, "half \ud800 a pair", "a\0b", "<script>", " "]
    photos = [Image.new("RGB", (4, 4), (30 * i, 9, 9)) for i in range(len(ids))]
    assert run(Items(photos, ids=ids), out=tmp_path / "out", model=classifier(), shard_size=3).code == 0
    ids[4] = "half \\ud800 a pair"
    assert [row["id"] for row in load(tmp_path / "out").rows()] == ids
    assert run(Items(photos, ids=ids), out=tmp_path / "out", model=classifier(), shard_size=3).found == len(ids)
