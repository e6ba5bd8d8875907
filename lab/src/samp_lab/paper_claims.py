"""The claims of the paper, each once, in the order of its text: experiments judge them, the report begins with them.

A verdict names its claim by `Verdict.part`. Several verdicts may belong to one claim: it holds where all of them do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperClaim:
    """A claim in the paper's words, and where it stands.

    >>> CLAIMS["outperforms-all"].where
    'Table 1'
    """

    words: str
    where: str
    in_most_cases: bool = False
    """Whether the paper claims it of most cases: it then holds where more than half of its comparisons do."""


CLAIMS: dict[str, PaperClaim] = {
    "concentration": PaperClaim("the path concentrates the attribution (largest variance, Def. 1)", "Def. 1"),
    "sparse": PaperClaim("interpretations are sparse, where IG spreads attribution over most pixels", "Introduction"),
    "path-count": PaperClaim("there are d!/(s!)^n manipulation paths", "Eq. 4"),
    "proof-algebra": PaperClaim("|Σ| = σ^(d−1)/d, Σ⁻¹ = (I + 11ᵀ)/σ, and Prop. 1 follows", "Prop. 1, 2"),
    "appendix-remarks": PaperClaim(
        "the factor between Eq. 6 and 7 is exp(a_d²/2σ); a norm of Σ − σI is always 1", "Appendix"
    ),
    "brownian": PaperClaim("the allocation of attribution is a Brownian motion", "Ass. 1"),
    "last-credit": PaperClaim("the last allocated a_d is approximately zero", "Prop. 2"),
    "early-rise": PaperClaim(
        "a rapid rise at the start; the first 25 % of the path pinpoint the subject", "Fig. verification"
    ),
    "small-drop": PaperClaim("a small drop at the end", "Fig. verification"),
    "curve-shapes": PaperClaim("curves of IG, XRAI and Grad-CAM are nearly straight lines", "Fig. intro"),
    "outperforms-all": PaperClaim("SAMP and SAMP++ outperform all other methods on three data sets", "Table 1"),
    "improves": PaperClaim("SAMP++ improves significantly on SAMP in most cases", "Table 1", in_most_cases=True),
    "completeness": PaperClaim("IC ensures completeness: as η falls, Σa approaches Δy", "Fig. Sensitivity-N"),
    "momentum-matters": PaperClaim("the improvement comes mainly from MS", "Table 2"),
    "best-lambda": PaperClaim("λ ≈ 0.3 is best", "Fig. λ"),
    "constraint-neutral": PaperClaim("IC has no significant impact on Deletion and Insertion", "Tables 2, 3"),
    "finer": PaperClaim("maps get finer as η falls", "Fig. η"),
    "baselines": PaperClaim(
        "baselines matter little for contours, much for metrics; B+G is best", "Fig. baselines, Table 6"
    ),
    "directions": PaperClaim(
        "x^T → x⁰ has the best Deletion, x⁰ → x^T the best Insertion, both are between", "Table 4"
    ),
    "fidelity": PaperClaim("SAMP++ is competitive by μFidelity", "Table 7"),
    "pointing": PaperClaim("RISE points best; SAMP++ better than IG, Blur IG and Guided IG", "Table 7"),
    "time": PaperClaim("SAMP++ is slower than SmoothGrad, RISE, IG, Blur IG and CAM, faster than Guided IG", "Table 7"),
    "shapley": PaperClaim("SAMP++ is better and faster than ApproShapley and Deep SHAP", "Table 8"),
    "confidence": PaperClaim("maps are concentrated at high confidence and scattered at low", "Fig. confidence"),
    "counting": PaperClaim("a counting model gets consistent attributions", "Fig. counting"),
    "multi-label": PaperClaim("in mosaics, a class is attributed to its own digit", "Fig. multi-label"),
    "fine-grained": PaperClaim("the own class is attributed more than others", "Fig. CUB"),
}
