"""Why is this pixel a disc? A segmentation net, explained at one pixel and over a whole region.

The net gives `b classes h w`. A tuple (class, row, column) asks for one number of it, a list of them for one per
image; `samp.targets.Segmentation` for a class over the pixels of a mask, which each image has its own of.

    python examples/segmentation.py
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import samp

BACKGROUND, DISC, SQUARE = range(3)
HEIGHT, WIDTH = 24, 32


def drawn(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Noisy images b 1 h w of a disc and a square, the class of each pixel b h w, and the discs' centres b 2."""
    random = torch.Generator().manual_seed(seed)
    side = torch.randint(0, 2, (count,), generator=random) * WIDTH // 2  # which half the disc is in
    rows = torch.randint(7, HEIGHT - 7, (2, count), generator=random)
    columns = torch.stack([side, WIDTH // 2 - side]) + torch.randint(7, 10, (2, count), generator=random)
    sizes = torch.randint(4, 7, (2, count), generator=random)
    y, x = torch.arange(HEIGHT)[:, None], torch.arange(WIDTH)
    down, right = (y - rows[..., None, None]).abs(), (x - columns[..., None, None]).abs()  # 2 b h w
    disc = down[0] ** 2 + right[0] ** 2 <= sizes[0, :, None, None] ** 2
    square = torch.maximum(down[1], right[1]) < sizes[1, :, None, None]
    labels = DISC * disc + SQUARE * square
    noise = 0.1 * torch.randn(labels.shape, generator=random)
    return ((labels > 0) + noise)[:, None], labels, torch.stack([rows[0], columns[0]], 1)


def train() -> tuple[nn.Module, float]:
    """A net of four layers, ever wider apart, and the share of the shapes' pixels that it gets right on new images."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for before, after, apart in [(1, 16, 1), (16, 16, 2), (16, 16, 4), (16, 16, 2)]:
        layers += [nn.Conv2d(before, after, 3, padding=apart, dilation=apart), nn.BatchNorm2d(after), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Conv2d(16, 3, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(60):
        images, labels, _ = drawn(32, seed=step)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, labels, _ = drawn(64, seed=1000)
    return model.eval(), float((model.eval()(images).argmax(1) == labels)[labels != BACKGROUND].float().mean())


def share_near(credit: Tensor, shapes: Tensor) -> Tensor:
    """b: how much of the absolute credit (b h w) lies on the shapes (b h w) or within two pixels of them."""
    near = nn.functional.max_pool2d(shapes[:, None].float(), 5, 1, 2).squeeze(1)
    return (credit.abs() * near).sum((1, 2)) / credit.abs().sum((1, 2))


def main() -> dict[str, object]:
    """Train, ask why one pixel is a disc and why a whole region is a square, and print where the credit lies."""
    model, right = train()
    print(f"right about {right:.1%} of the shapes' pixels on new images\n")
    images, labels, centres = drawn(4, seed=2000)

    pixel = samp.explain(model, images, target=[(DISC, row, column) for row, column in centres.tolist()])
    squares = labels == SQUARE
    region = samp.explain(model, images, target=samp.targets.Segmentation(SQUARE, mask=squares))

    everywhere = torch.ones_like(pixel.map)
    shares = {
        "credit near the disc": share_near(pixel.map, labels == DISC),
        "area near the disc": share_near(everywhere, labels == DISC),
        "credit near the square": share_near(region.map, squares),
        "area near the square": share_near(everywhere, squares),
    }
    print(f"{'image':<24}" + "".join(f"{number:>7}" for number in range(len(images))))
    for name, share in shares.items():
        print(f"{name:<24}" + "".join(f"{part:>7.0%}" for part in share.tolist()))
    return {"accuracy": right, "pixel": pixel, "region": region, "shares": shares}


if __name__ == "__main__":
    main()
