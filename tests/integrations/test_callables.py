"""Models of other frameworks: scores and gradients by NumPy, by the package saliency's convention, and by JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import samp
from laws import CLOSE, assert_same
from samp.integrations.callables import CallModelFunction, OutputAndVJP, ValueAndGradient
from samp.methods.ig2 import IG2
from samp.methods.xrai import XRAI

RNG = np.random.default_rng(0)
FIRST, BIAS, LAST = RNG.normal(size=(48, 16)) / 4, RNG.normal(size=16), RNG.normal(size=(16, 3))
X = torch.from_numpy(RNG.random((3, 3, 4, 4)))
INSIDE = (
    "deeplift",
    "deepshap",
    "lrp",
    "mwp",
    "cmwp",
    "guidedbackprop",
    "deconvolution",
    "cam",
    "gradcam",
    "gradcam++",
    "attnlrp",
    "libragrad",
    "attentionrollout",
    "attentionrelevance",
)
AGAIN = ("fringe",)  # differentiates gradients


def hidden(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1) @ FIRST + BIAS


def output_and_vjp(x: np.ndarray) -> Any:
    """A net of two layers in NumPy, softplus between them, with its gradient written by hand."""
    h = hidden(x)
    output = np.logaddexp(0, h) @ LAST
    return output, lambda weights: ((weights @ LAST.T / (1 + np.exp(-h))) @ FIRST.T).reshape(x.shape)


def output(x: np.ndarray) -> np.ndarray:
    return output_and_vjp(x)[0]


def value_and_gradient(x: np.ndarray, label: int = 1) -> Any:
    scores, vjp = output_and_vjp(x)
    return scores[:, label], vjp(np.eye(3)[[label] * len(x)])


def twin() -> nn.Module:
    """The same net in torch, whose gradients are autograd's."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.Softplus(threshold=1e9), nn.Linear(16, 3, bias=False))
    net[1].weight.data, net[1].bias.data = torch.from_numpy(FIRST.T.copy()), torch.from_numpy(BIAS)
    net[3].weight.data = torch.from_numpy(LAST.T.copy())
    return net.double().eval()


@pytest.mark.parametrize("method", [name for name in samp.methods.names() if name not in (*INSIDE, *AGAIN, "ig2")])
def test_a_net_in_numpy_is_explained_like_its_twin_in_torch(method: str) -> None:
    packages = {"xrai": "skimage", "lime": "sklearn", "shapley": "captum", "occlusion": "captum", "ablation": "captum"}
    if method in packages:
        pytest.importorskip(packages[method])
    chosen = XRAI(steps=5, side=16, min_added=1) if method == "xrai" else method
    ours = samp.explain(OutputAndVJP(output_and_vjp), X, target=[1, 0, 2], method=chosen)
    torch.testing.assert_close(
        ours.values, samp.explain(twin(), X, target=[1, 0, 2], method=chosen).values, rtol=1e-6, atol=1e-8
    )


def test_ig2_compares_outputs_where_it_cannot_see_layers() -> None:
    ours = samp.explain(OutputAndVJP(output_and_vjp), X, method="ig2")
    model = twin()
    torch.testing.assert_close(ours.values, samp.explain(model, X, method=IG2(layer="")).values)
    assert "layer='output'" in ours.method


@pytest.mark.parametrize("method", INSIDE)
def test_methods_that_look_inside_refuse(method: str) -> None:
    sentence = (
        "looks inside the model, which must be an nn.Module|has no rule for the operation ForeignModel.*'consensus'"
    )
    with pytest.raises((ValueError, NotImplementedError), match=sentence):
        samp.explain(OutputAndVJP(output_and_vjp), X, method=method)


@pytest.mark.parametrize("method", AGAIN)
def test_methods_that_differentiate_gradients_refuse(method: str) -> None:
    with pytest.raises(NotImplementedError, match=r"derivatives of the model's gradient.*'consensus'"):
        samp.explain(OutputAndVJP(output_and_vjp), X, method=method)


@pytest.mark.parametrize("value", [None, lambda x: output(x)[:, 1]])
def test_scores_and_gradients_are_enough(value: Any) -> None:
    ours = samp.explain(ValueAndGradient(value_and_gradient, value=value), X)
    assert_same(ours, samp.explain(twin(), X, target=1), rtol=1e-6, atol=1e-8)
    assert (ours.residual.abs() < 1e-9).all()


def test_a_function_of_the_score_has_its_own_gradient() -> None:
    once, thrice = (
        samp.explain(ValueAndGradient(value_and_gradient), X, target=target, method="ig").values
        for target in (None, lambda y: 3 * y)
    )
    torch.testing.assert_close(thrice, 3 * once, **CLOSE)


def test_a_cheaper_function_serves_calls_without_gradient() -> None:
    calls = {"value": 0, "gradient": 0}

    def count(name: str, result: Any) -> Any:
        calls[name] += 1
        return result

    model = ValueAndGradient(
        lambda x: count("gradient", value_and_gradient(x)), value=lambda x: count("value", output(x)[:, 1])
    )
    with torch.no_grad():
        model(X)
    assert calls == {"value": 1, "gradient": 0}
    model(X.requires_grad_(True))
    X.requires_grad_(False)
    assert calls == {"value": 1, "gradient": 1}


def test_targets_by_name_and_margins_work_with_outputs() -> None:
    model = OutputAndVJP(output_and_vjp, output=output)
    for target in (None, samp.Margin(0, against=2), samp.targets.Class(1, "probability"), lambda y: y.square().sum(1)):
        ours = samp.explain(model, X, target=target, method="ig")
        torch.testing.assert_close(ours.values, samp.explain(twin(), X, target=target, method="ig").values, **CLOSE)


def test_metrics_judge_a_net_in_numpy() -> None:
    model = OutputAndVJP(output_and_vjp, output=output)
    curves = [samp.metrics.deletion_insertion(m, X, X, target=1).deletion for m in (model, twin())]
    torch.testing.assert_close(*curves)


def test_images_of_functions_with_channels_last_are_turned_around() -> None:
    def last(x: np.ndarray) -> Any:
        assert x.shape[1:] == (4, 4, 3)
        scores, gradients = value_and_gradient(np.moveaxis(x, -1, 1))
        return scores, np.moveaxis(gradients, 1, -1)

    ours = samp.explain(ValueAndGradient(last, channels_last=True), X, method="samp++")
    assert_same(ours, samp.explain(ValueAndGradient(value_and_gradient), X, method="samp++"), **CLOSE)


def test_the_function_may_change_its_array_and_keep_its_gradients() -> None:
    buffer = np.zeros_like(X.numpy())

    def careless(x: np.ndarray) -> Any:
        scores, gradients = value_and_gradient(x)
        x[:] = 99
        buffer[: len(x)] = gradients[: len(buffer)] if len(x) <= len(buffer) else buffer
        return scores, gradients

    before = X.clone()
    ValueAndGradient(careless)(X)
    assert torch.equal(X, before)
    assert_same(
        samp.explain(ValueAndGradient(careless), X), samp.explain(ValueAndGradient(value_and_gradient), X), **CLOSE
    )
    assert torch.equal(X, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_inputs_keep_their_dtype(dtype: torch.dtype) -> None:
    result = samp.explain(ValueAndGradient(value_and_gradient), X.to(dtype), method="ig")
    exact = samp.explain(ValueAndGradient(value_and_gradient), X.to(dtype).double(), method="ig")
    torch.testing.assert_close(result.group_values.double(), exact.group_values, rtol=0.05, atol=0.05)


# ---- the package saliency


def call_model(x: np.ndarray, call_model_args: Any = None, expected_keys: Any = None) -> dict[str, Any]:
    """As saliency's methods call it: b h w c in, the gradients of the class in its arguments out."""
    scores, gradients = value_and_gradient(np.moveaxis(x, -1, 1), call_model_args["label"])
    found = {"INPUT_OUTPUT_GRADIENTS": np.moveaxis(gradients, 1, -1), "OUTPUT_LAYER_VALUES": scores}
    return {key: found[key] for key in expected_keys}


def test_a_function_written_for_saliency_gives_the_same_in_both_packages() -> None:
    saliency = pytest.importorskip("saliency.core")
    model = CallModelFunction(call_model, {"label": 2})
    ours = samp.explain(model, X, method="gradient").values.permute(0, 2, 3, 1)
    path = samp.explain(model, X, method=samp.IG(steps=400)).values.permute(0, 2, 3, 1)
    for i, image in enumerate(X.permute(0, 2, 3, 1).numpy()):
        theirs = saliency.GradientSaliency().GetMask(image, call_model, {"label": 2})
        np.testing.assert_allclose(ours[i], theirs, rtol=1e-12)
        theirs = saliency.IntegratedGradients().GetMask(
            image, call_model, {"label": 2}, x_baseline=np.zeros_like(image), x_steps=400, batch_size=50
        )
        # their sum over steps has an error of order 1/steps
        np.testing.assert_allclose(path[i], theirs, rtol=0, atol=0.01 * np.abs(theirs).max())


def test_the_names_are_those_of_saliency() -> None:
    base = pytest.importorskip("saliency.core.base")
    from samp.integrations import callables

    assert (base.INPUT_OUTPUT_GRADIENTS, base.OUTPUT_LAYER_VALUES) == (callables.GRADIENTS, callables.VALUES)


def test_gradients_alone_need_a_function_of_the_scores() -> None:
    def only_gradients(x: np.ndarray, call_model_args: Any = None, expected_keys: Any = None) -> dict[str, Any]:
        return {
            "INPUT_OUTPUT_GRADIENTS": call_model(x, call_model_args, ["INPUT_OUTPUT_GRADIENTS"])[
                "INPUT_OUTPUT_GRADIENTS"
            ]
        }

    with pytest.raises(
        ValueError, match=r"gave a dict with \['INPUT_OUTPUT_GRADIENTS'\], but was asked for .* scores="
    ):
        samp.explain(CallModelFunction(only_gradients, {"label": 1}), X)
    model = CallModelFunction(only_gradients, {"label": 1}, scores=lambda x: output(np.moveaxis(x, -1, 1))[:, 1])
    assert_same(samp.explain(model, X), samp.explain(twin(), X, target=1), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (ValueAndGradient(output), TypeError, r"output gave ndarray, not a pair \(scores, gradients\)"),
        (ValueAndGradient(lambda x: (output(x), x)), ValueError, r"gave scores of shape \(\d+, 3\) .*OutputAndVJP"),
        (ValueAndGradient(lambda x: (x[:, 0, 0, 0], x[0])), ValueError, r"gradients of shape \(3, 4, 4\) for x"),
        (ValueAndGradient(lambda x: (x.sum(), x)), ValueError, r"gave scores of shape \(\) for 3 samples"),
        (ValueAndGradient(value_and_gradient, value=output), ValueError, r"output gave scores of shape \(\d, 3\)"),
        (OutputAndVJP(output), TypeError, r"output gave ndarray, not a pair \(output, vjp\)"),
        (OutputAndVJP(lambda x: (output(x), x)), TypeError, r"not a pair \(output, vjp\)"),
        (OutputAndVJP(lambda x: (output(x)[:1], abs)), ValueError, r"gave shape \(1, 3\) for 3 samples: axis 0"),
        (CallModelFunction(lambda x, **_: None), ValueError, "gave NoneType, but was asked for"),
    ],
)  # fmt: skip
def test_what_is_no_model_gets_a_sentence(model: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        samp.explain(model, X, method="ig")


def test_only_images_have_channels() -> None:
    with pytest.raises(ValueError, match=r"channels_last is about images b c h w, but the input has \(3, 48\)"):
        samp.explain(ValueAndGradient(value_and_gradient, channels_last=True), X.flatten(1))


def test_there_is_no_second_derivative() -> None:
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(ValueAndGradient(value_and_gradient)(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.sum().backward()


# ---- JAX


def test_a_net_in_jax_is_explained_like_its_twin_in_torch() -> None:
    jax = pytest.importorskip("jax", reason="needs jax")
    jnp = jax.numpy

    @jax.jit
    def net(x: Any) -> Any:
        return jax.nn.softplus(x.reshape(len(x), -1) @ jnp.asarray(FIRST) + jnp.asarray(BIAS)) @ jnp.asarray(LAST)

    x = X.float()
    for method in ("ig", "coupled", "samp++"):
        ours = samp.explain(OutputAndVJP(lambda a: jax.vjp(net, a), output=net), x, target=1, method=method)
        expected = samp.explain(twin().float(), x, target=1, method=method)
        torch.testing.assert_close(ours.score_change, expected.score_change, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(
            ours.values, expected.values, rtol=1e-2, atol=1e-3 * float(expected.values.abs().max())
        )
    single = jax.jit(jax.vmap(jax.value_and_grad(lambda one: net(one[None])[0, 1])))
    by_class = samp.explain(ValueAndGradient(single), x, method="ig")
    torch.testing.assert_close(
        by_class.values, samp.explain(twin().float(), x, target=1, method="ig").values, rtol=1e-3, atol=1e-5
    )
