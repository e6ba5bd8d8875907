"""The only list of experiments: the paper's tables, its figures, and what goes beyond it, in the order of the report.

An entry here makes the command `samp bench NAME`, adds the experiment to `samp bench list` and `samp bench all`, and
gives it a section in the report. No experiment is imported until it is loaded, so that `samp bench --help` stays quick.

>>> list(EXPERIMENTS)[:3], load_experiment("table1").title
(['table1', 'table2', 'table3'], 'Table 1: Deletion and Insertion of 13 methods')
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from samp.lookup import look_up

if TYPE_CHECKING:
    from samp_lab.experiment import Experiment


@dataclass(frozen=True)
class Registration:
    """Where an experiment is defined, as "module:ATTRIBUTE", and its line in `samp bench --help`."""

    location: str
    summary: str
    group: Literal["paper", "beyond"] = "paper"


EXPERIMENTS: dict[str, Registration] = {
    "table1": Registration("samp_lab.tables.table1:TABLE1", "Table 1: Deletion and Insertion of 13 methods."),
    "table2": Registration("samp_lab.tables.table2:TABLE2", "Table 2: ablation of IC and MS."),
    "table3": Registration("samp_lab.tables.table3:TABLE3", "Table 3: the upper bound η."),
    "table4": Registration("samp_lab.tables.table4:TABLE4", "Table 4: the direction of the path."),
    "table6": Registration("samp_lab.tables.table6:TABLE6", "Table 6: the choice of baselines."),
    "table7": Registration("samp_lab.tables.table7:TABLE7", "Table 7: μFidelity, pointing game and seconds."),
    "table8": Registration("samp_lab.tables.table8:TABLE8", "Table 8: the Shapley methods."),
    "concentration": Registration(
        "samp_lab.tables.concentration:CONCENTRATION", "Def. 1: how concentrated the attribution of each path is."
    ),
    "curves": Registration("samp_lab.figures.curves:CURVES", "Fig. intro: deletion and insertion curves."),
    "verification": Registration("samp_lab.figures.verification:VERIFICATION", "Fig. verification: the path of SAMP."),
    "gallery": Registration("samp_lab.figures.gallery:GALLERY", "Fig. gallery: methods side by side."),
    "sensitivity": Registration(
        "samp_lab.figures.sensitivity:SENSITIVITY", "Fig. Sensitivity-N: completeness against β."
    ),
    "momentum": Registration("samp_lab.figures.momentum:MOMENTUM", "Fig. λ: the momentum coefficient."),
    "baselines": Registration("samp_lab.figures.baselines:BASELINES", "Fig. baselines: maps under other baselines."),
    "eta": Registration("samp_lab.figures.eta:ETA", "Fig. η: maps under other upper bounds."),
    "counting": Registration("samp_lab.figures.counting:COUNTING", "Fig. counting: the blue-pixel counting model."),
    "confidence": Registration(
        "samp_lab.figures.confidence:CONFIDENCE", "Fig. confidence: maps at high and low confidence."
    ),
    "shapley": Registration("samp_lab.figures.shapley:SHAPLEY", "Fig. Shapley: maps of the Shapley methods."),
    "mosaics": Registration(
        "samp_lab.figures.mosaics:MOSAICS", "Fig. multi-label: mosaics of digits, one map per class."
    ),
    "fine-grained": Registration("samp_lab.figures.fine_grained:FINE_GRAINED", "Fig. CUB: image × class."),
    "ours": Registration(
        "samp_lab.tables.coupled_ranking:OURS", "Beyond the paper: the coupled walk against all others.", "beyond"
    ),
    "transfer": Registration(
        "samp_lab.tables.transfer:TRANSFER", "Beyond the paper: maps of one net judged by another.", "beyond"
    ),
    "budget": Registration(
        "samp_lab.figures.budget:BUDGET", "Beyond the paper: quality against 7 to 112 gradients an image.", "beyond"
    ),
    "rematch": Registration(
        "samp_lab.tables.diffid_rematch:REMATCH",
        "Beyond the paper: the path methods published since, under DiffID.",
        "beyond",
    ),
    "transformer": Registration(
        "samp_lab.tables.transformer:TRANSFORMER_RANKING",
        "Beyond the paper: a vision transformer, and the methods made for those.",
        "beyond",
    ),
    "optimum": Registration(
        "samp_lab.theory.optimum_table:OPTIMUM",
        "Beyond the paper: how far paths are from the exact optimum of Eq. 5.",
        "beyond",
    ),
    "theory": Registration(
        "samp_lab.theory.propositions:THEORY",
        "Beyond the paper: Prop. 1 and 2, simulated and on random orders of real nets.",
        "beyond",
    ),
}
SETS = {
    "paper": "All tables and figures of the paper.",
    "beyond": "All that goes beyond the paper.",
    "all": "Both.",
}
"""Experiments that are run together, each set with its line in `samp bench --help`."""


def load_experiment(name: str) -> Experiment:
    """Import and return the experiment of this name; raise ValueError for an unknown one.

    >>> load_experiment("table2").setups[0]
    'imagenet/resnet50'
    """
    module, _, attribute = look_up(name, EXPERIMENTS, "experiment").location.partition(":")
    experiment: Experiment = getattr(import_module(module), attribute)
    if experiment.name != name:  # figures and remarks are files of the experiment's own name
        raise ValueError(
            f"{module}:{attribute} is registered as {name!r} but its name is {experiment.name!r}: use one name."
        )
    return experiment


def load_experiments(name: str = "all") -> list[Experiment]:
    """Import and return the experiments of a set (`SETS`), or the one of this name, in the order of the report.

    >>> [experiment.name for experiment in load_experiments("beyond")]
    ['ours', 'transfer', 'budget', 'rematch', 'transformer', 'optimum', 'theory']
    """
    if name not in SETS:
        return [load_experiment(name)]
    return [load_experiment(one) for one, entry in EXPERIMENTS.items() if name in ("all", entry.group)]
