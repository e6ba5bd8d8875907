"""The walk's own work compiled, as on a GPU: one graph each, the same credit, and nothing compiled twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

import samp
from compiled_walks import compile_walks
from samp.engine.problem import Problem, keep_function
from samp.engine.walk import walk
from samp.fast import compiled


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Every function of the walk compiled into a single graph, or an error; what is compiled is noted here."""
    made: list[Any] = []
    known: dict[Callable[..., Any], compiled.CompiledFunction] = {}

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        made.append(graph)
        return graph.forward

    def compiler(function: Any) -> Any:
        compile = partial(torch.compile, backend=backend, fullgraph=True)
        return known.setdefault(function, compiled.CompiledFunction(function, compile))

    compile_walks(monkeypatch, compiler)
    yield made
    assert all(one.call is not one.function for one in known.values()), "not compiled, but called as it was"
    torch._dynamo.reset()


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 16), nn.Softplus(), nn.Linear(16, 3)).double().eval()


def images(count: int) -> torch.Tensor:
    """The last is blank but for a corner, so that its walks are shorter and its rows leave first."""
    x = torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(count)).double()
    x[-1, :, :, 3:] = 0
    return x


def pairs(count: int) -> torch.Tensor:
    """Pairs of pixels as groups; of the first image larger ones, so that it moves fewer at a time."""
    groups = (torch.arange(64).view(1, 1, 8, 8) // 2).repeat(count, 1, 1, 1)
    groups[0] //= 3
    return groups


METHODS = {
    "samp": samp.SAMP(pixels_per_step=5),
    "samp++": samp.SAMPPlusPlus(pixels_per_step=5, eta=0.1),
    "trapezoid": samp.SAMPPlusPlus(pixels_per_step=5, eta=0.1, credit="shared_trapezoid"),
    "draft": samp.Coupled("draft"),
    "standard": samp.Coupled(),
    "fine": samp.Coupled("fine"),
    "shares": samp.Coupled(steps=9, eta=0.2),
}


@pytest.mark.parametrize("method", METHODS)
def test_credit_of_a_compiled_walk_is_that_of_the_walk(graphs: list[Any], method: str) -> None:
    model, x = net(), images(4)
    ask = partial(
        samp.explain, model, target=1, method=METHODS[method], groups=pairs(4) if method == "shares" else None
    )
    compiled = ask(x)
    assert graphs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Problem, "walk", lambda self, *args: walk(*args))
        patch.setattr(Problem, "compiler", lambda self, path: keep_function)
        plain = ask(x)
    torch.testing.assert_close(compiled.values, plain.values)
    for direction, order in plain.order.items():
        assert torch.equal(compiled.order[direction], order)
        torch.testing.assert_close(compiled.scores[direction], plain.scores[direction], equal_nan=True)


def test_nothing_is_compiled_for_a_number_of_images_that_is_new(graphs: list[Any]) -> None:
    """For the first number of rows, then for any: what a run over a data set asks for at its end, or a user later."""
    model = net()
    for count in (4, 7):
        samp.explain(model, images(count), target=1, method=METHODS["samp++"])
    known = len(graphs)
    for count in (5, 9, 4, 6):
        samp.explain(model, images(count), target=1, method=METHODS["samp++"])
    assert len(graphs) == known


def test_an_error_of_the_users_does_not_spoil_a_compiled_function() -> None:
    def divided(x: float, by: float) -> float:
        return x / by

    call = compiled.CompiledFunction(divided, eager)
    with pytest.raises(ZeroDivisionError):
        call(1.0, 0.0)
    assert call(1.0, 2.0) == 0.5
    assert call.call is not divided


def eager(function: Any) -> Any:
    return lambda *args: function(*args)


def test_more_kinds_of_walk_are_compiled_than_torch_would_by_itself(graphs: list[Any]) -> None:
    """It gives up after eight; the fixture looks whether any was given up."""
    model = net()
    for name in ("samp", "samp++", "trapezoid", "draft", "shares"):
        for count in (3, 1):
            samp.explain(model, images(count), target=1, method=METHODS[name])
    assert len(graphs) > 8
