"""Fast calls of models that do not bear them: the next way is taken, down to the exact one, and the result says why."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from fast_nets import EVEN, Equip, agree, equip, images, net, whole
from laws import assert_same
from samp.fast import cache
from samp.fast.cuda_graphs import no_capture

__all__ = ["equip", "whole"]  # fixtures


def refusing(*_: Any) -> Any:
    raise RuntimeError("operation not permitted when stream is capturing\nand more")


def odd(kind: str) -> Any:
    model = net()
    if kind == "the model is no nn.Module":
        return lambda x: model(x)
    if kind == "the model has hooks":
        model[0].register_forward_hook(lambda module, args, output: output * 2)
    if kind.startswith("the model cannot be copied"):

        class Stubborn(nn.Sequential):
            def __deepcopy__(self, memo: Any) -> Any:
                raise RuntimeError("one of a kind")

        return Stubborn(*model).eval()
    return model


@pytest.mark.parametrize(
    "reason",
    [
        "the model is no nn.Module",
        "the model has hooks",
        "the model cannot be copied (RuntimeError: one of a kind)",
    ],
)
def test_a_model_that_bears_nothing_is_explained_exactly_and_the_result_says_why(reason: str) -> None:
    model, x = odd(reason), images()
    quick = samp.explain(model, x, speed="fast")
    assert_same(quick, samp.explain(model, x))
    assert quick.details["speed"] == f"exact: {reason}"


def test_a_model_in_training_mode_is_explained_exactly() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(300, 2)).train()
    with pytest.warns(UserWarning, match="training mode"):
        quick = samp.explain(model, images(), speed="fast", seed=3)
    assert quick.details["speed"] == "exact: the model is in training mode"


def test_what_fails_falls_back_to_the_next_way_for_good(equip: Equip) -> None:
    equip(lambda model: refusing, refusing)
    model, x = net(), images()
    for _ in range(2):
        quick = samp.explain(model, x, speed="fast")
        agree(quick, samp.explain(model, x))
        assert quick.details["speed"].startswith("fast: channels last; no ")
        assert "; no CUDA graphs: RuntimeError: operation not" in quick.details["speed"]
        assert "; no compiled: RuntimeError" in quick.details["speed"]
        assert "and more" not in quick.details["speed"]


def test_a_net_that_cannot_be_compiled_is_captured_all_the_same(equip: Equip) -> None:
    equip(lambda model: refusing, no_capture)
    model, x = net(), images()
    for _ in range(2):
        quick = samp.explain(model, x, method=EVEN, speed="fast")
        agree(quick, samp.explain(model, x, method=EVEN))
        assert quick.details["speed"].startswith(
            "fast: channels last, CUDA graphs of 6 rows; no compiled: RuntimeError"
        )


def test_memory_of_captured_calls_is_given_back_before_the_batch_shrinks(equip: Equip) -> None:
    """A net that has no room for three rows while calls are kept for it, and room enough when they are not."""

    class Cramped(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 2 and any(kept.graphs for kept in cache._CACHE.values()):
                raise RuntimeError("CUDA out of memory")
            out: Tensor = super().forward(x)
            return out

    equip(None, no_capture)
    model = Cramped(*net()).eval()
    ask = partial(samp.explain, model, target=0, method=EVEN)
    ask(images(1), speed="fast")
    assert [list(kept.graphs) for kept in cache._CACHE.values()] != [[]]
    quick = ask(images(3), speed="fast")
    assert quick.details["batch_size"] >= 6
    assert quick.details["speed"] == "fast: channels last; no CUDA graphs: memory ran out"
    agree(quick, ask(images(3)))


def test_a_net_that_changes_its_input_in_place_is_called_without_graphs(equip: Equip) -> None:
    class Scaled(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = super().forward(x.sub_(0.5).mul_(2.0))
            return out

    equip(None, no_capture)
    model, x = Scaled(*net()).eval(), images()
    before = x.clone()
    quick = samp.explain(model, x, method=EVEN, speed="fast")
    agree(quick, samp.explain(model, x, method=EVEN))
    assert quick.details["speed"].startswith("fast: channels last; no CUDA graphs: RuntimeError: a leaf Variable")
    assert torch.equal(x, before)


def test_a_way_whose_gradients_are_others_is_not_trusted(equip: Equip) -> None:
    model, x = nn.Sequential(nn.Flatten(), nn.Linear(300, 4), nn.Softplus(), nn.Linear(4, 2)).eval(), images()
    equip(lambda copied: lambda x: copied(x) * -1)
    quick = samp.explain(model, x, speed="fast", target=0)
    agree(quick, samp.explain(model, x, target=0))
    assert "no compiled: its gradient was not that of the exact call" in quick.details["speed"]


def test_a_wrong_target_is_told_as_ever_and_spoils_nothing(equip: Equip) -> None:
    equip(None, no_capture)
    model, x = net(), images()
    for _ in range(2):
        with pytest.raises(ValueError, match="target 9 is out of range"):
            samp.explain(model, x, target=9, speed="fast")
        quick = samp.explain(model, x, method=EVEN, target=1, speed="fast")
        assert quick.details["speed"] == "fast: channels last, CUDA graphs of 6 rows"


@pytest.mark.parametrize(("method", "fits"), [("samp++", 1), ("coupled", 2)])
def test_out_of_memory_is_passed_on_so_that_the_batch_is_halved(method: str, fits: int) -> None:
    """Walks of 6, 3, 1; both of a coupled walk come together, so that 6, 2 are left."""

    class Hungry(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 2:
                raise RuntimeError("CUDA out of memory")
            return x.flatten(1).square()

    quick = samp.explain(Hungry().eval(), images(), target=0, method=method, speed="fast")
    assert quick.details["batch_size"] == fits
    assert quick.details["speed"] == "fast: channels last"
