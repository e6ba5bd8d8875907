"""The two readings of the paper, as data: its text, and the benchmark that its first author published.

`text` is what the paper says (docs/paper.md). `authors` is what zbr17/ExplainAttr (MIT, March 2023) does where it does
otherwise: nets, inputs, blur and the settings of the rivals. A setup names its reading (`mnist@authors`).
"""

from __future__ import annotations

from samp.methods import Method
from samp_lab.setups import Setup


def method_as_read(method: str | Method, setup: Setup) -> str | Method:
    """Return the method with the settings of the setup's reading; the method itself for `text`.

    >>> from samp_lab.setups import parse_setup
    >>> method_as_read("ig", parse_setup("mnist"))
    'ig'
    """
    return method
