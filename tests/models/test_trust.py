"""A file that is code runs nowhere without trust, and each door says so in the same words."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from safetensors.torch import save_file
from torch import nn

import evil_models
import samp
from evil_models import EVIL, PICKLES, SIDE, Evil, harmless
from samp import models
from samp.cli import main
from samp.models.trust import file_kind, require_trust

HOLDS = {
    **dict.fromkeys(PICKLES, "a pickle of more than tensors"),
    "expression.pt2": "a torch.export program",
    "constant.pt2": "a torch.export program",
    "script.pth": "a TorchScript program",
}


def refusal(path: Path, holds: str) -> str:
    with pytest.raises(ValueError, match="needs no trust") as raised:
        require_trust(path, holds, trust=False)
    return str(raised.value)


@pytest.mark.parametrize("name", list(EVIL))
def test_with_trust_the_crafted_files_do_what_their_maker_wants(tmp_path: Path, name: str) -> None:
    """Else the tests below would show nothing."""
    path = EVIL[name](tmp_path / name, tmp_path / "trace")
    try:
        net = models.load(str(path), trust=True).net
        net(torch.rand(1, 3, SIDE, SIDE))
    except ValueError:
        pass  # what was made for another purpose need not be a net
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", list(EVIL))
def test_without_trust_nothing_of_them_runs(tmp_path: Path, name: str) -> None:
    path = EVIL[name](tmp_path / name, tmp_path / "trace")
    with pytest.raises(ValueError, match="is code") as raised:
        models.load(str(path))
    assert str(raised.value) == refusal(path, HOLDS[name])
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", list(EVIL))
def test_as_weights_they_do_not_run_either(tmp_path: Path, name: str) -> None:
    path = EVIL[name](tmp_path / name, tmp_path / "trace")
    with pytest.raises(ValueError, match="is code" if name in PICKLES else "program, not weights: give it as `model`"):
        models.load("squeezenet1_1", path)
    assert not (tmp_path / "trace").exists()


DOORS = {
    "explain": ["explain", "photo.png"],
    "run": ["run", "photos", "--out", "out"],
    "compare": ["compare", "photo.png", "--methods", "ig"],
    "play": ["play", "photo.png", "--method", "ig"],
}


@pytest.mark.parametrize("name", ["expression.pt2", "script.pth", "evil.pth"])
@pytest.mark.parametrize("door", list(DOORS))
def test_every_command_refuses_in_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str, name: str
) -> None:
    path = EVIL[name](tmp_path / name, tmp_path / "trace")
    (tmp_path / "photos").mkdir()
    for place in ("photo.png", "photos/photo.png"):
        Image.new("RGB", (SIDE, SIDE), "red").save(tmp_path / place)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [*DOORS[door], "--model", str(path), "--size", str(SIDE)])
    said = refusal(path, HOLDS[name])
    for argument, flag in (("`trust=True`", "--trust"), ("`weights`", "--weights"), ("`model`", "--model")):
        assert argument in said
        said = said.replace(argument, flag)
    assert result.exit_code == 2
    assert result.stderr == f"samp: {said}\n"
    assert not (tmp_path / "trace").exists()


def test_a_run_in_python_refuses_in_the_same_words(tmp_path: Path) -> None:
    path = EVIL["expression.pt2"](tmp_path / "net.pt2", tmp_path / "trace")
    with pytest.raises(ValueError, match="is code") as raised:
        samp.run([Image.new("RGB", (SIDE, SIDE))], out=tmp_path / "out", model=str(path))
    assert str(raised.value) == refusal(path, "a torch.export program")
    assert not (tmp_path / "trace").exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["script", "program", "pickle"])
def test_with_trust_honest_files_load_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "script":
        torch.jit.script(harmless()).save("net.pt")
    elif kind == "program":
        evil_models.export_program(Path("net.pt"))
    else:
        torch.save(harmless(), "net.pt")
    Image.new("RGB", (SIDE, SIDE), "red").save("photo.png")
    words = ["explain", "photo.png", "--model", "net.pt", "--trust", "--size", str(SIDE), "--method", "ig"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.stderr
    x = torch.rand(2, 3, SIDE, SIDE)
    torch.testing.assert_close(models.load("net.pt", trust=True).net(x), harmless()(x))


@pytest.mark.parametrize(
    ("save", "name"),
    [
        (torch.save, "weights.pth"),
        (torch.save, "weights.pt2"),
        (save_file, "weights.safetensors"),
        (save_file, "w.bin"),
    ],
)
def test_weights_alone_are_data_whatever_their_file_is_called(
    tmp_path: Path, save: Callable[..., None], name: str
) -> None:
    trained = models.load("tiny_nets:only_32").net.net
    save({key: value + 1 for key, value in trained.state_dict().items()}, tmp_path / name)
    loaded = models.load("tiny_nets:only_32", tmp_path / name).net.net
    assert all(torch.equal(a, b + 1) for a, b in zip(loaded.parameters(), trained.parameters(), strict=True))
    with pytest.raises(ValueError, match="holds weights and no net: name the net by `model`"):
        models.load(str(tmp_path / name))


@pytest.mark.parametrize("name", ["net.pt", "net.pt2", "weights.pth"])
@pytest.mark.parametrize("trust", [False, True])
def test_an_archive_with_two_members_of_one_name_is_refused(tmp_path: Path, name: str, trust: bool) -> None:
    """Of two members, this library and torch may look at different ones. Neither is opened, trusted or not."""
    if name == "net.pt2":
        evil_models.export_program(tmp_path / name)
    else:
        torch.save(harmless() if name == "net.pt" else harmless().state_dict(), tmp_path / name)
    parts = list(evil_models.members(tmp_path / name).items())
    double = next(part for part, _ in parts if part.endswith(("data.pkl", "model.json")))
    torch.save(Evil(tmp_path / "trace"), content := io.BytesIO())
    evil_models.write_members(tmp_path / name, [*parts, (double, content.getvalue())])
    sentence = rf"{name} holds two members of the name '{double}'.*damaged or forged"
    with pytest.raises(ValueError, match=sentence):
        models.load(str(tmp_path / name), trust=trust)
    with pytest.raises(ValueError, match=sentence):
        models.load("squeezenet1_1", tmp_path / name, trust=trust)
    assert not (tmp_path / "trace").exists()


def test_a_file_in_the_current_folder_does_not_take_the_place_of_a_net_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EVIL["evil.pth"](tmp_path / "mnist_slim", tmp_path / "trace")
    monkeypatch.chdir(tmp_path)
    assert models.load("mnist_slim", trust=True).name == "MNIST slim five-layer CNN"
    assert not (tmp_path / "trace").exists()


def test_members_that_climb_out_of_the_archive_write_nothing(tmp_path: Path) -> None:
    """torch reads archives where they lie and unpacks none, so a name that leads elsewhere is only a name."""
    (tmp_path / "inside").mkdir()
    path = tmp_path / "inside" / "weights.pth"
    weights = models.load("tiny_nets:only_32").net.net.state_dict()
    torch.save(weights, path)
    parts = list(evil_models.members(path).items())
    evil_models.write_members(path, [*parts, ("weights/../../climbed", b"x")])
    before = sorted(tmp_path.rglob("*"))
    models.load("tiny_nets:only_32", path)
    assert sorted(tmp_path.rglob("*")) == before


def test_kinds_are_told_by_content(tmp_path: Path) -> None:
    torch.save(harmless().state_dict(), tmp_path / "w.pt2")
    assert file_kind(tmp_path / "w.pt2") == "pickle"
    assert file_kind(evil_models.export_program(tmp_path / "p.pth")) == "torch.export program"
    assert file_kind(EVIL["script.pth"](tmp_path / "s.pt2", tmp_path / "trace")) == "TorchScript program"
    save_file(harmless().state_dict(), tmp_path / "w.bin")
    assert file_kind(tmp_path / "w.bin") == "safetensors"


def test_a_pickled_net_finds_its_class_in_the_current_folder_with_trust_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net_of_here.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x.flatten(1)[:, :3]\n"
    )
    with monkeypatch.context() as there:
        there.syspath_prepend(tmp_path)
        from importlib import import_module

        net: nn.Module = import_module("net_of_here").Net()
        torch.save(net, tmp_path / "whole.pt")
    sys.modules.pop("net_of_here")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", str(tmp_path))])
    with pytest.raises(ValueError, match=r"needs the code that it was saved with \(No module named 'net_of_here'\)"):
        models.load(str(tmp_path / "whole.pt"), trust=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is code"):
        models.load("whole.pt")
    assert "net_of_here" not in sys.modules
    before = list(sys.path)
    assert models.load("whole.pt", trust=True).net(torch.rand(2, 3, 4, 4)).shape == (2, 3)
    assert sys.path == before
    sys.modules.pop("net_of_here")
