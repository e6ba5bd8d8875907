"""Metrics of maps from anywhere; the definition that a number was measured by travels with its result.

A metric is a pure function that returns one number per sample (b); `Running` makes an accumulator of any of them.

To add a metric:

1. Write it in a file of its own in `samp/metrics/`, and export it in this one.
2. For `samp.metrics.panel`: add a `Judge` that calls it to `JUDGES` of `samp/metrics/judges.py`.
3. For `samp.compare` and `samp compare`: add a `Column` that calls it to `COLUMNS` of `samp/compare_columns.py`.
4. For `samp run`: add its name to `COLUMNS` of `samp/batch/tables.py`, its values to `samp/batch/explainer.py`.
5. For `samp report`: add a `Quantity` with that name to `QUANTITIES` of `samp/html/report_facts.py`.

>>> import samp
>>> [name for name in samp.metrics.PROTOCOLS if "authors" not in name]
['mnist', 'cifar10', 'imagenet', 'rise', 'diffid', 'diffid-channel-means', 'diffid-signed', 'road']
"""

from __future__ import annotations

from samp.annotations import Annotation, Box, crop_boxes, read_coco, read_voc, read_yolo
from samp.metrics.accumulate import Running, RunningGame
from samp.metrics.completeness import Completeness, completeness, completeness_of
from samp.metrics.concentration import Concentration, concentration, gini, top_share, variance
from samp.metrics.credit_on_objects import Energy, auroc, energy, precision
from samp.metrics.deletion_insertion import Curves, deletion_insertion
from samp.metrics.difull import SeparateCells, difull
from samp.metrics.explain_maps import explain_maps_by
from samp.metrics.fills import ChannelMeans, RemainingMean, RISEBlur
from samp.metrics.grid_pointing import GridPointing, Grids, grid_pointing, make_grids
from samp.metrics.imputation import NoisyLinear
from samp.metrics.infidelity import Hidden, Infidelity, Noise, infidelity
from samp.metrics.intervals import Bootstrap
from samp.metrics.judge import Criterion, Judge, PanelTask
from samp.metrics.judges import JUDGES
from samp.metrics.map_agreement import MapAgreement, map_agreement
from samp.metrics.moments import Correlation, Moments
from samp.metrics.mu_fidelity import MuFidelity, grid, mu_fidelity
from samp.metrics.panel import panel
from samp.metrics.panel_result import MeanRank, Panel, join_panels
from samp.metrics.pointing_game import PointingGame, is_difficult, join_games, pointing_game
from samp.metrics.protocols import PROTOCOLS, Protocol
from samp.metrics.randomisation import (
    ComplexityRise,
    Randomisation,
    RandomLogit,
    complexity_rise,
    random_logit,
    randomisation,
)
from samp.metrics.segmentation import Localisation, OfMaximum, Otsu, Segmentation, TopPixels, localisation, segmentation
from samp.metrics.sensitivity_n import (
    CompletenessCheck,
    SensitivityN,
    completeness_check,
    completeness_correlation,
    sensitivity_n,
)
from samp.metrics.single_deletion import SingleDeletion, sds
from samp.metrics.stability import Stability, seed_stability, stability
from samp.metrics.statistics import Comparison, Summary, compare_pairs, holm, summarise, table
from samp.metrics.transfer import transfer

__all__ = [
    "JUDGES",
    "PROTOCOLS",
    "Annotation",
    "Bootstrap",
    "Box",
    "ChannelMeans",
    "Comparison",
    "Completeness",
    "CompletenessCheck",
    "ComplexityRise",
    "Concentration",
    "Correlation",
    "Criterion",
    "Curves",
    "Energy",
    "GridPointing",
    "Grids",
    "Hidden",
    "Infidelity",
    "Judge",
    "Localisation",
    "MapAgreement",
    "MeanRank",
    "Moments",
    "MuFidelity",
    "Noise",
    "NoisyLinear",
    "OfMaximum",
    "Otsu",
    "Panel",
    "PanelTask",
    "PointingGame",
    "Protocol",
    "RISEBlur",
    "RandomLogit",
    "Randomisation",
    "RemainingMean",
    "Running",
    "RunningGame",
    "Segmentation",
    "SensitivityN",
    "SeparateCells",
    "SingleDeletion",
    "Stability",
    "Summary",
    "TopPixels",
    "auroc",
    "compare_pairs",
    "completeness",
    "completeness_check",
    "completeness_correlation",
    "completeness_of",
    "complexity_rise",
    "concentration",
    "crop_boxes",
    "deletion_insertion",
    "difull",
    "energy",
    "explain_maps_by",
    "gini",
    "grid",
    "grid_pointing",
    "holm",
    "infidelity",
    "is_difficult",
    "join_games",
    "join_panels",
    "localisation",
    "make_grids",
    "map_agreement",
    "mu_fidelity",
    "panel",
    "pointing_game",
    "precision",
    "random_logit",
    "randomisation",
    "read_coco",
    "read_voc",
    "read_yolo",
    "sds",
    "seed_stability",
    "segmentation",
    "sensitivity_n",
    "stability",
    "summarise",
    "table",
    "top_share",
    "transfer",
    "variance",
]
