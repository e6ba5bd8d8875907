"""A net of the user's own code: weights that are missing or do not fit are told by name."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from torch import nn

from samp import models
from samp.cli import main
from samp.models.untrained import Initialisations

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 5)
        nn.init.trunc_normal_(self.head.weight, std=0.02)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).mean((2, 3)))

def load_model():
    net = Net()
    net.load_state_dict(torch.load("weights.pth"))
    return net

def assigned():
    with torch.device("meta"):
        net = Net()
    net.load_state_dict(torch.load("weights.pth"), assign=True)
    return net

def set_by_hand():
    net, weights = Net(), torch.load("weights.pth")
    for name, parameter in net.named_parameters():
        parameter.data = weights[name]
    return net

def loaded_in_half():
    net = Net().half()
    net.load_state_dict(torch.load("weights.pth"))
    return net

def loaded_then_widened():
    return load_model().double()

def trained_here(foreach):
    net = Net()
    optimiser = torch.optim.SGD(net.parameters(), 0.1, foreach=foreach)
    net(torch.rand(2, 3, 8, 8)).sum().backward()
    optimiser.step()
    return net

def trained_one_by_one():
    return trained_here(False)

def trained_together():
    return trained_here(True)

def zeros():
    net = Net()
    for parameter in net.parameters():
        nn.init.zeros_(parameter)
    return net

def without_parameters():
    return nn.Sequential(nn.Flatten(), nn.Softmax(1))

def new_head():
    net = load_model()
    net.head = nn.Linear(4, 2)
    return net

def in_half():
    return Net().half()

def compiled():
    return torch.compile(Net())

def by_hand():
    net = Net()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_().mul_(0.02)
    return net
"""
QUIET = [
    "load_model",
    "assigned",
    "set_by_hand",
    "loaded_in_half",
    "loaded_then_widened",
    "trained_one_by_one",
    "trained_together",
    "zeros",
    "without_parameters",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "users_net.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("users_net", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(models.load("users_net:Net").net.net.state_dict(), "weights.pth")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("factory", QUIET)
def test_a_factory_that_has_weights_gets_no_word(factory: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "users_net.* seems untrained")
        models.load(f"users_net:{factory}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        ("Net", r"4 of its 6 parameters .*\(conv.weight, conv.bias, head.weight, …\)"),
        ("new_head", r"2 of its 6 parameters .*\(head.weight, head.bias\)"),
        ("in_half", "4 of its 6 parameters"),
        ("compiled", "4 of its 6 parameters"),
        ("by_hand", "6 of its 6 parameters"),
    ],
)
def test_weights_that_nothing_loaded_are_told(factory: str, sentence: str) -> None:
    with pytest.warns(UserWarning, match=f"users_net:{factory} seems untrained: {sentence}.* as `weights`"):
        models.load(f"users_net:{factory}")


@pytest.mark.usefixtures("folder")
def test_the_command_line_says_so_on_stderr_and_not_where_weights_are_given() -> None:
    Image.new("RGB", (16, 16), "red").save("photo.png")
    words = ["explain", "photo.png", "--model", "users_net:Net", "--size", "16", "--method", "ig"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.stderr
    assert "samp: users_net:Net seems untrained: 4 of its 6" in result.stderr
    assert "Give trained ones as --weights" in result.stderr
    result = CliRunner().invoke(main, [*words, "--weights", "weights.pth"])
    assert result.exit_code == 0, result.stderr
    assert "untrained" not in result.stderr


def test_watching_leaves_the_random_numbers_as_they_are() -> None:
    torch.manual_seed(0)
    plain = nn.Linear(3, 3).weight
    torch.manual_seed(0)
    with Initialisations():
        watched = nn.Linear(3, 3).weight
    assert torch.equal(plain, watched)


def test_tensors_without_memory_or_versions_do_not_break_the_factory() -> None:
    with Initialisations() as seen, torch.inference_mode():
        made = nn.Linear(2, 2)
        torch.empty(2, device="meta").uniform_()
        torch.eye(2).to_sparse().mul_(2.0)
    assert seen.find_random(made) == []


@pytest.mark.usefixtures("folder")
def test_weights_that_do_not_fit_are_named_with_both_shapes() -> None:
    weights = torch.load("weights.pth", weights_only=True)
    weights["conv.weight"], weights["head.bias"] = torch.ones(4, 1, 3, 3), torch.ones(7)
    weights["extra"] = weights.pop("norm.bias")
    torch.save(weights, "other.pth")
    with pytest.raises(ValueError, match=r"other\.pth does not fit Net") as raised:
        models.load("users_net:Net", "other.pth")
    for said in (
        "2 of 9 weights have another shape",
        "conv.weight: the net has (4, 3, 3, 3), the file (4, 1, 3, 3)",
        "head.bias: the net has (5,), the file (7,)",
        "1 of 9 weights has no value in the file (norm.bias)",
        "1 of 9 weights has no place in the net (extra)",
    ):
        assert said in str(raised.value)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("broken", [torch.ones(4, device="meta"), torch.ones(4).to_sparse()])
def test_weights_without_plain_numbers_get_a_sentence(broken: torch.Tensor) -> None:
    weights = torch.load("weights.pth", weights_only=True)
    torch.save({**weights, "norm.bias": broken}, "odd.pth")
    with pytest.raises(ValueError, match=r"odd\.pth cannot be copied into Net"):
        models.load("users_net:Net", "odd.pth")


def test_double_precision_is_kept_where_the_net_has_it(folder: Path) -> None:
    weights = {name: value.double() for name, value in torch.load("weights.pth", weights_only=True).items()}
    weights["norm.bias"] = torch.full((4,), 1 / 3, dtype=torch.float64)
    torch.save(weights, "double.pth")
    net = models.load("users_net:loaded_then_widened", folder / "double.pth").net.net
    assert torch.equal(net.norm.bias, weights["norm.bias"])


@pytest.mark.parametrize(
    ("model", "instead"),
    [("mynet.py", "mynet:Net"), ("mynet.py:Other", "mynet:Other"), ("sub/mynet.py", "sub.mynet:Net")],
)
def test_python_source_is_led_to_the_name_of_its_module(model: str, instead: str) -> None:
    with pytest.raises(ValueError, match=f"is Python source: .*, as {instead}") as raised:
        models.load(model)
    assert "trust" not in str(raised.value)


def test_memory_that_a_parameter_gave_up_is_not_taken_for_its_numbers() -> None:
    """As where a net is halved: its parameters get other memory, and a constant may lie where they were."""
    with Initialisations() as seen:
        layer = nn.Linear(2, 1, bias=False)
        given_up = layer.weight.data
        layer.weight.data = torch.zeros(1, 2)
    other = nn.Linear(2, 1, bias=False)
    other.weight = nn.Parameter(given_up.zero_())
    assert seen.find_random(other) == []
