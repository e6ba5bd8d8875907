"""Photos in tars: none is left out without a word, whatever its name, and nothing in a tar takes all memory."""

from __future__ import annotations

import tarfile
import warnings
from pathlib import Path

import pytest

import small_runs
from samp.batch import load, run
from samp.batch.tars import Tars
from small_runs import classifier, pack_tar


@pytest.fixture
def photo(tmp_path: Path) -> bytes:
    return (small_runs.photos(tmp_path / "data", 1) / "000.png").read_bytes()


def ids(tar: Path) -> list[str]:
    return [entry.id for entry in Tars((tar,)).entries()]


def test_dots_in_the_name_of_a_photo_hide_nothing(photo: bytes, tmp_path: Path) -> None:
    names = ["photo.001.png", "img.v2.final.PNG", "a.b/c.d.png", "plain.png"]
    tar = pack_tar(tmp_path / "t.tar", dict.fromkeys(names, photo))
    summary = run(tar, out=tmp_path / "out", model=classifier())
    assert (summary.inputs, summary.explained, summary.code) == (4, 4, 0)
    assert [row["id"] for row in load(tmp_path / "out").rows()] == [
        "t/photo.001",
        "t/img.v2.final",
        "t/a.b/c.d",
        "t/plain",
    ]


def test_every_photo_of_a_sample_is_an_input_and_that_is_said(photo: bytes, tmp_path: Path) -> None:
    members = {"1.png": photo, "1.seg.png": photo, "1.cls": b"2", "2.png": photo, "2.bmp": photo, "2.png.jpg": photo}
    tar = pack_tar(tmp_path / "t.tar", members)
    with pytest.warns(UserWarning, match=r"several photos \(1\.png, 1\.seg\.png, 2\.png, …\): each photo is an input"):
        entries = Tars((tar,)).entries()
    wanted = [("t/1", "2"), ("t/1.seg", "2"), ("t/2.png", None), ("t/2.bmp", None), ("t/2.png.jpg", None)]
    assert [(entry.id, entry.target) for entry in entries] == wanted


def test_the_class_of_a_photo_is_its_own_before_that_of_its_sample(photo: bytes, tmp_path: Path) -> None:
    members = {"a.01.png": photo, "a.02.png": photo, "a.02.cls": b"1", "a.cls": b"2", "b.cls": b"0", "b.png": photo}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entries = Tars((pack_tar(tmp_path / "t.tar", members),)).entries()
    assert [entry.target for entry in entries] == ["2", "1", "0"]


def test_what_is_left_out_is_said(photo: bytes, tmp_path: Path) -> None:
    members = {"1.png": photo, "1.json": b"{}", "2.heic": b"x", "3.cls": b"1", "4": photo, "._1.png": b"of a Mac"}
    tar = pack_tar(tmp_path / "t.tar", members)
    with tarfile.open(tar, "a") as file:
        link = tarfile.TarInfo("5.png")
        link.type, link.linkname = tarfile.SYMTYPE, "1.png"
        file.addfile(link)
    message = r"holds 4 samples without a photo that can be read \(2\.heic, 4, 5\.png, …\): they are left out"
    with pytest.warns(UserWarning, match=message):
        assert ids(tar) == ["t/1"]


def test_usual_tars_are_read_without_a_word(photo: bytes, tmp_path: Path) -> None:
    tar = pack_tar(
        tmp_path / "t.tar", {"1.png": photo, "1.json": b"{}", "1.cls": b"1", "a/2.png": photo, "a/2.txt": b""}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ids(tar) == ["t/1", "t/a/2"]


# What would take all memory. Files have holes: nothing of them lies on the disk.


def hollow(path: Path, name: str, size: int, kind: bytes = tarfile.REGTYPE) -> Path:
    """A tar whose only member claims to have, and has, so many bytes of zeros."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    with path.open("wb") as file:
        file.write(info.tobuf())
        file.truncate(512 + -(-size // 512) * 512 + 1024)
    return path


def test_a_class_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"1\.cls in .*t\.tar has 67,108,864 bytes: a class is a number or a name"):
        ids(hollow(tmp_path / "t.tar", "1.cls", 2**26))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_name_of_gigabytes_is_not_read(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(ValueError, match=r"cannot be read as a plain tar \(a header of 67,108,864 bytes\)"):
        ids(hollow(tmp_path / "t.tar", "long", 2**26, kind))


def test_a_photo_of_gigabytes_fails_alone(tmp_path: Path) -> None:
    (entry,) = (tars := Tars((hollow(tmp_path / "t.tar", "1.png", 2**32),))).entries()
    with pytest.raises(ValueError, match=r"t/1 in .* has 4,294,967,296 bytes, more than 536,870,912: make it smaller"):
        tars.read(entry)
