"""Photos with boxes: COCO, VOC and CUB against their raw text, and against photos and tables that do not fit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from samp.metrics import Box
from samp.models import imagenet_classes
from samp_lab.datasets import coco_classes, open_dataset

XML = (
    "<annotation><size><width>{0}</width><height>{1}</height></size><object><name>dog</name><bndbox><xmin>1</xmin>"
    "<ymin>1</ymin><xmax>5</xmax><ymax>4</ymax></bndbox></object></annotation>"
)


def photo(path: Path, size: tuple[int, int] = (20, 10)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size).save(path)
    return path


def text(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


# ---- COCO ----


@pytest.mark.parametrize("boxes", ["boxes", "labels"])
@pytest.mark.parametrize("below", ["", "val2017/"])
def test_yolo_boxes_are_in_pixels_of_their_photo(boxes, below, tmp_path):
    photo(tmp_path / f"coco/images/{below}a.jpg")
    photo(tmp_path / f"coco/images/{below}b.jpg")
    text(tmp_path / f"coco/{boxes}/{below}a.txt", "16 0.25 0.5 0.5 1.0\n")
    images = open_dataset("coco", tmp_path)
    assert [entry.id for entry in images] == [f"{below}a.jpg", f"{below}b.jpg"]
    assert images[0].annotation.boxes == (Box("dog", 0, 0, 10, 10),)
    assert images[0].annotation.size == (10, 20)
    assert images[1].annotation.boxes == ()


def test_boxes_of_no_photo_at_all_are_said(tmp_path):
    photo(tmp_path / "images/a.jpg")
    text(tmp_path / "boxes/other.txt", "16 0.25 0.5 0.5 1.0\n")
    with pytest.raises(FileNotFoundError, match=r"no photo in .*images has a text file of its name in .*boxes"):
        open_dataset("coco", tmp_path)


def test_a_broken_photo_is_said_when_its_boxes_are_asked_for_and_not_before(tmp_path):
    photo(tmp_path / "images/a.jpg").write_bytes(b"broken")
    text(tmp_path / "boxes/a.txt", "16 0.25 0.5 0.5 1.0\n")
    entry = open_dataset("coco", tmp_path)[0]
    with pytest.raises(ValueError, match=r"a.jpg cannot be read as an image"):
        _ = entry.annotation
    with pytest.raises(ValueError, match=r"a.jpg cannot be read as an image"):
        entry.picture()


def instances(path: Path, size: tuple[int, int] = (20, 10)) -> None:
    photos = [{"id": 7, "file_name": "a.jpg", "width": size[0], "height": size[1]}]
    photos.append({"id": 8, "file_name": "gone.jpg", "width": 20, "height": 10})
    dog = {"id": 1, "image_id": 7, "category_id": 18, "bbox": [1, 2, 3, 4]}
    text(path, json.dumps({"images": photos, "annotations": [dog], "categories": [{"id": 18, "name": "dog"}]}))


@pytest.mark.parametrize("home", ["coco/val2017", "coco/images", "coco/images/val2017", "coco"])
def test_cocos_own_json_is_read_with_the_photos_in_their_usual_places(home, tmp_path):
    photo(tmp_path / home / "a.jpg")
    instances(tmp_path / "coco/annotations/instances_val2017.json")
    images = open_dataset("coco", tmp_path)
    assert [entry.id for entry in images] == ["a.jpg", "gone.jpg"]
    assert images[0].annotation.boxes == (Box("dog", 1, 2, 4, 6),)
    with pytest.raises(FileNotFoundError, match=r"gone.jpg is not a file"):
        images[1].picture()


def test_json_without_any_of_its_photos_is_said(tmp_path):
    instances(tmp_path / "coco/annotations/instances_val2017.json")
    with pytest.raises(FileNotFoundError, match=r"none of the 2 photos of .*instances_val2017.json is in"):
        open_dataset("coco", tmp_path)


def test_boxes_drawn_on_a_photo_of_another_size_are_refused(tmp_path):
    photo(tmp_path / "coco/images/a.jpg", (10, 5))
    instances(tmp_path / "coco/instances.json")
    entry = open_dataset("coco", tmp_path)[0]
    with pytest.raises(ValueError, match=r"a.jpg has 10 × 5 pixels, but its boxes were drawn on 20 × 10"):
        _ = entry.annotation


def test_classes_are_mapped_to_imagenet_classes_of_the_same_meaning():
    mapping, names = coco_classes(), imagenet_classes()
    assert [names[index] for index in mapping["cow"]] == ["ox", "water buffalo"]
    assert {names[index] for index in mapping["elephant"]} == {"tusker", "Indian elephant", "African elephant"}
    assert all(0 <= index < 1000 for indices in mapping.values() for index in indices)
    everyone = [index for indices in mapping.values() for index in indices]
    assert len(everyone) == len(set(everyone))  # no class of ImageNet stands for two


def test_a_mapping_of_the_folders_own_comes_before_ours(tmp_path):
    own = {"coco_names": {"0": "hen", "1": "fox"}, "coco_to_imagenet": {"1": [277]}}
    text(tmp_path / "mapping.json", json.dumps(own))
    assert coco_classes(tmp_path) == {"hen": (), "fox": (277,)}
    text(tmp_path / "mapping.json", '{"coco_names": {"1": "fox"}}')
    with pytest.raises(ValueError, match=r"mapping.json is no mapping with coco_names and coco_to_imagenet"):
        coco_classes(tmp_path)


def test_our_mapping_is_that_of_the_real_folder(data):
    assert coco_classes() == coco_classes(data / "coco254")
    assert list(coco_classes()) == list(coco_classes(data / "coco254"))


def test_real_coco_boxes_are_those_of_the_text_files(data):
    images = open_dataset("coco", data)
    total = 0
    for entry in images:
        lines = (data / "coco254/boxes" / f"{entry.id[:-4]}.txt").read_text().splitlines()
        boxes, (height, width) = entry.annotation.boxes, entry.annotation.size
        assert len(boxes) == len(lines)
        for box, line in zip(boxes, lines, strict=True):
            number, x, _, _, tall = map(float, line.split())
            assert box.label == images.classes[int(number)]
            # clipped to the photo, and written with six digits
            assert (box.left + box.right) / 2 == pytest.approx(x * width, abs=1e-3 * width)
            assert box.bottom - box.top == pytest.approx(tall * height, abs=1e-3 * height)
        total += len(boxes)
    assert total == 1827
    assert images[0].picture().size == images[0].annotation.size[::-1]


# ---- VOC ----


def devkit(folder: Path, names: list[str]) -> Path:
    home = folder / "VOCdevkit/VOC2007"
    for name in names:
        photo(home / f"JPEGImages/{name}.jpg")
        text(home / f"Annotations/{name}.xml", XML.format(20, 10))
    return home


def test_the_devkits_test_part_is_read_if_it_is_there(tmp_path):
    home = devkit(tmp_path, ["000003", "000001", "000002"])
    assert [entry.id for entry in open_dataset("voc", tmp_path)] == ["000001.jpg", "000002.jpg", "000003.jpg"]
    text(home / "ImageSets/Main/trainval.txt", "000002\n")
    assert [entry.id for entry in open_dataset("voc", tmp_path)] == ["000002.jpg"]
    text(home / "ImageSets/Main/test.txt", "000003\n000001\n")
    images = open_dataset("voc", home)
    assert [entry.id for entry in images] == ["000001.jpg", "000003.jpg"]
    assert images.credit.endswith("Part: test.")
    assert images[1].annotation.boxes == (Box("dog", 0, 0, 5, 4),)


def test_a_photo_without_xml_or_with_that_of_another_is_a_matter_of_its_own_entry(tmp_path):
    for name in "abc":
        photo(tmp_path / f"{name}.jpg")
    text(tmp_path / "a.xml", XML.format(20, 10))
    text(tmp_path / "b.xml", XML.format(10, 20))
    images = open_dataset("voc", tmp_path)
    assert len(images[0].annotation.boxes) == 1
    with pytest.raises(ValueError, match=r"b.jpg has 20 × 10 pixels, but its boxes were drawn on 10 × 20"):
        _ = images[1].annotation
    with pytest.raises(FileNotFoundError, match=r"c.xml is not a file"):
        _ = images[2].annotation


def test_the_genuine_voc_photos_have_the_boxes_of_their_xml(data):
    images = open_dataset("voc", data)
    for entry in images:
        raw = (data / "voc2007_8" / f"{entry.id[:-4]}.xml").read_text()
        objects = raw.split("<object>")[1:]
        assert [box.label for box in entry.annotation.boxes] == [re.search("<name>(.*?)</name>", o)[1] for o in objects]
        assert [box.right for box in entry.annotation.boxes] == [
            float(re.search("<xmax>(.*?)</xmax>", o)[1]) for o in objects
        ]
        assert entry.picture().size == entry.annotation.size[::-1]
        assert set(entry.annotation.labels) <= set(images.classes)


def test_the_first_genuine_photo_has_the_dog_and_the_person(data):
    first = open_dataset("voc", data)[0].annotation
    assert first.boxes == (Box("dog", 47, 239, 195, 371), Box("person", 7, 11, 352, 498))


def test_voc_classes_are_mapped_as_their_namesakes_in_coco(data):
    mapping = open_dataset("voc", data).mapping
    assert len(mapping) == 20
    assert mapping["aeroplane"] == coco_classes()["airplane"]
    assert mapping["dog"] == coco_classes()["dog"]


# ---- CUB ----


def cub(folder: Path) -> Path:
    home = folder / "CUB_200_2011"
    names = ["002.Laysan/b.jpg", "001.Black_footed/a.jpg"]
    for name in names:
        photo(home / "images" / name)
    text(home / "images.txt", "".join(f"{number} {name}\n" for number, name in enumerate(names, 1)))
    text(home / "image_class_labels.txt", "1 2\n2 1\n")
    text(home / "classes.txt", "2 002.Laysan\n1 001.Black_footed\n")
    return home


def test_the_published_layout_is_joined_by_the_number_of_the_photo(tmp_path):
    home = cub(tmp_path)
    images = open_dataset("cub", tmp_path)
    assert images.classes == ("Black_footed", "Laysan")
    assert [(entry.id, entry.label) for entry in images] == [("001.Black_footed/a.jpg", 0), ("002.Laysan/b.jpg", 1)]
    assert images[0].annotation is None
    text(home / "bounding_boxes.txt", "1 1.0 2.0 3.0 4.0\n2 15.0 5.0 10.0 9.0\n")
    assert [entry.annotation.boxes for entry in open_dataset("cub", home)] == [
        (Box("Black_footed", 15, 5, 20, 10),),  # clipped to 20 × 10 pixels
        (Box("Laysan", 1, 2, 4, 6),),
    ]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("image_class_labels.txt", "1 2\n", r"photo 2: its species is a number from 1 to 2, not None"),
        ("image_class_labels.txt", "1 2\n2 3\n", r"photo 2: its species is a number from 1 to 2, not 3"),
        ("images.txt", "one two\n", r"images.txt does not hold lines of a number and a text"),
        ("images.txt", "", r"images.txt does not hold lines of a number and a text"),
        ("classes.txt", "1 a\n3 c\n", r"classes.txt does not number its species from 1 to 2"),
    ],
)
def test_tables_that_do_not_fit_are_said(file, content, said, tmp_path):
    text(cub(tmp_path) / file, content)
    with pytest.raises(ValueError, match=said):
        open_dataset("cub", tmp_path)


def test_a_box_that_is_none_is_a_matter_of_its_own_entry(tmp_path):
    text(cub(tmp_path) / "bounding_boxes.txt", "1 1.0 2.0 3.0\n")
    entry = open_dataset("cub", tmp_path)[1]
    with pytest.raises(ValueError, match=r"the box of .*b.jpg is x, y, width and height, not '1.0 2.0 3.0'"):
        _ = entry.annotation


def test_real_birds_are_labelled_by_the_species_in_their_name(data):
    images = open_dataset("cub", data)
    assert {entry.id.rpartition("_")[0] for entry in images} == set(images.classes)
    assert all(images.classes[entry.label] == entry.id.rpartition("_")[0] for entry in images)
    assert all(images.labels.count(label) == 2 for label in range(100))
