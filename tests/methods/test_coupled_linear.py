"""Concave credit where the right answer is known: linear models, and scores of any size."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, linear


def test_one_group_at_a_time_earns_weight_times_difference_on_a_linear_model() -> None:
    weight, x = torch.tensor([3.0, 0.0, -1.0, 2.0]).double(), torch.ones(1, 4).double()
    result = samp.explain(linear(weight), x, method=samp.Coupled(pixels_per_step=1, eta=1, baseline=0))
    exact = torch.tensor([[6.0, 0.0, -2.0, 4.0]]).double()  # both directions
    assert result.order["to_image"].tolist() == [[1, 3, 4, 2]]
    torch.testing.assert_close(result.values, exact, **CLOSE)


def test_features_of_equal_gain_that_move_together_earn_the_same() -> None:
    weight, x = torch.tensor([2.0, 1.0, 2.0, 0.0, 1.0, 0.5]).double(), torch.ones(1, 6).double()
    result = samp.explain(linear(weight), x, method=samp.Coupled(pixels_per_step=2, eta=1, baseline=0, growth=0))
    assert result.order["to_image"].tolist() == [[1, 2, 1, 3, 2, 3]]
    torch.testing.assert_close(result.values, 2 * weight[None], **CLOSE)


@pytest.mark.parametrize("weight", [[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 1.0], [1.0, 3.0, 1.0, 3.0, 0.0], [-1.0, -1.0]])
def test_equal_weights_earn_the_same_whichever_went_first(weight: list[float]) -> None:
    w = torch.tensor(weight).double()
    result = samp.explain(
        linear(w), torch.ones(1, len(w)).double(), method=samp.Coupled(pixels_per_step=1, eta=1, baseline=0)
    )
    torch.testing.assert_close(result.values, 2 * w[None], **CLOSE)


@pytest.mark.parametrize("weights_of", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_groups_that_move_together_earn_weight_times_difference_where_all_pull_one_way(
    size: int, weights_of: float
) -> None:
    """In steps of any size: the share of a step is by abs(weight · move), whatever the directions weigh."""
    torch.manual_seed(0)
    weight, x = torch.rand(64).double(), torch.ones(1, 64).double()
    method = samp.Coupled(pixels_per_step=size, eta=1, baseline=0, weight=weights_of)
    torch.testing.assert_close(samp.explain(linear(weight), x, method=method).values, 2 * weight[None], **CLOSE)


@pytest.mark.parametrize("method", ["coupled", samp.Coupled("fine"), samp.Coupled("draft")])
@pytest.mark.parametrize("shape", [(1, 28, 28), (20,)])
def test_many_linear_scores_in_float32_are_explained_without_a_number_that_is_none(method: Any, shape: Any) -> None:
    """On a linear model steps may rise alike up to rounding, so that slopes can hardly be told apart."""
    torch.manual_seed(0)
    x = torch.rand(400, *shape) * (torch.rand(400, *shape) > 0.5)
    result = samp.explain(nn.Sequential(nn.Flatten(), nn.Linear(x[0].numel(), 3)).eval(), x, target=0, method=method)
    assert torch.isfinite(result.values).all()
    assert float(result.residual.abs().max()) < 1e-4


@pytest.mark.parametrize("size", [1e38, 1e30, 1e-30, -1e38])
def test_credit_bears_scores_as_large_and_as_small_as_numbers_go(size: float) -> None:
    method = samp.Coupled(direction="to_image", baseline=0.0)
    result = samp.explain(lambda x: x * size, torch.ones(1, 1), target=0, method=method)
    torch.testing.assert_close(result.values, torch.tensor([[size]]))


def test_rounding_of_the_score_does_not_decide_how_credit_falls() -> None:
    """On a linear model η moves the same pixels in two steps that rise alike: one piece, whatever the last digits."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 3)).eval()
    x = torch.rand(10, 1, 28, 28) * (torch.rand(10, 1, 28, 28) > 0.5)

    def nearly(z: Tensor) -> Tensor:
        out: Tensor = net(z)
        return out * (1 + 1e-7 * torch.sin(1e4 * out.detach()))

    a, b = (samp.explain(model, x, target=0).values.flatten(1) for model in (net, nearly))
    assert float(((a - b).abs().amax(1) / a.abs().amax(1)).max()) < 1e-4
