"""Photos of every kind become upright RGB, and what is no photo gets a sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from samp import images as photos
from samp import models


def colour(photo: Image.Image, place: tuple[int, int] = (0, 0)) -> tuple[int, ...]:
    pixel = photo.getpixel(place)
    assert isinstance(pixel, tuple)
    return pixel


def test_transparency_lies_over_white(tmp_path: Path) -> None:
    Image.new("RGBA", (2, 2), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert colour(photos.read(tmp_path / "clear.png")) == (255, 255, 255)


def test_half_transparency_mixes_with_white(tmp_path: Path) -> None:
    Image.new("RGBA", (2, 2), (255, 0, 0, 128)).save(tmp_path / "half.png")
    red, green, blue = colour(photos.read(tmp_path / "half.png"))
    assert red == 255
    assert green == blue == pytest.approx(127, abs=1)


def test_a_transparent_colour_of_a_palette_lies_over_white(tmp_path: Path) -> None:
    photo = Image.new("P", (2, 1))
    photo.putpalette([200, 0, 0, 0, 200, 0])
    photo.putdata([0, 1])
    photo.save(tmp_path / "palette.png", transparency=1)
    read = photos.read(tmp_path / "palette.png")
    assert (colour(read), colour(read, (1, 0))) == ((200, 0, 0), (255, 255, 255))


def test_a_palette_becomes_its_colours(tmp_path: Path) -> None:
    photo = Image.new("P", (2, 1))
    photo.putpalette([10, 20, 30, 200, 100, 50])
    photo.putdata([0, 1])
    photo.save(tmp_path / "palette.gif")
    assert colour(photos.read(tmp_path / "palette.gif"), (1, 0)) == (200, 100, 50)


@pytest.mark.parametrize("name", ["deep.png", "deep.tif"])
def test_sixteen_bits_are_scaled_and_not_cut_off(tmp_path: Path, name: str) -> None:
    Image.fromarray(np.array([[0, 32768, 65535]], dtype=np.uint16)).save(tmp_path / name)
    read = np.asarray(photos.read(tmp_path / name))[0, :, 0]
    assert read.tolist() == [0, 128, 255]


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        (np.array([[0, 65535, 131070]], dtype=np.int32), [0, 128, 255]),  # larger than 16 bits: by the largest
        (np.array([[0.0, 0.5, 1.0]], dtype=np.float32), [0, 128, 255]),
        (np.array([[-1.0, np.nan, 2.0]], dtype=np.float32), [0, 0, 255]),
    ],
)
def test_wider_numbers_are_scaled_too(tmp_path: Path, values: np.ndarray, seen: list[int]) -> None:
    Image.fromarray(values).save(tmp_path / "wide.tif")
    assert np.asarray(photos.read(tmp_path / "wide.tif"))[0, :, 0].tolist() == seen


def test_the_first_frame_of_an_animation_is_read(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (4, 4), name) for name in ("red", "blue")]
    for name in ("film.gif", "film.webp", "film.png"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        red, _, blue = colour(photos.read(tmp_path / name))
        assert red > 200 > 50 > blue, name


def test_exif_rotation_is_undone(tmp_path: Path) -> None:
    photo = Image.new("RGB", (40, 20), "black")
    photo.paste("white", (0, 0, 20, 20))  # the left half
    exif = photo.getexif()
    exif[0x0112] = 6  # to be turned a quarter clockwise: left becomes top
    photo.save(tmp_path / "turned.jpg", exif=exif)
    read = photos.read(tmp_path / "turned.jpg")
    assert read.size == (20, 40)
    assert colour(read, (10, 5))[0] > 200 > 50 > colour(read, (10, 35))[0]


@pytest.mark.parametrize(("ink", "seen"), [((0, 0, 0, 0), (255, 255, 255)), ((0, 255, 255, 0), (255, 0, 0))])
def test_cmyk_becomes_rgb(tmp_path: Path, ink: tuple[int, ...], seen: tuple[int, ...]) -> None:
    Image.new("CMYK", (8, 8), ink).save(tmp_path / "print.jpg", quality=95)
    assert colour(photos.read(tmp_path / "print.jpg")) == pytest.approx(seen, abs=8)  # JPEG is lossy


@pytest.mark.parametrize("name", ["two words.png", "čaj ☕ 写真.png"])
def test_names_may_hold_spaces_and_any_letters(tmp_path: Path, name: str) -> None:
    Image.new("RGB", (3, 2), "red").save(tmp_path / name)
    assert photos.read(tmp_path / name).size == (3, 2)


@pytest.mark.parametrize("size", [(1, 1), (3000, 2), (2, 3000)])
def test_a_single_pixel_and_very_long_photos_become_squares_of_their_colour(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    Image.new("RGB", size, (200, 100, 50)).save(tmp_path / "odd.png")
    cut = np.asarray(photos.crop_centre(photos.read(tmp_path / "odd.png"), 16))
    assert cut.shape == (16, 16, 3)
    assert (cut == (200, 100, 50)).all()


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".gif", ".tif", ".webp", ".bmp"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_what_is_no_whole_image_gets_a_sentence(tmp_path: Path, suffix: str, share: float) -> None:
    path = tmp_path / f"broken{suffix}"
    photos.read(photos.example_photo()).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(
        photos.UnreadableError, match=r"broken\.\w+ cannot be read as an image .*: give a whole JPEG or PNG"
    ):
        photos.read(path)


def test_a_text_named_as_a_photo_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "note.jpg").write_text("not a photo")
    with pytest.raises(photos.UnreadableError, match=r"note.jpg cannot be read as an image"):
        photos.read(tmp_path / "note.jpg")


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("1", (400, 400)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50_000)
    with pytest.raises(photos.UnreadableError, match=r"bomb.png has more than 100,000 pixels: make it smaller"):
        photos.read(tmp_path / "bomb.png")


def test_a_large_photo_is_read_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    Image.new("1", (400, 400)).save(tmp_path / "large.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)  # Pillow warns from here, and refuses at twice as many
    assert photos.read(tmp_path / "large.png").size == (400, 400)
    assert not recwarn.list


@pytest.fixture
def album(tmp_path: Path) -> Path:
    for name in ("b.PNG", "a [1].jpg", ".hidden.png", "sub/c.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not looked at")
    return tmp_path


def test_a_folder_holds_its_photos_and_not_those_below(album: Path) -> None:
    assert [path.name for path in photos.find([album])] == ["a [1].jpg", "b.PNG"]


def test_globs_find_files_and_every_photo_is_found_once(album: Path) -> None:
    assert [path.name for path in photos.find([str(album / "**" / "*.png"), album / "b.PNG", album])] == [
        "c.png",
        "b.PNG",
        "a [1].jpg",
    ]


def test_a_file_whose_name_looks_like_a_glob_is_itself(album: Path) -> None:
    assert photos.find([album / "a [1].jpg"]) == [album / "a [1].jpg"]


def test_places_without_photos_stay_in_the_list_and_reading_them_says_why(tmp_path: Path) -> None:
    for place, sentence in (
        (Path("nowhere.png"), "nowhere.png is not a file"),
        (tmp_path, "there are no photos in the folder"),
        (tmp_path / "*.jpg", r"no file matches .*\*\.jpg"),
    ):
        assert photos.find([place]) == [place]
        with pytest.raises(FileNotFoundError, match=sentence):
            photos.read(place)


def test_the_centre_is_cut_square_without_stretching() -> None:
    photo = Image.new("RGB", (40, 20), "black")
    photo.paste("white", (10, 0, 30, 20))
    middle = np.asarray(photos.crop_centre(photo, 10, margin=1.0))[:, 1:-1]  # the filter looks past the cut by a pixel
    assert middle.min() == 255


def test_without_a_margin_the_whole_photo_is_shown_stretched() -> None:
    photo = Image.new("RGB", (40, 20), "black")
    photo.paste("white", (20, 0, 40, 20))
    squeezed = np.asarray(photos.crop_centre(photo, (10, 10), None))[..., 0]
    assert squeezed[:, :4].max() < 60
    assert squeezed[:, 6:].min() > 190


def test_a_cut_that_rounding_puts_beyond_the_photo_is_made() -> None:
    assert photos.crop_centre(Image.new("L", (20, 29)), (14, 8), margin=1.0).size == (8, 14)


def test_a_classifier_is_fed_pixels_less_their_mean_over_their_deviation() -> None:
    classifier = models.Classifier(models.nn.Identity(), "none", 4, 127 / 255, 128 / 255, ())
    fed = classifier.prepare(Image.new("RGB", (8, 8), (255, 127, 0)))
    assert fed.shape == (1, 3, 4, 4)
    assert fed[0, :, 0, 0].tolist() == pytest.approx([1.0, 0.0, -127 / 128])


@pytest.mark.parametrize("name", photos.EXAMPLE_NAMES)
def test_embedded_photos_are_there_with_their_licence(name: str) -> None:
    assert f"{name}.jpg" in (photos.example_photo(name).parent / "CREDITS.md").read_text(encoding="utf-8")
    assert min(photos.read(photos.example_photo(name)).size) >= 224


@pytest.mark.filterwarnings("error")
def test_numbers_of_a_photo_that_are_not_finite_are_black_and_spoil_no_other(tmp_path: Path) -> None:
    drawn = np.array([[0.25, 1.0], [np.nan, np.inf]], dtype=np.float32)
    Image.fromarray(drawn).save(tmp_path / "odd.tif")
    assert np.asarray(photos.read(tmp_path / "odd.tif"))[..., 0].tolist() == [[64, 255], [0, 0]]


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.float32])
def test_a_photo_of_many_bits_is_worked_on_in_strips_as_it_would_be_whole(
    monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    monkeypatch.setattr(photos, "STRIP", 21)  # three rows of seven pixels
    values = np.random.default_rng(0).uniform(-5, 3 * 65535, (8, 7))
    values = np.clip(values, 0, 65535).astype(kind) if kind is np.uint16 else values.astype(kind)
    full = max(1.0 if kind is np.float32 else 65535.0, values.max())
    expected = np.rint(255 * (np.clip(values.astype(float), 0, full) / full)).astype(np.uint8)
    assert (np.asarray(photos._to_eight_bits(Image.fromarray(values))) == expected).all()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the largest memory that Linux notes down")
def test_a_photo_of_16_bits_takes_little_more_memory_than_its_pixels(tmp_path: Path) -> None:
    """2 bytes a pixel as it is read, 1 in grey and 4 in RGB; float64 of all pixels at once made it 28."""
    Image.fromarray(np.zeros((3000, 3000), dtype=np.uint16)).save(tmp_path / "deep.png")
    code = """
import sys
from samp import images as photos
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
before = peak()
photo = photos.read(sys.argv[1])
print((peak() - before) / (photo.width * photo.height))
"""
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "deep.png"], capture_output=True, text=True, check=True
    )
    assert float(told.stdout) < 12
