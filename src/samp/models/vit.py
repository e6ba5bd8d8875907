"""Vision transformers (Dosovitskiy et al., 2021) as DINOv2 builds them (Oquab et al., 2023), under its names.

Blocks scale what they add (LayerScale), and the positions of the patches are resized to the photo's.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from samp.models.weights import copy_weights, read_weights

EPS = 1e-6  # of every LayerNorm


class Attention(nn.Module):
    """Attention of all tokens to all tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(x).reshape(*x.shape[:2], 3, self.heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # b heads n d
        mixed = F.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.proj(mixed.transpose(1, 2).flatten(2))
        return out


class Mlp(nn.Module):
    """Two linear layers with GELU between them, for each token alone."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(self.act(self.fc1(x)))
        return out


class LayerScale(nn.Module):
    """Each feature times its own number `gamma`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class Block(nn.Module):
    """x + scale · attention(norm(x)), then the same with the layers of each token."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attn, self.ls1 = nn.LayerNorm(width, eps=EPS), Attention(width, heads), LayerScale(width)
        self.norm2, self.mlp, self.ls2 = nn.LayerNorm(width, eps=EPS), Mlp(width, 4 * width), LayerScale(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.ls1(self.attn(self.norm1(x)))
        out: Tensor = x + self.ls2(self.mlp(self.norm2(x)))
        return out


class Patches(nn.Module):
    """The photo cut into squares of `side` pixels, one vector each: b width h w."""

    def __init__(self, width: int, side: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, side, side)

    def forward(self, x: Tensor) -> Tensor:
        side = self.proj.kernel_size[0]
        if x.shape[-2] % side or x.shape[-1] % side:
            raise ValueError(f"the input has {x.shape[-2]} × {x.shape[-1]} pixels: give sides divisible by {side}.")
        out: Tensor = self.proj(x)
        return out


class VisionTransformer(nn.Module):
    """Logits of `head` over the class token and the mean of the patch tokens; those features themselves without one.

    By default ViT-S/14. Weights are random until a checkpoint is loaded.

    >>> net = VisionTransformer(classes=10)
    >>> net(torch.zeros(1, 3, 28, 42)).shape, sum(p.numel() for p in net.parameters())
    (torch.Size([1, 10]), 22063882)
    """

    def __init__(self, classes: int = 0, width: int = 384, heads: int = 6, depth: int = 12) -> None:
        super().__init__()
        side, trained = 14, 518  # pixels of a patch; pixels of the photos that the positions were learned for
        self.places = trained // side
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + self.places**2, width))
        self.patch_embed = Patches(width, side)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=EPS)
        self.head: nn.Linear | None = nn.Linear(2 * width, classes) if classes else None

    def forward(self, x: Tensor) -> Tensor:
        features = self.compute_features(x)
        if self.head is None:
            return features
        logits: Tensor = self.head(features)
        return logits

    def compute_features(self, x: Tensor) -> Tensor:
        """Return what the head takes, b 2·width: the class token beside the mean of the patch tokens."""
        patches = self.patch_embed(x)
        tokens = (patches + self._resize_positions(*patches.shape[-2:])).flatten(2).transpose(1, 2)
        first = (self.cls_token + self.pos_embed[:, :1]).expand(len(x), -1, -1)
        tokens = torch.cat([first, tokens], 1)  # b n width
        for block in self.blocks:
            tokens = block(tokens)
        tokens = self.norm(tokens)
        return torch.cat([tokens[:, 0], tokens[:, 1:].mean(1)], 1)

    def _resize_positions(self, height: int, width: int) -> Tensor:
        """Return the positions of this many patches, 1 width h w."""
        places = self.pos_embed[:, 1:].transpose(1, 2).reshape(1, -1, self.places, self.places)
        if (height, width) == (self.places, self.places):
            return places
        # DINOv2 was trained with this 0.1, which keeps the rounded size right and moves the samples a little
        factors = ((height + 0.1) / self.places, (width + 0.1) / self.places)
        return F.interpolate(places, scale_factor=factors, mode="bicubic")


def load_vit(
    checkpoint: str | os.PathLike[str], head: str | os.PathLike[str] | nn.Linear | None, trust: bool
) -> VisionTransformer:
    """Return ViT-S/14 with the weights of a file and of the head's, if there is one; raise as `load_weights`."""
    weights = read_weights(checkpoint, trust)
    if isinstance(head, str | os.PathLike):
        weights |= {f"head.{name.removeprefix('head.')}": tensor for name, tensor in read_weights(head, trust).items()}
    elif head is not None:
        weights |= {f"head.{name}": tensor for name, tensor in head.state_dict().items()}
    net = VisionTransformer(classes=len(weights.get("head.weight", ())))
    weights.pop("mask_token", None)  # of DINOv2's own checkpoints: only its training uses it
    copy_weights(net, weights, checkpoint)
    return net.eval()
