"""Small vision transformers of the builds that class activation maps have been seen to get wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from samp.models import Classifier

CLASSES = 4
SIDE = 32


class Attention(nn.Module):
    """Self-attention with normalised queries and keys, by hand or by torch's own function."""

    def __init__(self, width: int, heads: int, by_hand: bool) -> None:
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.q_norm, self.k_norm = nn.LayerNorm(width // heads), nn.LayerNorm(width // heads)
        self.attn_drop = nn.Dropout()

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k = self.q_norm(q), self.k_norm(k)  # b heads n d: four axes, and no map
        if self.by_hand:
            mixed = self.attn_drop((q @ k.transpose(-2, -1)).softmax(-1)) @ v
        else:
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        out: Tensor = self.proj(mixed.transpose(1, 2).reshape(b, n, d))
        return out


class ViT(nn.Module):
    """Patches by a convolution, a class token, two blocks with normalised queries and keys."""

    def __init__(self, by_hand: bool = False, stem: bool = False) -> None:
        super().__init__()
        width = 24
        patches: list[nn.Module] = [nn.Conv2d(3, width, 8, 8)]
        if stem:
            patches = [nn.Conv2d(3, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, width, 3, 4, 1)]
        self.patch_embed = nn.Sequential(*patches)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 17, width))
        self.blocks = nn.ModuleList(Attention(width, 3, by_hand) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), tokens], 1) + self.places
        for block in self.blocks:
            x = x + block(x)
        out: Tensor = self.head(self.norm(x)[:, 0])
        return out


class Swin(nn.Module):
    """Channels last from the patches on, attention in windows, and a map of channels last at the end."""

    def __init__(self, back: bool = False) -> None:
        super().__init__()
        width = 24
        self.patches, self.first = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Attention(width, 3, True) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)
        self.back = nn.Identity() if back else None

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(self.patches(x).permute(0, 2, 3, 1))  # b h w c
        b, h, w, c = x.shape
        for block in self.blocks:
            windows = x.view(b, h // 4, 4, w // 4, 4, c).transpose(2, 3).reshape(-1, 16, c)
            x = x + block(windows).view(b, h // 4, w // 4, 4, 4, c).transpose(2, 3).reshape(b, h, w, c)
        x = self.norm(x)
        if self.back is not None:
            return self.head(self.back(x.permute(0, 3, 1, 2)).mean((2, 3)))  # type: ignore[no-any-return]  # modules are typed as returning anything
        return self.head(x.mean((1, 2)))  # type: ignore[no-any-return]  # a module's call is untyped


class Mixer(nn.Module):
    """Patches, and linear layers over tokens and over channels, without attention."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.tokens, self.channels = nn.Conv2d(3, 24, 8, 8), nn.Linear(16, 16), nn.Linear(24, 24)
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2)
        x = (x + self.tokens(x).relu()).transpose(1, 2)
        out: Tensor = self.head((x + self.channels(x).relu()).mean(1))
        return out


class Pooled(nn.Module):
    """A convolutional net whose last map is pooled by one attention, as CLIP's are."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 12, 3, 2), nn.ReLU(), nn.Conv2d(12, 24, 3, 2), nn.ReLU())
        self.pool, self.head = nn.MultiheadAttention(24, 3, batch_first=True), nn.Linear(24, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.trunk(x).flatten(2).transpose(1, 2)
        out: Tensor = self.head(self.pool(x.mean(1, keepdim=True), x, x)[0][:, 0])
        return out


class NextBlock(nn.Module):
    """A convolution, a normalisation and two linear layers with channels last, beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(24, 24, 3, 1, 1, groups=24), nn.LayerNorm(24)
        self.up, self.down = nn.Linear(24, 48), nn.Linear(48, 24)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        return x + self.down(nn.functional.gelu(self.up(y))).permute(0, 3, 1, 2)  # type: ignore[no-any-return]  # modules are typed as returning anything


def conv_next() -> nn.Module:
    blocks = [nn.Conv2d(3, 24, 4, 4), NextBlock(), NextBlock()]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(24), nn.Linear(24, CLASSES))


def classifier() -> Classifier:
    """A vision transformer, for `--model transformer_nets:classifier`."""
    names = tuple(f"class {i}" for i in range(CLASSES))
    return Classifier(ready(ViT()).float(), "tiny transformer", SIDE, 0.5, 0.5, names)


def ready(model: nn.Module) -> Any:
    """The net with weights of its own, in evaluation mode and float64."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.3
    return model.double().eval()
