"""Data sets of every kind give the same inputs, under ids that stay."""

from __future__ import annotations

import csv
import io
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import small_runs
from samp import images as photos
from samp.batch import load, run
from samp.batch.preprocess import read_samples, stack_inputs, without_net
from samp.batch.sources import Folder, Items, PathList, list_entries, source_of
from samp.batch.tars import Tars
from small_runs import classifier


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_runs.photos(tmp_path / "data", 4)


def shown(source: Any) -> dict[str, torch.Tensor]:
    """What the net would be shown of each input."""
    feeding = without_net(classifier())
    samples = read_samples(source, source.entries(), feeding)
    assert [sample.error for sample in samples] == [None] * len(samples)
    like = torch.empty(0)
    return {s.id: stack_inputs([s.array], feeding, like)[0] for s in samples if s.array is not None}


def by_hand(data: Path) -> list[torch.Tensor]:
    """The inputs in the order of their numbers, as `samp explain` prepares them."""
    paths = sorted(data.rglob("*.png"), key=lambda path: path.name)
    return [classifier().prepare(photos.read(path))[0] for path in paths]


def written_tar(path: Path, data: Path, form: str = "w") -> Path:
    with tarfile.open(path, form) as tar:
        for photo in sorted(data.rglob("*.png"), key=lambda path: path.name):
            for suffix, content in (("png", photo.read_bytes()), ("cls", b"2\n"), ("json", b"{}")):
                info = tarfile.TarInfo(f"{photo.stem}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def test_every_kind_of_data_set_shows_the_net_the_same(data: Path, tmp_path: Path) -> None:
    paths = sorted(data.rglob("*.png"), key=lambda path: path.name)
    with (tmp_path / "list.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["path", "id"])
        writer.writeheader()
        writer.writerows({"path": path.relative_to(tmp_path), "id": path.stem} for path in paths)
    opened = [Image.open(path) for path in paths]
    kinds = {
        "folder": Folder(data),
        "list": PathList(tmp_path / "list.csv"),
        "tars": Tars((written_tar(tmp_path / "a.tar", data),)),
        "images": Items(opened),
        "pairs": Items([(image, 1) for image in opened]),
        "by name": Items([{"image": image, "label": 1} for image in opened]),
        "bytes": Items([np.asarray(image) for image in opened]),
        "tensors": Items(by_hand(data)),
    }
    for kind, source in kinds.items():
        found = shown(source)
        ordered = [found[name] for name in sorted(found, key=lambda name: Path(name).stem)]
        for mine, expected in zip(ordered, by_hand(data), strict=True):
            assert torch.equal(mine, expected), kind


def test_ids_are_in_the_same_order_every_time(data: Path) -> None:
    assert [entry.id for entry in Folder(data).entries()] == ["000.png", "001.png", "003.png", "deeper/002.png"]
    (data / ".hidden").mkdir()
    for name in (".hidden/a.png", ".b.png", "notes.txt"):
        (data / name).write_text("no photo")
    assert len(Folder(data).entries()) == 4


def test_tars_are_read_where_they_lie(data: Path, tmp_path: Path) -> None:
    for name in ("b", "a"):
        written_tar(tmp_path / f"{name}.tar", data)
    source = source_of(str(tmp_path / "*.tar"))
    entries = source.entries()
    assert [entry.id for entry in entries][:5] == ["a/000", "a/001", "a/002", "a/003", "b/000"]
    assert {entry.target for entry in entries} == {"2"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "b.tar", "data"]


def test_a_folder_of_tars_alone_is_tars(data: Path, tmp_path: Path) -> None:
    (tmp_path / "tars").mkdir()
    written_tar(tmp_path / "tars" / "a.tar", data)
    assert isinstance(source_of(tmp_path / "tars"), Tars)


def test_a_parquet_list_is_read(data: Path, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'samp[scale]'")
    from pyarrow import parquet

    table = arrow.table({"path": ["data/000.png", "data/001.png"], "target": [2, None]})
    parquet.write_table(table, tmp_path / "list.parquet")
    entries = source_of(tmp_path / "list.parquet").entries()
    assert [(entry.id, entry.target) for entry in entries] == [("data/000.png", "2"), ("data/001.png", None)]


def test_ids_and_classes_are_what_the_list_says_but_for_numbers_with_gaps(tmp_path: Path) -> None:
    _file(tmp_path / "list.csv", "path,id,target\na.png,net-v1.0,2.0\nb.png,net-v1,\n")
    entries = list_entries(PathList(tmp_path / "list.csv"))
    assert [(entry.id, entry.target) for entry in entries] == [("net-v1.0", "2"), ("net-v1", None)]


def test_the_class_a_data_set_names_is_explained(data: Path, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("path,target\ndata/000.png,bee\ndata/001.png,\ndata/003.png,2\ndata/000.png,9\n")
    with pytest.raises(ValueError, match=r"the id 'data/000\.png' comes twice"):
        run(tmp_path / "list.csv", out=tmp_path / "out", model=classifier())
    (tmp_path / "list.csv").write_text("path,target,id\ndata/000.png,bee,a\ndata/001.png,,b\ndata/003.png,9,c\n")
    summary = run(tmp_path / "list.csv", out=tmp_path / "out", model=classifier())
    a, b, c = load(tmp_path / "out").rows()
    assert (a["target"], a["label"]) == (1, "bee")
    assert b["target"] == b["predicted"]
    assert summary.failures == {"c": c["error"]}
    assert "target 9 is out of range" in c["error"]
    run(tmp_path / "list.csv", out=tmp_path / "all", model=classifier(), target="predicted")
    assert all(row["target"] == row["predicted"] for row in load(tmp_path / "all").rows())


def test_a_saved_hugging_face_data_set_is_read(data: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face's package: pip install datasets")
    arrow = pytest.importorskip("pyarrow")
    from datasets.table import InMemoryTable

    content = [path.read_bytes() for path in sorted(data.rglob("*.png"), key=lambda path: path.name)]
    columns = {"image": [{"bytes": one, "path": None} for one in content], "label": [1] * len(content)}
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    table = InMemoryTable(arrow.table(columns).cast(features.arrow_schema))
    # with a fingerprint of our own: some versions fail to make one
    loaded = datasets.Dataset(table, info=datasets.DatasetInfo(features=features), fingerprint="small")
    loaded.save_to_disk(str(tmp_path / "saved"))
    for source in (source_of(loaded), source_of(tmp_path / "saved")):
        found = shown(source)
        assert list(found) == ["0", "1", "2", "3"]
        assert all(torch.equal(*pair) for pair in zip(found.values(), by_hand(data), strict=True))
    run(tmp_path / "saved", out=tmp_path / "out", model=classifier())
    assert {row["target"] for row in load(tmp_path / "out").rows()} == {1}


def test_hugging_face_folders_that_cannot_be_opened_get_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, names in (("saved", ("dataset_info.json", "state.json")), ("splits", ("dataset_dict.json",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text("{}")
    monkeypatch.setitem(sys.modules, "datasets", None)  # as where it is not installed
    with pytest.raises(ImportError, match="pip install datasets"):
        source_of(tmp_path / "saved").entries()
    with pytest.raises(ValueError, match="holds several splits"):
        source_of(tmp_path / "splits")


def test_an_item_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    class Broken:
        def __len__(self) -> int:
            return 4

        def __getitem__(self, number: int) -> Any:
            if number == 0:
                raise KeyError("no such thing")
            return [None, {"picture": 1}, torch.arange(3), Image.new("RGB", (4, 4))][number]

    summary = run(Broken(), out=tmp_path / "out", model=classifier())
    assert summary.explained == 1
    assert "no such thing" in summary.failures["0"]
    assert "its image is called one of" in summary.failures["1"]
    assert "of int64" in summary.failures["2"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "nothing", "is not there"),
        (lambda folder: _file(folder / "notes.txt"), "is no data set"),
        (lambda folder: _file(folder / "list.csv", "file\na.png\n"), "has the columns 'file'"),
        (lambda folder: _file(folder / "list.csv", "path,id\na.png,a\n,b\n"), "row 2 of .* has no path"),
        (lambda folder: _file(folder / "bad.tar", "no tar"), "cannot be read as a plain tar"),
        (lambda folder: written_tar(folder / "packed.tar", folder / "data", "w:gz"), "without compression"),
        (lambda folder: _empty(folder / "empty"), "there is nothing to explain"),
        (lambda folder: 7, "not int"),
        (lambda folder: Items([1, 2], ids=("a",)), "there are 1 ids for 2 items"),
    ],
)
def test_what_is_no_data_set_gets_a_sentence(data: Path, tmp_path: Path, make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        list_entries(source_of(make(tmp_path)))


def _file(path: Path, text: str = "") -> Path:
    path.write_text(text)
    return path


def _empty(path: Path) -> Path:
    path.mkdir()
    return path
