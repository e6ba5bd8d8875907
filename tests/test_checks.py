"""One check of each kind: what passes comes back as a plain number, and all else gets its sentence."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from samp.checks import check_list, check_share, check_whole, is_number


@pytest.mark.parametrize("value", [0, -1.5, np.float32(2), np.int64(3), Fraction(1, 3)])
def test_numbers_are_numbers_wherever_they_come_from(value: Any) -> None:
    assert is_number(value)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, math.nan, math.inf, 1j, [1], torch.tensor(1.0)])
def test_what_is_not_one_finite_real_number_is_none(value: Any) -> None:
    assert not is_number(value)


def test_counts_are_whole_and_large_enough() -> None:
    assert check_whole("subsets", np.int64(4), 4) == 4
    assert type(check_whole("subsets", np.int64(4), 4)) is int
    for bad in (3, 4.0, 5.5, True, "5", None):
        with pytest.raises(ValueError, match=f"subsets is a whole number of at least 4, not {bad!r}"):
            check_whole("subsets", bad, 4)


def test_shares_are_parts_of_a_whole() -> None:
    assert check_share(1) == 1.0
    assert check_share(np.float32(0.5), "pixels") == 0.5
    for bad in (0, -0.1, 1.01, math.nan, True, "half", None):
        with pytest.raises(ValueError, match=f"the share of the pixels is above 0 and at most 1, not {bad!r}"):
            check_share(bad, "pixels")


def test_lists_may_be_anything_with_entries() -> None:
    for given in ([1, 2], (1, 2), iter((1, 2)), range(1, 3), np.array([1, 2]), torch.tensor([1, 2])):
        assert check_list("betas", given) == [1, 2]
    for bad in (5, None, "12", b"12", torch.tensor(1), np.array(1)):
        with pytest.raises(TypeError, match=r"betas is a list of numbers, such as \[1, 2\], not"):
            check_list("betas", bad)
