"""The matrix as a page of the documentation."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch

import samp
from samp.methods import names
from samp_lab.matrix.cells import AGREE_BOUND, BATCH_BOUND, SUM_BOUND, Cell, measure_cell
from samp_lab.matrix.families import FAMILIES, make_family

MARKS = {"sums": "✓ Σ", "agrees": "✓ =", "runs": "✓", "wrong": "✗"}

AUTHORS = "tests/methods/test_public_code.py::test_method_equals_its_authors_code"
PROPAGATION = "tests/methods/propagation/test_propagation.py"
GUIDED = "tests/methods/propagation/test_peers.py::test_the_form_of_a_relu_does_not_matter"


class Check(NamedTuple):
    """With what a method's credit is compared, and in which test."""

    what: str
    test: str


CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(
        ("samp", "samp++"),
        Check("Algorithm 1 as printed", "tests/engine/test_walk.py::test_walk_equals_algorithm_1_as_printed"),
    ),
    "blurig": Check(
        "PAIR's package saliency",
        "tests/methods/test_path_methods_peers.py::test_blur_is_saliencys_where_both_take_whole_moves",
    ),
    "guidedig": Check("PAIR's package saliency", "tests/methods/test_path_methods_peers.py::test_guided_is_saliencys"),
    **dict.fromkeys(
        ("spectralig", "ig2", "agi", "geodesicig", "revealig", "fringe"), Check("its authors' public code", AUTHORS)
    ),
    "pwig": Check(
        "the mean of IG over baselines on the line, which it is for the weight t; our reading",
        "tests/methods/test_path_rivals.py::test_pwig_with_weight_t_is_the_mean_over_baselines_on_the_line",
    ),
    "weightedig": Check(
        "the paper's weights computed anew; our reading",
        "tests/methods/test_path_rivals.py::test_weighted_ig_weighs_by_the_features_that_halve_the_score",
    ),
    "mwp": Check(
        "the paper's rule for a convolution",
        f"{PROPAGATION}::test_winning_probabilities_are_those_of_the_paper_on_non_negative_activations",
    ),
    "cmwp": Check(
        "the difference of two maps of MWP",
        f"{PROPAGATION}::test_the_contrast_is_the_map_of_the_class_with_its_last_weights_negated",
    ),
    **dict.fromkeys(
        ("guidedbackprop", "deconvolution"), Check("Captum's for ReLU modules, in any form of the ReLU", GUIDED)
    ),
    "cam": Check(
        "the score without its bias, which it averages to on Swin",
        "tests/methods/test_cam_transformers.py::test_cam_of_swin_averages_to_the_score_without_its_bias",
    ),
    "gradcam": Check(
        "a computation by hand on nets of transformers",
        "tests/methods/test_cam_transformers.py::test_nets_of_transformers_have_the_map_of_a_computation_by_hand",
    ),
    "gradcam++": Check(
        "the paper's formula", "tests/methods/test_cam.py::test_grad_cam_plus_plus_is_the_papers_formula"
    ),
    "attentionrollout": Check(
        "the weights that transformers returns",
        "tests/methods/test_attention.py::test_rollout_is_the_product_of_the_weights_that_transformers_returns",
    ),
    "attentionrelevance": Check(
        "the weights that transformers returns, and their gradients",
        "tests/methods/test_attention.py::test_relevance_is_the_sum_over_the_weights_and_gradients_of_transformers",
    ),
    "smoothgrad": Check(
        "Captum's in the mean, as draws differ",
        "tests/methods/test_rise.py::test_smoothgrad_agrees_with_captum_in_the_mean",
    ),
    "rise": Check(
        "the mean of masks computed anew",
        "tests/methods/test_rise.py::test_rise_is_the_mean_of_masks_weighted_by_the_score_they_leave",
    ),
    "xrai": Check("PAIR's package saliency", "tests/methods/test_xrai.py::test_equals_the_authors_implementation"),
    "lime": Check(
        "the weights of linear models",
        "tests/methods/test_captum_adapters.py::test_lime_finds_the_weights_of_a_linear_model_at_any_scale",
    ),
    "sobel": Check("SciPy's edges", "tests/methods/test_sobel.py::test_the_edges_are_those_of_scipy"),
}
Matrix = Mapping[str, Mapping[str, Cell]]
"""By method and family."""


def measure_matrix(methods: Iterable[str] = (), families: Iterable[str] = ()) -> dict[str, dict[str, Cell]]:
    """Return the cells of these methods on these families, of all if none are named."""
    chosen = list(methods) or names()
    made = {name: make_family(name) for name in (list(families) or FAMILIES)}
    return {method: {name: measure_cell(method, family) for name, family in made.items()} for method in chosen}


def write_page(matrix: Matrix) -> str:
    """Return the page: what the marks mean, the matrix, and every refusal in its own words."""
    families = list(next(iter(matrix.values())))
    notes: dict[str, int] = {}
    lines = [
        "# Which method explains which model",
        "",
        "Made by `samp bench matrix` "
        f"(samp {samp.__version__}, torch {torch.__version__}, Python {platform.python_version()}); "
        "every cell is one or more calls of `samp.explain` or `samp.text.explain` on a small seeded net of that "
        "family, in float64. It says that a method works, not how good its maps are, nor that a sum of many steps is "
        "close: [how well each method sums](completeness.md) on real nets is another page.",
        "",
        f"- **✓ Σ**: the credit sums to the change of the score, to {SUM_BOUND:g} of it or better; of LRP, AttnLRP "
        "and LibraGrad to the score less what they say that biases absorb, to as little of the credit's size.",
        f"- **✓ =**: the credit is that of Captum, to {AGREE_BOUND:g} of its largest entry or better (IG: of its "
        "trapezoids, whose weights sum to (n − 1)/n, scaled to 1); of occlusion, ablation and CAM, that of their "
        "definition. Scores are read off the nets without samp.",
        f"- **✓**: the credit is finite, not constant, and the same (to {BATCH_BOUND:g}) for a sample explained alone; "
        "but for LIME, whose draws depend on the largest number of superpixels among the images of a call. Where else "
        "these methods are checked stands [below](#where-plain-ticks-are-checked).",
        "- **a number**: the method refuses; what it says stands below.",
        f"- **✗**: a crash, a sum that does not hold, a credit other than its peer's: {len(find_wrong(matrix))} cells.",
        "",
        "| method | " + " | ".join(families) + " |",
        "|---" * (len(families) + 1) + "|",
    ]
    for method, row in matrix.items():
        lines.append(f"| `{method}` | " + " | ".join(_mark(row[name], notes) for name in families) + " |")
    plain = [method for method, row in matrix.items() if any(cell.state == "runs" for cell in row.values())]
    lines += [
        "",
        "## Where plain ticks are checked",
        "",
        "Against other code or a computation of its own, on other nets:",
        "",
    ]
    lines += [f"- `{method}`: {CHECKS[method].what} (`{CHECKS[method].test}`)" for method in plain if method in CHECKS]
    lines += ["", "## What the refusals say", ""]
    lines += [f"{number}. {_escape(note)}" for note, number in notes.items()]
    return "\n".join(lines) + "\n"


def find_wrong(matrix: Matrix) -> list[str]:
    """Return a line for each cell that is wrong: a crash, a broken sum, another credit than its peer's.

    >>> find_wrong({"ig": {"tabular": Cell("sums"), "ViT": Cell("wrong", "the credit does not sum", 0.5)}})
    ['ig on ViT: the credit does not sum (0.5)']
    """
    return [
        f"{method} on {family}: {cell.note} ({cell.size:.2g})"
        for method, row in matrix.items()
        for family, cell in row.items()
        if cell.state == "wrong"
    ]


def _mark(cell: Cell, notes: dict[str, int]) -> str:
    if cell.state != "refuses":
        return MARKS[cell.state]
    return str(notes.setdefault(cell.note, len(notes) + 1))


def _escape(note: str) -> str:
    return note.replace("<", "\\<").replace("|", "\\|").replace("*", "\\*")
