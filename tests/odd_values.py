"""Values, good and odd, for every argument of the public functions: what the fuzzer draws from.

Each pool maps a label to a function that makes the value anew, so that no call can spoil another's.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

import samp
from samp.methods.captum_adapters import LIME, Ablation, Occlusion, Shapley
from samp.methods.rise import RISE
from samp.methods.smoothgrad import SmoothGrad
from samp.metrics import Annotation, Bootstrap, Box, OfMaximum, Otsu, Protocol, TopPixels
from samp.models import Classifier

Pool = dict[str, Callable[[], Any]]


def image_net(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)]
    return nn.Sequential(*layers).to(dtype).eval()


def photos(*shape: int) -> Tensor:
    return torch.rand(shape or (2, 3, 6, 6), generator=torch.Generator().manual_seed(1))


def odd_tensors(*shape: int) -> Pool:
    """Tensors that are none of the usual ones, of this shape."""
    return {
        "sparse": lambda: photos(*shape).to_sparse(),
        "sparse csr": lambda: photos(4, 4).to_sparse_csr(),
        "meta": lambda: photos(*shape).to("meta"),
        "complex": lambda: photos(*shape).cfloat(),
        "quantised": lambda: torch.quantize_per_tensor(photos(*shape), 0.1, 0, torch.quint8),
        "nested": lambda: torch.nested.nested_tensor(list(photos(*shape))),
        "float8": lambda: photos(*shape).to(torch.float8_e4m3fn),
        "empty": lambda: torch.empty(0, *shape[1:]),
        "scalar tensor": lambda: torch.tensor(1.0),
        "one axis": lambda: photos(3),
        "with NaN": lambda: photos(*shape) * torch.nan,
        "with Inf": lambda: photos(*shape) / 0,
        "bool": lambda: photos(*shape) > 0.5,
        "int64": lambda: photos(*shape).long(),
        "object array": lambda: np.array([[None, 1]]),
        "array of words": lambda: np.array(["a", "b"]),
        "array of a struct": lambda: np.zeros(2, dtype=[("a", "f4")]),
    }


ANYTHING: Pool = {
    "None": lambda: None,
    "a string": lambda: "cat",
    "empty string": lambda: "",
    "True": lambda: True,
    "minus one": lambda: -1,
    "1.5": lambda: 1.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "2**63": lambda: 2**63,
    "2**70": lambda: 2**70,
    "numpy int": lambda: np.int64(2),
    "numpy float": lambda: np.float32(0.5),
    "a complex number": lambda: 1j,
    "bytes": lambda: b"x",
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1, 2},
    "empty list": list,
    "empty tuple": tuple,
    "a list of None": lambda: [None, None],
    "a ragged list": lambda: [[1, 2], [3]],
    "a class": lambda: dict,
    "an object": object,
    "a function": lambda: len,
    "a range": lambda: range(2),
    "an iterator": lambda: iter([1, 2]),
    "a mapping": lambda: UserDict(input_ids=[1]),
    "a photo": lambda: Image.new("RGB", (6, 6), "red"),
    "a module": lambda: nn.Identity(),
    **odd_tensors(2, 3, 6, 6),
}

MODELS: Pool = {
    "a net": image_net,
    "float64 net": lambda: image_net(torch.float64),
    "bfloat16 net": lambda: image_net(torch.bfloat16),
    "a training net": lambda: image_net().train(),
    "a function": lambda: lambda x: x.flatten(1).sum(1),
    "a class": lambda: nn.Linear,
    "NaN": lambda: lambda x: x.flatten(1) * torch.nan,
    "Inf": lambda: lambda x: x.flatten(1)[:, :3] + torch.inf,
    "NaN somewhere": lambda: lambda x: (x.flatten(1)[:, :3] - 0.5).sqrt(),
    "two arguments": lambda: lambda x, y: x.flatten(1)[:, :3] * y,
    "no argument": lambda: lambda: torch.ones(2),
    "gives None": lambda: lambda x: None,
    "gives a dict": lambda: lambda x: {"logits": x},
    "gives a scalar": lambda: lambda x: x.sum(),
    "gives integers": lambda: lambda x: x.flatten(1).long(),
    "gives complex": lambda: lambda x: x.flatten(1).cfloat(),
    "gives sparse": lambda: lambda x: x.flatten(1).to_sparse(),
    "gives nothing": lambda: lambda x: x.flatten(1)[:, :0],
    "gives images": lambda: lambda x: x * 2,
    "gives one row": lambda: lambda x: x.flatten(1).sum(0, keepdim=True),
    "detached": lambda: lambda x: x.detach().flatten(1),
    "identity": lambda: nn.Identity(),
    "classifier": lambda: Classifier(image_net(), "tiny", size=6, mean=0.5, std=0.5, classes=()),
}

INPUTS: Pool = {
    "photos": photos,
    "one photo": lambda: photos(1, 3, 6, 6),
    "no batch axis": lambda: photos(3, 6, 6),
    "a list of photos": lambda: [photos(3, 6, 6), photos(3, 6, 6)],
    "a pair": lambda: (photos(), photos()),
    "a pair of other batches": lambda: (photos(), photos(3, 3, 6, 6)),
    "float64": lambda: photos().double(),
    "float16": lambda: photos().half(),
    "bfloat16": lambda: photos().bfloat16(),
    "array": lambda: photos().numpy(),
    "float64 array": lambda: photos().double().numpy(),
    "bytes array": lambda: (photos() * 255).byte().numpy(),
    "channels last": lambda: photos(2, 9, 9, 3),
    "rows": lambda: photos(2, 5),
    "five axes": lambda: photos(2, 3, 2, 3, 3),
    "zeros": lambda: torch.zeros(2, 3, 6, 6),
    "huge": lambda: photos() * 3e38,
    "stretched": lambda: photos(1, 3, 1, 1).expand(2, 3, 6, 6),
    "needs grad": lambda: photos().requires_grad_(),
    "transposed": lambda: photos().transpose(2, 3),
    **ANYTHING,
}

TARGETS: Pool = {
    "0": lambda: 0,
    "a list": lambda: [0, 2],
    "a tensor": lambda: torch.tensor([0, 2]),
    "99": lambda: 99,
    "three for two": lambda: [0, 1, 2],
    "a tuple": lambda: (0, 1),
    "2-D tensor": lambda: torch.zeros(2, 5, dtype=torch.long),
    "float tensor": lambda: torch.tensor([0.0, 1.0]),
    "array": lambda: np.array([0, 1]),
    "0-d array": lambda: np.array(1),
    "sparse classes": lambda: torch.tensor([0, 1]).to_sparse(),
    "meta classes": lambda: torch.tensor([0, 1], device="meta"),
    "a score": lambda: lambda output: output.flatten(1)[:, 0],
    "by sample": lambda: lambda output, samples: output.flatten(1)[:, 0] + samples,
    "a closure": lambda: lambda output: output[torch.arange(2), torch.tensor([0, 1])],
    "a matrix": lambda: lambda output: output,
    **ANYTHING,
}

METHODS: Pool = {
    **{name: (lambda name=name: name) for name in ("samp++", "samp", "ig", "ig-blurred", "random", "gradcam", "cam")},
    **{name: (lambda name=name: name) for name in ("cmwp", "lrp", "deeplift", "gradientxinput", "guided-ig", "nope")},
    "coupled": lambda: samp.Coupled("draft"),
    "consensus": lambda: samp.Consensus("draft"),
    "smoothgrad": lambda: SmoothGrad(samples=3),
    "rise": lambda: RISE(masks=6),
    "ablation": lambda: Ablation(),
    "occlusion": lambda: Occlusion(),
    "lime": lambda: LIME(samples=10, superpixels=4),
    "shapley": lambda: Shapley(samples=1, patch=3),
    "a method's class": lambda: samp.IG,
    **ANYTHING,
}

GROUPS: Pool = {
    "None": lambda: None,
    "pixels": samp.Pixels,
    "elements": samp.Elements,
    "patches": lambda: samp.Patches(2),
    "large patches": lambda: samp.Patches(99),
    "a mask": lambda: torch.arange(36).view(6, 6) // 6,
    "a mask of each": lambda: torch.arange(216).view(2, 3, 6, 6) // 54,
    "one group": lambda: torch.zeros(6, 6, dtype=torch.long),
    "float mask": lambda: torch.zeros(6, 6),
    "mask of another size": lambda: torch.zeros(5, 5, dtype=torch.long),
    "large numbers": lambda: torch.full((6, 6), 2**40),
    "negative numbers": lambda: torch.full((6, 6), -3),
    "array mask": lambda: np.zeros((6, 6), dtype=int),
    "a class": lambda: samp.Pixels,
    "a pair": lambda: [samp.Pixels(), samp.Pixels()],
    **ANYTHING,
}

ARGUMENTS: Pool = {
    "none": tuple,
    "a number": lambda: (2.0,),
    "per sample": lambda: samp.PerSample(torch.ones(2, 1)),
    "for all": lambda: samp.ForAll(torch.ones(2, 1)),
    "ambiguous": lambda: torch.ones(2, 1),
    "too long": lambda: samp.PerSample(torch.ones(5)),
    "many": lambda: (1, 2, 3, 4),
    **ANYTHING,
}

BATCH_SIZES: Pool = {"auto": lambda: "auto", "1": lambda: 1, "3": lambda: 3, "0": lambda: 0, **ANYTHING}
SEEDS: Pool = {"0": lambda: 0, "7": lambda: 7, "2**63 - 1": lambda: 2**63 - 1, "-(2**63)": lambda: -(2**63), **ANYTHING}
KEPT_POINTS: Pool = {"False": lambda: False, "True": lambda: True, "bytes": lambda: 10**5, **ANYTHING}
FLAGS: Pool = {"False": lambda: False, **ANYTHING}
SPEEDS: Pool = {"exact": lambda: "exact", **ANYTHING}

BASELINES: Pool = {
    **{name: (lambda name=name: name) for name in ("black", "white", "uniform", "gaussian", "blurred")},
    "a number": lambda: 0.5,
    "a tensor": lambda: torch.zeros(1, 3, 6, 6),
    "another shape": lambda: torch.zeros(3, 6, 6),
    "a function": lambda: lambda x: x * 0,
    "a function of NaN": lambda: lambda x: x * torch.nan,
    "a function of words": lambda: lambda x: "black",
    "two": lambda: ("black", "white"),
    "three": lambda: ("black", "white", "black"),
    "a list": lambda: ["black"],
    **ANYTHING,
}

MAPS: Pool = {
    "maps": lambda: photos(2, 6, 6) - 0.5,
    "like the input": lambda: photos() - 0.5,
    "array": lambda: photos(2, 6, 6).numpy(),
    "an attribution": lambda: samp.explain(image_net(), photos(), target=0, method="gradientxinput"),
    "of one sample": lambda: photos(1, 6, 6),
    "constant": lambda: torch.ones(2, 6, 6),
    "zeros": lambda: torch.zeros(2, 6, 6),
    "huge": lambda: photos(2, 6, 6) * 3e38,
    "tiny": lambda: photos(2, 6, 6) * 1e-45,
    "by pixel": lambda: photos(2, 36),
    **ANYTHING,
}

PROTOCOLS: Pool = {
    "small": lambda: Protocol(step=9),
    "shares": lambda: Protocol(step=(0.0, 0.5, 1.0), auc="trapezoid"),
    "None": lambda: None,
    **{name: (lambda name=name: name) for name in ("cifar10", "rise", "diffid", "nope")},
    **ANYTHING,
}

SCORES: Pool = {
    "numbers": lambda: [0.1, 0.3, 0.2, 0.9],
    "a tensor": lambda: torch.tensor([0.1, 0.4, 0.2]),
    "equal": lambda: [1.0, 1.0, 1.0],
    "one": lambda: [0.5],
    "with a NaN": lambda: [0.1, float("nan"), 0.3, 0.2],
    "all NaN": lambda: [float("nan")] * 3,
    "with Inf": lambda: [0.1, float("inf")],
    "large": lambda: [1e308, -1e308, 1e308],
    "words": lambda: ["a", "b"],
    "numbers as words": lambda: ["0.1", "0.2"],
    "a matrix": lambda: [[0.1], [0.2]],
    **ANYTHING,
}

TABLES: Pool = {
    "two methods": lambda: {"ours": [0.1, 0.3, 0.2], "theirs": [0.4, 0.5, 0.9]},
    "of other lengths": lambda: {"ours": [0.1, 0.3], "theirs": [0.4, 0.5, 0.9]},
    "words": lambda: {"ours": ["a", "b"], "theirs": ["c", "d"]},
    "a word": lambda: {"ours": "better"},
    "by number": lambda: {1: [0.1, 0.2]},
    "nothing": dict,
    **ANYTHING,
}

BOOTSTRAPS: Pool = {"None": lambda: None, "few": lambda: Bootstrap(resamples=20), **ANYTHING}
BETTER: Pool = {"higher": lambda: "higher", "lower": lambda: "lower", **ANYTHING}
AGAINST: Pool = {"None": lambda: None, "theirs": lambda: "theirs", **ANYTHING}

BOX = Box("dog", 1, 1, 4, 4)
TRUTHS: Pool = {
    "masks": lambda: photos(2, 6, 6) > 0.5,
    "empty masks": lambda: torch.zeros(2, 6, 6, dtype=torch.bool),
    "boxes": lambda: [[BOX], [BOX]],
    "annotations": lambda: [Annotation((BOX,), (6, 6))] * 2,
    "one box": lambda: BOX,
    "numbers": lambda: photos(2, 6, 6),
    **ANYTHING,
}
LABELS: Pool = {"None": lambda: None, "dogs": lambda: ["dog", "dog"], "three": lambda: ["dog"] * 3, **ANYTHING}
THRESHOLDS: Pool = {"of maximum": OfMaximum, "top": TopPixels, "otsu": Otsu, **ANYTHING}

PHOTO_LISTS: Pool = {
    "photos": photos,
    "a list": lambda: [np.zeros((6, 6, 3))] * 2,
    "PIL": lambda: [Image.new("L", (6, 6))] * 2,
    "one": lambda: photos(3, 6, 6),
    **ANYTHING,
}
RESULTS: Pool = {
    "two": lambda: {"a": np.ones((2, 6, 6)), "b": photos(2, 6, 6)},
    "an attribution": lambda: {"a": MAPS["an attribution"]()},
    "words": lambda: {"a": "map"},
    "by number": lambda: {1: np.ones((2, 6, 6))},
    "a list": lambda: [np.ones((2, 6, 6))],
    "of one": lambda: {"a": np.ones((1, 6, 6))},
    **ANYTHING,
}
SHADES: Pool = {"grey": samp.plots.Grey, "signed": samp.plots.Signed, "glow": samp.plots.Glow, **ANYTHING}
SIZES: Pool = {"6": lambda: 6, "1": lambda: 1, "0": lambda: 0, "array": lambda: np.array(3), **ANYTHING}
SHARES: Pool = {"0.2": lambda: 0.2, "1": lambda: 1, "0": lambda: 0, **ANYTHING}
COUNTS: Pool = {"4": lambda: 4, "1": lambda: 1, **ANYTHING}
METHOD_LISTS: Pool = {
    "two": lambda: ["ig", "random"],
    "by label": lambda: {"ours": "samp++"},
    "twice": lambda: ["ig", "ig"],
    "unknown": lambda: ["nope"],
    "classes": lambda: [samp.IG],
    "by number": lambda: {1: "ig"},
    "one name": lambda: "ig",
    **ANYTHING,
}
