"""MPRT, the model parameter randomisation test (Adebayo et al., NeurIPS 2018), and what is learnt with less effort.

An explanation of a model depends on its weights. Layers are randomised from the top down, each net keeping the random
layers of the one before it (cascading); the map should lose its similarity with that of the trained model. eMPRT
(Hedström et al., "A Fresh Look at Sanity Checks for Saliency Maps", 2024) needs the fully random model alone: its map
should be more complex. The map of another class should be another map, too (Sixt et al., ICML 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from samp.checks import check_seed, check_whole, is_one_of
from samp.lookup import look_up
from samp.metrics.correlations import spearman
from samp.metrics.explain_maps import ExplainMaps, class_scores, classes_of, image_problem, make_maps
from samp.metrics.map_entropy import map_entropy
from samp.metrics.random_weights import layers_from_the_top, randomised_models
from samp.metrics.ssim import ssim
from samp.targets import Target

INITIALISATIONS = {"he": "he", "torch": "torch"}


@dataclass(frozen=True, eq=False, repr=False)
class Randomisation:
    """How similar each map stays as more and more layers are random (b k; lower is better).

    >>> Randomisation(torch.tensor([[0.5, 0.25]]), torch.tensor([[0.5, 0.125]]), ("fc", "conv"))
    Randomisation(Spearman 0.2500, SSIM 0.1250 with all random down to 'conv', over 1 samples)
    """

    PER_SAMPLE: ClassVar = ("spearman", "ssim")

    spearman: Tensor
    """b k: rank correlation of the maps' sizes |a|; NaN where one of them is constant."""
    ssim: Tensor
    """b k: structural similarity of |a| / max |a|; NaN for maps below 11 × 11 pixels."""
    layers: tuple[str, ...]
    """k: the lowest layer that is random; all above it are random too."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, initialisation, number of layers, seed, device, dtype, versions."""

    def __repr__(self) -> str:
        last = f"Spearman {self.spearman[:, -1].nanmean():.4f}, SSIM {self.ssim[:, -1].nanmean():.4f}"
        return f"Randomisation({last} with all random down to {self.layers[-1]!r}, over {len(self.spearman)} samples)"


@dataclass(frozen=True, eq=False)
class ComplexityRise:
    """How much more complex each map is for the fully random model (b each).

    >>> ComplexityRise(rise=torch.tensor([0.5]), trained=torch.tensor([2.0]), random=torch.tensor([3.0])).rise
    tensor([0.5000])
    """

    PER_SAMPLE: ClassVar = ("rise", "trained", "random")

    rise: Tensor
    """(random − trained) / trained; higher is better, above 0 passes. NaN for a trained map without any spread."""
    trained: Tensor
    """The entropy of the trained model's map, in nats."""
    random: Tensor


@dataclass(frozen=True, eq=False)
class RandomLogit:
    """How similar the map of another class is (b each; lower is better).

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    >>> result = random_logit(net, torch.rand(2, 3, 4, 4), explain_maps_by("gradient"), target=1)
    >>> result.target.tolist(), bool((result.other != 1).all())
    ([1, 1], True)
    """

    PER_SAMPLE: ClassVar = ("spearman", "ssim")

    spearman: Tensor
    ssim: Tensor
    target: Tensor
    other: Tensor
    """The class whose map was compared."""


def randomisation(
    model: nn.Module,
    images: Tensor,
    explain_maps: ExplainMaps,
    target: Target = None,
    *,
    layers: Literal["all", "bottom"] | int = "all",
    initialise: str = "he",
    seed: int = 0,
) -> Randomisation:
    """Return the similarity of each map with those of the model as its layers turn random from the top down (MPRT).

    - `explain_maps`: (model, images, target, seed) → b h w, such as `samp.metrics.explain_maps_by("ig")`.
    - `target`: one class per image; None is what the trained model predicts, for all nets.
    - `layers`: "all" measures after every layer; "bottom" only the fully random net; a number, at so many depths.
    - `initialise`: "he", or "torch" for the defaults of `reset_parameters`; what layers are, and how each is
      initialised, is said in `samp.metrics.random_weights`. The model is copied and left as it is.

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 5)).eval()
    >>> result = randomisation(net, torch.rand(2, 3, 12, 12), explain_maps_by("sobel"))
    >>> result.layers, result.spearman.tolist()  # an edge detector does not pass
    (('3', '0'), [[1.0, 1.0], [1.0, 1.0]])
    """
    how, seed = look_up(initialise, INITIALISATIONS, "initialisation"), check_seed(seed)
    problem = image_problem(model, images, target, seed)
    (x,), classes = problem.inputs, classes_of(problem)
    from_top = layers_from_the_top(model, x)
    depths = _depths(layers, len(from_top))
    original = make_maps(explain_maps, model, x, classes, seed)
    ranks, structures = [], []
    for net in randomised_models(model, x, from_top, depths, how, seed):
        maps = make_maps(explain_maps, net, x, classes, seed)
        ranks.append(spearman(original.abs().flatten(1), maps.abs().flatten(1)))
        structures.append(ssim(_to_unit(original), _to_unit(maps)))
    names = tuple(from_top[depth - 1][0] for depth in depths)
    details = {**problem.describe(), "initialise": how, "layers": len(from_top), "seed": seed}
    return Randomisation(torch.stack(ranks, 1), torch.stack(structures, 1), names, details)


def complexity_rise(
    model: nn.Module,
    images: Tensor,
    explain_maps: ExplainMaps,
    target: Target = None,
    *,
    bins: int = 100,
    initialise: str = "he",
    seed: int = 0,
) -> ComplexityRise:
    """Return the relative rise of each map's entropy from the model to its fully random copy (eMPRT).

    The complexity of a map is the entropy of the histogram of its values, with `bins` bins of equal width between its
    smallest and largest. Other arguments: as in `randomisation`.

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 5)).eval()
    >>> complexity_rise(net, torch.rand(2, 3, 12, 12), explain_maps_by("sobel")).rise.tolist()
    [0.0, 0.0]
    """
    how, seed, count = (
        look_up(initialise, INITIALISATIONS, "initialisation"),
        check_seed(seed),
        check_whole("bins", bins, 2),
    )
    problem = image_problem(model, images, target, seed)
    (x,), classes = problem.inputs, classes_of(problem)
    from_top = layers_from_the_top(model, x)
    (net,) = randomised_models(model, x, from_top, [len(from_top)], how, seed)
    trained, random = (map_entropy(make_maps(explain_maps, one, x, classes, seed), count) for one in (model, net))
    return ComplexityRise(torch.where(trained > 0, (random - trained) / trained, torch.nan), trained, random)


def random_logit(
    model: nn.Module, images: Tensor, explain_maps: ExplainMaps, target: Target = None, *, seed: int = 0
) -> RandomLogit:
    """Return the similarity of each image's map with that of another class, drawn at random.

    Similarity is that of `Randomisation`, of the maps' sizes: a map that merely turns its sign is no other map. The
    draw depends on the seed and the class alone, not on the batch.

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 5)).eval()
    >>> random_logit(net, torch.rand(2, 3, 12, 12), explain_maps_by("sobel")).spearman.tolist()
    [1.0, 1.0]
    """
    seed = check_seed(seed)
    problem = image_problem(model, images, target, seed)
    (x,), classes = problem.inputs, classes_of(problem)
    count = class_scores(problem, seed).shape[1]
    steps = torch.randint(1, count, (count,), generator=torch.Generator().manual_seed(seed)).to(classes.device)
    other = (classes + steps[classes]) % count  # never the class itself
    first, second = (make_maps(explain_maps, model, x, one, seed) for one in (classes, other))
    ranks = spearman(first.abs().flatten(1), second.abs().flatten(1))
    return RandomLogit(ranks, ssim(_to_unit(first), _to_unit(second)), classes, other)


def _to_unit(maps: Tensor) -> Tensor:
    """b h w: |a| / max |a|; a map of zeros stays."""
    sizes = maps.abs()
    largest = sizes.flatten(1).amax(1).view(-1, 1, 1)
    return sizes / largest.where(largest > 0, 1)


def _depths(layers: object, count: int) -> list[int]:
    """Return the numbers of random layers to measure at, rising to all of them."""
    if is_one_of(layers, ("all", "bottom")):
        return [count] if layers == "bottom" else list(range(1, count + 1))
    if isinstance(layers, str):
        raise ValueError(f"layers is 'all', 'bottom' or a number of depths, not {layers!r}.")
    wanted = min(check_whole("layers", layers, 1), count)
    return [count * number // wanted for number in range(1, wanted + 1)]
