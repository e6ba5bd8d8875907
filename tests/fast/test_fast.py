"""Fast calls: the same question through a copy of the net, and the exact answer where the net does not bear that."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from fast_nets import EVEN, Equip, agree, eagerly, equip, images, net, whole
from samp.fast import cache, gradients
from samp.fast.cuda_graphs import no_capture

__all__ = ["equip", "whole"]  # fixtures


@pytest.mark.parametrize(
    ("compile", "capture", "label"),
    [
        (None, None, "fast: channels last"),
        (None, no_capture, "fast: channels last, CUDA graphs of 6 rows"),
        (eagerly, None, "fast: channels last, compiled"),
        (eagerly, no_capture, "fast: channels last, compiled, CUDA graphs of 6 rows"),
    ],
)
def test_every_fast_way_gives_the_exact_answer_and_is_named(
    equip: Equip, compile: Any, capture: Any, label: str
) -> None:
    equip(compile, capture)
    model, x = net(), images()
    exact = samp.explain(model, x, method=EVEN)
    assert exact.details["speed"] == "exact"
    for _ in range(2):  # made, then found again
        quick = samp.explain(model, x, method=EVEN, speed="fast")
        agree(quick, exact)
        assert quick.details["speed"] == label


def test_scores_at_places_in_larger_outputs_are_captured(equip: Equip) -> None:
    equip(None, no_capture)
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Softplus(), nn.Conv2d(4, 6, 3)).eval(), images()
    target = [(5, 0, 2), (1, 3, 4), (0, 5, 1)]
    quick = samp.explain(model, x, method=EVEN, target=target, speed="fast")
    agree(quick, samp.explain(model, x, method=EVEN, target=target))
    assert "CUDA graphs" in quick.details["speed"]


@pytest.mark.parametrize("target", [2, [0, 4, 1], lambda output: output[:, 1] - output[:, 2]])
def test_targets_of_any_kind_are_explained_fast(equip: Equip, target: Any) -> None:
    equip(None, no_capture)
    model, x = net(), images()
    agree(samp.explain(model, x, target=target, speed="fast"), samp.explain(model, x, target=target))


def test_every_batch_of_a_captured_call_has_its_own_targets(equip: Equip) -> None:
    equip(None, no_capture)
    model, x, target = net(), images(4), [0, 1, 2, 3]
    quick = samp.explain(model, x, method=EVEN, target=target, batch_size=2, speed="fast")
    agree(quick, samp.explain(model, x, method=EVEN, target=target, batch_size=2))
    assert quick.details["speed"] == "fast: channels last, CUDA graphs of 2 rows"


def test_one_captured_call_serves_other_targets_and_other_inputs(equip: Equip) -> None:
    equip(None, no_capture)
    model = net()
    for target, seed in ((0, 1), (3, 1), (3, 2)):
        x = images(3, seed)
        exact = samp.explain(model, x, method=EVEN, target=target)
        agree(samp.explain(model, x, method=EVEN, target=target, speed="fast"), exact)
    assert [size for _, size in cache._CACHE[id(model)].graphs] == [6]


def test_several_inputs_and_further_arguments_are_fed_in_their_shapes() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image, self.table = net(), nn.Linear(4, 5)

        def forward(self, image: Tensor, table: Tensor, weight: Tensor) -> Tensor:
            out: Tensor = self.image(image) * weight[:, None] + self.table(table).tanh()
            return out

    model, inputs, weight = Two().eval(), (images(), torch.rand(3, 4)), torch.tensor([1.0, 2.0, 3.0])
    exact = samp.explain(model, inputs, target=1, forward_args=samp.PerSample(weight))
    quick = samp.explain(model, inputs, target=1, forward_args=samp.PerSample(weight), speed="fast")
    for a, b in zip(quick.values, exact.values, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
    assert quick.details["speed"] == "fast: channels last"


def test_a_batch_of_many_rows_is_captured_as_it_is_and_gives_the_same_maps(equip: Equip) -> None:
    equip(capture=no_capture)
    model, x = net(), images(40)
    exact = samp.explain(model, x, target=1, method=samp.SAMP(pixels_per_step=9), batch_size=80)
    quick = samp.explain(model, x, target=1, method=samp.SAMP(pixels_per_step=9), batch_size=80, speed="fast")
    assert "CUDA graphs of 80 rows" in quick.details["speed"]
    torch.testing.assert_close(quick.score_change, exact.score_change, rtol=1e-4, atol=1e-5)


def test_one_compiled_net_serves_any_number_of_rows(equip: Equip) -> None:
    made = []

    def backend(graph: Any, inputs: Any) -> Any:
        made.append(len(inputs))
        return graph.forward

    equip(lambda model: torch.compile(model, backend=backend))
    model = net()
    for count in (5, 3, 4):
        samp.explain(model, images(count), speed="fast", method="ig", batch_size=2 * count)
    assert len(made) == 1


def test_the_users_net_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "is_half_faster", lambda device: True)
    model = net()
    before = {name: (t, t.clone(), t.dtype, t.stride(), t._version) for name, t in model.state_dict().items()}
    result = samp.explain(model, images(), speed="fast")
    assert result.details["speed"] == "fast: bfloat16, channels last"
    assert result.values.dtype == torch.float32
    for name, t in model.state_dict().items():
        tensor, numbers, *looks = before[name]
        assert t.data_ptr() == tensor.data_ptr()
        assert torch.equal(t, numbers)
        assert [t.dtype, t.stride(), t._version] == looks
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


def test_fast_never_works_with_old_numbers(equip: Equip) -> None:
    """Also where they change behind the version counter's back, or in a buffer."""
    equip(None, no_capture)
    model, x = net(), images()
    samp.explain(model, x, target=0, speed="fast")
    for change in (
        lambda: model[0].weight.data.neg_(),
        lambda: setattr(model[3].weight, "data", torch.randn_like(model[3].weight)),
        lambda: model[1].running_var.mul_(4),
        lambda: setattr(model[3], "stride", (3, 3)) or setattr(model, "6", nn.Linear(32, 5).eval()),
    ):
        change()
        agree(samp.explain(model, x, target=0, speed="fast"), samp.explain(model, x, target=0))


def test_nothing_kept_outlives_the_model(equip: Equip) -> None:
    equip(eagerly, no_capture)
    model, x = net(), images()
    samp.explain(model, x, speed="fast")
    gone = weakref.ref(model), weakref.ref(x)
    assert cache._CACHE
    del model, x
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert not cache._CACHE


def test_float64_inputs_are_not_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "is_half_faster", lambda device: True)
    model, x = net().double(), images().double()
    quick = samp.explain(model, x, speed="fast")
    torch.testing.assert_close(quick.values, samp.explain(model, x).values, rtol=1e-9, atol=1e-11)
    assert quick.details["speed"] == "fast: channels last"


def test_methods_without_plain_gradients_say_that_they_are_exact() -> None:
    result = samp.explain(net(), images(), method="random", speed="fast")
    assert result.details["speed"] == "exact: this method asks for no plain gradients"


def test_an_unknown_speed_is_told() -> None:
    with pytest.raises(ValueError, match="unknown speed 'fats': did you mean 'fast'"):
        samp.explain(net(), images(), speed="fats")  # type: ignore[arg-type]  # the point of the test


def test_scores_keep_their_digits_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last layer stays in float32: a score near 100 would else be rounded to halves."""
    monkeypatch.setattr(gradients, "is_half_faster", lambda device: True)
    model = net()
    with torch.no_grad():
        model[-1].bias.fill_(100.0)
    scores = samp.explain(model, images(), speed="fast").scores["to_image"]
    scores = scores[scores.isfinite()]
    assert (scores != scores.bfloat16()).float().mean() > 0.9
