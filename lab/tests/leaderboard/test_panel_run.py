"""Measuring net by net: what is done is kept, what failed is told; the command and its pages."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from cli_runs import run
from panel_results import JUDGES, QUALITY, make_panel, make_results
from paper_results import write_results as write_paper_results
from samp.metrics import Criterion, Panel
from samp.models import Classifier
from samp.models.classifier import IMAGENET
from samp_lab.leaderboard import write_leaderboard
from samp_lab.leaderboard.results_file import NetResult, PanelResults, read_results, write_results
from samp_lab.leaderboard.run import NETS, LeaderboardOptions, measure_nets
from samp_lab.panel_nets import FromImageNetSpace
from samp_lab.panel_run import PanelOptions, PanelRun, PanelRunner, measure_panel
from samp_lab.report import write_report


class Measure:
    """A panel of two methods; counts its calls, and fails on the nets it is told to fail on."""

    def __init__(self, *failing: str) -> None:
        self.nets: list[str] = []
        self.failing = failing
        self.options: Any = None

    def __call__(self, net: str, options: LeaderboardOptions) -> dict[str, Any]:
        self.nets.append(net)
        if net in self.failing:
            raise ValueError(f"there are no weights of {net}.")
        panel = make_panel({"coupled": 1.0, "IG": 0.0}, JUDGES[:3], options.photos)
        return {"panel": panel, "gradients": {"coupled": 32, "IG": 50}, "seconds": 1.5}


def quiet(line: str) -> None:
    pass


# ---- the file


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    scores = {"road": {"IG": torch.tensor([0.1, math.nan], dtype=torch.float32).double()}}
    panel = Panel((Criterion("road", "ROAD", "higher", "r"),), scores, {"sds": "no room"}, {"road": 1})
    given = PanelResults({"a": NetResult("a", panel, {"IG": 50.0}, {"photos": 2})}, {"machine": "m"})
    write_results(tmp_path / "panel.json", given)
    found = read_results(tmp_path / "panel.json")
    assert found.about == {"machine": "m"}
    assert (found.nets["a"].gradients, found.nets["a"].facts) == ({"IG": 50.0}, {"photos": 2})
    read = found.nets["a"].panel
    assert (read.criteria, read.left_out, read.image_sets) == (panel.criteria, panel.left_out, panel.image_sets)
    assert torch.equal(read.scores["road"]["IG"].float().nan_to_num(7), scores["road"]["IG"].float().nan_to_num(7))


@pytest.mark.parametrize("text", ["{", "[]", '{"nets": {"a": {}}}', '{"nets": {"a": {"panel": {}, "gradients": {}}}}'])
def test_another_file_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "panel.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"panel.json is no result of samp bench panel \(.*\): remove it"):
        read_results(path)


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="measure the panel first"):
        write_leaderboard(tmp_path)


# ---- measuring


def test_each_net_is_written_as_soon_as_it_is_done(tmp_path: Path) -> None:
    measure = Measure()

    def killed_at_the_second(net: str, options: LeaderboardOptions) -> Any:
        if net == "b":
            raise KeyboardInterrupt
        return measure(net, options)

    with pytest.raises(KeyboardInterrupt):
        measure_nets(["a", "b"], LeaderboardOptions(4), tmp_path, measure=killed_at_the_second, say=quiet)
    assert list(read_results(tmp_path / "panel.json").nets) == ["a"]
    assert measure_nets(["a", "b"], LeaderboardOptions(4), tmp_path, measure=measure, command="again", say=quiet) == []
    assert measure.nets == ["a", "b"]
    found = read_results(tmp_path / "panel.json")
    assert list(found.nets) == ["a", "b"]
    assert [one.facts["command"] for one in found.nets.values()] == ["", "again"]
    assert {"machine", "command", "versions"} <= set(found.nets["a"].facts)
    assert found.nets["b"].facts["photos"] == 4
    assert found.nets["b"].facts["seconds"] == 1.5


@pytest.mark.parametrize("other", [{"photos": 5}, {"methods": ("ig",)}, {"seed": 1}, {"images": (("again", 2),)}])
def test_other_settings_are_measured_again(tmp_path: Path, other: dict[str, Any]) -> None:
    measure = Measure()
    measure_nets(["a"], LeaderboardOptions(4), tmp_path, measure=measure, say=quiet)
    measure_nets(["a"], LeaderboardOptions(**{"photos": 4, **other}), tmp_path, measure=measure, say=quiet)
    assert measure.nets == ["a", "a"]


def test_another_device_is_the_same_measurement(tmp_path: Path) -> None:
    measure = Measure()
    measure_nets(["a"], LeaderboardOptions(4), tmp_path, measure=measure, say=quiet)
    measure_nets(["a"], LeaderboardOptions(4, device="cuda", data=tmp_path), tmp_path, measure=measure, say=quiet)
    assert measure.nets == ["a"]


def test_a_net_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    failed = measure_nets(["a", "b"], LeaderboardOptions(4), tmp_path, measure=Measure("a"), say=quiet)
    assert [(one.title, one.why) for one in failed] == [("the panel on a", "there are no weights of a.")]
    assert list(read_results(tmp_path / "panel.json").nets) == ["b"]


def test_a_bare_panel_will_do_and_anything_else_is_told(tmp_path: Path) -> None:
    panel = make_panel({"coupled": 1.0}, JUDGES[:1], 3)
    assert measure_nets(["a"], LeaderboardOptions(3), tmp_path, measure=lambda *_: panel, say=quiet) == []
    (failed,) = measure_nets(["b"], LeaderboardOptions(3), tmp_path, measure=lambda *_: {"gradients": {}}, say=quiet)
    assert "measuring the panel on b gave NoneType, and not a samp.metrics.Panel" in failed.why


def test_photos_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="photos is a number of at least 1, not 0"):
        LeaderboardOptions(0)


# ---- the command


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measure:
    """What the command measures with, in place of that which needs photos and nets."""
    measure = Measure("resnet50")

    def measure_panel(net: str, options: PanelOptions) -> PanelRun:
        found = measure(net, LeaderboardOptions(options.photos))
        assert max(options.again, options.boxes, options.planted) == options.photos
        assert options.grids == options.separate_grids == 1
        measure.options = options
        return PanelRun(found["panel"], found["gradients"], {"IG": 1.0}, {"photos": 4, "boxes": 2})

    monkeypatch.setattr("samp_lab.panel_run.measure_panel", measure_panel)
    monkeypatch.setenv("SAMP_DATA", "data")
    return measure


def test_the_net_of_known_truth_is_measured_in_earnest(tmp_path: Path) -> None:
    """Nothing is replaced here: IG finds all used pixels, an edge detector some, chance 3 %."""
    options = PanelOptions(tmp_path, planted=4, methods=("IG", "consensus, draft", "Sobel", "random"))
    found = measure_panel("planted", options)
    precision = {name: float(values.mean()) for name, values in found.panel.scores["known truth"].items()}
    assert precision["IG"] == 1
    assert precision["IG"] > precision["consensus, draft"] > precision["Sobel"] > precision["random"]
    assert found.gradients == {"IG": 51, "consensus, draft": 36, "Sobel": 0, "random": 0}
    assert found.images == {"planted": 4}


def test_methods_that_do_not_apply_to_a_net_are_left_out_with_their_reason(tmp_path: Path) -> None:
    runner = PanelRunner(PanelOptions(tmp_path, methods=("IG", "Grad-CAM", "random")), quiet)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    runner._drop_refusing(net, torch.rand(1, 3, 4, 4), torch.tensor([1]))
    assert list(runner.contestants) == ["IG", "random"]
    assert list(runner.refused) == ["Grad-CAM"]
    assert "GradCAM" in runner.refused["Grad-CAM"]
    with pytest.raises(ValueError, match="no method applies to this net: "):
        PanelRunner(PanelOptions(tmp_path, methods=("Grad-CAM",)), quiet)._drop_refusing(
            net, torch.rand(1, 3, 4, 4), torch.tensor([1])
        )


def test_pages_say_which_methods_refused_a_net(tmp_path: Path) -> None:
    panel = make_panel({"coupled": 1.0, "IG": 0.0}, JUDGES[:3], 5)
    facts = {"refused": {"Grad-CAM": "it has no feature map <here>."}}
    result = NetResult("dinov2_vits14", panel, {"coupled": 32.0, "IG": 50.0}, facts)
    write_results(tmp_path / "panel.json", PanelResults({"dinov2_vits14": result}))
    markdown, page = write_leaderboard(tmp_path)
    assert "Refused by Grad-CAM: it has no feature map" in markdown.read_text(encoding="utf-8")
    assert "Refused by Grad-CAM: it has no feature map &lt;here&gt;." in page.read_text(encoding="utf-8")
    assert "DINOv2 ViT-S/14" in page.read_text(encoding="utf-8")


def test_pages_say_which_net_was_measured_where(tmp_path: Path) -> None:
    panel = make_panel({"coupled": 1.0, "IG": 0.0}, JUDGES[:3], 5)
    elsewhere = {"machine": "a laptop", "versions": {"torch": "2.13"}}
    nets = {net: NetResult(net, panel, {}, facts) for net, facts in [("resnet50", {}), ("dinov2_vits14", elsewhere)]}
    write_results(tmp_path / "panel.json", PanelResults(nets, {"machine": "a server", "command": "samp bench panel"}))
    text = write_leaderboard(tmp_path)[1].read_text(encoding="utf-8")
    for name, value in [
        ("Machine (ResNet-50)", "a server"),
        ("Machine (DINOv2 ViT-S/14)", "a laptop"),
        ("Command", "samp bench panel"),
        ("Versions (DINOv2 ViT-S/14)", "torch 2.13"),
    ]:
        assert re.search(f"{re.escape(name)}</dt>\\s*<dd>{value}<", text), name


def test_a_net_takes_the_pixels_of_another_space() -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.Flatten()).eval()
    classifier = Classifier(net, "own", 4, (0.2, 0.3, 0.4), 0.5, ())
    pixels = torch.randint(256, (2, 4, 4, 3))
    common = Classifier(net, "common", classes=(), **{**IMAGENET, "size": 4})
    theirs, ours = net(classifier.to_input(pixels)), FromImageNetSpace(classifier)(common.to_input(pixels))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_the_command_measures_and_renders(tmp_path: Path, measured: Measure) -> None:
    out = tmp_path / "out"
    result = run("bench", "panel", "--net", "a", "--net", "b", "--photos", "4", "--methods", "IG", "--out", out)
    assert result.exit_code == 0, result.output
    assert measured.nets == ["a", "b"]
    assert {path.name for path in out.iterdir()} == {"panel.json", "panel.md", "panel.html"}
    entry = json.loads((out / "panel.json").read_text())["nets"]["a"]
    assert entry["asked"] == {"photos": 4, "methods": ["IG"], "seed": 0}
    assert (entry["photos"], entry["images"]) == (4, {"photos": 4, "boxes": 2})
    assert measured.options.methods == ("IG",)
    assert measured.options.data == Path("data")
    assert "Images: photos 4, boxes 2." in (out / "panel.html").read_text()


def test_the_command_takes_fewer_images_and_leaves_parts_out(tmp_path: Path, measured: Measure) -> None:
    words = ("--without", "grids", "--images", "boxes=1", "--images", "again=2")
    result = run("bench", "panel", "--net", "a", "--photos", "4", *words, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert (measured.options.again, measured.options.boxes) == (2, 1)
    assert measured.options.sets == ["photos", "again", "boxes"]
    asked = json.loads((tmp_path / "panel.json").read_text())["nets"]["a"]["asked"]
    assert (asked["without"], asked["images"]) == (["grids"], {"again": 2, "boxes": 1})


@pytest.mark.parametrize("given", ["boxes", "boxes=", "boxes=0", "boxes=two"])
def test_a_set_without_a_number_is_refused(tmp_path: Path, given: str, measured: Measure) -> None:
    result = run("bench", "panel", "--net", "a", "--images", given, "--out", tmp_path)
    assert result.exit_code == 2
    assert f"'{given}' is not an image set and a number of at least 1, as in again=8." in result.output
    assert measured.nets == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--without", "grid"), "unknown part of the panel 'grid'"),
        (("--images", "box=3"), "unknown image set 'box'"),
        (("--images", "photos=3"), "unknown image set 'photos'"),
        (("--images", "boxes=3", "--images", "boxes=4"), "--images has boxes more than once: give one number."),
    ],
)
def test_a_part_that_is_none_is_refused_before_anything_is_measured(
    tmp_path: Path, words: tuple[str, ...], sentence: str, measured: Measure
) -> None:
    result = run("bench", "panel", *words, "--out", tmp_path)
    assert result.exit_code == 2
    assert sentence in result.output
    assert measured.nets == []


def test_without_data_it_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMP_DATA", raising=False)
    result = run("bench", "panel", "--net", "a", "--out", tmp_path)
    assert result.exit_code == 1
    assert "the panel needs photos and nets: give the folder of the data as --data." in result.output


def test_the_command_has_all_nets_and_exits_with_1_if_one_fails(tmp_path: Path, measured: Measure) -> None:
    result = run("bench", "panel", "--photos", "4", "--out", tmp_path)
    assert result.exit_code == 1
    assert tuple(measured.nets) == NETS
    assert "the panel on resnet50 failed: there are no weights of resnet50." in result.output
    assert (tmp_path / "panel.html").is_file()
    assert run("bench", "panel", "--photos", "4", "--out", tmp_path).exit_code == 1
    assert tuple(measured.nets) == (*NETS, "resnet50")  # the others were kept


def test_render_measures_nothing_and_gives_the_same_bytes(tmp_path: Path, measured: Measure) -> None:
    write_results(tmp_path / "panel.json", make_results(photos=5))
    before = {path.name: path.read_bytes() for path in write_leaderboard(tmp_path)}
    result = run("bench", "panel", "--render", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert measured.nets == []
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_render_without_results_is_one_sentence(tmp_path: Path) -> None:
    result = run("bench", "panel", "--render", "--out", tmp_path)
    assert result.exit_code == 2
    assert "measure the panel first" in result.output
    assert "Traceback" not in result.output


# ---- Markdown and the report


def test_markdown_has_every_method_judge_and_net(tmp_path: Path) -> None:
    write_results(tmp_path / "panel.json", make_results(photos=5))
    markdown, _ = write_leaderboard(tmp_path)
    text = markdown.read_text(encoding="utf-8")
    assert text.startswith("# The panel: every judge, every net\n")
    for name in (*QUALITY, "ROAD ↑", "MPRT ↓", "transfer: SqueezeNet 1.1 ↑", "ResNet-50: means of the judges"):
        assert name in text
    assert text.count("| **") + text.count(" **") > 20


def test_the_report_has_the_panel_with_its_remarks_only_where_it_was_measured(tmp_path: Path) -> None:
    store = write_paper_results(tmp_path, [])
    markdown, page = write_report(store, [])
    assert "The panel" not in markdown.read_text(encoding="utf-8")
    write_results(tmp_path / "panel.json", make_results(photos=12))
    (tmp_path / "remarks").mkdir()
    (tmp_path / "remarks" / "panel.md").write_text("We looked twice.\n")
    write_report(store, [])
    text = markdown.read_text(encoding="utf-8")
    assert "## The panel: every judge, every net" in text
    assert "is worse than a rival in" in text
    assert "We looked twice." in text
    html = page.read_text(encoding="utf-8")
    assert 'id="panel"' in html
    assert "Standings: mean rank over the judges" in html
