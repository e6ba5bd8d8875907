"""Photos of every kind become upright RGB, and what is no photo gets a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from samp import models, photos


def test_transparency_lies_over_white(tmp_path: Path) -> None:
    Image.new("RGBA", (2, 2), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert photos.read(tmp_path / "clear.png").getpixel((0, 0)) == (255, 255, 255)


def test_exif_rotation_is_undone(tmp_path: Path) -> None:
    photo = Image.new("RGB", (4, 2))
    exif = photo.getexif()
    exif[0x0112] = 6  # turned a quarter
    photo.save(tmp_path / "turned.jpg", exif=exif)
    assert photos.read(tmp_path / "turned.jpg").size == (2, 4)


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    Image.new("CMYK", (2, 2), (0, 0, 0, 0)).save(tmp_path / "print.jpg")
    red, green, blue = photos.read(tmp_path / "print.jpg").getpixel((0, 0))
    assert min(red, green, blue) > 250


@pytest.mark.parametrize("content", [b"", b"hello", None])
def test_what_is_no_whole_image_gets_a_sentence(tmp_path: Path, content: bytes | None) -> None:
    whole = photos.embedded().read_bytes()
    path = tmp_path / "broken.jpg"
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(ValueError, match=r"broken.jpg cannot be read as an image .*: give a whole JPEG or PNG"):
        photos.read(path)


def test_a_missing_file_is_said_to_be_missing() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.png is not a file"):
        photos.read("nowhere.png")


def test_the_centre_is_cut_square_without_stretching() -> None:
    photo = Image.new("RGB", (40, 20), "black")
    photo.paste("white", (10, 0, 30, 20))
    middle = np.asarray(photos.centre(photo, 10, margin=1.0))[:, 1:-1]  # the filter looks past the cut by a pixel
    assert middle.min() == 255


def test_a_classifier_is_fed_pixels_less_their_mean_over_their_deviation() -> None:
    classifier = models.Classifier(models.nn.Identity(), "none", 4, 127 / 255, 128 / 255, ())
    fed = classifier.prepare(Image.new("RGB", (8, 8), (255, 127, 0)))
    assert fed.shape == (1, 3, 4, 4)
    assert fed[0, :, 0, 0].tolist() == pytest.approx([1.0, 0.0, -127 / 128])


@pytest.mark.parametrize("name", photos.EMBEDDED)
def test_embedded_photos_are_there_with_their_licence(name: str) -> None:
    assert f"{name}.jpg" in (photos.embedded(name).parent / "CREDITS.md").read_text(encoding="utf-8")
    assert min(photos.read(photos.embedded(name)).size) >= 224
