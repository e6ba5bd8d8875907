"""DeepLIFT, AttnLRP and LibraGrad through attention, GELU, normalisation and residual sums: exact, or refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import hugging_face_nets as nets
import samp
from samp.methods.propagation import LRP, AttnLRP, DeepLIFT, LibraGrad

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
IN_FLOAT32 = ("llama", "gpt2", "vit eager")  # parts of these run in float32 whatever the weights are


def tolerance(name: str) -> float:
    return 1e-5 if name.startswith(IN_FLOAT32) else 1e-9


@pytest.mark.parametrize("name", nets.NETS)
def test_deeplift_is_complete_on_every_transformer(name: str) -> None:
    model = nets.NETS[name]()
    x = nets.inputs(model)
    start = 0.5 * nets.inputs(model, seed=7)
    result = samp.explain(model, x, target=1, method=DeepLIFT(start))
    change = (model(x) - model(start))[:, 1].detach()
    found = result.values.flatten(1).sum(1)
    torch.testing.assert_close(found, change, rtol=tolerance(name), atol=tolerance(name))
    assert change.abs().min() > 1e-3


@pytest.mark.parametrize("method", [AttnLRP(), AttnLRP(0.01), LibraGrad()], ids=repr)
@pytest.mark.parametrize("name", [*nets.NETS, "swin"])
def test_credit_and_what_is_absorbed_sum_to_the_score(name: str, method: Any) -> None:
    model = {**nets.NETS, "swin": nets.swin}[name]()
    x = nets.inputs(model, 3)
    result = samp.explain(model, x, target=1, method=method)
    absorbed = torch.tensor(result.details["absorbed"], dtype=x.dtype)
    torch.testing.assert_close(
        result.values.flatten(1).sum(1) + absorbed, model(x)[:, 1].detach(), rtol=tolerance(name), atol=tolerance(name)
    )
    assert result.residual.abs().max() < tolerance(name) * 10


@pytest.mark.parametrize("method", [AttnLRP(), LibraGrad()], ids=repr)
def test_batched_equals_one_by_one(method: Any) -> None:
    for build in nets.NETS.values():
        model = build()
        x = nets.inputs(model, 3)
        together = samp.explain(model, x, target=1, method=method)
        alone = [samp.explain(model, one[None], target=1, method=method) for one in x]
        torch.testing.assert_close(together.values, torch.cat([one.values for one in alone]), rtol=1e-4, atol=1e-6)
        absorbed = [one.details["absorbed"][0] for one in alone]
        torch.testing.assert_close(together.details["absorbed"], absorbed, rtol=1e-4, atol=1e-6)


def test_soft_max_is_expanded_as_in_the_paper() -> None:
    """Proposition 3.1: R_i = x_i (R'_i − s_i Σ R'), with R' = w·s."""
    x = torch.randn(2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w = torch.arange(1.0, 6.0, dtype=torch.float64)
    s = x.softmax(1)
    expected = x * (w * s - s * (w * s).sum(1, keepdim=True))
    found = samp.explain(lambda x: (x.softmax(1) * w).sum(1), x, method=AttnLRP(0.0))
    torch.testing.assert_close(found.values, expected, **CLOSE)


def test_normalisation_passes_relevance_on_whole() -> None:
    """With a constant divisor, Σ w (x − mean) / σ has the relevance x (w − mean w) / σ, and sums to the score."""
    x = torch.randn(2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w = torch.arange(1.0, 6.0, dtype=torch.float64)
    for method in (AttnLRP(0.0), LibraGrad()):
        layer = samp.explain(lambda x: (F.layer_norm(x, (5,)) * w).sum(1), x, method=method)
        deviation = (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
        torch.testing.assert_close(layer.values, x * (w - w.mean()) / deviation, **CLOSE)
        for root in (
            lambda x: F.rms_norm(x, (5,), eps=1e-6),
            lambda x: x * (x.pow(2).mean(1, keepdim=True) + 1e-6).rsqrt(),
            lambda x: x / (x.pow(2).mean(1, keepdim=True) + 1e-6).sqrt(),
            lambda x: F.normalize(x, dim=1) * 5**0.5,
        ):
            found = samp.explain(lambda x, root=root: (root(x) * w).sum(1), x, method=method)
            torch.testing.assert_close(found.values, x * w / x.square().mean(1, keepdim=True).sqrt(), rtol=1e-5, atol=0)
            torch.testing.assert_close(found.details["absorbed"], [0.0, 0.0], rtol=0, atol=1e-5)


def test_a_product_of_two_activations_gives_half_to_each() -> None:
    x = torch.randn(2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def gated(x: Tensor) -> Tensor:
        return (F.silu(x[:, :2]) * x[:, 2:]).sum(1) + 0 * F.layer_norm(x, (4,)).sum(1)

    for method in (AttnLRP(0.0), LibraGrad()):
        half = F.silu(x[:, :2]) * x[:, 2:] / 2
        torch.testing.assert_close(samp.explain(gated, x, method=method).values, torch.cat([half, half], 1), **CLOSE)


def test_libragrad_is_gradient_times_input_with_the_weights_held() -> None:
    """By hand with torch's own detach: attention weights, divisors and the gate of GELU are constants."""
    torch.manual_seed(0)
    q, k, v, up, down = (nn.Linear(4, 4, dtype=torch.float64) for _ in range(5))
    x = torch.randn(2, 3, 4, dtype=torch.float64)

    def model(x: Tensor, hold: Any = lambda t: t) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        y = centred * hold((centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt())
        x = x + hold((q(y) @ k(y).transpose(1, 2)).softmax(-1)) @ v(y)
        h = up(x)
        gate = hold(0.5 * (1 + torch.erf(h / 2**0.5)))
        return (x + down(h * gate))[:, 0].sum(1)

    def plain(x: Tensor) -> Tensor:
        y = F.layer_norm(x, (4,))
        x = x + F.scaled_dot_product_attention(q(y), k(y), v(y), scale=1.0)
        return (x + down(F.gelu(up(x))))[:, 0].sum(1)

    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(leaf, Tensor.detach).sum(), leaf)
    torch.testing.assert_close(plain(x), model(x), **CLOSE)
    found = samp.explain(plain, x, method=LibraGrad()).values
    torch.testing.assert_close(found, x * gradient, rtol=1e-7, atol=1e-10)
    assert not torch.allclose(samp.explain(plain, x, method="gradientxinput").values, found, rtol=0.1)


def test_attnlrp_equals_lxt_on_a_block() -> None:
    """The authors' package, rule by rule, on a block with two heads, residual sums, layer norms and GELU."""
    functional = pytest.importorskip("lxt.explicit.functional", reason="lxt is not installed")
    identity = pytest.importorskip("lxt.explicit.rules").identity
    torch.manual_seed(0)
    q, k, v, out, up, down = (nn.Linear(6, 6, dtype=torch.float64) for _ in range(6))
    first, second = (nn.LayerNorm(6, dtype=torch.float64) for _ in range(2))
    for norm in (first, second):
        norm.weight.data, norm.bias.data = torch.rand(6).double() + 0.5, torch.randn(6).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    tiny = {"epsilon": 1e-15}

    def heads(t: Tensor) -> Tensor:
        return t.reshape(len(t), 5, 2, 3).transpose(1, 2)

    def ours(x: Tensor) -> Tensor:
        y = first(x)
        mixed = F.scaled_dot_product_attention(heads(q(y)), heads(k(y)), heads(v(y)))
        x = x + out(mixed.transpose(1, 2).reshape(len(x), 5, 6))
        return (x + down(F.gelu(up(second(x)))))[:, 0, 2]

    def theirs(x: Tensor) -> Tensor:
        def linear(layer: nn.Linear, t: Tensor) -> Tensor:
            result: Tensor = functional.linear_epsilon(t, layer.weight, layer.bias, **tiny)
            return result

        y = functional.layer_norm(x, first.weight, first.bias, first.eps)
        scores = functional.matmul(heads(linear(q, y)), heads(linear(k, y)).transpose(2, 3), **tiny)
        weights = functional.softmax(functional.mul2(scores, torch.tensor(3**-0.5).double()), -1)
        mixed = functional.matmul(weights, heads(linear(v, y)), **tiny).transpose(1, 2).reshape(len(x), 5, 6)
        x = functional.add2(x, linear(out, mixed), **tiny)
        z = linear(up, functional.layer_norm(x, second.weight, second.bias, second.eps))
        result: Tensor = functional.add2(x, linear(down, identity(F.gelu, z)), **tiny)[:, 0, 2]
        return result

    leaf = x.clone().requires_grad_()
    scores = theirs(leaf)
    scores.backward(scores)
    torch.testing.assert_close(ours(x).detach(), scores.detach(), rtol=1e-6, atol=1e-9)
    assert leaf.grad is not None
    found = samp.explain(ours, x, method=AttnLRP(0.0)).values
    torch.testing.assert_close(found, leaf.grad, rtol=1e-3, atol=1e-5)  # its layer norm has an ε of 1e-6 for itself


def test_epsilon_changes_attnlrp_and_soft_max_sets_the_two_apart() -> None:
    model = nets.vit()
    x = nets.inputs(model)
    first, other, libra = (samp.explain(model, x, target=1, method=m) for m in (AttnLRP(), AttnLRP(0.1), LibraGrad()))
    assert not torch.allclose(first.values, other.values, rtol=1e-2)
    assert not torch.allclose(first.values, libra.values, rtol=1e-2)
    assert first.method != other.method


def test_lrp_names_attnlrp_where_it_has_no_rule() -> None:
    model = nets.vit()
    with pytest.raises(NotImplementedError, match="LRP has no rule for the operation layer_norm: use 'attnlrp'"):
        samp.explain(model, nets.inputs(model), target=1, method=LRP())


@pytest.mark.parametrize("method", [AttnLRP(), LibraGrad()], ids=repr)
def test_a_convolutional_net_is_sent_to_lrp(method: Any) -> None:
    cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)).eval()
    with pytest.raises(NotImplementedError, match=r"soft-max and normalisation to LRP's.*neither inside: use 'lrp'"):
        samp.explain(cnn, torch.rand(1, 3, 8, 8), method=method)


def test_a_class_token_is_a_bias_of_lrp() -> None:
    """Relevance that a constant takes is absorbed, and not lost."""
    token, w = torch.tensor([[2.0, -1.0]]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    x = torch.tensor([[1.0, -3.0]])

    def model(x: Tensor) -> Tensor:
        return (torch.cat([token.expand(len(x), -1), x], 1) * w).sum(1)

    result = samp.explain(model, x, method=LRP(0.0))
    assert result.values.tolist() == [[3.0, -12.0]]
    assert result.details["absorbed"] == [0.0]  # 2 · 1 − 1 · 2
    uneven = samp.explain(lambda x: (torch.cat([token, x], 1) * w.flip(0)).sum(1), x, method=LRP(0.0))
    assert uneven.details["absorbed"] == [5.0]  # 2 · 4 − 1 · 3
    assert uneven.residual.tolist() == [0.0]


def test_deeplift_refuses_where_rounding_has_eaten_its_sum() -> None:
    """A norm of a baseline of zeros divides by √eps: each layer multiplies rounding by as much."""
    torch.manual_seed(0)
    layers = [part for _ in range(4) for part in (nn.Linear(8, 8, bias=False), nn.LayerNorm(8, 1e-12))]
    model = nn.Sequential(*layers, nn.Linear(8, 2)).eval()
    x = torch.randn(3, 8)
    with pytest.raises(ValueError, match=r"DeepLIFT's credit sums to .* Use another baseline, the model in float64"):
        samp.explain(model, x, target=0, method=DeepLIFT(0.0))
    result = samp.explain(model, x, target=0, method=DeepLIFT(torch.randn(3, 8)))
    assert result.residual.abs().max() < 1e-4


@pytest.mark.parametrize("function", ["addmm", "baddbmm", "einsum"])
def test_products_by_other_names_have_the_rule_of_products(function: str) -> None:
    torch.manual_seed(0)
    w, b = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    x = torch.randn(2, 4, dtype=torch.float64)
    forms = {
        "addmm": lambda x: torch.addmm(b, x, w, beta=2, alpha=3),
        "baddbmm": lambda x: torch.baddbmm(b, x[:, None], w.expand(len(x), 4, 3), beta=2, alpha=3)[:, 0],
        "einsum": lambda x: 3 * torch.einsum("bi,ij->bj", x, w) + 2 * b,
    }

    def model(x: Tensor) -> Tensor:
        return forms[function](x).relu()

    def plain(x: Tensor) -> Tensor:
        return (3 * (x @ w) + 2 * b).relu()

    for method in (DeepLIFT(), LRP(0.0)):
        found, expected = (samp.explain(f, x, target=1, method=method) for f in (model, plain))
        torch.testing.assert_close(found.values, expected.values, **CLOSE)
        assert found.residual.abs().max() < 1e-12


def test_dropout_inside_attention_is_refused() -> None:
    x = torch.randn(2, 3, 4)
    with pytest.raises(NotImplementedError, match=r"drops weights at random: call model.eval\(\)"):
        samp.explain(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5).sum((1, 2)), x, method=DeepLIFT())
