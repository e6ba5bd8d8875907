"""The Captum drop-in gives the numbers of `samp.explain`, and Captum's own tools run it unchanged."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, CountingModel, images, net
from samp.baselines import Blurred
from samp.integrations.captum import SAMP, SAMPPlusPlus

MODEL = net(seed=3, features=48, classes=4)
X = images(7, 2, 3, 4, 4)
BLACK = {"direction": "to_image", "baseline": 0.0}


def same(a: Any, b: Any, **tolerance: float) -> None:
    torch.testing.assert_close(a, b, **(tolerance or {"rtol": 0, "atol": 0}))


def squares(x: Tensor) -> Tensor:
    return (x**2).flatten(1).sum(1)


def two_inputs(a: Tensor, b: Tensor) -> Tensor:
    """(2, 3) and (2, 2, 2) to two scores each, with an interaction."""
    mixed = a.sum(1).tanh() * b.flatten(1).prod(1)
    return torch.stack([mixed + (a**2).sum(1), mixed - b.flatten(1).sum(1)], 1)


# ---- the numbers of samp.explain ----


@pytest.mark.parametrize(("drop_in", "method"), [(SAMP, samp.SAMP), (SAMPPlusPlus, samp.SAMPPlusPlus)])
def test_each_class_is_its_method_of_samp(drop_in: Any, method: Any) -> None:
    same(drop_in(MODEL).attribute(X, target=1), samp.explain(MODEL, X, target=1, method=method()).values)
    given = samp.explain(MODEL, X, target=1, method=method(**BLACK)).values
    same(drop_in(MODEL).attribute(X, 0.0, 1), given)


@pytest.mark.parametrize("n_steps", [1, 3, 5, 16, 100])
def test_n_steps_sets_the_groups_per_step(n_steps: int) -> None:
    """16 pixels in 5 steps are 4 a step: rounded up, so that n_steps suffice."""
    method = samp.SAMP(pixels_per_step=math.ceil(16 / n_steps), **BLACK)
    expected = samp.explain(MODEL, X, target=0, method=method)
    same(SAMP(MODEL).attribute(X, 0.0, 0, n_steps=n_steps), expected.values)
    assert int(expected.steps["to_image"].max()) <= n_steps


def test_options_reach_the_method() -> None:
    options = {"credit": "shared", "eta": 0.3, "momentum": 0.9, "direction": "both"}
    method = samp.SAMPPlusPlus(**options, baseline="uniform")
    expected = samp.explain(MODEL, X, target=2, method=method, seed=5).values
    same(SAMPPlusPlus(MODEL).attribute(X, "uniform", 2, seed=5, **options), expected)


@pytest.mark.parametrize(
    ("option", "value"),
    [("credit", "right"), ("eta", None), ("momentum", 0.0), ("direction", "to_baseline"), ("seed", 1), ("n_steps", 2)],
)
def test_every_option_changes_the_result(option: str, value: Any) -> None:
    attribute = SAMPPlusPlus(MODEL).attribute
    assert not torch.allclose(attribute(X, "uniform", 0), attribute(X, "uniform", 0, **{option: value}))


@pytest.mark.parametrize("method", ["riemann_left", "riemann_right"])
@pytest.mark.parametrize(("steps", "tolerance"), [(8, 1e-12), (10, 1e-7)])
def test_captum_s_integrated_gradients_agree_with_ours(method: str, steps: int, tolerance: float) -> None:
    """Captum keeps its weights in float32, where 1/10 stalls at some 1e-8 of the value and 1/8 is exact."""
    attr = pytest.importorskip("captum.attr")
    theirs = attr.IntegratedGradients(MODEL).attribute(X, 0.0, 1, n_steps=steps, method=method)
    ours = samp.explain(MODEL, X, target=1, method=samp.IG(steps, credit=method.removeprefix("riemann_")))
    same(ours.values, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("credit", "total", "delta"), [("left", 0.0, -5.0), ("right", 10.0, 5.0)])
def test_delta_by_hand(credit: str, total: float, delta: float) -> None:
    """f = x₁² + x₂² from 0 to (1, 2), one element at a time: gradients 0 before a move, 2 and 4 after; f rises by 5."""
    x = torch.tensor([[1.0, 2.0]])
    result = SAMP(squares).attribute(x, 0.0, n_steps=2, credit=credit, return_convergence_delta=True)
    assert (result[0].sum().item(), result[1].tolist()) == (total, [delta])


def test_delta_without_baselines_counts_both_changes() -> None:
    attributions, delta = SAMP(squares).attribute(X, return_convergence_delta=True)
    change = 2 * squares(X) - squares(torch.zeros_like(X)) - squares(Blurred.for_image(4, 4)(X))
    assert (delta.abs() > 1e-3).all()
    same(delta, attributions.flatten(1).sum(1) - change, **CLOSE)


def test_delta_of_an_exact_credit_is_nought() -> None:
    attributions, delta = SAMPPlusPlus(MODEL).attribute(X, 0.5, 1, credit="shared", return_convergence_delta=True)
    same(delta, torch.zeros_like(delta), **CLOSE)
    change = (MODEL(X) - MODEL(torch.full_like(X, 0.5)))[:, 1]
    same(attributions.flatten(1).sum(1), change.detach(), **CLOSE)


# ---- what comes in and goes out ----


def test_baselines_of_a_tensor_may_come_in_any_form() -> None:
    one = images(9, 1, 3, 4, 4)
    expected = SAMP(MODEL).attribute(X, one.repeat(2, 1, 1, 1), 1)
    for baselines in (one, (one,), lambda x: one.expand_as(x)):
        same(SAMP(MODEL).attribute(X, baselines, 1), expected)
    same(SAMP(MODEL).attribute(X, (0.25,), 1), SAMP(MODEL).attribute(X, 0.25, 1))


@pytest.mark.parametrize("baselines", [None, 0.0, (0.0,), X[:1] / 2])
def test_a_tuple_of_one_is_the_tensor_in_a_tuple(baselines: Any) -> None:
    same(SAMP(MODEL).attribute((X,), baselines, 1), (SAMP(MODEL).attribute(X, baselines, 1),))


def test_several_inputs_take_one_baseline_each() -> None:
    a, b = images(1, 2, 3), images(2, 2, 2, 2)
    baselines = (0.5, images(3, 1, 2, 2))
    (for_a, for_b), delta = SAMP(two_inputs).attribute((a, b), baselines, 0, return_convergence_delta=True)
    method = samp.SAMP(direction="to_image", baseline=list(baselines))
    expected = samp.explain(two_inputs, (a, b), target=0, method=method)
    same((for_a, for_b), expected.values)
    change = two_inputs(a, b) - two_inputs(torch.full_like(a, 0.5), baselines[1].expand_as(b))
    same(delta, for_a.sum(1) + for_b.flatten(1).sum(1) - change[:, 0], **CLOSE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_attributions_keep_the_dtype_of_each_input(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 2)).to(dtype).eval()
    assert SAMP(model).attribute(X.to(dtype), 0.0, 0).dtype == dtype
    product = SAMP(lambda a, b: (a * b).flatten(1).sum(1)).attribute((X.to(dtype), X), (0.0, 0.0))
    assert [t.dtype for t in product] == [dtype, torch.float64]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_works_where_gradients_are_off_and_on(mode: Any) -> None:
    x = X.clone().requires_grad_()
    expected = SAMP(MODEL).attribute(x, 0.0, 1)
    with mode():
        same(SAMP(MODEL).attribute(X, 0.0, 1), expected)
    assert not expected.requires_grad
    assert x.grad is None


TARGETS = [(2, [2, 2]), (torch.tensor(2), [2, 2]), (torch.tensor([1, 3]), [1, 3]), ([1, 3], [1, 3]), ((2,), [2, 2])]


@pytest.mark.parametrize(("target", "classes"), [(None, MODEL(X).argmax(1).tolist()), *TARGETS])
def test_every_kind_of_target(target: Any, classes: list[int]) -> None:
    one_by_one = [samp.explain(MODEL, X[i : i + 1], target=classes[i], method="samp").values for i in range(2)]
    same(SAMP(MODEL).attribute(X, target=target), torch.cat(one_by_one), **CLOSE)


@pytest.mark.parametrize(("target", "scores"), [((1, 0), [2, 2]), ([(1, 0), (0, 1)], [2, 1])])
def test_targets_inside_a_larger_output(target: Any, scores: list[int]) -> None:
    square = SAMP(lambda x: MODEL(x).view(-1, 2, 2))
    same(square.attribute(X, 0.0, target), SAMP(MODEL).attribute(X, 0.0, scores))


@pytest.mark.parametrize("axes", [(), (1,)], ids=["(b,)", "(b, 1)"])
def test_without_a_target_one_score_is_explained(axes: tuple[int, ...]) -> None:
    one_score = SAMP(lambda x: MODEL(x)[:, 2].reshape(-1, *axes))
    same(one_score.attribute(X, 0.0), SAMP(MODEL).attribute(X, 0.0, 2), **CLOSE)


def test_additional_forward_args_are_one_argument_or_a_tuple() -> None:
    plain, factor = SAMP(MODEL).attribute(X, 0.0, 1), torch.tensor([2.0, 5.0], dtype=torch.float64)
    a_list = SAMP(lambda x, factors: MODEL(x) * factors[0]).attribute(X, 0.0, 1, [3.0, 9.0])
    same(a_list, 3 * plain, **CLOSE)
    a_tuple = SAMP(lambda x, factor, power: MODEL(x) * factor[:, None] ** power).attribute(X, 0.0, 1, (factor, 2))
    same(a_tuple, plain * (factor**2).view(2, 1, 1, 1), **CLOSE)


def test_a_feature_mask_of_batch_size_1_serves_every_batch() -> None:
    halves = (torch.arange(16).view(1, 1, 4, 4) // 8).expand(1, 3, 4, 4)
    for x in (X[:1], X, images(1, 5, 3, 4, 4)):
        got = SAMP(MODEL).attribute(x, 0.0, 1, n_steps=2, feature_mask=halves)
        method = samp.SAMP(pixels_per_step=1, **BLACK)
        same(got, samp.explain(MODEL, x, target=1, method=method, groups=halves[0]).values)
    with pytest.raises(ValueError, match="group mask has shape"):
        SAMP(MODEL).attribute(images(1, 6, 3, 4, 4), 0.0, 1, feature_mask=halves.repeat(2, 1, 1, 1))


def test_internal_batch_size_bounds_the_batch_and_not_the_result() -> None:
    model = CountingModel(MODEL)
    small = SAMP(model).attribute(X, target=1, internal_batch_size=1)
    assert model.largest == 1
    same(small, SAMP(MODEL).attribute(X, target=1), **CLOSE)


def test_mistakes_get_a_sentence() -> None:
    for n_steps in (0, 2.5):
        with pytest.raises(ValueError, match="steps is a whole number"):
            SAMP(MODEL).attribute(X, n_steps=n_steps)
    with pytest.raises(ValueError, match="2 entries but the model takes 1"):
        SAMP(MODEL).attribute(X, (0.0, 0.0))
    with pytest.raises(TypeError, match="etta"):
        SAMP(MODEL).attribute(X, etta=0.1)


def test_progress_shows_a_bar(capsys: Any) -> None:
    SAMP(MODEL).attribute(X, target=0, progress=True)
    assert "images" in capsys.readouterr().err


# ---- Captum's conventions ----


def test_the_signature_is_captum_s_with_our_own_options_by_keyword() -> None:
    parameters = inspect.signature(SAMPPlusPlus(MODEL).attribute).parameters
    captum_s = ["inputs", "baselines", "target", "additional_forward_args", "n_steps", "internal_batch_size"]
    by_position = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert by_position == [*captum_s, "return_convergence_delta"]
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name not in by_position)


def test_captum_finds_the_names_it_asks_for() -> None:
    method = SAMP(forward_func=MODEL)
    assert method.forward_func is MODEL
    assert method.has_convergence_delta()
    assert method.multiplies_by_inputs is True
    same(method.attribute.__wrapped__(method, X, target=1), method.attribute(X, target=1))


def test_captum_is_not_imported() -> None:
    script = "import sys, samp; samp.captum.SAMP; sys.exit('captum' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("baselines", [{}, {"baselines": 0.25}, {"baselines": X / 2}, {"baselines": X[:1] / 2}])
@pytest.mark.parametrize("inputs", [X, (X,)], ids=["tensor", "tuple"])
def test_noise_tunnel_runs_it_unchanged(baselines: dict[str, Any], inputs: Any) -> None:
    attr = pytest.importorskip("captum.attr")
    torch.manual_seed(0)
    result, delta = attr.NoiseTunnel(SAMPPlusPlus(MODEL)).attribute(
        inputs, nt_samples=3, stdevs=0.1, target=[1, 2], return_convergence_delta=True, **baselines
    )
    torch.manual_seed(0)
    noisy = X.repeat_interleave(3, 0) + torch.normal(0, torch.tensor(0.1).expand(6, 3, 4, 4))
    baseline = baselines.get("baselines")
    if isinstance(baseline, Tensor) and len(baseline) == 2:
        baseline = baseline.repeat_interleave(3, 0)
    method = samp.SAMPPlusPlus(direction="both" if baseline is None else "to_image", baseline=baseline)
    expected = samp.explain(MODEL, noisy, target=[1, 1, 1, 2, 2, 2], method=method)
    assert isinstance(result, type(inputs))
    same(result[0] if isinstance(result, tuple) else result, expected.values.view(2, 3, 3, 4, 4).mean(1), **CLOSE)
    same(delta, -expected.residual, **CLOSE)


def test_noise_tunnel_without_noise_changes_nothing() -> None:
    attr = pytest.importorskip("captum.attr")
    masks = torch.stack([torch.arange(16).view(1, 4, 4) // 4, torch.arange(16).view(1, 4, 4) // 2])
    options = {"target": 1, "feature_mask": masks, "n_steps": 4}
    tunnel = attr.NoiseTunnel(SAMP(MODEL))
    same(tunnel.attribute(X, stdevs=0.0, nt_samples=3, **options), SAMP(MODEL).attribute(X, **options), **CLOSE)


def test_sensitivity_max_runs_it_unchanged() -> None:
    metrics = pytest.importorskip("captum.metrics")
    options = {"target": 1, "baselines": 0.0, "feature_mask": torch.arange(16).view(1, 1, 4, 4) // 2}
    got = metrics.sensitivity_max(SAMP(MODEL).attribute, X, lambda x: x + 0.1, n_perturb_samples=2, **options)
    here, there = (SAMP(MODEL).attribute(x, **options).flatten(1) for x in (X, X + 0.1))
    same(got, (here - there).norm(dim=1) / here.norm(dim=1), **CLOSE)
    still = metrics.sensitivity_max(SAMPPlusPlus(MODEL).attribute, X, lambda x: x, n_perturb_samples=2, target=1)
    same(still, torch.zeros_like(still))


def test_infidelity_is_nought_on_a_linear_model() -> None:
    """Credit is weight × difference there, so any perturbation changes the score by just the credit it takes away."""
    metrics = pytest.importorskip("captum.metrics")
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 3)).double().eval()
    method = SAMPPlusPlus(model)

    @metrics.infidelity_perturb_func_decorator(method.multiplies_by_inputs)
    def halve_some(x: Tensor) -> Tensor:
        return torch.where(torch.rand_like(x) < 0.5, x / 2, x)

    good = method.attribute(X + 0.1, 0.0, 2)
    for attributions, right in ((good, True), (good.flip(1), False)):
        found = metrics.infidelity(model, halve_some, X + 0.1, attributions, target=2, n_perturb_samples=4)
        assert bool((found < 1e-20).all()) is right


def test_visualization_draws_it() -> None:
    visualization = pytest.importorskip("captum.attr").visualization
    pytest.importorskip("matplotlib").use("Agg")
    heat = SAMPPlusPlus(MODEL).attribute(X, target=1)[0].permute(1, 2, 0).numpy()
    image = X[0].permute(1, 2, 0).numpy()
    _, axis = visualization.visualize_image_attr(heat, image, "heat_map", sign="all", use_pyplot=False)
    drawn = axis.images[0].get_array()
    kept = abs(drawn) < 1
    assert kept.sum() > 8
    assert (drawn / heat.sum(2))[kept].std() < 1e-6  # scaled and clipped, nothing else
