"""Labels say which answers of a run are right; they change nothing that is computed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import small_runs
from samp.batch import load, run
from samp.batch.explainer import confidences
from samp.batch.labels import NAME
from small_runs import CLASSES, classifier

HOW: dict[str, Any] = {"method": "gradientxinput", "shard_size": 3}


def explain(data: Any, out: Path, **how: Any) -> None:
    run(data, out=out, model=classifier(), **{**HOW, **how})


def table(path: Path, *rows: str, head: str = "file,label") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def test_labels_of_a_table_are_joined_by_id_by_path_and_by_name(data: Path, out: Path, tmp_path: Path) -> None:
    whole = [f"{name},{label}" for name, label in zip(IDS, LABELS, strict=True)]
    paths = [f"data/{name},{CLASSES[label]}" for name, label in zip(IDS, LABELS, strict=True)]
    alone = [f"{Path(name).name},{label}" for name, label in zip(IDS, LABELS, strict=True)]
    for rows in (whole, paths, alone, alone[::-1]):
        explain(data, out, labels=table(tmp_path / "labels.csv", *rows))
        assert load(out).labels() == dict(zip(IDS, LABELS, strict=True))


IDS = ("000.png", "001.png", "003.png", "004.png", "006.png", "deeper/002.png", "deeper/005.png")
LABELS = (0, 1, 2, 0, 1, 2, 0)


def test_mistakes_are_the_rows_whose_answer_is_not_the_label(data: Path, out: Path) -> None:
    explain(data, out, labels=LABELS)
    rows = {row["id"]: row for row in load(out).rows()}
    wrong = {name for name, label in zip(IDS, LABELS, strict=True) if rows[name]["predicted"] != label}
    found = load(out).mistakes()
    assert {row["id"] for row in found} == wrong
    assert 0 < len(wrong) < len(IDS)
    assert [row["confidence"] for row in found] == sorted((row["confidence"] for row in found), reverse=True)
    for row in found:
        assert row["true_label"] == CLASSES[LABELS[IDS.index(row["id"])]]
        assert row["predicted_label"] == CLASSES[row["predicted"]] == row["label"]  # whose map it is
    columns = load(out).columns()
    assert columns["true"].tolist() == list(LABELS)
    assert int(columns.wrong.sum()) == len(wrong)


def test_other_labels_are_joined_without_explaining_again(data: Path, out: Path) -> None:
    explain(data, out, labels=LABELS)
    before = {path: path.stat().st_mtime_ns for path in (out / "maps").iterdir()}
    rows, other = load(out).rows(), [2 - label for label in LABELS]
    summary = run(data, out=out, model=classifier(), labels=other, **HOW)
    assert summary.found == 7
    assert list(load(out).labels().values()) == other
    explain(data, out)  # no labels keep those that are there
    assert list(load(out).labels().values()) == other
    assert {path: path.stat().st_mtime_ns for path in (out / "maps").iterdir()} == before
    assert load(out).rows() == rows


def test_labels_can_be_given_to_a_run_that_had_none(data: Path, out: Path) -> None:
    explain(data, out)
    with pytest.raises(ValueError, match="the run has no labels"):
        load(out).mistakes()
    assert np.isnan(load(out).columns()["true"]).all()
    explain(data, out, labels=dict(zip(IDS, LABELS, strict=True)))
    assert load(out).labels() == dict(zip(IDS, LABELS, strict=True))


def test_labels_of_a_shard_that_is_missing_do_not_move_to_another(data: Path, out: Path) -> None:
    explain(data, out, labels=LABELS)
    (out / "done" / "000001.json").unlink()
    left = load(out)
    assert left.numbers == (0, 2)
    assert left.labels() == {
        name: label for name, label in zip(IDS, LABELS, strict=True) if IDS.index(name) not in (3, 4, 5)
    }
    assert left.columns()["true"].tolist() == [0, 1, 2, 0]


def test_folders_name_classes(tmp_path: Path, out: Path) -> None:
    for name in ("Cat", "ant", "1"):
        for i in range(2):
            photo(tmp_path / "data" / name / f"{i}.png", i)
    explain(tmp_path / "data", out, labels="folder-names")
    names = {"Cat/0.png": 2, "Cat/1.png": 2, "ant/0.png": 0, "ant/1.png": 0, "1/0.png": 1, "1/1.png": 1}
    assert load(out).labels() == names


def test_folders_of_other_names_count_in_their_order_if_there_is_one_for_each_class(tmp_path: Path, out: Path) -> None:
    for name in ("n01", "n02", "n03"):
        photo(tmp_path / "data" / name / "deeper" / "x.png", 3)
    explain(tmp_path / "data", out, labels="folder-names")
    assert list(load(out).labels().values()) == [0, 1, 2]
    header = load(out).labels_header
    assert header is not None
    assert header.source == "the names of their folders, in their order"
    photo(tmp_path / "data" / "n04" / "x.png", 3)
    with pytest.raises(ValueError, match=r"small has no class 'n01'.* Its 4 folders are not as many as its 3 classes"):
        explain(tmp_path / "data", tmp_path / "other", labels="folder-names")


def photo(path: Path, grey: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (12, 12), (40 * grey, 9, 9)).save(path)


def test_the_classes_that_a_list_has_can_be_the_labels(data: Path, out: Path, tmp_path: Path) -> None:
    rows = [f"data/{name},{CLASSES[label]}" for name, label in zip(IDS, LABELS, strict=True)]
    listed = table(tmp_path / "list.csv", *rows, head="path,target")
    explain(listed, out, labels="data-set", target="predicted")
    assert list(load(out).labels().values()) == list(LABELS)
    with pytest.raises(ValueError, match="needs a data set that lists its classes"):
        explain(data, tmp_path / "other", labels="data-set")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 1], "there are 2 labels for 7 inputs: give one for each."),
        ([0, 1, 2, 3, 0, 1, 2], "target 3 is out of range: the model's output goes from 0 to 2."),
        (["ant"] * 6 + ["dog"], "small has no class 'dog'"),
        ({"other.png": 0}, "no label of the mapping belongs to an input: it names such as 'other.png'"),
    ],
)
def test_labels_that_do_not_fit_are_refused_before_anything_is_done(
    data: Path, out: Path, labels: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        explain(data, out, labels=labels)
    assert not (out / "manifest.json").exists()


def test_a_table_of_labels_that_cannot_be_read_is_refused(data: Path, out: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a file: give a table with the columns file and label"):
        explain(data, out, labels=tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="has the columns 'name', 'kind': labels have a column 'file'"):
        explain(data, out, labels=table(tmp_path / "a.csv", "x,1", head="name,kind"))
    with pytest.raises(ValueError, match=r"gives '000\.png' two labels, 'ant' and 'bee'"):
        explain(data, out, labels=table(tmp_path / "a.csv", "000.png,ant", "000.png,bee"))
    with pytest.raises(TypeError, match="labels are a file"):
        explain(data, out, labels=3.5)


def test_inputs_without_label_and_labels_without_input_are_counted(data: Path, out: Path, tmp_path: Path) -> None:
    labels = table(tmp_path / "labels.csv", "000.png,0", "001.png,", "003.png,-1", "gone.png,1")
    with (
        pytest.warns(UserWarning, match="^6 of 7 inputs have no label"),
        pytest.warns(UserWarning, match=r"^1 rows of .*'gone\.png'"),
    ):
        explain(data, out, labels=labels)
    columns = load(out).columns()
    assert int(columns.is_judged.sum()) == 1


def test_an_input_that_failed_is_neither_right_nor_wrong(data: Path, out: Path) -> None:
    (data / "bad.jpg").write_text("no photo")
    explain(data, out, labels=[1] * 8)
    columns = load(out).columns()
    assert (len(columns), int(columns.is_judged.sum())) == (8, 7)
    assert "bad.jpg" not in {row["id"] for row in load(out).mistakes()}


@pytest.mark.parametrize(
    ("line", "content"),
    [
        (0, "{}"),
        (0, '{"format": "samp labels 2", "source": "", "labelled": 1, "inputs": 1}'),
        (1, "[]"),
        (1, "{"),
        (1, '{"shard": 5, "labels": {}}'),
        (2, '{"shard": 0, "labels": {}}'),
        (1, '{"shard": 0, "labels": {"000.png": "ant"}}'),
        (1, '{"shard": 0, "labels": {"000.png": true}}'),
        (1, '{"shard": 0, "labels": {"000.png": 99999999999}}'),
        (1, "[" * 100_000),
    ],
)
def test_damaged_labels_are_one_sentence(data: Path, out: Path, line: int, content: str) -> None:
    explain(data, out, labels=LABELS)
    lines = (out / NAME).read_text(encoding="utf-8").splitlines()
    lines[line] = content
    (out / NAME).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=r"labels.jsonl is not whole .*: give the run its `labels` again"):
        load(out).columns()
    explain(data, out, labels=LABELS)
    assert load(out).labels() == dict(zip(IDS, LABELS, strict=True))


def test_confidence_is_the_probability_of_the_predicted_class(data: Path, out: Path) -> None:
    explain(data, out, target="bee")
    net, source = classifier(), small_runs.photos(data, 0)
    for row in load(out).rows():
        with torch.no_grad():
            scores = net.net(net.prepare(Image.open(source / row["id"]).convert("RGB"))).double()[0]
        assert row["confidence"] == pytest.approx(float(scores.softmax(0).max()), abs=1e-6)
        assert row["predicted"] == int(scores.argmax())


def test_confidence_of_a_row_does_not_depend_on_its_batch() -> None:
    logits, shares = torch.tensor([[3.0, -1.0, 0.5]]), torch.tensor([[0.25, 0.5, 0.25]])
    together = confidences(torch.cat([logits, shares]))
    assert together.tolist() == [float(confidences(logits)), float(confidences(shares))]
    assert together[1] == 0.5
    assert confidences(torch.tensor([[0.5]])).isnan().all()


def test_the_manifest_says_how_the_model_and_the_method_are_made_again(data: Path, out: Path) -> None:
    explain(data, out, method="samp++", target="bee")
    recipe = json.loads((out / "manifest.json").read_text())["about"]["recipe"]
    assert recipe == {"method": {"method": "samp++"}}  # a classifier of the caller cannot be told in words
