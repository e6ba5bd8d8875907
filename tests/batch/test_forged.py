"""Receipts and manifests that were harmed, mixed up or forged: no row twice, none lost, no error nobody expected."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import small_runs
from samp.batch import load, manifest, run
from samp.batch.shards import Shards
from samp.batch.stored_maps import stack_maps
from samp.html.report_page import run_page
from samp.models import Classifier
from small_runs import CLASSES, SIDE, classifier, same


def run_over(data: Path, out: Path, **words: Any) -> Any:
    return run(data, out=out, **{"model": classifier(), "method": "gradientxinput", "shard_size": 3, **words})


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


# Receipts that do not belong to their shard.


@pytest.mark.parametrize("parts", [("done",), ("numbers", "maps"), ("numbers", "maps", "done")])
def test_files_of_another_shard_are_not_taken_for_this_ones(data: Path, tmp_path: Path, parts: tuple[str, ...]) -> None:
    run_over(data, tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    for part in parts:
        (first,) = (tmp_path / "other" / part).glob("000000.*")
        shutil.copy(first, first.with_stem("000001"))
    assert load(tmp_path / "other", thorough=True).damaged == (1,)
    ids = [row["id"] for row in load(tmp_path / "other", thorough=True).rows()]
    assert len(set(ids)) == len(ids) == 4
    assert run_over(data, tmp_path / "other").found == 4
    same(tmp_path / "other", tmp_path / "one")


def test_rows_of_another_shard_are_not_taken_though_the_receipt_says_this_one(data: Path, tmp_path: Path) -> None:
    run_over(data, tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    for part in ("numbers", "maps", "done"):
        (first,) = (tmp_path / "other" / part).glob("000000.*")
        shutil.copy(first, first.with_stem("000001"))
    edit(tmp_path / "other" / "done" / "000001.json", lambda content: content.update(shard=1))
    assert run_over(data, tmp_path / "other").found == 4
    same(tmp_path / "other", tmp_path / "one")


def test_rows_in_another_order_are_done_again(data: Path, tmp_path: Path) -> None:
    """As if the data set had been listed otherwise, and the shard written by a program that knew no better."""
    for name in ("one", "other"):
        run_over(data, tmp_path / name)
    shards = Shards(tmp_path / "other", load(tmp_path / "other").settings["numbers"])
    rows, maps = shards.rows(0), shards.rows_and_maps(0)
    turned = [rows[1], rows[0], rows[2]]
    stored = [maps[row["id"]][1] for row in turned]
    shards.write(0, turned, stack_maps(stored, stored[0].map.dtype))  # type: ignore[union-attr]  # none failed
    assert run_over(data, tmp_path / "other").found == 4
    same(tmp_path / "other", tmp_path / "one")


def test_a_receipt_of_fewer_rows_than_its_files_have_is_none(data: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        run_over(data, tmp_path / name)
    edit(tmp_path / "other" / "done" / "000000.json", lambda content: content.update(rows=2))
    assert load(tmp_path / "other", thorough=True).damaged == (0,)
    assert run_over(data, tmp_path / "other").found == 4
    same(tmp_path / "other", tmp_path / "one")


def test_a_shard_with_fewer_rows_than_inputs_is_gone_on_with(data: Path, tmp_path: Path) -> None:
    """Rows and receipt agree, but an input has none: it is explained, whatever left it out."""
    for name in ("one", "other"):
        run_over(data, tmp_path / name, batch_size=1)
    shards = Shards(tmp_path / "other", load(tmp_path / "other").settings["numbers"])
    rows, answers = shards.rows(1), shards.rows_and_maps(1)
    stored = [answers[row["id"]][1] for row in rows[:2]]
    shards.write(1, rows[:2], stack_maps(stored, stored[0].map.dtype))  # type: ignore[union-attr]  # none failed
    assert run_over(data, tmp_path / "other", batch_size=1).found == 6
    same(tmp_path / "other", tmp_path / "one")


def test_a_receipt_of_more_rows_than_there_are_inputs_is_damaged(data: Path, out: Path) -> None:
    run_over(data, out)
    edit(out / "manifest.json", lambda content: content["settings"].update(inputs=4))
    assert (load(out).numbers, load(out).damaged) == ((0,), (1,))


# What decides what the numbers are.


def named(*classes: str) -> Classifier:
    return Classifier(classifier().net, "small", SIDE, 0.5, 0.5, classes)


def test_a_run_with_another_list_of_classes_is_not_gone_on_with(data: Path, out: Path) -> None:
    """The labels of its rows would be of two lists, and a class that is given by name another one."""
    run_over(data, out, model=named(*CLASSES))
    (out / "done" / "000001.json").unlink()
    with pytest.raises(
        ValueError, match=r"holds a run with other settings \(classes: [0-9a-f]{8}… there, [0-9a-f]{8}… here"
    ):
        run_over(data, out, model=named("ant", "cat", "bee"))
    assert run_over(data, out, model=named(*CLASSES)).code == 0


def test_a_list_that_names_other_classes_is_not_gone_on_with(data: Path, out: Path) -> None:
    """The same photos under the same ids, but one is to be explained for another class."""
    table = data.with_name("list.csv")
    table.write_text("path,target\ndata/000.png,bee\ndata/001.png,ant\n")
    run_over(table, out)
    table.write_text("path,target\ndata/000.png,bee\ndata/001.png,cat\n")
    with pytest.raises(ValueError, match=r"holds a run with other settings \(ids: "):
        run_over(table, out)


@pytest.mark.parametrize("same_list", [True, False])
def test_a_run_of_old_says_its_classes_elsewhere(data: Path, out: Path, same_list: bool) -> None:
    run_over(data, out, model=named(*CLASSES))
    edit(out / "manifest.json", lambda content: content["settings"].pop("classes"))
    if same_list:
        assert run_over(data, out, model=named(*CLASSES)).found == 7
        return
    with pytest.raises(ValueError, match=r"other settings \(classes: "):
        run_over(data, out, model=named("a", "b", "c"))


# Anything at all.

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "../../x",
    "\ud800",
    [],
    [1],
    {},
    {"a": 1},
    [[[]]],
    float("nan"),
]


def forge(value: Any, draw: random.Random) -> Any:
    """The same JSON with a part that is taken away, replaced, put twice or cut, at any depth."""
    if isinstance(value, dict) and value and draw.random() < 0.8:
        key = draw.choice(sorted(value))
        if draw.random() < 0.2:
            return {name: part for name, part in value.items() if name != key}
        if draw.random() < 0.1:
            return {**value, draw.choice(["", "x", "rows", "kind"]): draw.choice(ODD)}
        return {**value, key: forge(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.5:
        place = draw.randrange(len(value))
        return [*value[:place], forge(value[place], draw), *value[place + 1 :]]
    return draw.choice(ODD)


def refusal(act: Callable[[], object]) -> str:
    """Why this is refused, or nothing; any other error than ValueError is one that nobody expected."""
    try:
        act()
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.filterwarnings("ignore:.*cannot be read again")
def test_a_forged_manifest_is_read_or_refused_in_our_words(data: Path, out: Path) -> None:
    run_over(data, out)
    whole, draw, refused = json.loads((out / "manifest.json").read_text()), random.Random(0), 0
    for number in range(400):
        text = json.dumps(forge(whole, draw))
        text = text[: draw.randrange(len(text))] if draw.random() < 0.05 else text
        (out / "manifest.json").write_text(text)
        why = refusal(lambda: run_page(load(out), pictures=True))
        assert not why or "manifest.json is " in why, (number, text, why)
        refused += bool(why)
        if number % 8 == 0:  # which takes longer
            why = refusal(lambda: run_over(data, out))
            assert not why or "manifest.json is " in why or "other settings (" in why, (
                number,
                text,
                why,
            )
    assert 100 < refused < 400


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"format": "samp run 1", "a": ' + "[" * 100_000, "\x00", "null", "1"]
)
def test_a_manifest_of_nothing_but_brackets_is_refused(data: Path, out: Path, content: str) -> None:
    out.mkdir()
    (out / "manifest.json").write_text(content)
    for act in (lambda: run_over(data, out), lambda: load(out)):
        with pytest.raises(ValueError, match=r"manifest\.json is (not whole|of another program)"):
            act()


def test_a_manifest_of_gigabytes_is_not_read(out: Path) -> None:
    out.mkdir()
    with (out / "manifest.json").open("wb") as file:
        file.truncate(2**33)  # a hole: nothing of it lies on the disk
    with pytest.raises(ValueError, match=r"manifest\.json is not whole \(it has more than 67,108,864 bytes\)"):
        load(out)


def test_a_forged_count_of_inputs_makes_nobody_count_to_it(data: Path, out: Path) -> None:
    run_over(data, out)
    edit(out / "manifest.json", lambda content: content["settings"].update(inputs=2**62, shard_size=3))
    assert load(out).numbers == (0, 1, 2)


def test_whatever_a_receipt_says_the_rows_are_those_of_an_undisturbed_run(data: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    run_over(data, one)
    shutil.copytree(one, other)
    receipt, draw = other / "done" / "000001.json", random.Random(0)
    whole = json.loads(receipt.read_text())
    for number in range(60):
        receipt.write_text(json.dumps(forge(whole, draw)))
        seen = load(other, thorough=True)
        assert sorted([*seen.numbers, *seen.damaged]) == [0, 1, 2], number
        assert len(seen.rows()) in (4, 7)
        assert run_over(data, other).explained == 7
        same(other, one)


def test_settings_are_checked_as_they_are_written(data: Path, out: Path) -> None:
    """Of data sets of every kind, so that no run refuses its own manifest."""
    run_over(data, out, method="coupled")
    tar = small_runs.pack_tar(out.with_name("a.tar"), {"1.png": (data / "000.png").read_bytes()})
    run_over(tar, out.with_name("tars"))
    for place in (out, out.with_name("tars")):
        assert manifest.read(place) is not None
