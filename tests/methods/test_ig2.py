"""IG2: the published method against an oracle, its layer, its references and bounds, and where its descent ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, CountingModel, assert_same, differs, images, net
from samp.engine.problem import make_problem
from samp.engine.walk import Route, Step
from samp.errors import NonFiniteError
from samp.methods._layer_model import problem_at_layer
from samp.methods.ig2 import IG2, DescentPath

explain = samp.explain
SMOOTH = net(4, features=3 * 6 * 5, activation=nn.Softplus)
X = images(4, 5, 3, 6, 5)
OTHERS = images(7, 3, 3, 6, 5)
MEAN, STD = (torch.tensor(v, dtype=torch.float64).view(1, 3, 1, 1) for v in ([0.5, 0.4, 0.3], [0.2, 0.25, 0.3]))


def published(image: Tensor, references: Tensor, steps: int, size: float) -> Tensor:
    """The authors' code in its own units, for one image: pixels from 0 to 255, moves of L2 length `size`, the slope of
    the distance taken by the normalised image, what enters the last linear layer compared, references averaged.
    """
    representation, wanted = SMOOTH[:-1], SMOOTH[:-1](references).detach()
    x = image.repeat(len(references), 1, 1, 1)
    credit = torch.zeros_like(x)
    for _ in range(steps):
        leaf = ((x / 255 - MEAN) / STD).requires_grad_()
        (gradient,) = torch.autograd.grad(SMOOTH(leaf)[:, 0].sum(), leaf)
        (slope,) = torch.autograd.grad(-nn.functional.mse_loss(representation(leaf), wanted), leaf)
        there = (x + size * slope / slope.flatten(1).norm(dim=1).view(-1, 1, 1, 1)).clamp(0, 255)
        credit += (x - there) * gradient
        x = there
    return credit.mean(0)


def test_ig2_equals_the_published_method() -> None:
    """Ours works in the space the model is fed, so its moves are those of the pixels over 255 · std."""
    pixels, size = 255 * X, 30.0
    references = (OTHERS - MEAN) / STD
    method = IG2(25, size / 255 / 90**0.5, tuple(references.split(1)), bounds=((0 - MEAN) / STD, (1 - MEAN) / STD))
    result = explain(SMOOTH, (X - MEAN) / STD, target=0, method=method)
    for i in range(len(X)):
        expected = published(pixels[i : i + 1], references, 25, size)
        torch.testing.assert_close(result.values[i] * 255 * STD[0], expected, **CLOSE)


def test_ig2_by_the_output_and_within_each_images_own_range_equals_its_oracle() -> None:
    """What was the only way before: `layer=` the model itself."""
    reference = OTHERS[:1]
    method = IG2(15, step=0.02, reference=reference, layer="")
    result = explain(SMOOTH, X, target=0, method=method, keep_points=True)
    assert_same(result, explain(SMOOTH, X, target=0, method=IG2(15, 0.02, reference, layer=SMOOTH)))
    x, low, high = X[2:3], X[2].min(), X[2].max()
    expected, wanted = torch.zeros_like(x), SMOOTH(reference).detach()
    for _ in range(15):
        leaf = x.clone().requires_grad_()
        output = SMOOTH(leaf)
        (g,) = torch.autograd.grad(output[:, 0].sum(), leaf, retain_graph=True)
        (d,) = torch.autograd.grad((output - wanted).square().sum(), leaf)
        there = (x - 0.02 * (high - low) * d / d.square().mean().sqrt()).clamp(low, high)
        expected += g * (x - there)
        x = there
    torch.testing.assert_close(result.values[2:3], expected, **CLOSE)
    torch.testing.assert_close(result.tapes["to_baseline"][2].points[-1:], x, **CLOSE)
    assert "layer='output'" in result.method


# ---- references ----


def test_several_references_give_the_mean_of_each_alone() -> None:
    method = IG2(10, reference=tuple(OTHERS.split(1)))
    together = explain(SMOOTH, X, target=0, method=method)
    alone = [explain(SMOOTH, X, target=0, method=IG2(10, reference=one)) for one in OTHERS.split(1)]
    torch.testing.assert_close(together.values, torch.stack([r.values for r in alone]).mean(0), **CLOSE)
    torch.testing.assert_close(together.residual, torch.stack([r.residual for r in alone]).mean(0), **CLOSE)
    assert together.gradients.tolist() == sum(r.gradients for r in alone).tolist()
    assert (together.scores, together.steps, together.tapes) == ({}, {}, {})
    assert together.method.count("tensor of shape (1, 3, 6, 5)") == 3
    assert samp.metrics.completeness_of(together)["both"].relative.shape == (5,)
    one = explain(SMOOTH, X, target=0, method=IG2(10, reference=(OTHERS[:1],)))
    assert_same(one, alone[0])


def test_several_references_of_several_inputs_are_averaged_input_by_input() -> None:
    a, b = images(0, 2, 4), images(1, 2, 3)

    def model(a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([a.sum(1).sin() * b.square().sum(1), a.prod(1)], 1)

    result = explain(model, (a, b), target=0, method=IG2(5, 0.05, reference=("white", [0.2, "black"])))
    alone = [explain(model, (a, b), target=0, method=IG2(5, 0.05, reference=r)) for r in ("white", [0.2, "black"])]
    for i in range(2):
        torch.testing.assert_close(result.values[i], (alone[0].values[i] + alone[1].values[i]) / 2, **CLOSE)


def test_a_bank_of_references_that_is_no_tuple_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(ValueError, match=r"3 entries for 5 samples.*reference=tuple\(images.split\(1\)\)"):
        explain(SMOOTH, X, target=0, method=IG2(2, reference=OTHERS))


def test_a_sample_that_fails_for_one_reference_is_nan_and_the_others_are_whole() -> None:
    x = torch.tensor([[0.5, 0.3, 0.9], [0.2, 0.4, 0.8]], dtype=torch.float64)
    references = (torch.tensor([[-1.0, 0.3, 0.9], [0.3, 0.4, 0.8]]).double(), 0.6)
    method = IG2(20, 0.2, references, bounds=(-2, 2))
    with pytest.raises(NonFiniteError) as error:
        explain(nn.Identity().eval(), x, target=lambda out: (out[:, 0] + 0.7).log(), method=method)
    values = error.value.result.values
    assert values[0].isnan().all()
    assert values[1].isfinite().all()


# ---- the layer ----


class Headless(nn.Module):
    """Features, a linear head, and perhaps more behind it."""

    def __init__(self, behind: nn.Module) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(90, 7), nn.Tanh())
        self.head, self.behind = nn.Linear(7, 4), behind
        self.double().eval()

    def forward(self, x: Tensor) -> Tensor:
        return self.behind(self.head(self.body(x)))


@pytest.mark.parametrize(
    ("behind", "layer", "words", "width"),
    [
        (nn.Identity, None, "input of 'head'", 7),
        (lambda: nn.Softmax(1), None, "input of 'head'", 7),
        (lambda: nn.AvgPool1d(2), None, "output", 2),  # what follows the linear layer is more than a squashing of it
        (nn.Identity, "body", "body", 7),
        (nn.Identity, "body.1", "body.1", 7),
        (nn.Identity, "head", "head", 4),
        (lambda: nn.AvgPool1d(2), "", "output", 2),
    ],
)
def test_the_layer_is_the_one_asked_for(
    behind: Callable[[], nn.Module], layer: str | None, words: str, width: int
) -> None:
    problem = make_problem(Headless(behind()), X, target=0)
    inner, found = problem_at_layer(problem, layer)
    assert found == words
    assert inner.output(problem.x, torch.arange(5)).shape == (5, width)


def test_a_layer_by_name_and_by_itself_is_the_same_and_in_place_work_behind_it_is_not_seen() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(90, 8), nn.ReLU(inplace=True), nn.Linear(8, 3)).double().eval()
    by_name = explain(model, X, target=0, method=IG2(6, layer="1"))
    assert_same(by_name, explain(model, X, target=0, method=IG2(6, layer=model[1])))
    assert differs(by_name, explain(model, X, target=0, method=IG2(6, layer="2")))
    assert differs(by_name, explain(model, X, target=0, method=IG2(6)))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_function_is_compared_by_its_output() -> None:
    result = explain(lambda x: SMOOTH(x), X, target=0, method=IG2(6))
    assert "layer='output'" in result.method
    assert_same(result, explain(SMOOTH, X, target=0, method=IG2(6, layer="")), **CLOSE)


REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    (SMOOTH, IG2(2, layer="0.nope"), ValueError, "unknown layer '0.nope'"),
    (SMOOTH, IG2(2, layer=nn.Linear(2, 2)), ValueError, "layer is a Linear that is no part of the model"),
    (lambda x: SMOOTH(x), IG2(2, layer="1"), ValueError, "layer needs a model that is an nn.Module"),
    (SMOOTH, IG2(2, bounds=(1, 0)), ValueError, "does not rise"),
]


@pytest.mark.parametrize(("model", "method", "error", "sentence"), REFUSED)
def test_what_cannot_be_gets_a_sentence(model: Any, method: IG2, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        explain(model, X, target=0, method=method)


def test_a_layer_that_is_not_called_or_gives_no_tensor_gets_a_sentence() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.idle, self.pair, self.net = nn.Linear(2, 2), Pair(), SMOOTH

        def forward(self, x: Tensor) -> Tensor:
            return self.net(self.pair(x)[0])

    class Pair(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x, x

    model = Odd().eval()
    with pytest.raises(ValueError, match="the model does not call its layer 'idle'"):
        explain(model, X, target=0, method=IG2(2, layer="idle"))
    with pytest.raises(TypeError, match="layer 'pair' gives tuple and not a tensor"):
        explain(model, X, target=0, method=IG2(2, layer="pair"))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: IG2(layer=3), TypeError, "layer is a module, its name, or None, not int"),
        (lambda: IG2(reference=()), ValueError, "reference is an empty tuple"),
        (lambda: IG2(bounds=(0, 1, 2)), ValueError, "bounds is a pair"),
    ],
)
def test_settings_that_cannot_be_are_refused_when_made(make: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make()


def test_threads_that_share_a_net_do_not_hear_each_other() -> None:
    model, method = Headless(nn.Identity()), IG2(12, layer="body")
    expected = [explain(model, x[None], target=0, method=method).values for x in X]
    found: list[Tensor | None] = [None] * len(X)

    def work(i: int) -> None:
        found[i] = explain(model, X[i : i + 1], target=0, method=method).values

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(X))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, wanted in zip(found, expected, strict=True):
        assert got is not None
        torch.testing.assert_close(got, wanted, **CLOSE)


# ---- the descent ----


def test_gradients_of_several_references_are_counted() -> None:
    model = CountingModel(SMOOTH)
    result = explain(model, X, target=0, method=IG2(6, reference=tuple(OTHERS.split(1))))
    assert int(result.gradients.sum()) == model.rows_with_gradient


def test_ig2_comes_near_to_its_reference_and_stays_with_it() -> None:
    reference = images(7, 1, 3, 6, 5)
    ends = explain(SMOOTH, X, target=0, method=IG2(60, step=0.01, reference=reference)).scores["to_baseline"][:, -1]
    wanted, was = SMOOTH(reference)[0, 0], SMOOTH(X)[:, 0]
    assert (ends - wanted).abs().mean() < 0.1 * (was - wanted).abs().mean()  # as near as the length of a step allows
    same = explain(SMOOTH, X, target=0, method=IG2(5, reference=X))
    assert (same.values == 0).all()
    assert same.steps["to_baseline"].tolist() == [0] * len(X)


def test_a_descent_that_cannot_go_on_goes_to_its_end() -> None:
    """The second descent may miss the end of the first by rounding, and must not stand still beside it."""
    flat = make_problem(lambda x: 0 * x.flatten(1).sum(1), X, target=0)
    one = torch.zeros(1, dtype=torch.long)
    route = Route.between(flat.x[:1], flat.x[1:2], one, torch.ones(1, 1), flat.features)
    step = Step(0, one, None, flat.x[:1], one, flat.x[:1], flat.x[:1], one.bool(), one.bool())
    descent = DescentPath(5, 0.1, torch.zeros(5, 1), torch.ones(5, 1), flat)
    assert torch.equal(descent.propose(step, route), route.end)


def test_ig2_needs_outputs_that_are_tensors() -> None:
    with pytest.raises(TypeError, match="IG2 compares outputs that are tensors, but the model returns tuple"):
        explain(lambda x: ("scores", SMOOTH), X, target=lambda output: output[1](X[:1])[:, 0], method=IG2(2))
