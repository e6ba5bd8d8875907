"""Photos of the app: what is taken, what is refused and why, all before it can do harm."""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator

import pytest
from PIL import Image

from app_server import RunningApp, running_app
from samp.app.limits import Limits
from samp.app.photos import Photos, clean_name, decode
from samp.app.refusals import RefusedError
from samp.images import example_photo, read


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running_app(Limits(bytes=200_000, pixels=1_000_000)) as running:
        yield running


def encoded(image: Image.Image, form: str = "PNG", **how: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **how)
    return file.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG of this size without a single pixel: a decoder would find it broken."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_an_uploaded_photo_is_explained_as_the_embedded_one(app: RunningApp) -> None:
    content = example_photo().read_bytes()
    photo = app.call("POST", "/api/photos", content, {"X-Samp-Name": "my%20caf%C3%A9.jpg"}).json
    assert (photo["name"], photo["width"], photo["height"]) == ("my café.jpg", 480, 320)
    assert photo["thumb"].startswith("data:image/jpeg;base64,")
    assert app.call("GET", f"/api/photos/{photo['id']}").json == photo
    own, embedded = (
        app.call("POST", "/api/predict", {"photo": id, "model": "held"}).json for id in (photo["id"], "coffee")
    )
    assert own["top"] == embedded["top"]
    assert own["crop"] == embedded["crop"] == [100, 20, 380, 300]
    assert len(own["top"]) == 5
    job = app.submit(photo=photo["id"], methods=["ig"])
    assert app.follow(job)[-1]["type"] == "done"
    assert app.describe(job)["photo"]["name"] == "my café.jpg"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000"])
def test_photos_of_many_formats_are_taken(app: RunningApp, form: str) -> None:
    reply = app.call("POST", "/api/photos", encoded(Image.new("RGB", (30, 20), "red"), form))
    assert reply.status == 200, reply.body
    assert (reply.json["name"], reply.json["width"], reply.json["height"]) == ("photo", 30, 20)


def test_a_photo_is_turned_upright_and_read_as_the_command_line_reads_it() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # on its side
    content = encoded(Image.linear_gradient("L").resize((30, 20)), "JPEG", exif=exif.tobytes())
    photo = Photos(Limits()).add(content, "side.jpg")
    assert (photo.width, photo.height) == photo.read().size == (20, 30)
    path = example_photo("chelsea")
    assert decode(path.read_bytes(), path.name).tobytes() == read(path).tobytes()


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (1_000_001, 1), (2**31 - 1, 2**31 - 1)])
def test_a_hundred_megapixels_are_refused_by_the_header_before_a_pixel_is_decoded(
    app: RunningApp, width: int, height: int
) -> None:
    content = png_header(width, height)
    assert len(content) < 100
    reply = app.call("POST", "/api/photos", content, {"X-Samp-Name": "huge.png"})
    assert reply.status == 413, "decoding it would have found that it has no pixels"
    assert re.search(r"huge\.png has .*pixels.*, and", reply.error)
    assert "up to 1 megapixels" in reply.error


def test_a_header_of_a_fair_size_without_pixels_is_a_broken_photo(app: RunningApp) -> None:
    reply = app.call("POST", "/api/photos", png_header(100, 100), {"X-Samp-Name": "empty.png"})
    assert reply.status == 415
    assert reply.error.startswith("empty.png cannot be read as a photo")


def test_a_broken_photo_is_refused(app: RunningApp) -> None:
    content = example_photo().read_bytes()
    reply = app.call("POST", "/api/photos", content[: len(content) // 2], {"X-Samp-Name": "half.jpg"})
    assert reply.status == 415
    assert "half.jpg cannot be read as a photo" in reply.error


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("notes.txt", b"these are words", "notes.txt is no photo"),
        ("empty.png", b"", "empty.png is empty"),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "in SVG format"),
        ("page.jpg", b"<html><script>alert(1)</script></html>", "page.jpg is no photo"),
        ("net.png", b"\x80\x05\x95cos\nsystem\n.", "net.png is no photo"),
        ("figure.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "figure.eps is no photo"),
        ("film.mp4", b"\x00\x00\x00\x18ftypmp42" + b"\0" * 40, "film.mp4 is no photo"),
    ],
)
def test_what_is_no_photo_is_refused_with_a_reason(app: RunningApp, name: str, content: bytes, sentence: str) -> None:
    reply = app.call("POST", "/api/photos", content, {"X-Samp-Name": name})
    assert reply.status == 415
    assert sentence in reply.error


@pytest.mark.parametrize("told", [True, False])
def test_a_file_that_is_too_large_is_refused_whether_or_not_it_says_so(app: RunningApp, told: bool) -> None:
    content = b"\xff\xd8" + bytes(300_000)
    body = content if told else (content[start : start + 10_000] for start in range(0, len(content), 10_000))
    reply = app.call("POST", "/api/photos", body, {"X-Samp-Name": "large.jpg"})
    assert reply.status == 413
    assert "large.jpg has more than 0.190735 MiB" in reply.error


def test_a_request_that_is_no_json_or_too_long_is_refused(app: RunningApp) -> None:
    assert app.call("POST", "/api/predict", b"{").error == "the request is no JSON."
    assert app.call("POST", "/api/predict", b"[" * 100_000).status == 400
    assert "JSON object" in app.call("POST", "/api/jobs", b"[1]").error
    assert app.call("POST", "/api/jobs", b" " * (5 * 2**20)).status == 413


def test_the_oldest_photos_go_first_and_the_embedded_ones_never() -> None:
    photos = Photos(Limits(photos=2, kept_bytes=10**6))
    content = encoded(Image.new("RGB", (8, 8)))
    first, second, third = (photos.add(content, f"{number}.png") for number in range(3))
    assert photos.get(second.id) is second
    assert photos.get(third.id) is third
    with pytest.raises(RefusedError, match="no longer here"):
        photos.get(first.id)
    assert photos.get("coffee").is_embedded
    tight = Photos(Limits(kept_bytes=len(content) + 1))
    one, two = (tight.add(content, "a.png") for _ in range(2))
    assert tight.get(two.id) is two
    with pytest.raises(RefusedError):
        tight.get(one.id)


@pytest.mark.parametrize(
    ("quoted", "name"),
    [
        ("..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("C%3A%5Cphotos%5Ccat.jpg", "cat.jpg"),
        ("a%00%0A%1Bb.png", "ab.png"),
        ("%22%3E%3Cscript%3E.png", '"><script>.png'),
        ("%ff", "�"),
        ("x" * 500 + ".png", "x" * 116 + ".png"),
    ],
)
def test_names_lose_folders_and_control_characters(quoted: str, name: str) -> None:
    assert clean_name(quoted) == name
