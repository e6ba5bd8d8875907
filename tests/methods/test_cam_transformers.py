"""Class activation maps on nets without a last feature map, or that hide it: a sentence, and never a bar code."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from samp.methods.cam import CAM, GradCAM, GradCAMPlusPlus
from transformer_nets import SIDE, Mixer, Pooled, Swin, ViT, conv_next, ready

ALL = [CAM(), GradCAM(), GradCAMPlusPlus()]
ON_TOKENS: dict[str, Callable[[], nn.Module]] = {
    "vit": ViT,
    "vit by hand": lambda: ViT(by_hand=True),
    "vit with a stem": lambda: ViT(by_hand=True, stem=True),
    "swin": Swin,
    "mixer": Mixer,
}
REFUSED = r"layers on tokens follow the last b×c×h×w map.*use a method .* 'consensus', 'samp\+\+' or 'ig'.*layer="


def images(samples: int = 2, height: int = SIDE) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(samples, 3, height, SIDE, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("method", ALL, ids=repr)
@pytest.mark.parametrize("build", ON_TOKENS)
def test_a_transformer_is_refused_and_no_cam_is_recommended(method: Any, build: str) -> None:
    with pytest.raises(ValueError, match=REFUSED) as refusal:
        samp.explain(ready(ON_TOKENS[build]()), images(), target=0, method=method)
    assert "gradcam" not in str(refusal.value)


@pytest.mark.parametrize(
    ("build", "layer", "why"),
    [
        ("vit", "blocks.1.q_norm", "1 × 3 × 17 × 8 numbers, which are no map of the image"),
        ("vit by hand", "blocks.1.attn_drop", "1 × 3 × 17 × 17 numbers, which are no map of the image"),
        ("swin", "norm", "1 × 8 × 8 × 24 numbers, which have their channels last"),
        ("swin", "blocks.0.q_norm", "4 × 3 × 16 × 8 numbers, which are no map of the image"),
    ],
)
def test_a_layer_that_gives_no_map_is_refused_by_name(build: str, layer: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"layer '{layer}' gives {why}: name a module that gives b×c×h×w maps"):
        samp.explain(ready(ON_TOKENS[build]()), images(), target=0, method=GradCAM(layer))


def test_a_layer_that_is_named_may_be_the_patches_or_tokens_in_their_places() -> None:
    class Placed(ViT):
        def __init__(self) -> None:
            super().__init__()
            self.maps = nn.Identity()

        def forward(self, x: Tensor) -> Tensor:
            x = self.patch_embed(x).flatten(2).transpose(1, 2)
            x = x + self.blocks[0](x)
            maps = self.maps(x.transpose(1, 2).reshape(len(x), 24, 4, 4))
            out: Tensor = self.head(self.norm(maps.flatten(2).mean(2)))
            return out

    for layer in ("patch_embed.0", "maps"):
        assert samp.explain(ready(Placed()), images(), target=0, method=GradCAM(layer, relu=False)).map.abs().sum() > 0


@pytest.mark.parametrize(
    ("build", "layer"),
    [(Pooled, "trunk"), (conv_next, "2"), (lambda: Swin(back=True), "back")],
    ids=["attention pool", "convnext", "swin turned back"],
)
def test_a_true_last_map_is_taken_whatever_follows(build: Callable[[], nn.Module], layer: str) -> None:
    found = samp.explain(ready(build()), images(2, 64), target=0, method=GradCAM(relu=False))
    assert f"layer='{layer}'" in found.method
    assert found.map.abs().sum() > 0


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("method", ALL, ids=repr)
def test_torchscript_is_refused_in_one_sentence(method: Any) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4))
    net = net.double().eval()
    script, trace = torch.jit.script, torch.jit.trace
    inside = nn.Sequential(net[0], script(net[1:])).eval()
    for model in (script(net), trace(net, images()), inside):  # type: ignore[no-untyped-call]  # torch leaves it so
        with pytest.raises(ValueError, match=r"is TorchScript, or holds some.*: use the nn\.Module .*'consensus'"):
            samp.explain(model, images(), target=0, method=method)
    if not isinstance(method, CAM):
        torch.testing.assert_close(
            samp.explain(inside, images(), target=0, method=type(method)("0")).map,
            samp.explain(net, images(), target=0, method=type(method)("0")).map,
        )


def test_a_compiled_net_has_the_map_of_the_net() -> None:
    net = ready(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3600, 4)))

    def compile_never(graph: Any, example: Any) -> Any:
        raise AssertionError("compiled")

    want = samp.explain(net, images(), target=0, method=GradCAM())
    for layer in (None, "1", "_orig_mod.1"):
        compiled: Any = torch.compile(net, backend=compile_never)
        found = samp.explain(compiled, images(), target=0, method=GradCAM(layer))
        assert torch.equal(found.map, want.map)
        assert found.method == want.method


def test_dinov2_is_refused(data: Path) -> None:
    where = importlib.util.spec_from_file_location("load_core", data / "load_core.py")
    assert where is not None
    assert where.loader is not None
    core: Any = importlib.util.module_from_spec(where)
    arguments, sys.argv = sys.argv, [sys.argv[0], str(data)]  # it takes the folder from there
    try:
        where.loader.exec_module(core)
    finally:
        sys.argv = arguments
    for method in ALL:
        with pytest.raises(ValueError, match=REFUSED):
            samp.explain(core.dinov2_vits14(), torch.rand(1, 3, 112, 112), target=0, method=method)
