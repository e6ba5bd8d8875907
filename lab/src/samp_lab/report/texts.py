"""The fixed texts of every report."""

from __future__ import annotations

from collections.abc import Mapping

from samp_lab.sections import State

TITLE = "Path choice matters, measured again"
LEAD = (
    "The tables and figures of “Path Choice Matters for Clear Attribution in Path Methods” (ICLR 2024), measured again "
    "with samp. Page one has every claim of the paper once; the tables and figures follow, with our values beside the "
    "paper's, and then all that fails or stays open. Claims about our own method stand apart, behind them."
)
# Markdown of remarks, for its link.
READINGS = (
    "“text” is the paper read by its words. “authors” follows the benchmark that its first author published "
    "([zbr17/ExplainAttr](https://github.com/zbr17/ExplainAttr), March 2023) wherever that does otherwise; “≠ by "
    "reading” is a claim on which the two disagree. A claim holds where every comparison behind it does, and one of "
    "most cases where more than half do. “Other nets” are those that the paper did not use, and further training "
    "seeds: they decide a claim only where its experiment has no test bed with the paper's net. The paper's letters "
    "are explained under “How to read it”."
)
TABLES, FIGURES, OWN = "The paper's tables", "The paper's figures and theory", "Our own method"
OWN_LEAD = (
    "What follows is not in the paper: methods of ours, measured by the same rules, and where rivals are ahead of them."
)
SIGNS: Mapping[State, str] = {"fails": "✗", "open": "?", "holds": "✓", "missing": "–"}
"""In the order in which reports show them."""
STATES: Mapping[State, str] = {"fails": "fails", "open": "open", "holds": "holds", "missing": "not measured"}
PLURALS: Mapping[State, str] = {"fails": "fail", "open": "open", "holds": "hold", "missing": "not measured"}
HEADINGS: Mapping[State, str] = {"fails": "What fails", "open": "What stays open"}
ANCHORS: Mapping[State, str] = {"fails": "what-fails", "open": "what-is-open"}
MEANINGS = (
    (
        "the paper's letters",
        "x^T is the image and x⁰ the baseline; a_d is the credit of the last feature to move, Σa the sum of all "
        "credit, and Δy the change of the score, which that sum should equal (completeness). IC, the infinitesimal "
        "constraint, lets no step be longer than the share η = 1/β of the walk; MS, the momentum strategy, mixes each "
        "gradient with those before it, by λ; SAMP++ is SAMP with both. B+G means black as the baseline for Deletion "
        "and the blurred image for Insertion.",
    ),
    ("✓ holds", "The difference has the sign that is claimed, its interval excludes zero, and p is below 0.05."),
    ("? open", "Neither ✓ nor ✗: so many images cannot tell which way it goes."),
    ("✗ fails", "The difference has the other sign, its interval excludes zero, and p is below 0.05."),
    (
        "mean ± deviation",
        "The mean over images, and their standard deviation: how images differ, not how sure the mean is.",
    ),
    (
        "[low, high]",
        "A 95 % bootstrap interval over images: BCa for a mean and for a mean difference on the same images, between "
        "percentiles for all else. It tells how the choice of images moves a number, not what another net would give.",
    ),
    (
        "p",
        "Of Wilcoxon's signed-rank test, two-sided. Holm's p is corrected for all tests of one claim on one test bed; "
        "other p, and intervals, are not corrected: of those where nothing is there, about one in twenty would show "
        "something.",
    ),
    (
        "difference",
        "Ours less the paper's. Nets and images are not the paper's own, so signs and orders say more than this.",
    ),
    (
        "seconds",
        "Of one image, from timing.json, with images in batches on the machine named below. They differ from run to "
        "run; all other numbers do not.",
    ),
    ("bold", "The best mean of its column. The arrow tells which way is better: ↓ lower, ↑ higher."),
)
