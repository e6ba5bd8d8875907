"""The result of an explanation: attributions, with a description of how they were computed.

An `Attribution` is plain data; `samp.attribution_file` has the file that it is saved in. How it looks is drawn by
`samp.plots` and `samp.html`, which `samp.display` calls when a result is to be seen.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from samp.attribution_file import file_bytes, not_whole, read_file, write_file
from samp.groups import check_map_layout
from samp.preview import Preview
from samp.result_words import format_walks, resolution_words

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from PIL import Image

Direction = Literal["to_baseline", "to_image"]
DIRECTIONS: tuple[Direction, ...] = ("to_baseline", "to_image")
PER_DIRECTION = ("scores", "order", "steps", "score_change", "residual_by_direction", "blind")


@dataclass(frozen=True, eq=False)
class Tape:
    """Points of one sample's walk in one direction, on the CPU; `points[i]` was reached at step `steps[i]`.

    >>> import samp
    >>> result = samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(1, 4), method="ig", keep_points=True)
    >>> tape = result.tapes["to_image"][0]
    >>> tape.points.shape, tape.steps[-1].item()
    (torch.Size([51, 4]), 50)
    """

    steps: Tensor  # k
    points: Tensor | tuple[Tensor, ...]  # k *d


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """The result of `samp.explain`.

    Per direction ("to_baseline", "to_image"; only those walked):

    - `scores`: b × (k+1), the score at each point of the walk, NaN after a sample has arrived.
    - `order`: b × groups, the step at which each group arrived (so `scores[i, order[i, j]]` is the score at that
      step), −1 if it never had to move.
    - `steps`: b, how many steps the walk took.
    - `score_change`: b, f(image) − f(baseline of that direction).
    - `residual_by_direction`: b, `score_change` − the sum of that walk's credit. 0 for an exact credit.
    - `blind`: b, the number of segments that an exact credit had to share without any gradient.

    >>> import samp
    >>> result = samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(3, 4), target=1, method="ig")
    >>> result.values.shape, bool((result.residual.abs() < 1e-5).all()), int(result.gradients[0])
    (torch.Size([3, 4]), True, 51)
    """

    values: Tensor | tuple[Tensor, ...]
    """The credit of every element in the input's shape (a tuple for several), float32 or wider; directions summed."""
    group_values: Tensor
    """b × groups: the credit of each feature."""
    scores: Mapping[Direction, Tensor]
    order: Mapping[Direction, Tensor]
    steps: Mapping[Direction, Tensor]
    score_change: Mapping[Direction, Tensor]
    residual_by_direction: Mapping[Direction, Tensor]
    blind: Mapping[Direction, Tensor]
    gradients: Tensor
    """b: value-and-gradient evaluations of each sample, over all directions, end points included."""
    method: str
    """The method with all its settings."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, groups, baselines, seed, device, dtype, batch size and versions; of a mean, the number of `walks`."""
    tapes: Mapping[Direction, list[Tape]] = field(default_factory=dict)
    """With `keep_points`: for each direction one `Tape` per sample."""
    resolution: Tensor | None = None
    """b: the side in pixels of the squares over which the mean of the map is reproducible: that of other walks agrees
    with it by 0.95 or more, as far as the walks taken can tell. 0 where no side up to a quarter of the image's is large
    enough; None where the method does not measure it."""
    preview: Preview | None = None
    """Small copies of the first samples' inputs, and names of classes and columns, for pictures; not saved."""

    @property
    def map(self) -> Tensor:
        """The credit of images summed over channels (b h w); `values` unchanged for any other single input.

        For the credit of tokens, columns or superpixels, see `group_values`. Raises ValueError if there are several
        inputs, or if values of four axes look like b h w c.
        """
        if isinstance(self.values, tuple):
            raise ValueError(f"there are {len(self.values)} inputs and so no single map: use values or group_values.")
        if "Pixels()" not in str(self.details.get("groups")):  # pixels are declared or unambiguous
            check_map_layout(self.values.shape)
        return self.values.sum(1) if self.values.ndim == 4 else self.values

    @property
    def residual(self) -> Tensor:
        """The sum of `residual_by_direction` (b): the score changes minus the credit.

        NaN for methods whose credit is not meant to sum to any change of the score.
        """
        if not self.residual_by_direction:
            return torch.full_like(self.gradients, torch.nan, dtype=self.group_values.dtype)
        return torch.stack(list(self.residual_by_direction.values())).sum(0)

    def __repr__(self) -> str:
        shape = [tuple(v.shape) for v in self.values] if isinstance(self.values, tuple) else tuple(self.values.shape)
        worst, most = float(self.residual.abs().max()), int(self.gradients.max())
        known = "" if self.resolution is None else f", {resolution_words(self.resolution)}"
        return f"Attribution({shape} by {self.method}: residual up to {worst:.3g}, up to {most} gradients{known})"

    def _repr_html_(self) -> str:
        from samp.display import result_html

        return result_html(self)

    def _repr_png_(self) -> bytes | None:
        from samp.display import result_png

        return result_png(self)

    def top(self, n: int = 5, sample: int = 0) -> list[dict[str, Any]]:
        """Return the n features with the largest credit of one sample, for or against the target, as plain records.

        Each has the place of its feature ("row" and "column" of a pixel, or of the upper left pixel of a patch; "index"
        of an element; "feature", its number, of a superpixel or an entry of a mask), "credit", and "share" of the sum
        of all features' abs(credit); "name" and "value" where they are known, "input" if there are several.

        >>> import samp
        >>> net = torch.nn.Linear(3, 1, bias=False).eval()
        >>> net.weight.data = torch.tensor([[1.0, -2.0, 1.0]])
        >>> samp.explain(net, torch.ones(1, 3), method="gradientxinput").top(1)
        [{'index': 1, 'credit': -2.0, 'share': 0.5, 'value': 1.0}]
        """
        from samp.display import top_features

        return top_features(self, n, sample)

    def to_numpy(self) -> np.ndarray[Any, Any] | tuple[np.ndarray[Any, Any], ...]:
        """Return `map` as an array, float32 or float64 on the CPU; `values` as a tuple of arrays for several inputs."""
        tensors = self.values if isinstance(self.values, tuple) else (self.map,)
        arrays = tuple(one.detach().cpu().to(torch.promote_types(one.dtype, torch.float32)).numpy() for one in tensors)
        return arrays if isinstance(self.values, tuple) else arrays[0]

    def to_pil(self, sample: int = 0) -> Image.Image:
        """Return the map of one sample as a picture of its size: white is 0, orange for, blue against, with the full
        colour at ± the 99th percentile of abs(credit). Raises ValueError if the result is not of images.

        >>> import samp
        >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
        >>> samp.explain(net, torch.rand(1, 3, 4, 4)).to_pil().size
        (4, 4)
        """
        from samp.display import map_picture

        return map_picture(self, sample)

    def overlay(self, photo: Any = None, sample: int = 0) -> Image.Image:
        """Return positive credit as a glow over the photo in dim grey, as large as the photo; small ones are enlarged.

        `photo` is what the model was shown, as a PIL image, a `c h w` tensor (or a batch) or an `h w c` array; None
        takes the small copy that `samp.explain` keeps of the first eight samples. Raises ValueError if there is none,
        or if the photo has another shape than the map.

        >>> import samp
        >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
        >>> samp.explain(net, torch.rand(1, 3, 4, 4)).overlay().size
        (336, 336)
        """
        from samp.display import overlay_picture

        return overlay_picture(self, photo, sample)

    def plot(self, inputs: Any = None, classes: Sequence[str] | None = None, sample: int | None = None) -> Figure:
        """Return a figure of matplotlib (extra `viz`): a row for each of the first samples, or for one of them.

        `inputs` are the samples as photos or tensors, `classes` the names of classes by their index, where the result
        does not know them.
        """
        from samp.display import result_figure

        return result_figure(self, inputs, classes, sample)

    def show(self) -> None:
        """Show the result: in a notebook as a cell does, else as a picture in the viewer of this machine."""
        from samp.display import show_result

        show_result(self)

    def with_names(
        self, classes: Sequence[str] | Mapping[int, str] | None = None, columns: Sequence[str] | None = None
    ) -> Attribution:
        """Return the same result with the names of classes, by their index, and of the columns of a table.

        >>> import samp
        >>> result = samp.explain(torch.nn.Linear(2, 1).eval(), torch.ones(1, 2), method="random")
        >>> sorted(feature["name"] for feature in result.with_names(columns=["age", "height"]).top(2))
        ['age', 'height']
        """
        preview = self.preview or Preview()
        if classes is not None:
            preview = replace(preview, classes=dict(classes if isinstance(classes, Mapping) else enumerate(classes)))
        if columns is not None:
            preview = replace(preview, columns=tuple(columns))
        return replace(self, preview=preview)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file atomically, and return its path. Copies of the inputs are not saved."""
        return write_file(Path(path), *self._contents())

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""
        return file_bytes(*self._contents())

    def _contents(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the tensors and the settings of the file."""
        header = {"method": self.method, "details": self.details, "one_input": isinstance(self.values, Tensor)}
        return self._tensors(), header

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Attribution:
        """Read a file that `save` wrote, without running any code from it.

        Raises FileNotFoundError if there is no file, and ValueError if it is of another format, truncated, or does not
        match its checksum. Files of the first format have no checksum, and are read unchecked.
        """
        tensors, header = read_file(path)
        try:
            return _from_tensors({name: tensor.to(device) for name, tensor in tensors.items()}, header)
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise not_whole(path, f"{type(error).__name__}: {error}") from error

    def _tensors(self) -> dict[str, Tensor]:
        values = (self.values,) if isinstance(self.values, Tensor) else self.values
        named = {f"values/{i}": value for i, value in enumerate(values)}
        named |= {"group_values": self.group_values, "gradients": self.gradients}
        named |= {} if self.resolution is None else {"resolution": self.resolution}
        for name in PER_DIRECTION:
            named |= {f"{name}/{direction}": tensor for direction, tensor in getattr(self, name).items()}
        for direction, tapes in self.tapes.items():
            for sample, tape in enumerate(tapes):
                points = (tape.points,) if isinstance(tape.points, Tensor) else tape.points
                named[f"tape/{direction}/{sample}/steps"] = tape.steps
                named |= {f"tape/{direction}/{sample}/points/{i}": p for i, p in enumerate(points)}
        return named


def _from_tensors(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> Attribution:
    one_input = header["one_input"]
    by_direction: dict[str, Any] = {
        name: {d: tensors[f"{name}/{d}"] for d in DIRECTIONS if f"{name}/{d}" in tensors} for name in PER_DIRECTION
    }
    return Attribution(
        values=_collect_numbered(tensors, "values", one_input),
        group_values=tensors["group_values"],
        **by_direction,
        gradients=tensors["gradients"],
        method=header["method"],
        details=header["details"],
        tapes={d: tapes for d in DIRECTIONS if (tapes := _tapes(tensors, d, one_input))},
        resolution=tensors.get("resolution"),
    )


def _tapes(tensors: Mapping[str, Tensor], direction: Direction, one_input: bool) -> list[Tape]:
    tapes: list[Tape] = []
    while (here := f"tape/{direction}/{len(tapes)}") + "/steps" in tensors:
        tapes.append(Tape(tensors[f"{here}/steps"], _collect_numbered(tensors, f"{here}/points", one_input)))
    return tapes


def _collect_numbered(tensors: Mapping[str, Tensor], name: str, one_input: bool) -> Tensor | tuple[Tensor, ...]:
    parts: list[Tensor] = []
    while f"{name}/{len(parts)}" in tensors:
        parts.append(tensors[f"{name}/{len(parts)}"])
    return parts[0] if one_input else tuple(parts)


def describe_walks(result: Attribution, sample: int) -> str:
    """Return of how many walks the map of one sample is the mean, and at which resolution it is reproducible.

    It is empty for a method that takes no mean of walks.
    """
    pixels = None if result.resolution is None else int(result.resolution[sample])
    return format_walks(result.details.get("walks"), pixels)
