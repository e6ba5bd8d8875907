"""One net before the panel: every method's maps of several image sets, given to all judges.

All nets see the same pixels in one space, ImageNet's mean and standard deviation, so that any of them can judge another
one's maps, and "zero" is the same colour for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from samp.annotations.boxes import as_mask, crop_boxes
from samp.images import crop_centre
from samp.lookup import look_up
from samp.metrics import (
    Grids,
    Judge,
    Panel,
    difull,
    join_panels,
    make_grids,
    panel,
)
from samp.models.classifier import IMAGENET
from samp_lab.datasets import Entry, Images, open_dataset
from samp_lab.nets.planted import plant_images, planted_net
from samp_lab.panel_judges import AGAIN, CURVES, DIFULL, GRID, PLACES, RISE, SETS, TRUTH
from samp_lab.panel_methods import METHODS, Likeness, compare_maps, find_contestant
from samp_lab.panel_nets import TRANSFER, load_net
from samp_lab.runner import error_line
from samp_lab.setups import HALVES

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 224


@dataclass(frozen=True)
class PanelOptions:
    """How many images of each set, where the data is, and the device. Halves are those of `samp_lab.setups`."""

    data: Path
    device: str = "cpu"
    half: str = "odd"
    photos: int = 100
    again: int = 32
    """Photos that are explained again."""
    boxes: int = 60
    """COCO photos."""
    grids: int = 6
    separate_grids: int = 2
    """Grids for DiFull, whose net takes a forward pass for every cell; 0 leaves it out."""
    planted: int = 40
    seed: int = 0
    methods: Sequence[str] = field(default_factory=lambda: tuple(METHODS))
    others: Sequence[str] = TRANSFER
    """Nets of which the first two that are not the net itself judge its maps, too."""
    sets: Sequence[str] = SETS
    """The image sets that are judged, of SETS."""
    again_judges: Sequence[str] = AGAIN
    """The judges that explain again, of AGAIN."""


@dataclass(frozen=True, eq=False)
class PanelRun:
    """The panel of a net, and what its maps cost."""

    panel: Panel
    gradients: dict[str, float]
    """Value-and-gradient evaluations per photo, by method."""
    seconds: dict[str, float]
    """Of explaining all photos, by method; and of the judges of each image set."""
    images: dict[str, int]
    """How many images each set has."""
    refused: dict[str, str] = field(default_factory=dict)
    """By method that does not apply to this net, why."""
    speeds: dict[str, str] = field(default_factory=dict)
    """By method that was asked to be fast, how its gradients were computed."""
    alike: dict[str, Likeness] = field(default_factory=dict)
    """By method that is there at both speeds, how alike its maps are."""


def measure_panel(net: str, options: PanelOptions, say: Callable[[str], None] = lambda line: None) -> PanelRun:
    """Return what all judges say of all methods on a net of `panel_nets.NETS`, or on the "planted" one."""
    runner = PanelRunner(options, say)
    return runner.judge_planted() if net == "planted" else runner.judge_net(net)


class PanelRunner:
    """Measures the panels of nets, one image set after the other."""

    def __init__(self, options: PanelOptions, say: Callable[[str], None]) -> None:
        self.options, self.say, self.started = options, say, time.perf_counter()
        self.contestants = {name: find_contestant(name) for name in options.methods}
        self.gradients: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        self.speeds: dict[str, str] = {}
        self.alike: dict[str, Likeness] = {}
        self.boxes = 0

    def judge_net(self, name: str) -> PanelRun:
        """Return the run of a net for photos, over all image sets."""
        load = partial(load_net, data=self.options.data, device=self.options.device)
        model = load(name)
        others = {other: load(other) for other in [one for one in self.options.others if one != name][:2]}
        photos = self._photos()
        classes = _predict(model, photos)
        self._drop_refusing(model, photos[:1], classes[:1])
        few = self.options.again
        judged: dict[str, Callable[[], Panel]] = {
            "photos": lambda: self._judge("photos", model, photos, classes, CURVES, others=others, keep=True),
            "again": lambda: self._judge_again(model, photos[:few], classes[:few]),
            "boxes": lambda: self._judge_boxes(model),
            "grids": lambda: self._judge_grids(model, photos, classes),
        }
        panels = {one: judged[one]() for one in self.options.sets}
        counts = {
            "photos": len(photos),
            "again": len(photos[:few]),
            "boxes": self.boxes,
            "grids": 4 * self.options.grids,
        }
        images = {one: counts[one] for one in panels}
        found = join_panels(list(panels.values()))
        return PanelRun(found, self.gradients, self.seconds, images, self.refused, self.speeds, self.alike)

    def judge_planted(self) -> PanelRun:
        """Return the run of the net whose used pixels are known."""
        given = plant_images(self.options.planted, seed=self.options.seed)
        net = planted_net().net.to(self.options.device)
        x, target, used = (t.to(self.options.device) for t in (given.images, given.target, given.used))
        found = self._judge("planted", net, x, target, [TRUTH], truth=used, keep=True)
        return PanelRun(found, self.gradients, self.seconds, {"planted": len(x)}, speeds=self.speeds, alike=self.alike)

    def _drop_refusing(self, model: nn.Module, photo: Tensor, target: Tensor) -> None:
        """Leave out the methods that do not apply to this net, and keep what they say; raise if none is left."""
        for name, contestant in list(self.contestants.items()):
            try:
                contestant.explain(model, photo, target, self.options.seed)
            except (ValueError, TypeError, NotImplementedError) as error:  # how methods refuse
                self.refused[name] = error_line(error)
                del self.contestants[name]
                self.say(f"{name} does not apply: {self.refused[name]}")
        if not self.contestants:
            raise ValueError(f"no method applies to this net: {'; '.join(self.refused.values())}")

    def _judge_again(self, model: nn.Module, photos: Tensor, classes: Tensor) -> Panel:
        with without_tf32():  # whose rounding is coarser than the noise
            return self._judge("again", model, photos, classes, self.options.again_judges)

    def _judge_boxes(self, model: nn.Module) -> Panel:
        x, classes, masks = self._boxes(model)
        self.boxes = len(x)
        return self._judge("boxes", model, x, classes, PLACES, truth=masks)

    def _judge_grids(self, model: nn.Module, photos: Tensor, classes: Tensor) -> Panel:
        """Return the panel of the grids; each is explained once for each of its cells."""
        grids = make_grids(model, photos, classes, count=self.options.grids, seed=self.options.seed)
        cells = torch.arange(4, device=photos.device).repeat(len(grids))
        masks = torch.zeros(len(cells), 2, 2, dtype=torch.bool, device=photos.device).flatten(1)
        masks = masks.scatter(1, cells[:, None], True).view(-1, 2, 2)
        truth = masks.repeat_interleave(SIZE, 1).repeat_interleave(SIZE, 2)
        x, target = grids.images.repeat_interleave(4, 0), grids.classes.flatten()
        found = self._judge("grids", model, x, target, [GRID], truth=truth)
        if not self.options.separate_grids:
            return found
        separate = make_grids(model, photos, classes, count=self.options.separate_grids, seed=self.options.seed)
        return join_panels([found, self._judge_separately(model, separate)])

    def _judge_separately(self, model: nn.Module, grids: Grids) -> Panel:
        """Return the panel of DiFull alone."""
        scores = {
            name: difull(model, grids, one.explain_maps, seed=self.options.seed).share.flatten()
            for name, one in self.contestants.items()
        }
        self._report("DiFull")
        count = {"images": len(next(iter(scores.values()))), "seed": self.options.seed}
        return Panel((DIFULL,), {"difull": scores}, {}, {"difull": 0}, (count,))

    def _judge(
        self,
        what: str,
        model: nn.Module,
        x: Tensor,
        classes: Tensor,
        judges: Sequence[str | Judge],
        others: Mapping[str, nn.Module] | None = None,
        truth: Tensor | None = None,
        keep: bool = False,
    ) -> Panel:
        """Return the panel of these images; with `keep`, note the gradients and the time of every method."""
        maps = {}
        for name, contestant in self.contestants.items():
            started = self._now()
            result = contestant.explain(model, x, classes, self.options.seed)
            maps[name] = result.map
            if keep:
                self.gradients[name] = float(result.gradients.double().mean())
                self.seconds[name] = self._now() - started
                if contestant.speed == "fast":
                    self.speeds[name] = str(result.details["speed"])
        self.alike = compare_maps(maps) if keep else self.alike
        self._report(f"maps of {len(x)} {what}")
        started = self._now()
        again = {name: contestant.explain_maps for name, contestant in self.contestants.items()}
        chosen = [RISE if judge == "rise" else judge for judge in judges]
        found = panel(
            model, x, maps, classes, others=others, truth=truth, explain_maps=again, judges=chosen,
            seed=self.options.seed,
        )  # fmt: skip
        self.seconds[f"judges of {what}"] = self._now() - started
        self._report(f"judges of {what}")
        return found

    def _photos(self) -> Tensor:
        entries = _half(open_dataset("imagenet", self.options.data), self.options.half)
        return torch.stack([_pixels(entry.picture()) for entry in entries[: self.options.photos]]).to(
            self.options.device
        )

    def _boxes(self, model: nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        """Return COCO photos, a class of each and the mask of its boxes.

        The class is the annotated one that the net is surest of; it is among its five best, and its boxes cover less
        than 60 % of the picture.
        """
        images = open_dataset("coco", self.options.data)
        found: list[tuple[Tensor, int, Tensor]] = []
        for entry in _half(images, self.options.half):
            boxes = crop_boxes(entry.annotation, SIZE) if entry.annotation else None
            labels = [label for label in boxes.labels if images.mapping.get(label)] if boxes else []
            if not boxes or not labels or len(found) == self.options.boxes:
                continue
            x = _pixels(entry.picture())
            with torch.no_grad():
                logits = model(x[None].to(self.options.device))[0].cpu()
            known = {index: label for label in labels for index in images.mapping[label]}
            best = max(known, key=lambda index: float(logits[index]))
            mask = as_mask(boxes.of(known[best]), (SIZE, SIZE))
            if best in logits.topk(5).indices and mask.double().mean() < 0.6:
                found.append((x, best, mask))
        if not found:
            raise ValueError(f"no photo of the {self.options.half} half of COCO shows a class that the net is sure of.")
        device = self.options.device
        photos, masks = (torch.stack([one[part] for one in found]).to(device) for part in (0, 2))  # type: ignore[misc]  # tensors
        return photos, torch.tensor([one[1] for one in found], device=device), masks

    def _now(self) -> float:
        if self.options.device.startswith("cuda"):
            torch.cuda.synchronize()
        return time.perf_counter()

    def _report(self, what: str) -> None:
        self.say(f"{self._now() - self.started:6.1f} s: {what}")


@contextmanager
def without_tf32() -> Iterator[None]:
    """Within this context, convolutions and products on a GPU are computed in float32 proper."""
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def _predict(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(part).argmax(1) for part in torch.split(x, 64)])


def _half(images: Images, half: str) -> list[Entry]:
    return list(images)[look_up(half, HALVES, "half") :: 2]


def _pixels(photo: Image.Image) -> Tensor:
    """Return a photo's centre in ImageNet's space (3 224 224)."""
    cropped = np.array(crop_centre(photo.convert("RGB"), (SIZE, SIZE), 0.875, Image.Resampling.BICUBIC))
    mean, std = (torch.tensor(IMAGENET[name]).view(3, 1, 1) for name in ("mean", "std"))
    return (torch.from_numpy(cropped).permute(2, 0, 1) / 255 - mean) / std
