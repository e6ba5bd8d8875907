"""Why is there a disc in this box? A small detector, explained for one box of each image.

The detector has one candidate per cell of a grid and returns b n values as YOLO does: centre, width and height of a
box in pixels, then a score from 0 to 1 for each class. `samp.targets.Detection` asks for the best score × overlap with
a given box; the same net is asked through the output of DETR and that of torchvision's detectors too.

    python examples/detection.py
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import samp

DISC, SQUARE = range(2)
SIDE, CELL = 48, 8
FORMAT = samp.targets.YOLOBoxes(objectness=False)


def draw(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy images b 1 h w, in each a disc and a square in opposite halves, and their boxes' corners b 2 4."""
    random = torch.Generator().manual_seed(seed)
    half = torch.randint(0, 2, (count,), generator=random) * SIDE // 2  # where the disc's half begins
    x = torch.stack([half, SIDE // 2 - half], 1) + torch.randint(8, 17, (count, 2), generator=random)
    y = torch.randint(8, SIDE - 8, (count, 2), generator=random)
    size = torch.randint(5, 8, (count, 2), generator=random)
    rows, columns = torch.arange(SIDE)[:, None], torch.arange(SIDE)
    down, right = (rows - y[..., None, None]).abs(), (columns - x[..., None, None]).abs()  # b 2 h w
    disc = down[:, DISC] ** 2 + right[:, DISC] ** 2 <= size[:, DISC, None, None] ** 2
    square = torch.maximum(down, right)[:, SQUARE] < size[:, SQUARE, None, None]
    noise = 0.1 * torch.randn(count, SIDE, SIDE, generator=random)
    boxes = torch.stack([x - size, y - size, x + size + 1, y + size + 1], 2)  # a square is one pixel less to each side
    boxes[:, SQUARE] += torch.tensor([1, 1, -1, -1])
    return ((disc | square) + noise)[:, None], boxes.float()


class Detector(nn.Module):
    """One candidate per 8×8 cell: a box around a centre in the cell, and the logits of both classes."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, stride in [(1, 16, 2), (16, 32, 2), (32, 32, 2), (32, 32, 1)]:
            layers += [nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(32, 6, 3, padding=1))
        corner = torch.arange(0, SIDE, CELL)
        self.register_buffer("corners", torch.stack(torch.meshgrid(corner, corner, indexing="xy"), -1).reshape(-1, 2))

    def raw(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Boxes b n 4 of centre, width and height in pixels, and logits b n 2."""
        values = self.layers(images).flatten(2).mT  # b n 6
        centres = self.corners + CELL * values[..., :2].sigmoid()
        return torch.cat([centres, 2 * CELL * values[..., 2:4].exp()], -1), values[..., 4:]

    def forward(self, images: Tensor) -> Tensor:
        boxes, logits = self.raw(images)
        return torch.cat([boxes, logits.sigmoid()], -1)  # as YOLO: b n 6


def train(steps: int = 250) -> Detector:
    """Return a detector of discs and squares: the cell that an object's centre lies in has to find it."""
    torch.manual_seed(0)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for step in range(steps):
        images, corners = draw(32, seed=step)
        boxes, logits = model.raw(images)
        centre, size = (corners[..., :2] + corners[..., 2:]) / 2, corners[..., 2:] - corners[..., :2]
        column, row = (centre // CELL).long().unbind(-1)
        cell = row * (SIDE // CELL) + column  # b 2
        truth = torch.zeros_like(logits).scatter_(1, cell[:, None], 1)  # b n 2
        found = boxes.gather(1, cell[..., None].expand(-1, -1, 4))  # b 2 4
        loss = nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum") / len(images)
        loss = loss + nn.functional.smooth_l1_loss(found, torch.cat([centre, size], -1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def share_found(model: Detector) -> float:
    """How often the best candidate of a class overlaps its object by more than a half, in new images."""
    images, corners = draw(64, seed=1000)
    overlaps = []
    for label in (DISC, SQUARE):
        boxes, scores = FORMAT.read(model(images), torch.full((64,), label))
        best = scores.argmax(1, keepdim=True)
        overlaps.append(samp.targets.overlap(corners[:, label], boxes).gather(1, best))
    return float((torch.cat(overlaps) > 0.5).float().mean())


def as_detr(model: Detector, images: Tensor) -> dict[str, Tensor]:
    """The same candidates as DETR would give them: logits and boxes from 0 to 1."""
    boxes, logits = model.raw(images)
    return {"logits": logits, "pred_boxes": boxes / SIDE}


def as_torchvision(model: Detector, images: Tensor) -> list[dict[str, Tensor]]:
    """The same candidates as torchvision would give them: those above a threshold, with one label each."""
    outputs = []
    for values in model(images):
        scores, labels = values[:, 4:].max(1)
        kept = scores > 0.01
        near, far = values[:, :2] - values[:, 2:4] / 2, values[:, :2] + values[:, 2:4] / 2
        outputs.append({"boxes": torch.cat([near, far], 1)[kept], "scores": scores[kept], "labels": labels[kept]})
    return outputs


def share_near(credit: Tensor, boxes: Tensor) -> Tensor:
    """b: how much of the absolute credit (b h w) lies in the boxes (b 4) or within three pixels of them."""
    pixel = torch.arange(SIDE)
    inside = [(pixel >= boxes[:, i, None] - 3) & (pixel < boxes[:, i + 2, None] + 3) for i in (0, 1)]  # b w, b h
    return (credit.abs() * (inside[1][:, :, None] & inside[0][:, None])).sum((1, 2)) / credit.abs().sum((1, 2))


def main() -> dict[str, object]:
    """Train, ask why there is a disc in its box and a square in its own, and print where the credit lies."""
    model = train()
    right = share_found(model)
    print(f"the best candidate of a class overlaps its object by more than a half in {right:.0%} of new images\n")

    images, corners = draw(4, seed=2000)
    results, shares = {}, {}
    for name, label in (("disc", DISC), ("square", SQUARE)):
        target = samp.targets.Detection(corners[:, label], label, output=FORMAT)
        results[name] = samp.explain(model, images, target=target)
        shares[f"credit near the {name}"] = share_near(results[name].map, corners[:, label])
        shares[f"area near the {name}"] = share_near(torch.ones(4, SIDE, SIDE), corners[:, label])
    print(f"{'image':<24}" + "".join(f"{number:>7}" for number in range(len(images))))
    for name, share in shares.items():
        print(f"{name:<24}" + "".join(f"{part:>7.0%}" for part in share.tolist()))
    return {"model": model, "right": right, "images": images, "corners": corners, "results": results, "shares": shares}


if __name__ == "__main__":
    main()
