"""Results of the app: the same as those of the library, in every form, and nothing written to disk."""

from __future__ import annotations

import base64
import gc
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import samp
from app_server import RunningApp, models, running_app
from samp.app.results import NO_SUM
from samp.images import example_photo
from samp.models.prediction import classify_photo


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running_app() as running:
        yield running


def final_results(app: RunningApp, job: str) -> dict[str, Any]:
    results = [event for event in app.follow(job) if event["type"] == "result"]
    return {event["method"]: event["result"] for event in results if event["result"]["final"]}


def arrays(app: RunningApp, job: str, method: str) -> Any:
    reply = app.call("GET", f"/api/jobs/{job}/export/{method}.npz")
    assert reply.status == 200
    return np.load(io.BytesIO(reply.body), allow_pickle=False)


def picture(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


METHODS = {
    "consensus": samp.Consensus("draft"),
    "coupled": samp.Coupled("draft"),
    "samp++": "samp++",
    "gradientxinput": "gradientxinput",
}


def test_four_methods_side_by_side_are_what_the_library_computes_to_the_bit(app: RunningApp) -> None:
    job = app.submit(methods=list(METHODS), quality="draft", seed=3, target=1)
    shown = final_results(app, job)
    assert list(shown) == list(METHODS)
    photo = classify_photo(example_photo(), models()["held"].load(), target="1")
    for name, method in METHODS.items():
        own = arrays(app, job, name)
        if name == "consensus":
            *_, result = samp.explain_gradually(
                photo.classifier.net, photo.x, target=[1], method=method, rounds=(1, 2), seed=3
            )
        else:
            result = samp.explain(photo.classifier.net, photo.x, target=[1], method=method, seed=3)
        assert np.array_equal(own["values"], result.values.numpy())
        assert np.array_equal(own["input"], photo.x.numpy())
        assert shown[name]["label"] == "cup"
        assert shown[name]["gradients"] == int(result.gradients)
        curves = {str(d): scores[0].double().tolist() for d, scores in result.scores.items()}
        assert shown[name]["curve"] == {d: [s for s in line if s == s] for d, line in curves.items()}
        assert {picture(uri).format for uri in shown[name]["pictures"].values()} <= {"PNG", "JPEG"}


@pytest.mark.parametrize("method", ["consensus", "coupled", "ig", "lrp"])
def test_the_exported_script_makes_the_values_of_the_exported_arrays(
    app: RunningApp, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'it\'s "mine".jpg').write_bytes(example_photo("chelsea").read_bytes())
    name = "it%27s%20%22mine%22.jpg"
    photo = app.call("POST", "/api/photos", example_photo("chelsea").read_bytes(), {"X-Samp-Name": name}).json["id"]
    job = app.submit(photo=photo, model="mnist_slim", methods=[method], quality="draft", seed=5)
    assert app.follow(job)[-1]["type"] == "done"
    script = app.call("GET", f"/api/jobs/{job}/export/{method}.py").body.decode()
    made: dict[str, Any] = {}
    exec(compile(script, "export.py", "exec"), made)
    own = arrays(app, job, method)
    assert np.array_equal(made["result"].values.numpy(), own["values"])
    saved = samp.Attribution.load(tmp_path / f'it\'s "mine"-{method}.samp')
    assert torch.equal(saved.values, made["result"].values)
    assert "Attribution(" in capsys.readouterr().out


def test_every_form_of_export_opens(app: RunningApp, tmp_path: Path) -> None:
    job = app.submit(methods=["consensus"], quality="draft")
    result = final_results(app, job)["consensus"]
    files = {
        form: app.call("GET", f"/api/jobs/{job}/export/consensus.{form}") for form in ("png", "html", "samp", "npz")
    }
    for form, reply in files.items():
        assert reply.status == 200
        assert reply.headers["content-disposition"].startswith(f'attachment; filename="coffee-consensus.{form}"')
    sheet = Image.open(io.BytesIO(files["png"].body))
    assert json.loads(sheet.text["samp"])[0]["index"] == result["index"]
    assert "coffee.jpg" in files["html"].body.decode()
    (tmp_path / "a.samp").write_bytes(files["samp"].body)
    loaded = samp.Attribution.load(tmp_path / "a.samp")
    assert np.array_equal(loaded.values.numpy(), np.load(io.BytesIO(files["npz"].body))["values"])
    assert loaded.details["facts"][0]["index"] == result["index"]


@pytest.mark.parametrize("file", ["consensus.exe", "consensus", "ig.png", "..%2fconsensus.png", ".png"])
def test_what_cannot_be_exported_is_not_found(app: RunningApp, file: str) -> None:
    job = app.submit(methods=["consensus"], quality="draft")
    app.follow(job)
    assert app.call("GET", f"/api/jobs/{job}/export/{file}").status == 404


def test_credit_that_does_not_add_up_is_said_not_to(app: RunningApp) -> None:
    shown = final_results(app, app.submit(methods=["samp", "coupled", "gradient"], quality="draft"))
    assert abs(shown["samp"]["residual"]) > 0.5
    told = {name: (result["adds_up"], NO_SUM in result["notes"]) for name, result in shown.items()}
    assert told == {"samp": (False, True), "coupled": (True, False), "gradient": (True, False)}


def test_ever_clearer_results_come_before_the_final_one(app: RunningApp) -> None:
    app.held.hold(before=10**9)  # counts only
    job = app.submit(methods=["consensus"], quality="standard")
    seen = [event["result"] for event in app.events(job) if event["type"] == "result"]
    assert seen[-1]["final"] is True
    assert [result["walks"] for result in seen][-1] == 4
    rounds = [result["round"] for result in seen]
    assert rounds == sorted(rounds)
    assert seen[-1]["residual"] == pytest.approx(0, abs=1e-4)
    assert len(seen[-1]["sentences"]) >= 3


def mask_of(box: tuple[int, int, int, int], size: tuple[int, int] = (16, 16), mode: str = "RGBA") -> str:
    image = Image.new(mode, size, "black")
    image.paste("white", box)
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize("fill", ["black", "blurred", "mean"])
def test_removing_a_region_asks_the_model_about_exactly_that(app: RunningApp, fill: str) -> None:
    job = app.submit(methods=["ig"], target=2)
    app.follow(job)
    reply = app.call("POST", f"/api/jobs/{job}/remove", {"mask": mask_of((2, 3, 9, 12)), "fill": fill})
    assert reply.status == 200, reply.body
    removed = reply.json
    photo = classify_photo(example_photo(), models()["held"].load(), target="2")
    inside = torch.zeros(16, 16, dtype=torch.bool)
    inside[3:12, 2:9] = True
    fills = {
        "black": torch.full_like(photo.x, -1.0),
        "blurred": samp.baselines.Blurred()(photo.x),
        "mean": photo.x.mean((2, 3), keepdim=True).expand_as(photo.x),
    }
    with torch.no_grad():
        after = photo.classifier.net(torch.where(inside, fills[fill], photo.x))[0]
    assert removed["before"]["label"] == removed["after"]["label"] == "coffee mug"
    assert removed["before"]["score"] == pytest.approx(float(photo.scores[2]))
    assert removed["after"]["score"] == pytest.approx(float(after[2]))
    assert removed["top"][0]["index"] == int(after.argmax())
    assert removed["share"] == pytest.approx(63 / 256)
    assert picture(removed["picture"]).size == (16, 16)


def test_a_mask_may_be_a_data_uri_of_another_size_and_may_be_transparent(app: RunningApp) -> None:
    job = app.submit(methods=["ig"])
    app.follow(job)
    large = mask_of((32, 48, 144, 192), (256, 256))
    one, two = (
        app.call("POST", f"/api/jobs/{job}/remove", {"mask": mask, "fill": "black"}).json
        for mask in (mask_of((2, 3, 9, 12)), f"data:image/png;base64,{large}")
    )
    assert one == two
    clear = Image.new("RGBA", (16, 16), (255, 255, 255, 0))
    file = io.BytesIO()
    clear.save(file, "PNG")
    nothing = base64.b64encode(file.getvalue()).decode()
    removed = app.call("POST", f"/api/jobs/{job}/remove", {"mask": nothing}).json
    assert removed["share"] == 0
    assert removed["after"] == pytest.approx(removed["before"])


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 400),
        ({"mask": "no PNG"}, 400),
        ({"mask": 3}, 400),
        ({"mask": base64.b64encode(b"\x89PNG\r\n\x1a\nbroken").decode()}, 400),
        ({"mask": base64.b64encode(example_photo().read_bytes()).decode()}, 400),
        ({"mask": mask_of((0, 0, 1, 1)), "fill": "pink"}, 400),
    ],
)
def test_what_is_no_mask_is_refused(app: RunningApp, asked: dict[str, Any], status: int) -> None:
    job = app.submit(methods=["ig"])
    app.follow(job)
    reply = app.call("POST", f"/api/jobs/{job}/remove", asked)
    assert reply.status == status
    assert reply.error


WRITES = []


def _note_writes(event: str, arguments: tuple[Any, ...]) -> None:
    if not WRITES or event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.symlink"):
        return
    path, mode, flags = (*arguments, None, None)[:3] if event == "open" else (arguments[0], "w", 0)
    writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
        isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    )
    if writes and isinstance(path, str | bytes | Path):
        WRITES.append(os.fsdecode(path))


def test_nothing_is_written_to_disk_by_uploading_explaining_and_exporting() -> None:
    sys.addaudithook(_note_writes)  # stays until the process ends, and notes nothing unless told to
    with running_app() as app:
        app.follow(app.submit(methods=["ig"]))  # what is imported for the first time may be compiled to a file
        gc.collect()  # what earlier tests left may be removed from disk with it
        WRITES.append("begin")
        try:
            photo = app.call("POST", "/api/photos", example_photo().read_bytes()).json["id"]
            job = app.submit(photo=photo, methods=["consensus", "ig"], quality="draft")
            app.follow(job)
            app.call("POST", f"/api/jobs/{job}/remove", {"mask": mask_of((0, 0, 3, 3))})
            for form in ("png", "html", "npz", "samp", "py"):
                assert app.call("GET", f"/api/jobs/{job}/export/ig.{form}").status == 200
            written = [path for path in WRITES[1:] if not path.startswith(("/dev/", "/proc/")) and ".pyc" not in path]
        finally:
            WRITES.clear()
    assert written == []
