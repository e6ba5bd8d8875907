"""Explanations of texts: which words made a model say what it says.

>>> import samp
>>> samp.text.METHODS[:3]
('samp', 'samp++', 'coupled')
"""

from __future__ import annotations

from samp.text.attribution import TextAttribution, TextAttributions
from samp.text.curves import deletion_insertion
from samp.text.encoding import Encoded
from samp.text.explain import explain
from samp.text.loading import load
from samp.text.text_methods import OTHERS, WALKS
from samp.text.text_targets import Similarity

METHODS = (*WALKS, *OTHERS)
"""The names of the methods that explain texts."""

__all__ = [
    "METHODS",
    "Encoded",
    "Similarity",
    "TextAttribution",
    "TextAttributions",
    "deletion_insertion",
    "explain",
    "load",
]
