"""Methods side by side before the panel of judges: in Python, on the command line and on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import samp
from compared_photos import EVIL, a_photo, classify_test_photo, page_of
from laws import CountingModel
from samp.cli import main
from samp.cli.compare import repeat_command
from samp.cli.options import ModelOptions
from samp.compare import make_task
from samp.compare_panel import expected_forwards
from samp.metrics import JUDGES, Judge, Panel, panel
from samp.metrics.judge import PanelTask
from samp.metrics.masked_forward import ScoringOptions
from samp.metrics.panel_result import ONE_PHOTO

WITHOUT_NEEDS = ["paper", "rise", "diffid", "diffid-signed", "road", "sds", "concentration"]
TINY = ["--model", "tiny_nets:classifier"]


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(64, 3), nn.Softplus()).eval()


def images(count: int = 3) -> Tensor:
    return torch.rand(count, 2, 6, 6, generator=torch.Generator().manual_seed(1))


def test_the_panel_judges_the_maps_of_the_rows() -> None:
    net = small_net()
    compared = samp.compare(net, images(), ["ig", "random"], [0, 1, 2], judges="panel", seed=3)
    expected = panel(net, images(), {row.name: row.attribution for row in compared.rows}, [0, 1, 2], seed=3)
    assert compared.panel is not None
    assert set(WITHOUT_NEEDS) <= set(compared.panel.scores)
    for key in expected.scores:
        for name, values in expected.scores[key].items():
            torch.testing.assert_close(compared.panel.scores[key][name], values, equal_nan=True)


def test_without_judges_there_is_no_panel_and_no_further_call() -> None:
    counted = CountingModel(small_net())
    assert samp.compare(counted, images(), ["random"], 0).panel is None
    rows = counted.rows
    assert samp.compare(counted, images(), ["random"], 0, judges=["sds"]).panel is not None
    assert counted.rows == 2 * rows + 3 * 17


@pytest.fixture
def seed_judge() -> Iterator[Judge]:
    """A judge among all others that explains again, with another seed."""

    def agree(task: PanelTask, name: str) -> Tensor:
        again = task.explain_maps[name](task.model, task.images, task.target, task.settings.seed + 1)
        own = task.maps[name]
        assert isinstance(own, samp.Attribution)
        return (again == own.map).flatten(1).all(1).double()

    judge = Judge("seed", "other seed", "higher", "The same map twice.", agree, frozenset({"explain_maps"}))
    JUDGES.append(judge)
    yield judge
    JUDGES.remove(judge)


def test_judges_may_explain_again(seed_judge: Judge) -> None:
    compared = samp.compare(small_net(), images(), ["ig", "random"], 0, judges=["seed"])
    assert compared.panel is not None
    assert compared.panel.means()["seed"] == {"ig": 1.0, "random": 0.0}


@pytest.mark.parametrize(
    ("judges", "sentence"),
    [
        ("road", "judges is 'panel' or a list of judges such as"),
        (3, "judges is 'panel' or a list of judges such as"),
        (["raod"], "unknown judge 'raod': did you mean 'road'"),
    ],
)
def test_what_is_no_judge_gets_a_sentence_before_any_work(judges: Any, sentence: str) -> None:
    counted = CountingModel(small_net())
    with pytest.raises((TypeError, ValueError), match=sentence):
        samp.compare(counted, images(), ["ig"], 0, judges=judges)
    assert counted.rows == 0


def test_only_images_have_a_panel() -> None:
    protocol = samp.metrics.Protocol(step=1)
    net = nn.Linear(4, 2).eval()
    with pytest.raises(ValueError, match=r"a panel judges maps of b c h w images, not of shape \(2, 4\)"):
        samp.compare(net, torch.rand(2, 4), ["ig"], 0, protocol, judges="panel")
    pair = nn.Bilinear(3, 4, 2).eval()
    with pytest.raises(ValueError, match="one b c h w image input: compare without judges"):
        samp.compare(pair, (torch.rand(2, 3), torch.rand(2, 4)), ["ig"], 0, protocol, judges="panel")


def test_the_expected_forwards_are_those_made() -> None:
    counted = CountingModel(small_net())
    maps = {"one": torch.rand(1, 6, 6), "two": torch.rand(1, 6, 6)}
    panel(counted, images(1), maps, 0, judges=WITHOUT_NEEDS)
    task = make_task(counted, images(1), 0, None, settings=ScoringOptions())
    assert expected_forwards(task, 2) == counted.rows


# ---- the command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    a_photo(tmp_path)
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["compare", "photo.png", "--methods", "ig,random", "--judges", "panel", *words])


def test_the_command_prints_a_second_table(folder: Path) -> None:
    result = run(*TINY)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    (head,) = (n for n, line in enumerate(lines) if "ROAD ↑" in line)
    assert [line.split()[0] for line in lines[head : head + 3]] == ["method", "ig", "random"]
    assert lines[head].endswith("mean rank ↓")
    assert lines[head + 3] == f"({ONE_PHOTO})"
    assert "nan" not in result.stdout
    assert "Judges" in (folder / "comparison.html").read_text(encoding="utf-8")


def test_json_has_what_the_judges_say(folder: Path) -> None:
    result = run("--json", *TINY)
    found = json.loads(result.stdout)["panel"]
    again = Panel.from_json(found)
    assert again.methods == ("ig", "random")
    assert set(WITHOUT_NEEDS) <= set(again.scores)
    assert found["note"] == ONE_PHOTO
    assert found["means"]["road"]["ig"] == again.means()["road"]["ig"]
    assert set(found["left_out"]) >= {"transfer", "energy", "auroc"}
    assert "--judges panel" in json.loads(result.stdout)["command"]


def test_a_panel_that_fails_is_left_out_and_the_rows_are_shown(folder: Path) -> None:
    result = run("--model", "tiny_nets:one_sigmoid", "--size", "16")
    assert result.exit_code == 1
    assert "the panel is left out: probabilities need an output of shape b × classes" in result.stderr
    assert "ig" in result.stdout


def test_the_command_to_repeat_it_has_the_judges() -> None:
    words = repeat_command(None, ["ig"], "3", None, ModelOptions(), "panel")
    assert words[-2:] == ["--judges", "panel"]


# ---- the page


def test_the_page_shows_the_judges_escaped(tmp_path: Path) -> None:
    asked = classify_test_photo(tmp_path)
    evil = Judge("evil", EVIL, "higher", EVIL, lambda task, name: torch.full((1,), 0.123))
    methods = {EVIL: "ig", "chance": "random"}
    compared = samp.compare(asked.classifier.net, asked.x, methods, asked.targets[0], judges=["sds", evil])
    page = page_of(asked, compared)
    assert page.count("0.123") >= 2
    assert "SDS ↑" in page
    assert ONE_PHOTO.capitalize() in page
    assert EVIL not in page
    plain = samp.compare(asked.classifier.net, asked.x, methods, asked.targets[0])
    assert 'id="judges"' not in page_of(asked, plain)
