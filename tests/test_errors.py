"""NaN and Inf: whatever the method, a model that returns them raises NonFiniteError; finite maps stay as they were."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.methods import names
from samp.methods.captum_adapters import LIME, Shapley
from samp.methods.rise import RISE
from samp.metrics import Protocol, deletion_insertion, mu_fidelity, sensitivity_n
from transformer_nets import SIDE, ViT

NEEDS = {"lime": "captum", "shapley": "captum", "occlusion": "captum", "ablation": "captum", "xrai": "skimage"}
QUICK: dict[str, Any] = {"rise": RISE(masks=8), "lime": LIME(samples=20), "shapley": Shapley(samples=2)}


FOR_TRANSFORMERS = ("attnlrp", "libragrad", "attentionrollout", "attentionrelevance")


def small_cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


class Spoilt(nn.Module):
    """A small net whose scores are spoilt for samples with a value that no baseline has."""

    def __init__(self, by: float, make_net: Callable[[], nn.Module] = small_cnn) -> None:
        super().__init__()
        with torch.random.fork_rng([]):
            torch.manual_seed(0)
            self.net = make_net()
        self.factor = 0.0 if by != by else 1.0 if by > 0 else -1.0  # 0 · Inf is NaN

    def forward(self, x: Tensor) -> Tensor:
        dark = torch.relu(-5 - x[:, :, :6].flatten(1).mean(1, keepdim=True))
        out: Tensor = self.net(x) + self.factor * (dark * 1e37)  # up to Inf, with a finite slope
        return out


def photos(channels: int = 1, side: int = 12) -> Tensor:
    x = torch.rand(3, channels, side, side, generator=torch.Generator().manual_seed(0))
    x[1, :, :6] = -100.0
    return x


@pytest.mark.parametrize("by", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("target", [None, 1])
@pytest.mark.parametrize("name", names())
def test_every_method_raises_where_the_model_s_score_is_not_finite(name: str, target: int | None, by: float) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    method = QUICK.get(name, name)
    model, x = (Spoilt(by, ViT), photos(3, SIDE)) if name in FOR_TRANSFORMERS else (Spoilt(by), photos())
    with pytest.raises(samp.NonFiniteError, match="NaN or Inf in sample") as caught:
        samp.explain(model.eval(), x, target=target, method=method)
    assert "1" in str(caught.value)
    assert caught.value.result.group_values.isfinite().all(1).tolist() == [True, False, True]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("name", ["rise", "occlusion", "ablation", "smoothgrad", "cmwp", "random", "gradcam", "lime"])
def test_the_other_samples_are_in_the_error_as_they_are_alone(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    model, method, x = Spoilt(torch.nan).eval(), QUICK.get(name, name), photos()
    with pytest.raises(samp.NonFiniteError) as caught:
        samp.explain(model, x, target=1, method=method, batch_size=1)
    good = samp.explain(model, x[[0, 2]], target=1, method=method, batch_size=1)
    assert torch.equal(torch.as_tensor(caught.value.result.values)[[0, 2]], torch.as_tensor(good.values))


def test_classes_that_are_minus_infinity_may_stand_beside_the_one_explained() -> None:
    def masked(x: Tensor) -> Tensor:
        return torch.cat([x.sum(1, keepdim=True), torch.full((len(x), 1), -torch.inf)], 1)

    for name in ("coupled", "smoothgrad", "random"):
        assert samp.explain(masked, torch.rand(2, 3), method=name).values.isfinite().all()


def test_a_gradient_that_is_not_finite_raises_though_scores_are() -> None:
    with pytest.raises(samp.NonFiniteError, match=r"samples \[0\]"):
        samp.explain(lambda x: x.sqrt().sum(1), torch.tensor([[0.0, 1.0], [4.0, 1.0]]), method="gradientxinput")


@pytest.mark.parametrize(
    "measure",
    [
        lambda model, x: deletion_insertion(model, x, x, 1, Protocol(step=48, start=0.5)),
        lambda model, x: sensitivity_n(model, x, x, 1, sizes=[1, 2], subsets=4),
        lambda model, x: mu_fidelity(model, x, x, 1, subsets=4),
    ],
)
def test_metrics_raise_where_a_score_is_not_finite(measure: Any) -> None:
    with pytest.raises(ValueError, match=r"the model's score is NaN or Inf in samples \[1\]"):
        measure(Spoilt(torch.nan).eval(), photos())


@pytest.mark.parametrize("seed", [1.0, True, "1", None, 2**63, -(2**63) - 1, np.float64(2), float("nan")])
def test_a_seed_is_a_whole_number_of_63_bits(seed: Any) -> None:
    model, x = nn.Linear(3, 2).eval(), torch.rand(2, 3)
    for ask in (
        lambda: samp.explain(model, x, seed=seed),
        lambda: samp.compare(model, x, ["ig"], 0, Protocol(), seed=seed),
        lambda: deletion_insertion(model, x, x, 0, Protocol(), seed=seed),
    ):
        with pytest.raises(ValueError, match=r"seed is a whole number from -2\*\*63 to 2\*\*63 - 1, not"):
            ask()


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_numpy_s_whole_numbers_are_seeds_and_batch_sizes(kind: Any) -> None:
    model, x = nn.Linear(3, 2).eval(), torch.rand(2, 3)
    found = samp.explain(model, x, method="smoothgrad", seed=kind(3), batch_size=kind(2))
    assert torch.equal(found.values, samp.explain(model, x, method="smoothgrad", seed=3, batch_size=2).values)
    assert type(found.details["seed"]) is int


@pytest.mark.parametrize("size", [True, 0, -1, 1.0, "all", None, np.True_, torch.ones(2)])
def test_a_batch_size_is_auto_or_a_whole_number(size: Any) -> None:
    model, x = nn.Linear(3, 2).eval(), torch.rand(2, 3)
    for ask in (
        lambda: samp.explain(model, x, method="random", batch_size=size),
        lambda: deletion_insertion(model, x, x, 0, Protocol(), batch_size=size),
    ):
        with pytest.raises(ValueError, match="batch_size is 'auto' or a whole number of at least 1, not"):
            ask()


@pytest.mark.parametrize("target", [torch.zeros(2, 5, dtype=torch.long), 7, (0, 1)])
def test_a_target_that_no_method_could_explain_gets_no_random_map(target: Any) -> None:
    with pytest.raises(ValueError, match="target"):
        samp.explain(nn.Linear(3, 2).eval(), torch.rand(2, 3), target=target, method="random")
