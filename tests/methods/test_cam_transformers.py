"""Class activation maps on transformers: of patches in their places, or a sentence, and never a bar code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import huggingface_nets
import samp
from samp import images as photos
from samp import models
from samp.methods.cam import CAM, GradCAM, GradCAMPlusPlus
from samp.models.vit import VisionTransformer
from transformer_nets import CLASSES, SIDE, Mixer, Pooled, Swin, ViT, conv_next, ready

ALL = [CAM(), GradCAM(), GradCAMPlusPlus()]
ON_TOKENS: dict[str, Callable[[], nn.Module]] = {
    "vit": ViT,
    "vit by hand": lambda: ViT(by_hand=True),
    "vit with a stem": lambda: ViT(by_hand=True, stem=True),
    "swin": Swin,
    "mixer": Mixer,
}
FOUND = {  # the layer, its output as b n c patches, its grid
    "vit": ("blocks.0", (4, 4)),
    "vit by hand": ("blocks.0", (4, 4)),
    "vit with a stem": ("blocks.0", (4, 4)),
    "swin": ("norm", (8, 8)),
}


def images(samples: int = 2, height: int = SIDE) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(samples, 3, height, SIDE, generator=generator, dtype=torch.float64)


def grad_cam_by_hand(net: Any, layer: str, x: Tensor, grid: tuple[int, int], skipped: int) -> Tensor:
    """Grad-CAM of class 0 without ReLU, by torch's own hooks: b n c or b h w c, without the first tokens."""
    kept: list[Tensor] = []
    handle = net.get_submodule(layer).register_forward_hook(lambda m, i, output: kept.append(output))
    output = net(x.clone().requires_grad_())
    handle.remove()
    scores = output if isinstance(output, Tensor) else output.logits
    (gradient,) = torch.autograd.grad(scores[:, 0].sum(), kept)
    patches, slopes = (t.reshape(len(x), -1, t.shape[-1])[:, skipped:] for t in (kept[0].detach(), gradient))
    maps = torch.einsum("bc,bnc->bn", slopes.mean(1), patches).view(len(x), 1, *grid)
    return nn.functional.interpolate(maps, x.shape[2:], mode="bilinear", align_corners=False)[:, 0]


@pytest.mark.parametrize("build", FOUND)
def test_the_last_tokens_that_count_are_found_and_laid_out(build: str) -> None:
    net, x = ready(ON_TOKENS[build]()), images()
    layer, grid = FOUND[build]
    found = samp.explain(net, x, target=0, method=GradCAM(relu=False))
    assert f"layer='{layer}'" in found.method
    torch.testing.assert_close(found.map, grad_cam_by_hand(net, layer, x, grid, 0 if build == "swin" else 1))
    assert found.map.abs().sum() > 0


HUGGING_FACE = {  # family: the layer, its grid and how many tokens come before the patches
    "vit": ("vit.layers.1.layernorm_before", (4, 4), 1),
    "deit": ("deit.layers.1.layernorm_before", (4, 4), 2),
    "deit with teacher": ("deit.layers.1.layernorm_before", (4, 4), 2),
    "dinov2": ("dinov2.layernorm", (4, 4), 1),
    "dinov2 with registers": ("dinov2_with_registers.layernorm", (4, 4), 5),
    "beit": ("beit.layers.1", (4, 4), 1),
    "swin": ("swin.layernorm", (8, 8), 0),
}


@pytest.mark.parametrize("family", HUGGING_FACE)
def test_nets_of_transformers_have_the_map_of_a_computation_by_hand(family: str) -> None:
    layer, grid, skipped = HUGGING_FACE[family]
    net, x = huggingface_nets.build(family), huggingface_nets.photos()
    found = samp.explain(net, x, target=0, method=GradCAM(relu=False))
    assert found.method == f"GradCAM(layer='{layer}', relu=False, grid={grid})"
    torch.testing.assert_close(found.map, grad_cam_by_hand(net, layer, x, grid, skipped))
    named = samp.explain(net, x, target=0, method=GradCAM(layer, relu=False, grid=grid))
    assert torch.equal(named.map, found.map)
    plus = samp.explain(net, x, target=0, method=GradCAMPlusPlus(relu=False))
    assert f"layer='{layer}'" in plus.method
    assert not torch.allclose(plus.map, found.map)


@pytest.mark.parametrize("family", ["convnext", "resnet"])
def test_convolutional_nets_of_transformers_keep_their_last_map(family: str) -> None:
    found = samp.explain(huggingface_nets.build(family), huggingface_nets.photos(), target=0, method=GradCAM())
    assert f"layer='{family}.encoder.stages.1'" in found.method
    assert "grid=None" in found.method


def test_cam_of_swin_averages_to_the_score_without_its_bias() -> None:
    net, x = huggingface_nets.build("swin"), huggingface_nets.photos()
    kept: list[Tensor] = []
    net.swin.layernorm.register_forward_hook(lambda m, i, output: kept.append(output))
    scores = net(x).logits[:, 2]
    small = kept[0] @ net.classifier.weight[2]  # b n
    torch.testing.assert_close(small.mean(1), scores - net.classifier.bias[2])
    found = samp.explain(net, x, target=2, method=CAM())
    want = nn.functional.interpolate(small.view(2, 1, 8, 8), (32, 32), mode="bilinear", align_corners=False)[:, 0]
    torch.testing.assert_close(found.map, want.detach())


@pytest.mark.parametrize(
    ("family", "why"),
    [
        ("vit", "CAM needs a global average or max pool and one linear layer behind 'vit.layers.1.layernorm_before'"),
        ("beit", "CAM needs a global average or max pool and one linear layer behind 'beit.layers.1'"),
        ("convnext", "CAM needs a global average or max pool and one linear layer behind"),
        ("dinov2", "the head behind 'dinov2.layernorm' sums up, but this one also takes class tokens"),
    ],
)
def test_cam_is_refused_where_the_head_is_not_linear_in_the_mean_of_patches(family: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"{why}.*: use method='gradcam'"):
        samp.explain(huggingface_nets.build(family), huggingface_nets.photos(), target=0, method=CAM())


def test_photos_that_are_not_square_have_patches_of_their_proportions() -> None:
    torch.manual_seed(0)
    net = VisionTransformer(classes=3, width=24, heads=3, depth=2).double().eval()
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3)
    x = torch.randn(2, 3, 42, 84, dtype=torch.float64)
    found = samp.explain(net, x, target=0, method=GradCAM(relu=False))
    assert found.method == "GradCAM(layer='norm', relu=False, grid=(3, 6))"
    torch.testing.assert_close(found.map, grad_cam_by_hand(net, "norm", x, (3, 6), 1))


@pytest.mark.parametrize("method", ALL, ids=repr)
def test_blocks_without_any_normalisation_must_be_named(method: Any) -> None:
    with pytest.raises(ValueError, match=r"no feature map at the end of Mixer, .*layer=.*grid=.*or use .*'ig'"):
        samp.explain(ready(Mixer()), images(), target=0, method=method)
    found = samp.explain(ready(Mixer()), images(), target=0, method=GradCAM("channels", relu=False))
    torch.testing.assert_close(found.map, grad_cam_by_hand(ready(Mixer()), "channels", images(), (4, 4), 0))


class Reordered(ViT):
    """Patches column by column, or with the class token after them."""

    def __init__(self, columns: bool) -> None:
        super().__init__()
        self.columns = columns

    def forward(self, x: Tensor) -> Tensor:
        maps = self.patch_embed(x)
        tokens = (maps.transpose(2, 3) if self.columns else maps).flatten(2).transpose(1, 2)
        x = torch.cat([tokens, self.token.expand(len(x), -1, -1)], 1) + self.places
        for block in self.blocks:
            x = x + block(x)
        out: Tensor = self.head(self.norm(x)[:, -1])
        return out


def test_a_class_token_after_the_patches_is_dropped_there() -> None:
    net, x = ready(Reordered(columns=False)), images()
    kept: list[Tensor] = []
    net.blocks[0].register_forward_hook(lambda m, i, output: kept.append(output))
    found = samp.explain(net, x, target=0, method=GradCAM(relu=False))
    kept.clear()
    (slopes,) = torch.autograd.grad(net(x)[:, 0].sum(), kept)
    maps = torch.einsum("bc,bnc->bn", slopes[:, :-1].mean(1), kept[0][:, :-1]).view(2, 1, 4, 4)
    want = nn.functional.interpolate(maps, (SIDE, SIDE), mode="bilinear", align_corners=False)[:, 0]
    torch.testing.assert_close(found.map, want.detach())


def test_patches_that_do_not_lie_row_by_row_are_refused() -> None:
    with pytest.raises(ValueError, match=r"16 tokens do not lie in 4 rows of 4 patches\): name a layer"):
        samp.explain(ready(Reordered(columns=True)), images(), target=0, method=GradCAM(relu=False))


class Queries(nn.Module):
    """Sixteen learned queries that gather from the whole image: as many as a grid has, and at no place of it."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.queries = nn.Conv2d(3, 24, 4, 4), nn.Parameter(torch.randn(1, 16, 24))
        self.gather, self.norm, self.head = nn.Linear(24, 24), nn.LayerNorm(24), nn.Linear(24, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        x = self.queries + (self.queries @ tokens.transpose(1, 2)).softmax(-1) @ tokens
        out: Tensor = self.head(self.norm(x + self.gather(x).relu()).mean(1))
        return out


def test_tokens_that_are_no_patches_are_refused() -> None:
    class Uneven(Queries):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 24, 5, 3)  # 10 × 10: no halving of it is 4 × 4

    with pytest.raises(ValueError, match="16 tokens need not lie in 4 rows of 4 patches"):
        samp.explain(ready(Uneven()), images(), target=0, method=GradCAM(relu=False))
    with pytest.raises(ValueError, match=r"layer 'norm' gives tokens of an unknown grid .*: pass grid="):
        samp.explain(ready(Uneven()), images(), target=0, method=GradCAM("norm"))
    given = samp.explain(ready(Uneven()), images(), target=0, method=GradCAM("norm", relu=False, grid=(2, 8)))
    assert "grid=(2, 8)" in given.method
    other = samp.explain(ready(Uneven()), images(), target=0, method=GradCAM("norm", relu=False, grid=(4, 4)))
    assert not torch.equal(other.map, given.map)


def test_tokens_behind_the_last_attention_are_refused_by_name() -> None:
    net = huggingface_nets.build("vit")
    for layer in ("vit.layernorm", "vit.layers.1", "vit.layers.1.layernorm_after"):
        with pytest.raises(ValueError, match=f"depends on no patch token of layer '{layer}'.*leave out layer"):
            samp.explain(net, huggingface_nets.photos(), target=0, method=GradCAM(layer))


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ((5, 5), r"a grid of 5 × 5 has 25 patches, but there are 17 tokens"),
        (4, r"grid is rows and columns of patches, as \(14, 14\), not 4"),
        ((0, 4), "rows"),
    ],
)
def test_a_grid_that_does_not_fit_gets_a_sentence(grid: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        samp.explain(
            huggingface_nets.build("vit"), huggingface_nets.photos(), method=GradCAM("vit.layers.0", grid=grid)
        )


def test_a_grid_for_a_map_with_rows_and_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="grid is for tokens, but layer '2' gives a map with rows and columns"):
        samp.explain(ready(conv_next()), images(2, 64), target=0, method=GradCAM("2", grid=(4, 4)))


@pytest.mark.parametrize(
    ("build", "layer", "why"),
    [
        ("vit", "blocks.1.q_norm", "1 × 3 × 17 × 8 numbers, which are no map of the image"),
        ("vit by hand", "blocks.1.attn_drop", "1 × 3 × 17 × 17 numbers, which are no map of the image"),
        ("swin", "blocks.0.q_norm", "4 × 3 × 16 × 8 numbers, which are no map of the image"),
    ],
)
def test_a_layer_that_gives_no_map_is_refused_by_name(build: str, layer: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"layer '{layer}' gives {why}: name a module that gives b×c×h×w maps or"):
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


def test_dinov2_shows_its_patches(data: Path) -> None:
    """Of the real net, at a size other than it was trained for; the oracle is by hand."""
    torch.manual_seed(0)
    classifier = models.dinov2_vits14(data / "models" / "dinov2_vits14_fp16.safetensors", nn.Linear(768, 5))
    x = classifier.prepare(photos.read(photos.example_photo()))[..., :112, :154]
    found = samp.explain(classifier.net, x, target=0, method=GradCAM(relu=False))
    assert found.method == "GradCAM(layer='norm', relu=False, grid=(8, 11))"
    want = grad_cam_by_hand(classifier.net, "norm", x, (8, 11), 1)
    torch.testing.assert_close(found.map, want, atol=1e-4 * float(want.abs().max()), rtol=1e-4)
