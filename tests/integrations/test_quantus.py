"""`samp.quantus.explain` keeps the contract of an `explain_func`: keywords and numpy in, numpy out.

Quantus itself is not imported here: `test_quantus_real.py` runs its metrics, in the environment of `.ci/quantus`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import samp
from laws import CountingModel, images, net
from samp.integrations.quantus import explain

MODEL = net(seed=3, features=48, classes=4)
X = images(7, 2, 3, 4, 4)


def squares(x: torch.Tensor) -> torch.Tensor:
    return (x**2).flatten(1).sum(1)


def explain_like_quantus(x: Any = None, targets: Any = (1, 2), model: Any = MODEL, **kwargs: Any) -> np.ndarray:
    """Call as Quantus does: by keyword."""
    targets = np.array(targets) if isinstance(targets, tuple) else targets
    return explain(model=model, inputs=X.numpy() if x is None else x, targets=targets, **kwargs)


def expected(method: Any = "consensus", target: Any = (1, 2), **options: Any) -> np.ndarray:
    target = list(target) if isinstance(target, tuple) else target
    return samp.explain(MODEL, X, target=target, method=method, **options).map[:, None].numpy()


@pytest.mark.parametrize(
    "method", ["consensus", "coupled", "samp", "samp++", "ig", samp.SAMP(pixels_per_step=3, credit="shared")]
)
def test_it_is_the_map_of_samp_explain_with_its_channel_kept(method: Any) -> None:
    got = explain_like_quantus(method=method)
    assert type(got) is np.ndarray
    assert got.shape == (2, 1, 4, 4)
    np.testing.assert_array_equal(got, expected(method))


@pytest.mark.parametrize("kwargs", [{}, {"method": ""}, {"method": None}])
def test_without_a_method_it_is_the_default(kwargs: dict[str, Any]) -> None:
    np.testing.assert_array_equal(
        explain_like_quantus(**kwargs), samp.explain(MODEL, X, target=[1, 2]).map[:, None].numpy()
    )


def test_a_label_is_read_in_any_case() -> None:
    """Quantus' `evaluate` passes the key of the caller's table as `method`."""
    np.testing.assert_array_equal(explain_like_quantus(method="SAMP"), expected("samp"))


def test_an_unknown_method_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'KernelShap'.*samp\+\+"):
        explain_like_quantus(method="KernelShap")


def test_what_else_quantus_passes_is_ignored() -> None:
    got = explain_like_quantus(method="samp", device="cpu", xai_lib="captum", softmax=False, n_steps=3, normalise=True)
    np.testing.assert_array_equal(got, expected("samp"))


def test_groups_seed_and_batch_size_reach_samp_explain() -> None:
    noisy, model = samp.SAMP(baseline="uniform"), CountingModel(MODEL)
    got = explain_like_quantus(model=model, method=noisy, groups=samp.Patches(2), seed=4, batch_size=1)
    assert model.largest == 1
    np.testing.assert_allclose(got, expected(noisy, groups=samp.Patches(2), seed=4), rtol=1e-9, atol=1e-11)
    assert not np.allclose(got, expected(noisy, groups=samp.Patches(2), seed=5))


@pytest.mark.parametrize(
    "targets", [3, np.int64(3), np.array([3, 3], np.uint8), np.array([[3], [3]]), [3, 3], torch.tensor([3, 3])]
)
def test_targets_of_every_kind(targets: Any) -> None:
    np.testing.assert_array_equal(explain_like_quantus(targets=targets, method="ig"), expected("ig", target=3))


def test_without_targets_the_predicted_class_is_explained() -> None:
    np.testing.assert_array_equal(explain_like_quantus(targets=None), expected(target=None))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64])
def test_inputs_take_the_dtype_of_the_model(dtype: Any) -> None:
    """Quantus perturbs in float64, and the usual model is float32."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 4)).eval()
    x = (8 * X.numpy()).astype(dtype)
    got = explain_like_quantus(x, model=model)
    plain = samp.explain(model, torch.tensor(x, dtype=torch.float32), target=[1, 2])
    np.testing.assert_array_equal(got, plain.map[:, None].numpy())


def test_a_model_without_parameters_takes_floats_as_they_are() -> None:
    assert explain_like_quantus(model=squares, targets=None, device="cpu").dtype == np.float64
    assert explain_like_quantus(np.ones((2, 3, 4, 4), int), model=squares, targets=None).dtype == np.float32


def test_read_only_and_reversed_arrays_are_taken() -> None:
    backwards = X.numpy()[::-1]
    backwards.flags.writeable = False
    got = explain_like_quantus(backwards, targets=np.array([1, 2])[::-1])
    np.testing.assert_allclose(got, expected()[::-1], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", [(2, 48), (2, 6, 8)])
def test_other_inputs_get_values_of_their_shape(shape: tuple[int, ...]) -> None:
    x = X.reshape(shape)
    plain = samp.explain(MODEL, x, target=[1, 2])
    np.testing.assert_array_equal(explain_like_quantus(x.numpy()), plain.values.numpy())


def test_inputs_and_model_are_left_alone() -> None:
    x, before = X.numpy().copy(), {name: value.clone() for name, value in MODEL.state_dict().items()}
    explain_like_quantus(x, device="meta")  # the model's own device is what counts, and the model stays there
    np.testing.assert_array_equal(x, X.numpy())
    assert all(torch.equal(value, before[name]) for name, value in MODEL.state_dict().items())
    assert all(p.grad is None for p in MODEL.parameters())
