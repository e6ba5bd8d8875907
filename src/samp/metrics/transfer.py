"""Transfer: Deletion and Insertion of one net's maps measured on other nets, where adversarial maps fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samp.attribution import Attribution
from samp.engine.inputs import Inputs
from samp.metrics.deletion_insertion import Curves, GivenProtocol, deletion_insertion
from samp.metrics.maps import Maps
from samp.targets import Model, Target


def transfer(
    judges: Model | Mapping[str, Model],
    inputs: Inputs | Mapping[str, Inputs],
    maps: Maps | Mapping[str, Maps],
    target: Target | Mapping[str, Target] = None,
    protocol: GivenProtocol = None,
    **settings: Any,
) -> dict[str, Curves]:
    """Return the curves of these maps on each judge, by its name.

    - `judges`: the nets to measure on, by name; a single one is named by its class.
    - `inputs`: the images for all judges, or {name: images} where judges differ in their preprocessing. Maps may be a
      mapping too, for judges of other image sizes.
    - `target`: the class that the maps explain, for all judges or by name. By default that of an `Attribution`; other
      maps need it, since a judge may predict another class.
    - `protocol`, `settings`: as in `deletion_insertion`.

    >>> import samp, torch
    >>> net, other = (torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3)).eval() for _ in range(2))
    >>> x = torch.rand(2, 1, 4, 4)
    >>> curves = transfer({"own": net, "other": other}, x, samp.explain(net, x), protocol="rise")
    >>> list(curves), curves["other"].difference.shape
    (['own', 'other'], torch.Size([2]))
    """
    named = judges if isinstance(judges, Mapping) else {type(judges).__name__: judges}
    if not named:
        raise ValueError("there are no judges: give at least one net.")
    for what, given in (("maps", maps), ("inputs", inputs), ("target", target)):
        _check_names(what, given, named)
    curves = {}
    for name, judge in named.items():
        own_inputs = inputs[name] if isinstance(inputs, Mapping) else inputs
        own_maps = maps[name] if isinstance(maps, Mapping) else maps
        own_target = target[name] if isinstance(target, Mapping) else target
        if own_target is None and not isinstance(own_maps, Attribution):
            raise ValueError("the maps do not say which class they explain: pass target=…, the same for every judge.")
        curves[name] = deletion_insertion(judge, own_inputs, own_maps, own_target, protocol, **settings)
    return curves


def _check_names(what: str, given: object, judges: Mapping[str, Model]) -> None:
    missing = [name for name in judges if name not in given] if isinstance(given, Mapping) else []
    if missing:
        raise ValueError(f"{what} has no entry for {', '.join(missing)}: give one for each judge, or one for all.")
