"""Measure the panel net by net, and keep each net as soon as it is done."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

import samp
from samp.lookup import look_up
from samp.metrics import Panel
from samp_lab.bench.machine import describe_machine
from samp_lab.leaderboard.results_file import FILE, NetResult, PanelResults, read_results, write_results
from samp_lab.panel_judges import AGAIN, SETS
from samp_lab.runner import FailedMeasurement, Say, error_line
from samp_lab.setups import TRANSFORMER

NETS = ("mobilenet_v2", "squeezenet1_1", "resnet50", "efficientnet_lite0", TRANSFORMER, "planted")
"""The truth about "planted" is known."""
SIZED = ("again", "boxes", "grids", "planted")
"""Image sets that may have fewer images than `photos` asks for."""


@dataclass(frozen=True)
class LeaderboardOptions:
    """The settings of a panel: how many photos, which methods, on which device, and where the data is.

    >>> LeaderboardOptions(photos=3).describe()
    {'photos': 3, 'methods': None, 'seed': 0}
    """

    photos: int = 100
    methods: tuple[str, ...] | None = None
    """Names of the leaderboard's methods (`samp_lab.panel_methods.METHODS`); None for all of them."""
    device: str = "cpu"
    data: Path | None = None
    seed: int = 0
    others: tuple[str, ...] | None = None
    """Nets that judge the maps of another; None for those of the leaderboard."""
    without: tuple[str, ...] = ()
    """Image sets, and judges that explain again, that are left out (`samp_lab.panel_judges.SETS`, `AGAIN`)."""
    images: tuple[tuple[str, int], ...] = ()
    """Of which image sets to take this many images at most: ("again", 8), ("boxes", 40), ("grids", 2)."""

    def __post_init__(self) -> None:
        if self.photos < 1:
            raise ValueError(f"photos is a number of at least 1, not {self.photos}.")
        for name in self.without:
            look_up(name, dict.fromkeys((*SETS, *AGAIN)), "part of the panel")
        for name in (chosen := [name for name, _ in self.images]):
            look_up(name, dict.fromkeys(SIZED), "image set")
            if chosen.count(name) > 1:
                raise ValueError(f"`images` has {name} more than once: give one number.")

    def describe(self) -> dict[str, Any]:
        """Return what the numbers depend on, as panel.json keeps it; a net with the same is not measured again."""
        kept = {"photos": self.photos, "methods": self.methods and list(self.methods), "seed": self.seed}
        rest = {
            "others": self.others and list(self.others),
            "without": sorted(self.without),
            "images": dict(sorted(self.images)),
        }
        return kept | {key: value for key, value in rest.items() if value}


Measured = Panel | Mapping[str, Any]
"""A panel; or {"panel": it, "gradients": {method: mean}, and whatever else is to be known}, as a net of panel.json."""
MeasurePanel = Callable[[str, LeaderboardOptions], Measured]


def measure_nets(
    nets: Sequence[str],
    options: LeaderboardOptions,
    folder: Path,
    *,
    measure: MeasurePanel | None = None,
    command: str = "",
    say: Say = print,
) -> list[FailedMeasurement]:
    """Measure the panel on each net and write panel.json after each; return what failed.

    Nets that the file has already, measured with the same options, are kept; so are other nets in it. If `measure` is
    left out, `samp_lab.panel_run` measures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    results = read_results(path) if path.is_file() else PanelResults({})
    failed = []
    for net in dict.fromkeys(nets):
        kept = results.nets.get(net)
        if kept is not None and kept.facts.get("asked") == options.describe():
            say(f"{net}: kept from {path}")
            continue
        try:
            found = as_result(net, (measure or measure_net)(net, options), options)
        except Exception as error:  # the other nets are worth having
            failed.append(FailedMeasurement(net, f"the panel on {net}", error_line(error)))
            continue
        found = replace(found, facts={**found.facts, **describe_run(options.device, command)})
        results = PanelResults({**results.nets, net: found}, results.about)
        write_results(path, results)
        say(f"{net}: methods {len(found.panel.methods)}, judges {len(found.panel.criteria)}")
    return failed


def as_result(net: str, measured: Measured, options: LeaderboardOptions) -> NetResult:
    """Return what was measured on a net as panel.json keeps it; raise TypeError if it is no panel.

    >>> as_result("resnet50", Panel((), {}), LeaderboardOptions(photos=3)).facts["photos"]
    3
    """
    given: dict[str, Any] = {"panel": measured} if isinstance(measured, Panel) else {**measured}
    panel = given.pop("panel", None)
    if isinstance(panel, Mapping):
        panel = Panel.from_json(panel)
    if not isinstance(panel, Panel):
        raise TypeError(f"measuring the panel on {net} gave {type(panel).__name__}, and not a samp.metrics.Panel.")
    gradients = {name: float(count) for name, count in dict(given.pop("gradients", {})).items()}
    return NetResult(net, panel, gradients, {"photos": options.photos} | given | {"asked": options.describe()})


def describe_run(device: str, command: str) -> dict[str, Any]:
    """Return the machine, the command and the versions of a run.

    >>> sorted(describe_run("cpu", "samp bench panel"))
    ['command', 'machine', 'versions']
    """
    versions = {"samp": samp.__version__, "torch": torch.__version__, "python": platform.python_version()}
    return {"machine": describe_machine(device), "command": command, "versions": versions}


def measure_net(net: str, options: LeaderboardOptions) -> dict[str, Any]:
    """Return the panel on a net with its gradients, seconds and numbers of images; fewer photos mean less of all.

    Raises ValueError without a folder of data.
    """
    if options.data is None:
        raise ValueError("the panel needs photos and nets: give the folder of the data as `data`.")
    from samp_lab.panel_run import PanelOptions, measure_panel  # its nets and data sets take a while to import

    usual = PanelOptions(options.data)
    sizes = {name: min(getattr(usual, name), options.photos) for name in ("again", "boxes", "planted")}
    sizes |= {name: min(getattr(usual, name), max(options.photos // 4, 1)) for name in ("grids", "separate_grids")}
    sizes |= {name: min(sizes[name], count) for name, count in options.images}
    sizes["separate_grids"] = min(sizes["separate_grids"], sizes["grids"])
    own = replace(
        usual,
        device=options.device,
        photos=options.photos,
        seed=options.seed,
        methods=usual.methods if options.methods is None else options.methods,
        others=usual.others if options.others is None else options.others,
        sets=[one for one in SETS if one not in options.without],
        again_judges=[one for one in AGAIN if one not in options.without],
        **sizes,
    )
    found = measure_panel(net, own)
    return {
        "panel": found.panel,
        "gradients": found.gradients,
        "photos": found.images.get("photos"),
        "images": dict(found.images),
        "seconds": dict(found.seconds),
        **({"refused": dict(found.refused)} if found.refused else {}),
        **({"speeds": dict(found.speeds)} if found.speeds else {}),
        **({"alike": {name: asdict(one) for name, one in found.alike.items()}} if found.alike else {}),
    }
