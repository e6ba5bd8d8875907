"""Attention rollout and attention relevance against a hand calculation on what transformers itself returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import hugging_face_nets as nets
import samp
from samp import models
from samp.methods.attention import AttentionRelevance, AttentionRollout

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
BOTH = [AttentionRollout(), AttentionRelevance()]


def attentions(model: nets.Logits, x: Tensor, target: int) -> tuple[list[Tensor], list[Tensor]]:
    """The weights that transformers returns, b h n n, and the score's gradient by them."""
    further = {name: value.expand(len(x), -1) for name, value in model.further.items()}
    leaf = x.clone().requires_grad_()
    output = model.net(**{model.takes: leaf}, **further, output_attentions=True)
    score = output.logits[:, model.at][:, target].sum()
    return list(output.attentions), list(torch.autograd.grad(score, output.attentions))


def rollout(weights: Sequence[Tensor], fuse: str = "mean", residual: float = 0.5) -> Any:
    """Abnar & Zuidema's product, by NumPy, for one sample."""
    total = np.eye(weights[0].shape[-1])
    for layer in weights:
        fused = getattr(np, fuse)(layer[0].detach().numpy(), axis=0)
        mixed = residual * np.eye(len(fused)) + (1 - residual) * fused
        total = (mixed / mixed.sum(-1, keepdims=True)) @ total
    return total


def relevance(weights: Sequence[Tensor], gradients: Sequence[Tensor]) -> Any:
    """Chefer et al.'s sum, by NumPy, for one sample, without the 1 that each token starts with."""
    total = np.eye(weights[0].shape[-1])
    for layer, gradient in zip(weights, gradients, strict=True):
        total = total + np.maximum((layer * gradient)[0].detach().numpy(), 0).mean(0) @ total
    return total - np.eye(len(total))


def enlarged(row: Any, extra: int) -> Tensor:
    """A row of 4 × 4 patches behind `extra` tokens, as a map of 32 × 32 pixels."""
    return F.interpolate(torch.tensor(row[extra:]).view(1, 1, 4, 4), (32, 32), mode="bilinear")[0, 0]


@pytest.mark.parametrize("fuse", ["mean", "max", "min"])
def test_rollout_is_the_product_of_the_weights_that_transformers_returns(fuse: Any) -> None:
    model = nets.vit()
    x = nets.inputs(model)
    found = samp.explain(model, x, target=1, method=AttentionRollout(residual=0.3, heads=fuse)).map
    for i in range(len(x)):
        weights, _ = attentions(model, x[i : i + 1], 1)
        torch.testing.assert_close(found[i], enlarged(rollout(weights, fuse, 0.3)[0], 1), **CLOSE)


def test_relevance_is_the_sum_over_the_weights_and_gradients_of_transformers() -> None:
    model = nets.vit()
    x = nets.inputs(model)
    found = samp.explain(model, x, target=2, method=AttentionRelevance()).map
    for i in range(len(x)):
        by_hand = relevance(*attentions(model, x[i : i + 1], 2))
        torch.testing.assert_close(found[i], enlarged(by_hand[0], 1), **CLOSE)


@pytest.mark.parametrize(
    ("build", "row"), [(nets.bert, 0), (lambda: nets.bert(masked=True), 0), (nets.gpt2, -1), (nets.llama, -1)]
)
def test_words_get_the_row_of_the_token_that_the_score_reads(build: Any, row: int) -> None:
    model = build()
    x = nets.inputs(model, 1)
    weights, gradients = attentions(model, x, 1)
    loose = {"rtol": 1e-5, "atol": 1e-7}  # a soft-max in float32
    rolled = samp.explain(model, x, target=1, method="attentionrollout").values.sum(2)[0]
    torch.testing.assert_close(rolled, torch.tensor(rollout(weights)[row]), **loose)
    found = samp.explain(model, x, target=1, method="attentionrelevance").values.sum(2)[0]
    torch.testing.assert_close(found, torch.tensor(relevance(weights, gradients)[row]), **loose)


def test_two_class_tokens_are_read_evenly_and_left_out_of_the_map() -> None:
    model = nets.deit()
    x = nets.inputs(model, 1)
    leaf = x.clone().requires_grad_()
    weights = model.net(pixel_values=leaf, output_attentions=True).attentions
    found = samp.explain(model, x, target=1, method="attentionrollout").map[0]
    torch.testing.assert_close(found, enlarged(rollout(weights)[:2].mean(0), 2), **CLOSE)


@pytest.mark.parametrize("method", BOTH, ids=repr)
@pytest.mark.parametrize("build", [nets.vit, nets.deit, nets.bert, nets.gpt2, nets.llama])
def test_the_way_attention_is_computed_does_not_matter(method: Any, build: Any) -> None:
    eager, fused = build("eager"), build("sdpa")
    x = nets.inputs(eager)
    found = [samp.explain(model, x, target=1, method=method) for model in (eager, fused)]
    torch.testing.assert_close(found[0].values, found[1].values, rtol=1e-4, atol=1e-7)  # eager has float32 soft-maxes
    assert all(one.details["operations"]["by rule"] == {"attention": 2} for one in found)


def test_torchs_own_layer_gives_the_weights_that_it_returns() -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(24, 3, batch_first=True).double().eval()
    x = torch.randn(2, 6, 24, dtype=torch.float64)

    def model(x: Tensor) -> Tensor:
        return attention(x, x, x, need_weights=False)[0][:, 3].tanh()

    weights = attention(x, x, x, average_attn_weights=True)[1]
    expected = 0.5 * weights[:, 3] + 0.5 * F.one_hot(torch.tensor(3), 6)
    torch.testing.assert_close(samp.explain(model, x, target=1, method="rollout").values.sum(2), expected, **CLOSE)


@pytest.mark.parametrize("method", BOTH, ids=repr)
def test_batched_equals_one_by_one(method: Any) -> None:
    for build in nets.NETS.values():
        model = build()
        x = nets.inputs(model, 3)
        together = samp.explain(model, x, target=1, method=method).values
        alone = torch.cat([samp.explain(model, one[None], target=1, method=method).values for one in x])
        torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-9)


def test_a_mean_of_tokens_reads_the_mean_of_rows() -> None:
    model = nets.vit()

    def pooled(x: Tensor) -> Tensor:
        return model.net.vit(pixel_values=x).last_hidden_state.mean(1)

    x = nets.inputs(model, 1)
    weights, _ = attentions(model, x, 1)
    found = samp.explain(pooled, x, target=1, method="attentionrollout").map[0]
    torch.testing.assert_close(found, enlarged(rollout(weights).mean(0), 1), **CLOSE)


CHANGES: list[tuple[Any, str, Any]] = [
    (AttentionRollout(), "residual", 0.2),
    (AttentionRollout(), "heads", "max"),
    (AttentionRollout(), "heads", "min"),
    (AttentionRollout(), "discard", 0.5),
    (AttentionRollout(), "token", 5),
    (AttentionRollout(), "grid", (2, 8)),
    (AttentionRelevance(), "token", -1),
    (AttentionRelevance(), "grid", (8, 2)),
]


@pytest.mark.parametrize(("method", "name", "value"), CHANGES)
def test_every_argument_changes_the_result(method: Any, name: str, value: Any) -> None:
    model = nets.vit()
    x = nets.inputs(model)
    other = replace(method, **{name: value})
    was, now = (samp.explain(model, x, target=1, method=m) for m in (method, other))
    assert not torch.allclose(was.map, now.map, rtol=1e-3)
    assert was.method != now.method


def test_discarding_everything_but_the_largest_keeps_the_residual() -> None:
    model = nets.vit()
    x = nets.inputs(model, 1)
    weights, _ = attentions(model, x, 1)
    kept = []
    for layer in weights:
        fused = layer.mean(1, keepdim=True)
        kept.append(torch.where(fused == fused.amax(), fused, 0.0))  # 1 of 17 · 17 stays
    found = samp.explain(model, x, target=1, method=AttentionRollout(discard=288.5 / 289)).map[0]
    torch.testing.assert_close(found, enlarged(rollout(kept)[0], 1), **CLOSE)


class Unfolded(nn.Module):
    """Patches by a rearrangement and a linear layer, without a convolution."""

    def __init__(self, side: int = 8) -> None:
        super().__init__()
        self.side, self.patches, self.layers = side, nn.Linear(3 * side**2, 24), nets.torch_encoder()

    def forward(self, x: Tensor) -> Tensor:
        cut = F.unfold(x, self.side, stride=self.side) if self.side != 7 else F.unfold(x, 7, stride=5)
        out: Tensor = self.layers(self.patches(cut.transpose(1, 2)))
        return out


def test_patches_without_a_convolution_are_measured_or_asked_for() -> None:
    model, x = Unfolded().double().eval(), torch.randn(1, 3, 32, 32, dtype=torch.float64)
    assert samp.explain(model, x, target=0, method="attentionrollout").map.shape == (1, 32, 32)
    overlapping = Unfolded(7).double().eval()  # 6 × 6 patches
    found, given = (
        samp.explain(overlapping, x, target=0, method=AttentionRollout(grid=grid)) for grid in (None, (6, 6))
    )
    assert torch.equal(found.map, given.map)
    wide = x.repeat(1, 1, 1, 3)[..., :64]
    with pytest.raises(ValueError, match=r"unknown grid \(.*rows of .*patches\): pass .*grid=\(16, 16\)"):
        samp.explain(lambda x: model(x.mT), wide, target=0, method="attentionrollout")  # column by column


@pytest.mark.parametrize("method", BOTH, ids=repr)
def test_a_class_token_at_the_end_shifts_nothing(method: Any) -> None:
    first, last = Written(), Written(class_token="last")
    torch.testing.assert_close(first(photos()), last(photos()), **CLOSE)
    maps = [samp.explain(net, photos(), target=1, method=method).map for net in (first, last)]
    torch.testing.assert_close(maps[0], maps[1], **CLOSE)
    assert not torch.equal(maps[0], torch.zeros_like(maps[0]))


@pytest.mark.parametrize("method", BOTH, ids=repr)
def test_a_grid_of_other_patches_is_refused(method: Any) -> None:
    with pytest.raises(ValueError, match="grid is 3 × 5, but 16 of the 17 tokens"):
        samp.explain(Written(), photos(), target=1, method=replace(method, grid=(3, 5)))
    with pytest.raises(ValueError, match=r"grid is rows and columns of patches.*not \(4,\)"):
        replace(method, grid=(4,))


class Written(nn.Module):
    """A vision transformer with attention written in one of several ways, of the same outputs."""

    def __init__(self, product: str = "bhqd", side: int = 32, heads: int = 4, class_token: str = "first") -> None:
        super().__init__()
        self.product, self.heads, self.class_token = product, heads, class_token
        self.patches, self.norm = nn.Conv2d(3, 16, side // 4, side // 4), nn.LayerNorm(16)
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(2))
        self.head = nn.Linear(16, 5)
        generator = torch.Generator().manual_seed(0)
        for parameter in self.parameters():
            parameter.data = 0.5 * torch.randn(parameter.shape, generator=generator)
        self.double().eval()

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        """Weights b h q k times v b n h d, as b n h·d."""
        match self.product:
            case "bhqd":
                mixed = (weights @ v.transpose(1, 2)).transpose(1, 2)
            case "bqhd":
                mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
            case "values first":
                mixed = torch.einsum("b k h d, b h q k -> b q h d", [v, weights])
            case "queries first":
                mixed = torch.einsum("bqhk,bkhd->bqhd", weights.transpose(1, 2), v)
            case "dots":
                mixed = torch.einsum("...qk,...kd->...qd", weights, v.transpose(1, 2)).transpose(1, 2)
            case "heads first":
                mixed = (weights.transpose(0, 1) @ v.permute(2, 0, 1, 3)).permute(1, 2, 0, 3)
            case "heads first, flat":
                flat = weights.transpose(0, 1).flatten(0, 1) @ v.permute(2, 0, 1, 3).flatten(0, 1)
                mixed = flat.unflatten(0, (self.heads, -1)).permute(1, 2, 0, 3)
            case _:
                mixed = torch.einsum("bhqk,bkhd->bqh", weights, v)[..., None].expand_as(v)
        return mixed.flatten(2)

    def forward(self, x: Tensor) -> Tensor:
        x, token = self.patches(x).flatten(2).transpose(1, 2), self.token.expand(len(x), -1, -1)
        x = torch.cat({"first": [token, x], "last": [x, token], "none": [x]}[self.class_token], 1)
        for layer in self.qkv:
            q, k, v = layer(self.norm(x)).unflatten(2, (3, self.heads, -1)).unbind(2)
            x = x + self.mix(torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1), v)
        out: Tensor = self.head(x[:, -1 if self.class_token == "last" else 0])
        return out


def photos(count: int = 3, side: int = 32) -> Tensor:
    return torch.rand(count, 3, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("method", BOTH, ids=repr)
@pytest.mark.parametrize("product", ["bqhd", "values first", "queries first", "dots"])
def test_the_axes_of_a_product_are_read_from_its_letters(method: Any, product: str) -> None:
    for heads, token in ((4, "first"), (16, "none")):  # 16 heads and 16 tokens: shapes alone would not tell
        plain, other = (Written(kind, heads=heads, class_token=token) for kind in ("bhqd", product))
        torch.testing.assert_close(plain(photos()), other(photos()), **CLOSE)
        maps = [samp.explain(net, photos(), target=1, method=method).map for net in (plain, other)]
        torch.testing.assert_close(maps[0], maps[1], **CLOSE)


def test_a_product_of_unclear_axes_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"tokens from heads in einsum 'bhqk,bkhd->bqh'.*use 'attnlrp'"):
        samp.explain(Written("summed"), photos(), target=1, method="attentionrollout")


@pytest.mark.parametrize("method", BOTH, ids=repr)
def test_nets_without_tokens_to_follow_are_refused(method: Any) -> None:
    name = type(method).__name__
    cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval()
    with pytest.raises(NotImplementedError, match=f"{name} reads attention weights.*none.*use 'gradcam'"):
        samp.explain(cnn, torch.rand(1, 3, 8, 8), method=method)
    softmax_last = nn.Sequential(nn.Linear(6, 4), nn.Softmax(1), nn.Linear(4, 2)).eval()
    with pytest.raises(NotImplementedError, match="none"):  # a product with a constant is no attention
        samp.explain(softmax_last, torch.rand(1, 6), method=method)
    windows = nets.swin()
    with pytest.raises(NotImplementedError, match=r"8 × 2 × 16 × 16, as with windows.*use 'attnlrp'"):
        samp.explain(windows, nets.inputs(windows), target=0, method=method)
    flat = nn.Sequential(nn.Unflatten(1, (6, 24)), nets.torch_encoder()).double().eval()
    with pytest.raises(ValueError, match=r"6 tokens, and the input \(1, 144\) is neither"):
        samp.explain(flat, torch.randn(1, 144, dtype=torch.float64), target=0, method=method)


def test_settings_are_checked() -> None:
    for settings in ({"residual": 1.5}, {"discard": 1.0}, {"heads": "median"}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            AttentionRollout(**settings)  # type: ignore[arg-type]  # one of these is a wrong value on purpose
    model = nets.vit()
    with pytest.raises(ValueError, match="token is 17, but the model has 17 tokens"):
        samp.explain(model, nets.inputs(model), target=0, method=AttentionRollout(token=17))


@pytest.fixture(scope="module")
def dinov2(data: Path) -> nn.Module:
    """The real trunk with a random head."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        head = nn.Linear(768, 5)
    return models.dinov2_vits14(data / "models" / "dinov2_vits14_fp16.safetensors", head).net


def test_both_on_dinov2_are_those_of_weights_computed_from_its_queries_and_keys(dinov2: nn.Module) -> None:
    x = torch.randn(1, 3, 56, 84, generator=torch.Generator().manual_seed(0))  # 4 × 6 patches and a class token
    weights: list[Tensor] = []

    def keep(module: Any, inputs: Any, output: Tensor) -> None:
        query, key, _ = output[0].view(25, 3, 6, 64).permute(1, 2, 0, 3)
        weights.append((query @ key.transpose(1, 2) / 8).softmax(-1)[None].detach())

    handles = [block.attn.qkv.register_forward_hook(keep) for block in dinov2.blocks]  # type: ignore[union-attr]  # a list of blocks
    dinov2(x)
    for handle in handles:
        handle.remove()
    row = torch.tensor(rollout(weights)[3:4, 1:]).view(1, 1, 4, 6)
    expected = F.interpolate(row, (56, 84), mode="bilinear")[0, 0].float()
    found = samp.explain(dinov2, x, target=1, method=AttentionRollout(token=3))
    torch.testing.assert_close(found.map[0], expected, rtol=1e-3, atol=1e-6)
    assert found.details["operations"]["by rule"] == {"attention": 12}
    assert samp.explain(dinov2, x, target=1, method="attentionrelevance").map.min() >= 0


@pytest.mark.parametrize("name", ["deeplift", "attnlrp", "libragrad"])
def test_credit_sums_on_dinov2(dinov2: nn.Module, name: str) -> None:
    x = torch.randn(2, 3, 56, 84, generator=torch.Generator().manual_seed(0))
    result = samp.explain(dinov2, x, target=1, method=name)
    scores = dinov2(x)[:, 1]
    absorbed = torch.tensor(result.details.get("absorbed", dinov2(torch.zeros_like(x))[:, 1].tolist()))
    size = scores.abs() + absorbed.abs()
    assert ((result.values.flatten(1).sum(1) + absorbed - scores).abs() <= 1e-4 * size).all()
