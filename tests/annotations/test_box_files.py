"""Boxes are read from all three formats into one convention, and bad files get a sentence."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from samp.annotations.box_files import read_coco, read_voc, read_yolo
from samp.annotations.boxes import Annotation, Box, as_mask

OBJECT = (
    "<object><name>dog</name><difficult>1</difficult><bndbox>"
    "<xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"
)
SIZE = "<size><width>20</width><height>10</height></size>"


def voc(folder: Path, inside: str, before: str = "") -> Path:
    path = folder / "photo.xml"
    path.write_text(f"{before}<annotation>{inside}</annotation>", encoding="utf-8")
    return path


def yolo(folder: Path, text: str) -> Path:
    path = folder / "photo.txt"
    path.write_text(text, encoding="utf-8")
    return path


def coco(folder: Path, **changed: Any) -> Path:
    table: dict[str, Any] = {
        "images": [{"id": 7, "file_name": "a.jpg", "height": 10, "width": 20}],
        "annotations": [{"id": 3, "image_id": 7, "category_id": 18, "bbox": [2, 3, 4, 5], "iscrowd": 1}],
        "categories": [{"id": 18, "name": "dog"}],
    }
    path = folder / "instances.json"
    path.write_text(json.dumps(table | changed), encoding="utf-8")
    return path


def with_box(*box: Any) -> list[dict[str, Any]]:
    return [{"id": 3, "image_id": 7, "category_id": 18, "bbox": list(box)}]


# ---- the three formats ----


def test_the_same_box_in_three_formats_is_the_same_box(tmp_path: Path) -> None:
    dog = Box("dog", 2, 3, 6, 8, difficult=True)
    assert read_voc(voc(tmp_path, SIZE + OBJECT.format(3, 4, 6, 8))) == Annotation((dog,), (10, 20))
    assert read_coco(coco(tmp_path)) == {"a.jpg": Annotation((dog,), (10, 20))}
    (found,) = read_yolo(yolo(tmp_path, "16 0.2 0.55 0.2 0.5\n\n"), (10, 20), {16: "dog"}).boxes
    assert (found.left, found.top, found.right, found.bottom) == pytest.approx((2, 3, 6, 8))
    assert (found.label, found.difficult) == ("dog", False)


def test_a_voc_box_from_1_to_the_width_covers_the_whole_photo(tmp_path: Path) -> None:
    found = read_voc(voc(tmp_path, SIZE + OBJECT.format(1, 1, 20, 10)))
    assert found.boxes[0].area == 200
    assert as_mask(found.boxes, found.size).all()


def test_parts_inside_a_voc_object_are_not_objects(tmp_path: Path) -> None:
    part = "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>"
    inside = SIZE + OBJECT.format(3, 4, 6, 8).replace("<bndbox>", f"{part}<bndbox>")
    assert [box.label for box in read_voc(voc(tmp_path, inside)).boxes] == ["dog"]
    assert read_voc(voc(tmp_path, inside)).boxes[0].left == 2


def test_yolo_labels_without_names_are_numbers_and_shares_stay_shares(tmp_path: Path) -> None:
    (box,) = read_yolo(yolo(tmp_path, "5 0.5 0.5 0.5 0.25"), (1, 1)).boxes
    assert (box.label, box.left, box.top, box.right, box.bottom) == ("5", 0.25, 0.375, 0.75, 0.625)
    assert read_yolo(yolo(tmp_path, "1 0.5 0.5 0.5 0.25"), (1, 1), ["cat", "dog"]).labels == ("dog",)
    assert read_yolo(yolo(tmp_path, ""), (4, 4)).boxes == ()


def test_photos_without_objects_are_in_the_coco_table(tmp_path: Path) -> None:
    assert read_coco(coco(tmp_path, annotations=[]))["a.jpg"] == Annotation((), (10, 20))


def test_boxes_over_the_edge_are_clipped_to_the_photo(tmp_path: Path) -> None:
    found = read_voc(voc(tmp_path, SIZE + OBJECT.format(-3, 0, 99, 5)))
    assert found.boxes == (Box("dog", 0, 0, 20, 5, difficult=True),)


def test_boxes_without_area_in_the_photo_are_left_out_with_one_warning(tmp_path: Path) -> None:
    outside, flat = OBJECT.format(21, 1, 30, 5), OBJECT.format(4, 4, 3, 9)
    path = voc(tmp_path, SIZE + OBJECT.format(3, 4, 6, 8) + outside + flat)
    with pytest.warns(UserWarning, match=r"photo.xml: left out, .* 2 of its boxes, .*photo.xml, object 2 \(dog\)"):
        assert len(read_voc(path).boxes) == 1
    with pytest.warns(UserWarning, match=r"left out, .* 1 of its boxes, .* annotation 3"):
        assert read_coco(coco(tmp_path, annotations=with_box(3, 3, 0, 4)))["a.jpg"].boxes == ()
    with pytest.warns(UserWarning, match=r"left out, .*photo.txt, line 2"):
        assert read_yolo(yolo(tmp_path, "\n0 0.5 0.5 0 0.5"), (10, 10)).boxes == ()


# ---- what is no such file ----


@pytest.mark.parametrize(
    ("inside", "sentence"),
    [
        (OBJECT.format(1, 2, 3, 4), r"photo.xml has no <size><height>"),
        (SIZE.replace("20", "0"), r"photo.xml gives the photo 0 × 10 pixels"),
        (SIZE.replace("20", "wide"), r"photo.xml, <size><width>: 'wide' is not a number"),
        (SIZE + OBJECT.format(5, 1, 2, 4), r"photo.xml, object 1 \(dog\) ends before it begins: x from 4 to 2"),
        (SIZE + OBJECT.format("nan", 1, 2, 4), r"object 1 \(dog\), <bndbox><xmin>: 'nan' is not a number"),
        (SIZE + OBJECT.replace("<ymin>{}</ymin>", "").format(1, 2, 4), r"object 1 \(dog\) has no <bndbox><ymin>"),
        (SIZE + OBJECT.replace("dog", " ").format(1, 1, 2, 4), r"photo.xml, object 1 has no <name>"),
        (SIZE + "<object>", r"photo.xml is not a VOC annotation: mismatched tag: line 1, column \d+"),
    ],
)
def test_a_bad_voc_file_gets_a_sentence(tmp_path: Path, inside: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_voc(voc(tmp_path, inside))


@pytest.mark.parametrize(
    "before",
    [
        "<!DOCTYPE annotation>",
        '<!DOCTYPE annotation [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE annotation SYSTEM "file:///etc/hostname">',
    ],
)
def test_a_voc_file_with_a_doctype_is_refused(tmp_path: Path, before: str) -> None:
    with pytest.raises(ValueError, match=r"photo.xml is not a VOC annotation: it declares a DOCTYPE"):
        read_voc(voc(tmp_path, SIZE, before))


def test_entities_are_refused_before_any_is_expanded(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    path = voc(tmp_path, f"{SIZE}&l11;", f'<!DOCTYPE annotation [<!ENTITY l0 "ha">{laughs}]>')
    with pytest.raises(ValueError, match="DOCTYPE"):
        read_voc(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 0.5 0.5 0.1 0.1\n0 0.5 0.5 0.1", r"photo.txt, line 2 holds 4 numbers: a box is 5, `class cx cy w h`"),
        ("0 0.5 0.5 0.1 0.1 0.9", r"line 1 holds 6 numbers"),
        ("0 0.5 x 0.1 0.1", r"photo.txt, line 1: 'x' is not a number"),
        ("0 0.5 inf 0.1 0.1", r"line 1: 'inf' is not a number"),
        ("0 120 50 30 30", r"line 1: 120 50 30 30 are not all shares from 0 to 1"),
        ("0 0.5 0.5 -0.1 0.1", r"line 1: .* are not all shares"),
        ("dog 0.5 0.5 0.1 0.1", r"line 1: the class is a whole number from 0, not 'dog'"),
        ("7 0.5 0.5 0.1 0.1", r"line 1: there is no name for class 7: the names are of 2 classes"),
    ],
)
def test_a_bad_yolo_line_gets_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_yolo(yolo(tmp_path, text), (10, 10), ["cat", "dog"])


def test_a_size_that_is_none_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the size of a picture is \(height, width\) in pixels, not 10"):
        read_yolo(yolo(tmp_path, "0 0.5 0.5 0.1 0.1"), 10)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"annotations": None}, r"instances.json has no list 'annotations'"),
        ({"annotations": [{"id": 3}]}, r"number 0 of 'annotations', .* has no image_id or category_id or bbox"),
        ({"annotations": [5]}, r"number 0 of 'annotations'"),
        ({"annotations": with_box(1, 2, 3)}, r"annotation 3 has the bbox \[1, 2, 3\]: a box is 4 numbers"),
        ({"annotations": with_box(1, 2, "wide", 4)}, r"annotation 3: 'wide' is not a number"),
        ({"annotations": with_box(1, 2, -3, 4)}, r"annotation 3 ends before it begins"),
        ({"categories": []}, r"annotation 3: there is no image 7 or no category 18"),
        ({"images": [{"id": 7, "file_name": "a", "height": 0, "width": 3}]}, r"image 7 is given 3 × 0 pixels"),
        (
            {"images": [{"id": 7, "file_name": name, "height": 3, "width": 3} for name in "ab"]},
            r"instances.json: id of 'images': 7 stands there twice",
        ),
        (
            {"images": [{"id": i, "file_name": "a.jpg", "height": 3, "width": 3} for i in (7, 8)]},
            r"instances.json: file_name of 'images': a.jpg stands there twice",
        ),
        (
            {"categories": [{"id": 18, "name": name} for name in ("dog", "cat")]},
            r"instances.json: id of 'categories': 18 stands there twice",
        ),
        ({"images": [{"id": [], "file_name": "a", "height": 0, "width": 3}]}, r"has the id \[\]: give a whole number"),
    ],
)
def test_a_bad_coco_file_gets_a_sentence(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_coco(coco(tmp_path, **changed))


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe\xff", b"[" * 100_000])
def test_what_is_no_coco_table_gets_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "instances.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"instances.json (is not JSON|holds a list|is not text in UTF-8)"):
        read_coco(path)


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"<?xml version='1.0' encoding='klingon'?><annotation/>"])
def test_what_is_no_xml_gets_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "photo.xml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"photo.xml is not a VOC annotation"):
        read_voc(path)


def test_missing_files_are_said_to_be_missing(tmp_path: Path) -> None:
    for read in (read_voc, read_coco, lambda path: read_yolo(path, (1, 1))):
        with pytest.raises(FileNotFoundError, match=r"nowhere.x is not a file"):
            read(tmp_path / "nowhere.x")


# ---- genuine files ----


def size_of(photo: Path) -> tuple[int, int]:
    with Image.open(photo) as file:
        return file.height, file.width


def test_genuine_voc_files_are_read_whole(data: Path) -> None:
    found = {path.stem: read_voc(path) for path in sorted((data / "voc2007_8").glob("*.xml"))}
    assert len(found) == 8
    for name, annotation in found.items():
        assert annotation.size == size_of(data / "voc2007_8" / f"{name}.jpg")
    assert found["000001"].boxes == (Box("dog", 47, 239, 195, 371), Box("person", 7, 11, 352, 498))
    assert sum(box.difficult for annotation in found.values() for box in annotation.boxes) == 2


def test_genuine_coco_boxes_lie_in_their_photos(data: Path) -> None:
    names = {int(k): v for k, v in json.loads((data / "coco254/mapping.json").read_text())["coco_names"].items()}
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in sorted((data / "coco254/boxes").glob("*.txt")):
            height, width = size_of(data / "coco254/images" / f"{path.stem}.jpg")
            found = read_yolo(path, (height, width), names)
            assert len(found.boxes) == len(path.read_text().splitlines())
            assert all(box.right <= width and box.bottom <= height for box in found.boxes)
            count += len(found.boxes)
    assert count > 1000
