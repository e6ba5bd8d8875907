"""Transfer: maps found on one net, judged by others, to see that they are not merely adversarial to their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from samp.attribution import Attribution
from samp.engine.inputs import Inputs
from samp.metrics.deletion_insertion import Curves, GivenProtocol, deletion_insertion
from samp.metrics.maps import Maps
from samp.targets import Target


def transfer(
    judges: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    inputs: Inputs | Mapping[str, Inputs],
    maps: Maps | Mapping[str, Maps],
    target: Target | Mapping[str, Target] = None,
    protocol: GivenProtocol = None,
    **settings: Any,
) -> dict[str, Curves]:
    """Deletion, insertion and their difference of these maps by each judge, under its name.

    - `judges`: other nets by name; a single one goes by the name of its class.
    - `inputs`: the images as every judge takes them, or by its name, where one wants another preprocessing. Maps may be
      given by name too, for judges of another image size.
    - `target`: the class that the maps explain, for all judges or by name. An `Attribution` knows its own; with other
      maps it must be given, since what a judge predicts may be another class.
    - `protocol`, `settings`: as in `deletion_insertion`.

    >>> import samp, torch
    >>> finder, judge = (torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3)).eval() for _ in range(2))
    >>> x = torch.rand(2, 1, 4, 4)
    >>> found = samp.explain(finder, x)
    >>> curves = transfer({"own": finder, "other": judge}, x, found, protocol="rise")
    >>> list(curves), curves["other"].difference.shape
    (['own', 'other'], torch.Size([2]))
    """
    named = judges if isinstance(judges, Mapping) else {type(judges).__name__: judges}
    if not named:
        raise ValueError("there are no judges: give at least one net.")
    for what, given in (("maps", maps), ("inputs", inputs), ("target", target)):
        _check_names(what, given, named)
    return {
        name: _measure_one(name, judge, (maps, inputs, target, protocol), settings) for name, judge in named.items()
    }


def _measure_one(name: str, judge: Callable[..., Any], asked: tuple[Any, ...], settings: Mapping[str, Any]) -> Curves:
    maps, inputs, target = (_entry_for(name, given) for given in asked[:3])
    if target is None and not isinstance(maps, Attribution):
        raise ValueError("the maps do not say which class they explain: pass target=…, the same for every judge.")
    return deletion_insertion(judge, inputs, maps, target, asked[3], **settings)


def _entry_for(name: str, given: Any) -> Any:
    """What is given for this judge, or for all."""
    return given[name] if isinstance(given, Mapping) else given


def _check_names(what: str, given: Any, judges: Mapping[str, Any]) -> None:
    missing = [name for name in judges if name not in given] if isinstance(given, Mapping) else []
    if missing:
        raise ValueError(f"{what} has no entry for {', '.join(missing)}: give one for each judge, or one for all.")
