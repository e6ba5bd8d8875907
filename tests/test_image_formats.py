"""Pictures that Pillow does not read: what they are is said, alone and in a folder, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from cli_runs import TINY, a_photo, assert_refused, run, tiny
from samp import images as photos
from samp.image_formats import can_read_heic, foreign_kind

HEAD = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"  # how HEIC files begin
no_reader = pytest.mark.skipif(can_read_heic(), reason="pillow-heif is installed here")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def a_mixed_folder() -> Path:
    a_photo("in/good.png")
    for name in ("a.HEIC", "b.heif", ".hidden.heic"):
        Path("in", name).write_bytes(HEAD)
    Path("in/c.svg").write_text("<svg/>")
    Path("in/notes.txt").write_text("no picture")
    return Path("in")


@no_reader
@pytest.mark.parametrize("name", ["photo.heic", "photo.HEIF", "photo.jpg"])
def test_a_heic_file_alone_is_told_of_pillow_heif(name: str) -> None:
    Path(name).write_bytes(HEAD)
    assert_refused(
        tiny(name), f"{name} is in HEIC format, which cannot be read here (`pip install pillow-heif` brings a reader)."
    )


def test_a_drawing_alone_is_told_to_become_pixels() -> None:
    Path("logo.svg").write_text("<svg/>")
    assert_refused(tiny("logo.svg"), "logo.svg is in SVG format, which cannot be read here (a drawing has no pixels")


@no_reader
def test_what_a_folder_leaves_out_is_counted_and_said() -> None:
    result = tiny(a_mixed_folder(), "--method", "gradient", "--out", "out", "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "samp: 2 HEIC files are left out (`pip install pillow-heif` brings a reader), "
        "1 SVG file is left out (a drawing has no pixels: export it as PNG first).\n"
    )
    assert [path.name for path in Path("out").iterdir()] == ["good.png"]


@no_reader
def test_a_folder_of_nothing_else_says_so() -> None:
    Path("in").mkdir()
    Path("in/a.heic").write_bytes(HEAD)
    assert_refused(
        tiny("in"), "there are no photos in the folder in: 1 HEIC file is left out (`pip install pillow-heif`"
    )


def test_a_run_over_a_folder_says_what_it_leaves_out() -> None:
    a_photo("in/good.png")
    a_photo("in/deeper/other.png")
    Path("in/c.svg").write_text("<svg/>")
    Path("in/deeper/d.svg").write_text("<svg/>")
    result = run("run", "in", "--out", "why", "--method", "gradient", *TINY)
    assert result.exit_code == 0, result.output
    assert "2 SVG files are left out (a drawing has no pixels: export it as PNG first)." in result.stderr
    assert "explained 2 of 2 inputs" in result.stdout


def test_a_photo_under_a_wrong_name_is_read_all_the_same() -> None:
    Image.new("RGB", (8, 8), "red").save("photo.heic", "PNG")
    assert photos.read("photo.heic").getpixel((0, 0)) == (255, 0, 0)


def test_heic_is_read_where_pillow_heif_is_installed() -> None:
    heif = pytest.importorskip("pillow_heif", reason="needs pillow-heif: pip install pillow-heif")
    heif.from_pillow(Image.new("RGB", (64, 64), "red")).save("photo.heic")
    assert foreign_kind("photo.heic") == "HEIC"
    red, green, blue = photos.read("photo.heic").getpixel((32, 32))
    assert red > 240 > 20 > max(green, blue)
    assert [path.name for path in photos.find(["."])] == ["photo.heic"]
    assert photos.describe_skipped(["."]) == ""
