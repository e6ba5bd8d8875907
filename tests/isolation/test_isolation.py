"""The user's code leaves no trace, whatever it writes to or draws from, and whoever explains at the same time."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.isolation import isolate, observe
from samp.isolation.isolate import shared_generators

X = torch.rand(3, 3, 4, 4, generator=torch.Generator().manual_seed(0))


def shared_states() -> list[Any]:
    numpy_state = np.random.get_state()
    return [torch.get_rng_state().tolist(), numpy_state[1].tolist(), numpy_state[2:], random.getstate()]


class Counting(nn.Module):
    """Scores scaled by how often it was called, in evaluation mode too."""

    def __init__(self, write: Callable[[nn.Module], None]) -> None:
        super().__init__()
        self.linear, self.write = nn.Linear(48, 3), write
        self.register_buffer("calls", torch.zeros(()))
        self.last = 0

    def forward(self, x: Tensor) -> Tensor:
        self.write(self)
        self.last += 1
        scores: Tensor = self.linear(x.flatten(1)) * (1 + self.calls)
        return scores


def in_place(model: Any) -> None:
    model.calls += 1


def by_data(model: Any) -> None:
    model.calls.data.add_(1)


def as_another_tensor(model: Any) -> None:
    model.calls = model.calls + 1


def trained() -> nn.Sequential:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))


def always_dropping(x: Tensor) -> Tensor:
    return nn.functional.dropout(x.flatten(1), 0.5, training=True)


def drawing_from_all(x: Tensor) -> Tensor:
    return x.flatten(1) * (torch.rand(1) + random.random() + np.random.rand())


# ---- buffers ----


@pytest.mark.parametrize("write", [in_place, by_data, as_another_tensor])
@pytest.mark.parametrize("method", ["ig", "gradcam", "rise", "deeplift"])
def test_a_buffer_that_forward_changes_in_evaluation_mode_is_put_back(write: Any, method: str) -> None:
    model = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), Counting(write)).eval()
    calls, seen = model[1].calls, model[1].calls.clone()
    if method == "deeplift":  # the model changes between its two passes, so that its sum cannot hold
        with pytest.raises(ValueError, match="another score at every call"):
            samp.explain(model, X, target=1, method=method)
    else:
        maps = [samp.explain(model, X, target=1, method=method).map for _ in range(2)]
        assert torch.equal(maps[0], maps[1])  # each starts from the model as it was found
    assert model[1].calls is calls
    assert torch.equal(calls, seen)
    assert model[1].last == 0  # what the module notes beside a buffer belongs to it


def test_attributes_of_modules_whose_buffers_stay_are_left_alone() -> None:
    model = Counting(lambda _: None).eval()
    samp.explain(model, X, target=1, method="ig")
    assert model.last > 0


def test_metrics_put_buffers_back_as_well() -> None:
    model = Counting(in_place).eval()
    curves = samp.metrics.deletion_insertion(model, X, torch.rand(3, 4, 4), 0, "cifar10")
    assert len(curves.deletion) == 3
    assert float(model.calls) == 0


def test_a_script_is_left_as_it_was_found() -> None:
    script = torch.jit.script(trained())
    before = {name: buffer.clone() for name, buffer in script.named_buffers()}
    with pytest.warns(UserWarning, match="training mode"):
        samp.explain(script, X, target=1, method="ig")
    assert all(torch.equal(buffer, before[name]) for name, buffer in script.named_buffers())


class Rebinding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls = self.calls + 1
        return x.flatten(1) * self.calls


def test_a_script_gets_the_place_of_its_buffer_back() -> None:
    script = torch.jit.script(Rebinding().eval())
    maps = [samp.explain(script, X, target=1, method="ig").map for _ in range(2)]
    assert float(script.calls) == 0
    assert torch.equal(maps[0], maps[1])


def test_a_forward_that_writes_to_a_parameter_is_told_of() -> None:
    class Clipping(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                self.weight.clamp_(-0.01, 0.01)
            return super().forward(x.flatten(1))

    with pytest.warns(UserWarning, match=r"Clipping\.weight of the model was written to .* cannot be put back"):
        samp.explain(Clipping(48, 2).eval(), X, target=0, method="ig")


# ---- random states ----


@pytest.mark.parametrize("model", [always_dropping, drawing_from_all])
@pytest.mark.parametrize("method", ["samp++", "deeplift", "shapley", "lime", "gradientxinput"])
def test_a_model_that_draws_is_seeded_and_the_callers_states_stay(model: Any, method: str) -> None:
    if method in ("shapley", "lime"):
        pytest.importorskip("captum")
    if method == "deeplift" and model is always_dropping:
        pytest.skip("it refuses dropout")
    before = shared_states()
    one, same, other = (samp.explain(model, X, target=0, method=method, seed=seed).values for seed in (1, 1, 2))
    assert shared_states() == before
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_baselines_targets_and_methods_of_the_users_that_draw_are_seeded_too() -> None:
    class Drawn:
        def attribute(self, problem: Any, run: Any) -> Any:
            found = samp.IG(5).attribute(problem, run)
            return samp.IG(5, baseline=torch.rand(1, 1, 1, 1)).attribute(problem, run) if found else found

    net, before = trained().eval(), shared_states()
    asked: list[dict[str, Any]] = [
        {"method": samp.IG(5, baseline=torch.rand_like), "target": 0},
        {"method": samp.IG(5), "target": lambda output: (output * torch.rand(3)).sum(1)},
        {"method": Drawn(), "target": 0},
    ]
    for question in asked:
        one, same, other = (samp.explain(net, X, seed=seed, **question).values for seed in (1, 1, 2))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)
    assert shared_states() == before


def test_a_model_that_fails_leaves_no_trace() -> None:
    def broken(x: Tensor) -> Tensor:
        torch.rand(1)
        raise RuntimeError("broken")

    before = shared_states()
    with pytest.raises(RuntimeError, match="broken"):
        samp.explain(broken, X, target=0)
    assert shared_states() == before


def test_a_device_of_its_own_has_a_generator_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU at hand: its generators are the CPU's."""
    first, second = torch.Generator(), torch.Generator()
    monkeypatch.setattr(torch.cuda, "default_generators", (first, second))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert shared_generators(torch.device("cuda")) == [torch.default_generator, first]
    states = first.get_state(), second.get_state()
    with isolate(nn.Identity(), torch.device("cuda:1"), seed=3):
        drawn = observe(second, lambda: torch.rand(1, generator=second))
        assert torch.equal(drawn, torch.rand(1, generator=torch.Generator().manual_seed(3)))
    assert torch.equal(first.get_state(), states[0])
    assert torch.equal(second.get_state(), states[1])


def test_what_other_threads_draw_meanwhile_is_not_taken_for_the_models() -> None:
    """Their generator is theirs: it is neither seeded nor put back."""
    net, ended, drawn = trained().eval(), threading.Event(), list[float]()
    theirs = torch.Generator().set_state(torch.get_rng_state())

    def slow(x: Tensor) -> Tensor:
        before = len(drawn)
        while len(drawn) == before:  # they draw in each of its calls
            ended.wait(0.001)
        return net(x)

    def draw() -> None:
        while not ended.wait(0.001):
            drawn.append(float(torch.rand(1)))

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        samp.explain(slow, X, method=samp.IG(5))
    finally:
        ended.set()
        thread.join()
    assert drawn == [float(torch.rand(1, generator=theirs)) for _ in drawn]
