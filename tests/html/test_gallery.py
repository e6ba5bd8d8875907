"""The gallery of a run: every input in a page that holds few of them at a time, from disk, in a real browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import small_runs
from browser import scrolls_sideways, visit, wait_until
from cli_runs import assert_refused
from cli_runs import run as command
from samp.batch import Model, load, manifest, run
from samp.batch.labels import write_labels
from samp.batch.shard_plan import make_jobs
from samp.batch.shards import Shards
from samp.batch.sources import Entry
from samp.batch.stored_maps import encode_maps, stack_maps
from samp.html.gallery import PER_PAGE, write_gallery
from samp.html.gallery.tiles import PER_FILE, SIDE, fit_tile, map_tiles, tile_file
from small_runs import CLASSES, classifier

COUNT = 60


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with labels over sixty photos and one that is none."""
    folder = tmp_path_factory.mktemp("gallery")
    data = small_runs.photos(folder / "data", COUNT)
    (data / "<b>bad'.jpg").write_text("no photo")
    labels = [i % 3 for i in range(COUNT + 1)]
    run(data, out=folder / "out", model=classifier(), shard_size=13, method="ig", labels=labels)
    write_gallery(load(folder / "out"), folder / "gallery")
    return folder


def large_run(folder: Path, count: int) -> Path:
    """A run of so many rows, in the files that a run writes; maps are tiny."""
    folder.mkdir()
    classes = [f"kind {i}" for i in range(50)]
    entries = [Entry(f"{i:06d}.jpg", i) for i in range(count)]
    fed = {"size": 8, "mean": 0.5, "std": 0.5, "channels": "rgb", "margin": None, "resample": "bicubic"}
    settings = {
        "method": "IG()",
        "model": "synthetic",
        "weights": "0" * 64,
        "target": "predicted",
        "fed": fed,
        "device": "cpu",
        "dtype": "float32",
        "seed": 0,
        "map_dtype": "float16",
        "numbers": "jsonl",
        "shard_size": 1000,
        "inputs": count,
        "versions": {"samp": "0"},
    }
    manifest.write_or_check(folder, settings, {"source": {"kind": "items", "place": "list"}, "classes": classes})
    shards, jobs = Shards(folder, "jsonl"), make_jobs(entries, 1000)
    shards.make_folders()
    noise = np.random.default_rng(0)
    for job in jobs:
        rows = [
            {"id": name, "target": int(said), "label": classes[said], "predicted": int(said), "confidence": float(sure)}
            | {"score": 1.0, "score_change": 1.0, "residual": float(noise.random()), "gini": float(noise.random())}
            for name, said, sure in zip(job.ids, noise.integers(0, 50, 1000), noise.random(1000), strict=False)
        ]
        maps = encode_maps(torch.rand(len(rows), 8, 8), torch.float16)
        shards.write(job.shard, rows, stack_maps(maps, torch.float16))
    write_labels(folder, {entry.id: entry.place % 50 for entry in entries}, "labels.csv", jobs)
    return folder


def cards(page: Any) -> list[int]:
    return [int(one) for one in page.eval_on_selector_all(".one", "all => all.map(one => one.dataset.position)")]


def start(page: Any) -> None:
    """Wait until the page has unpacked its numbers."""
    wait_until(page, lambda: page.inner_text("#count"))


def choose(page: Any, **values: str) -> None:
    """Set fields of the form, as a user does."""
    for name, value in values.items():
        field = page.locator(f"[name={name}]")
        field.select_option(value) if name in ("answer", "order", "which") else field.fill(value)


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark"}, {"width": 390, "height": 800}])
def test_the_page_opens_from_disk_and_asks_for_tiles_alone(done: Path, chromium: Any, how: dict[str, Any]) -> None:
    with visit(chromium, done / "gallery" / "index.html", **how) as seen:
        start(seen.page)
        seen.page.evaluate("document.querySelectorAll('.tile img').forEach(image => { image.loading = 'eager' })")
        loaded = "[...document.querySelectorAll('.tile img')].every(image => image.naturalWidth > 0)"
        wait_until(seen.page, lambda: seen.page.evaluate(loaded))
        assert not scrolls_sideways(seen.page)
        assert len(cards(seen.page)) == PER_PAGE
        assert seen.page.inner_text("#count") == f"{COUNT + 1} of {COUNT + 1} inputs"
    assert seen.errors == []
    tiles = {path.as_uri() for path in (done / "gallery" / "tiles").rglob("*.jpg")}
    assert set(seen.requests) == tiles


def test_filters_show_what_the_rows_say(done: Path, chromium: Any) -> None:
    rows, columns = load(done / "out").rows(), load(done / "out").columns()
    wrong = [i for i, one in enumerate(columns.wrong) if one]
    ids = [row["id"] for row in rows]
    with visit(chromium, done / "gallery" / "index.html") as seen:
        start(seen.page)
        surest = sorted(wrong, key=lambda i: -rows[i]["confidence"])
        assert cards(seen.page)[: len(wrong)] == surest[:PER_PAGE]
        choose(seen.page, answer="wrong", order="data")
        assert cards(seen.page) == wrong[:PER_PAGE]
        choose(seen.page, answer="right")
        right = [i for i, row in enumerate(rows) if not row["error"] and i not in wrong]
        assert cards(seen.page) == right[:PER_PAGE]
        choose(seen.page, answer="failed")
        assert cards(seen.page) == [ids.index("<b>bad'.jpg")]
        choose(seen.page, answer="all", name="ant", which="true")
        assert cards(seen.page) == [i for i, label in enumerate(columns["true"]) if label == 0]
        choose(seen.page, name="", sureFrom="50", sureTo="70")
        assert cards(seen.page) == [i for i, row in enumerate(rows) if 0.5 <= (row["confidence"] or 0) <= 0.7]
        choose(seen.page, sureFrom="", sureTo="", errorFrom="2")
        share = np.abs(columns["residual"] / columns["score_change"])
        assert cards(seen.page) == np.flatnonzero(share >= 0.02)[:PER_PAGE].tolist()
        seen.page.click("button[type=reset]")
        wait_until(seen.page, lambda: len(cards(seen.page)) == PER_PAGE)
        choose(seen.page, order="residual")
        assert cards(seen.page)[0] == int(np.nanargmax(share))
        choose(seen.page, name="no such class")
        assert seen.page.inner_text("#count") == f"None of {COUNT + 1} inputs is like that."
    assert seen.errors == []


def test_a_confusion_is_a_filter(done: Path, chromium: Any) -> None:
    columns = load(done / "out").columns()
    with visit(chromium, done / "gallery" / "index.html") as seen:
        start(seen.page)
        choose(seen.page, order="data")
        chip = seen.page.locator(".chip").first
        true, said = (int(chip.get_attribute(f"data-{name}")) for name in ("true", "predicted"))
        chip.click()
        expected = np.flatnonzero((columns["true"] == true) & (columns["predicted"] == said)).tolist()
        assert cards(seen.page) == expected
        assert seen.page.inner_text(".chip b") == str(len(expected))
        chip.click()
        assert len(cards(seen.page)) == PER_PAGE


def test_pages_together_show_every_input_once(done: Path, chromium: Any) -> None:
    with visit(chromium, done / "gallery" / "index.html") as seen:
        start(seen.page)
        first = cards(seen.page)
        seen.page.click("#forward")
        assert sorted(first + cards(seen.page)) == list(range(COUNT + 1))
        assert seen.page.locator("#forward").is_disabled()
        seen.page.fill("#number", "900")
        seen.page.press("#number", "Enter")
        assert seen.page.input_value("#number") == "2"


def test_one_input_is_told_in_full(done: Path, chromium: Any) -> None:
    rows = load(done / "out").rows()
    with visit(chromium, done / "gallery" / "index.html") as seen:
        start(seen.page)
        choose(seen.page, order="surest")
        seen.page.locator(".one").first.click()
        best = max((row for row in rows if not row["error"]), key=lambda row: row["confidence"])
        wait_until(seen.page, lambda: seen.page.inner_text("#one-title") == best["id"])
        told = seen.page.inner_text("#about")
        assert CLASSES[best["predicted"]] in told
        assert f"Gini {best['gini']:.3f}" in told
        seen.page.keyboard.press("ArrowRight")
        wait_until(seen.page, lambda: seen.page.inner_text("#one-title") != best["id"])
        seen.page.keyboard.press("Escape")
        choose(seen.page, answer="failed")
        seen.page.locator(".one").first.click()
        wait_until(seen.page, lambda: seen.page.inner_text("#one-title") == "<b>bad'.jpg")
        assert "cannot be read" in seen.page.inner_text("#about")


def test_many_inputs_are_no_more_elements_than_few(done: Path, tmp_path: Path, chromium: Any) -> None:
    """Of twenty thousand inputs the page holds one page of cards, however it is filtered, sorted and turned."""
    write_gallery(load(large_run(tmp_path / "out", 20_000)), tmp_path / "gallery")
    count = "document.querySelectorAll('*').length - document.querySelectorAll('option').length"
    with visit(chromium, done / "gallery" / "index.html") as seen:
        start(seen.page)
        few = seen.page.evaluate(count)
    with visit(chromium, tmp_path / "gallery" / "index.html") as seen:
        start(seen.page)
        for order in ("residual", "unsure", "data"):
            choose(seen.page, order=order)
            seen.page.click("#forward")
            assert len(cards(seen.page)) == PER_PAGE
            assert seen.page.evaluate(count) < 1.2 * few
        assert seen.page.inner_text("#count") == "20,000 of 20,000 inputs"
        assert len(seen.requests) <= 6 * PER_PAGE  # tiles of the cards alone
    assert seen.errors == []
    assert (tmp_path / "gallery" / "index.html").stat().st_size < 40 * 20_000


def test_the_command_writes_the_gallery_beside_the_page(done: Path, tmp_path: Path) -> None:
    result = command("report", str(done / "out"), "--gallery", "--out", str(tmp_path / "why.html"), "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert Path(told["gallery"]) == tmp_path / "why-gallery" / "index.html"
    assert 'href="why-gallery/index.html#mistakes"' in (tmp_path / "why.html").read_text(encoding="utf-8")
    run_ = load(done / "out")
    assert (told["labelled"], told["mistakes"]) == (COUNT, len(run_.mistakes()))
    assert told["accuracy"] == pytest.approx(1 - len(run_.mistakes()) / COUNT)
    assert [row["id"] for row in told["wrong"]] == [row["id"] for row in run_.mistakes()]
    assert sum(pair["inputs"] for pair in told["confusions"]) == told["mistakes"]
    again = command("report", str(done / "out"), "--gallery", "--no-pictures", "--out", str(tmp_path / "why.html"))
    assert again.exit_code == 0, again.output  # a former gallery is replaced
    (tmp_path / "why-gallery" / "mine.txt").write_text("keep me")
    refused = command("report", str(done / "out"), "--gallery", "--out", str(tmp_path / "why.html"))
    assert_refused(refused, "is there and is no gallery")
    assert (tmp_path / "why-gallery" / "mine.txt").exists()


def test_the_page_of_the_run_shows_the_surest_mistakes_first(done: Path) -> None:
    from samp.html.report_page import run_page

    page = run_page(load(done / "out"))
    section = page[page.index('id="mistakes-title"') : page.index('class="charts"')]
    shown = re.findall(r"<figcaption><b>(.*?)</b>", section)
    assert shown == [row["id"] for row in load(done / "out").mistakes()[:12]]


def test_a_run_whose_data_set_is_gone_shows_maps_alone(tmp_path: Path) -> None:
    photos = [Image.new("RGB", (12, 12), (40 * i, 9, 9)) for i in range(5)]
    run(photos, out=tmp_path / "out", model=classifier(), method="gradientxinput")
    page = write_gallery(load(tmp_path / "out"), tmp_path / "gallery").read_text(encoding="utf-8")
    assert "The data set could not be read again" in page
    tiles = Image.open(tmp_path / "gallery" / "tiles" / tile_file(0))
    assert tiles.size == (4 * SIDE, 4 * SIDE)
    page = write_gallery(load(tmp_path / "out"), tmp_path / "gallery", data=photos).read_text(encoding="utf-8")
    assert "could not be read" not in page
    tiles = Image.open(tmp_path / "gallery" / "tiles" / tile_file(0))
    assert tiles.size == (8 * SIDE, 4 * SIDE)
    red = np.asarray(tiles)[40, 2 * SIDE * 3 + 48].astype(int)
    assert abs(red - np.array([120, 9, 9])).max() < 12  # the fourth photo


def test_tiles_are_where_the_page_looks_for_them(tmp_path: Path) -> None:
    """Each map has one bright quarter, another for each number modulo four."""
    folder = tmp_path / "out"
    large_run(folder, 100)
    shards, maps = Shards(folder, "jsonl"), torch.zeros(100, 8, 8)
    for i in range(100):
        maps[i, 4 * (i // 2 % 2) :, 4 * (i % 2) :][:4, :4] = 1
    shards.write(0, shards.rows(0), stack_maps(encode_maps(maps, torch.float16), torch.float16))
    write_gallery(load(folder), tmp_path / "gallery")
    for i in (0, 1, 17, 38, 99):
        tiles = np.asarray(Image.open(tmp_path / "gallery" / "tiles" / tile_file(i // PER_FILE)))
        top, left = SIDE * (i % PER_FILE // 4), SIDE * (i % 4)
        tile = tiles[top : top + SIDE, left : left + SIDE]
        quarters = [tile[y + 10 : y + 38, x + 10 : x + 38].mean() for y in (0, 48) for x in (0, 48)]
        assert int(np.argmax(quarters)) == i % 4
        assert sorted(quarters)[2] < 30 < 225 < max(quarters)


@pytest.mark.parametrize("shape", [(2, 224, 224), (2, 28, 28), (2, 1, 7), (2, 300, 100), (2, 40)])
def test_maps_of_any_shape_make_tiles(shape: tuple[int, ...]) -> None:
    for tile in map_tiles(torch.rand(shape)):
        assert tile is not None
        whole = fit_tile(tile)
        assert SIDE // 2 < max(whole.size) <= SIDE


def test_maps_without_positive_credit_are_black() -> None:
    (tile,) = map_tiles(-torch.rand(1, 224, 224))
    assert tile is not None
    assert np.asarray(tile).max() == 0


def test_numbers_are_packed_as_the_script_reads_them(done: Path) -> None:
    page = (done / "gallery" / "index.html").read_text(encoding="utf-8")
    packed = re.search(r'id="numbers">(.*?)</script>', page)
    assert packed
    content, columns = gzip.decompress(base64.b64decode(packed[1])), load(done / "out").columns()
    assert len(content) == 29 * len(columns)
    assert np.frombuffer(content, "<i4", len(columns)).tolist() == columns["true"].tolist()
    confidence = np.frombuffer(content, "<f4", len(columns), 12 * len(columns))
    np.testing.assert_array_equal(confidence, columns["confidence"].astype("f4"))


def test_names_of_classes_and_files_are_data(tmp_path: Path, chromium: Any) -> None:
    """Script in a name does not run, and letters of other scripts stay what they are."""
    odd = "</script><img src=x onerror=alert(1)>"
    data = tmp_path / "data"
    for name in ("猫 🐈.png", "قطة.png", "a'b.png"):
        small_runs.photos(data, 1)
        (data / "000.png").rename(data / name)
    net = small_runs.classifier()
    named = type(net)(net.net, "small", 12, 0.5, 0.5, (odd, "猫", "قطة"))
    run(data, out=tmp_path / "out", model=named, method="gradientxinput", labels=[0, 1, 2])
    page = write_gallery(load(tmp_path / "out"), tmp_path / "gallery")
    with visit(chromium, page) as seen:
        start(seen.page)
        wait_until(seen.page, lambda: "…" not in seen.page.inner_text("#cards"))
        words = seen.page.inner_text("#cards")
        assert all(name in words for name in ("猫 🐈.png", "قطة.png", "a'b.png"))
        assert seen.page.locator("img[src=x]").count() == 0
    assert seen.errors == []


def test_the_gallery_says_what_to_type_for_one_input(tmp_path: Path, chromium: Any) -> None:
    """The model by its name, the method with the settings that were changed, and the photo quoted for a shell."""
    from samp.cli.again import commands_for

    data = tmp_path / "my data"
    small_runs.photos(data, 3)
    model = Model("tiny_nets:classifier", given={"size": (16, 16)})
    run(data, out=tmp_path / "out", model=model, method="coupled", seed=3, labels=[0, 0, 0], target="predicted")
    commands = commands_for(load(tmp_path / "out"))
    rest = "--model tiny_nets:classifier --size 16,16 --method coupled --seed 3"
    assert commands.play == f"samp play {{photo}} --target {{target}} {rest} --out path.html"
    page = write_gallery(load(tmp_path / "out"), tmp_path / "gallery", commands=commands)
    with visit(chromium, page) as seen:
        start(seen.page)
        seen.page.locator(".one").first.click()
        wait_until(seen.page, lambda: seen.page.locator("#type code").count())
        words = seen.page.locator("#type code").first.inner_text()
    assert re.fullmatch(rf"samp play '{data}/.*png' --target \d {rest} --out path.html", words)
