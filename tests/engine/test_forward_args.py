"""Further arguments of a model: what is split with the samples is said, and never guessed from a length."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, assert_same, images, net
from samp.engine.forward_args import per_sample_tensors
from samp.metrics import Protocol, deletion_insertion

X = images(0, 3, 12)
MODEL = net(3)
TABLE = images(4, 12, 12)[:3]  # as long as the batch, by chance


def through_table(x: Tensor, table: Tensor) -> Tensor:
    """Every sample meets all rows of the table."""
    return MODEL(x) * (x @ table.T).sum(1, keepdim=True)


def scaled(x: Tensor, factor: Tensor) -> Tensor:
    return MODEL(x) * factor.view(-1, 1)


@pytest.mark.parametrize("method", ["coupled", "samp++", "ig", "smoothgrad", "deeplift"])
def test_a_shared_table_as_long_as_the_batch_gives_the_same_at_every_batch_size(method: str) -> None:
    asked: dict[str, Any] = {"target": 1, "method": method, "forward_args": (samp.ForAll(TABLE),)}
    results = [samp.explain(through_table, X, batch_size=size, **asked) for size in ("auto", 1, 2, 3)]
    bound = samp.explain(lambda x: through_table(x, TABLE), X, target=1, method=method)
    for result in results:
        torch.testing.assert_close(result.values, bound.values, **CLOSE)


@pytest.mark.parametrize("length", [1, 3])
def test_a_bare_tensor_as_long_as_the_batch_is_refused(length: int) -> None:
    x, table = X[:length], TABLE[:length]
    sentence = rf"forward_args\[0\] has shape \({length}, 12\) and there are {length} samples.*PerSample.*ForAll"
    calls = [
        lambda: samp.explain(through_table, x, forward_args=(table,)),
        lambda: samp.explain(through_table, x, forward_args=table),
        lambda: samp.explain(through_table, x, forward_args=table.numpy()),
        lambda: samp.compare(through_table, x, ["ig"], 0, Protocol(step=4), forward_args=table),
        lambda: deletion_insertion(through_table, x, x, 0, Protocol(step=4), forward_args=table),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=sentence):
            call()


def test_a_bare_tensor_of_another_length_is_shared() -> None:
    table = images(4, 5, 12)
    bare = samp.explain(through_table, X, target=1, forward_args=(table,), method="ig", batch_size=1)
    marked = samp.explain(through_table, X, target=1, forward_args=samp.ForAll(table), method="ig")
    assert_same(bare, marked, **CLOSE)


def test_a_batch_of_one_sample_has_its_own_entry_and_everything_shared() -> None:
    factor = torch.tensor([2.0, 3.0, 5.0], dtype=X.dtype)
    whole = samp.explain(scaled, X, target=0, forward_args=samp.PerSample(factor)).values
    for i in range(3):
        alone = samp.explain(scaled, X[i : i + 1], target=0, forward_args=samp.PerSample(factor[i : i + 1]))
        torch.testing.assert_close(alone.values, whole[i : i + 1], **CLOSE)


def test_captum_s_tensors_belong_to_the_samples_unless_they_are_said_to_be_shared() -> None:
    factor = torch.tensor([2.0, 3.0, 5.0], dtype=X.dtype)
    explainer, marked = samp.captum.SAMP(scaled), samp.captum.SAMP(through_table)
    split = explainer.attribute(X, 0.0, 1, additional_forward_args=factor, internal_batch_size=1)
    expected = samp.captum.SAMP(MODEL).attribute(X, 0.0, 1) * factor.view(-1, 1)
    torch.testing.assert_close(split, expected, **CLOSE)
    shared = [marked.attribute(X, 0.0, 1, samp.ForAll(TABLE), internal_batch_size=size) for size in (None, 1)]
    torch.testing.assert_close(*shared, **CLOSE)
    with pytest.raises(ValueError, match=r"additional_forward_args\[0\] has shape \(2, 12\) but there are 3 samples"):
        marked.attribute(X, 0.0, 1, TABLE[:2])


def test_what_is_not_a_tensor_stays_as_it_is_by_captum_s_rule() -> None:
    given = (7, "name", torch.tensor(3.0), [1, 2], samp.ForAll(TABLE))
    assert all(a is b for a, b in zip(per_sample_tensors(given, 3), given, strict=True))


def test_the_result_says_what_was_split() -> None:
    args = (samp.PerSample(np.ones(3)), samp.ForAll(TABLE), 7)
    result = samp.explain(lambda x, f, t, n: scaled(x, f), X, target=0, method="ig", forward_args=args)
    expected = ["PerSample(tensor of shape (3,))", "ForAll(tensor of shape (3, 12))", "ForAll(7)"]
    assert result.details["forward_args"] == expected
    assert "forward_args" not in samp.explain(MODEL, X, target=0, method="ig").details


def test_marks_travel_to_a_worker() -> None:
    mark = pickle.loads(pickle.dumps(samp.PerSample(torch.ones(2))))
    assert torch.equal(mark.values, torch.ones(2))


@pytest.mark.parametrize(
    ("args", "error", "sentence"),
    [
        (samp.PerSample(torch.ones(2)), ValueError, r"forward_args\[0\] is PerSample.* but there are 3 samples"),
        ({"factor": torch.ones(3)}, TypeError, r"forward_args is a mapping.*functools\.partial"),
    ],
)
def test_what_cannot_be_an_argument_gets_a_sentence(args: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        samp.explain(scaled, X, target=0, forward_args=args)


@pytest.mark.parametrize(("held", "error"), [("words", TypeError), (torch.tensor(1.0), ValueError), (None, TypeError)])
def test_per_sample_holds_a_tensor_with_an_axis(held: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="PerSample holds a tensor with one entry per sample"):
        samp.PerSample(held)
