"""panel.json: what the panel measured on each net, and how it was made.

{"nets": {NET: {"panel": Panel.to_json(), "gradients": {METHOD: mean of an image}, "photos": 100,
                "machine": …, "command": …, "versions": {…}, …}},
 "ours": [METHOD, …]}

Machine, command and versions may also stand beside the nets: those of every net that has none of its own. `ours` names
the methods that are samp's own; without it they are those whose names begin as the names of ours do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samp.metrics import Panel
from samp_lab.setups import NET_TITLES
from samp_lab.store import write_json

FILE = "panel.json"
OWN_METHODS = ("consensus", "coupled")
DIGITS = 9  # significant, of a stored score: as many as tell all float32 numbers apart


@dataclass(frozen=True, eq=False)
class NetResult:
    """The panel on one net, and the gradients that each method takes for an image.

    >>> NetResult("resnet50", Panel((), {}), {}).title
    'ResNet-50'
    """

    net: str
    panel: Panel
    gradients: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the file says of this net: photos, seconds, settings."""

    @property
    def title(self) -> str:
        """The name of the net in reports."""
        return {**NET_TITLES, "planted": "Net of known truth"}.get(self.net, self.net)

    @property
    def photos(self) -> int | None:
        """The number of photos, if the file says it."""
        return self.facts.get("photos")

    @property
    def refusals(self) -> dict[str, str]:
        """By method that does not apply to the net, why.

        >>> NetResult("resnet50", Panel((), {}), {}).refusals
        {}
        """
        return dict(self.facts.get("refused", {}))


@dataclass(frozen=True, eq=False)
class PanelResults:
    """All of panel.json: the nets in their order, and what was written around them.

    >>> PanelResults({}).is_ours("coupled, fine"), PanelResults({}, {"ours": ["IG"]}).is_ours("coupled, fine")
    (True, False)
    """

    nets: Mapping[str, NetResult]
    about: Mapping[str, Any] = field(default_factory=dict)

    def is_ours(self, method: str) -> bool:
        """Return whether a method is samp's own."""
        named = self.about.get("ours")
        return method.lower().startswith(OWN_METHODS) if named is None else method in named

    def nets_by(self, name: str) -> dict[str, list[str]]:
        """Return every "machine", "command" or "versions" with the titles of the nets of which it is known.

        >>> first, second = NetResult("a", Panel((), {}), {}, {"machine": "m"}), NetResult("b", Panel((), {}), {})
        >>> PanelResults({"a": first, "b": second}, {"machine": "n"}).nets_by("machine")
        {'m': ['a'], 'n': ['b']}
        """
        found: dict[str, list[str]] = {}
        for one in self.nets.values():
            value = one.facts.get(name, self.about.get(name))
            if isinstance(value, Mapping):
                value = ", ".join(f"{package} {version}" for package, version in value.items())
            if value:
                found.setdefault(str(value), []).append(one.title)
        return found


def read_results(path: Path) -> PanelResults:
    """Return the content of a panel.json; raise FileNotFoundError without one, ValueError if it is another file."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}: measure the panel first, as `samp bench panel` does.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        nets = {net: _read_net(net, entry) for net, entry in record["nets"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no result of samp bench panel ({error}): remove it and measure again.") from error
    return PanelResults(nets, {key: value for key, value in record.items() if key != "nets"})


def write_results(path: Path, results: PanelResults) -> None:
    """Write panel.json, whole or not at all; scores keep nine digits."""
    nets = {net: make_entry(one) for net, one in results.nets.items()}
    write_json(path, {"nets": nets, **results.about})


def make_entry(result: NetResult) -> dict[str, Any]:
    """Return what panel.json says of one net.

    >>> make_entry(NetResult("resnet50", Panel((), {}), {"IG": 50.0}, {"photos": 3}))["gradients"]
    {'IG': 50.0}
    """
    record = result.panel.to_json()
    scores = {
        key: {name: [_shorten(value) for value in values] for name, values in row.items()}
        for key, row in record["scores"].items()
    }
    return {"panel": {**record, "scores": scores}, "gradients": _without_nan(result.gradients), **result.facts}


def _read_net(net: str, entry: Mapping[str, Any]) -> NetResult:
    gradients = {
        name: math.nan if value is None else float(value) for name, value in entry.get("gradients", {}).items()
    }
    facts = {key: value for key, value in entry.items() if key not in ("panel", "gradients")}
    return NetResult(net, Panel.from_json(entry["panel"]), gradients, facts)


def _without_nan(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in numbers.items()}


def _shorten(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
