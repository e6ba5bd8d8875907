"""The result of an explanation: attributions, with a description of how they were computed.

An `Attribution` is plain data. It is saved as one safetensors file, whose header holds the settings as JSON and a
checksum over both: reading a file runs no code, and a damaged one is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as save_bytes
from safetensors.torch import save_file
from torch import Tensor

from samp.atomic import atomic_write
from samp.groups import check_map_layout
from samp.hashing import hash_tensors

Direction = Literal["to_baseline", "to_image"]
DIRECTIONS: tuple[Direction, ...] = ("to_baseline", "to_image")
FORMAT = "samp attribution 2"
WITHOUT_CHECKSUM = "samp attribution 1"  # written up to version 0.1, and still read
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
        known = "" if self.resolution is None else f", {_resolution_words(self.resolution)}"
        return f"Attribution({shape} by {self.method}: residual up to {worst:.3g}, up to {most} gradients{known})"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file atomically, and return its path."""
        tensors, metadata = self._contents()
        with atomic_write(Path(path)) as unfinished:
            save_file(tensors, unfinished, metadata)
        return Path(path)

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""
        content: bytes = save_bytes(*self._contents())
        return content

    def _contents(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """Return the tensors and the header of the file."""
        header = {"method": self.method, "details": self.details, "one_input": isinstance(self.values, Tensor)}
        header_json = json.dumps(header, default=str)
        # copies: safetensors refuses tensors that share memory, as values and group_values of elements do
        tensors = {
            name: t.detach().cpu().clone(memory_format=torch.contiguous_format) for name, t in self._tensors().items()
        }
        return tensors, {"format": FORMAT, "samp": header_json, "sha256": _checksum(tensors, header_json)}

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Attribution:
        """Read a file that `save` wrote, without running any code from it.

        Raises FileNotFoundError if there is no file, and ValueError if it is of another format, truncated, or does not
        match its checksum. Files of the first format have no checksum, and are read unchecked.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path} is not a file.")
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # the file is no dict
        except SafetensorError as error:
            raise ValueError(f"{path} is not a whole .samp file ({error}): save it again.") from error
        file_format = metadata.get("format", "a safetensors file of another program")
        if file_format not in (FORMAT, WITHOUT_CHECKSUM):
            raise ValueError(f"{path} holds {file_format!r}, not {FORMAT!r}.")
        header_json = metadata.get("samp", "")
        if file_format == FORMAT and metadata.get("sha256") != _checksum(tensors, header_json):
            raise ValueError(f"{path} is damaged, its content is not what its checksum is of: save it or get it again.")
        try:
            return _from_tensors({name: tensor.to(device) for name, tensor in tensors.items()}, json.loads(header_json))
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{path} is not a whole .samp file ({reason}): save it again.") from error

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


def _checksum(tensors: Mapping[str, Tensor], header_json: str) -> str:
    """Return the SHA-256 of the header's JSON and of the tensors on the CPU with their names, dtypes and shapes."""
    return hash_tensors(tensors, start=f"{FORMAT}\n{header_json}\n")


def _from_tensors(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> Attribution:
    one_input = header["one_input"]
    return Attribution(
        values=_collect_numbered(tensors, "values", one_input),
        group_values=tensors["group_values"],
        **{name: {d: tensors[f"{name}/{d}"] for d in DIRECTIONS if f"{name}/{d}" in tensors} for name in PER_DIRECTION},
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


def score_source(kind: str, model: str) -> str:
    """Return a label for a score: its kind, unless that is only "score", and its model.

    >>> score_source("logit", "net"), score_source("score", "net")
    ('logit, net', 'net')
    """
    return model if kind == "score" else f"{kind}, {model}"


def format_residual(residual: float, change: float) -> str:
    """Return a text with the residual, the score change, and the sum of the credit.

    >>> format_residual(-0.5, 2.0)
    '-0.500 of a score change of 2.000 (credit sums to 2.500)'
    """
    return f"{residual:+z.3f} of a score change of {change:.3f} (credit sums to {change - residual:.3f})"


def _resolution_words(resolution: Tensor) -> str:
    """Return the coarsest resolution of several samples in words; 0 is the coarsest of all."""
    if bool((resolution == 0).any()):
        return "not reproducible at any resolution tried"
    return f"reproducible at {int(resolution.max())} px"


def describe_walks(result: Attribution, sample: int) -> str:
    """Return of how many walks the map of one sample is the mean, and at which resolution it is reproducible.

    It is empty for a method that takes no mean of walks.
    """
    pixels = None if result.resolution is None else int(result.resolution[sample])
    return format_walks(result.details.get("walks"), pixels)


def format_walks(walks: int | None, pixels: int | None) -> str:
    """Return of how many walks a map is the mean, and the resolution in pixels if it is known; "" if it is no mean.

    >>> format_walks(4, 8), format_walks(1, None), format_walks(None, None)
    ('mean of 4 walks, reproducible at 8 px', '1 walk', '')
    >>> format_walks(2, 0)
    'mean of 2 walks, not reproducible at any resolution tried'
    """
    if walks is None:
        return ""
    known = "" if pixels is None else f", {_resolution_words(torch.tensor([pixels]))}"
    return ("1 walk" if walks == 1 else f"mean of {walks} walks") + known
