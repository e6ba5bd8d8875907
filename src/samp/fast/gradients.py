"""`speed="fast"`: value and gradient through a copy of the net in bfloat16, compiled and captured where that works.

Each way of calling is tried from the fastest down; one that fails is not tried again, and the result says why. The last
way is the exact one, so a model that bears none of this is explained all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor

from samp.devices import is_half_faster, is_out_of_memory
from samp.engine.problem import Compiler, Problem, keep_function
from samp.engine.walk import Path, Route, Scorer, Step, StepRule, walk
from samp.fast.cache import COMPILED, FastModel, get_cached, get_or_prepare
from samp.fast.cuda_graphs import CapturedCall
from samp.fast.inputs import Feed, is_in_range, to_float32, value_and_gradients, value_and_gradients_at
from samp.fast.model_copy import ModelCopy
from samp.fast.model_state import reason_against
from samp.isolation import observe
from samp.targets import TargetIndex

ValueAndGradient = tuple[Tensor, Tensor]
GradientFunction = Callable[[Problem, Tensor, Tensor], ValueAndGradient]
GRAPHS, COPY = "CUDA graphs", "channels last"
LEAST_COSINE = 0.3  # between a way's first gradients and the exact ones; bfloat16 alone gives 0.7 to 0.99


class Fast:
    """How one problem's gradients are had fast; `label` says, at the end, what was used and what was not.

    >>> import samp
    >>> layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16, 2)]
    >>> result = samp.explain(torch.nn.Sequential(*layers).eval(), torch.rand(1, 1, 4, 4), speed="fast")
    >>> "channels last" in result.details["speed"]
    True
    """

    def __init__(self, model: Any, inputs: tuple[Tensor, ...]) -> None:
        self.feed = Feed.of(inputs)
        self.device = inputs[0].device
        self.ready: FastModel | None = None
        self.used: set[str] = set()
        self.sizes: set[int] = set()
        self.failed: dict[str, str] = {}
        self.asked: tuple[TargetIndex, Tensor, Tensor] | None = None
        self.why_not = ""
        try:
            self._prepare(model, inputs)
        except Exception as error:  # a model may refuse to be copied in any way
            if is_out_of_memory(error):
                raise
            self.why_not = f"the model cannot be copied ({_error_summary(error)})"

    def _prepare(self, model: Any, inputs: tuple[Tensor, ...]) -> None:
        device = inputs[0].device
        half = is_half_faster(device) and all(dtype == torch.float32 for dtype in self.feed.dtypes)
        self.ready = get_cached(model, half, device)  # asked first: of one that is kept nothing is to be said against
        if self.ready is None:
            self.why_not = reason_against(model, inputs)
            self.ready = None if self.why_not else get_or_prepare(model, half, device)
        self.failed |= self.ready.failed if self.ready else {}

    def value_and_gradient(self, problem: Problem, x: Tensor, samples: Tensor) -> ValueAndGradient:
        """Score (r) and gradient (r n) at points x, by the fastest way that works.

        Where memory runs out, what captured calls keep is given back first; only then is it for the batch to shrink.
        """
        try:
            return self._fastest_or_exact(problem, x, samples)
        except Exception as error:
            if self.ready is None or not self.ready.graphs or not is_out_of_memory(error):
                raise
        self.ready.forget_graphs()  # the handler is left first: its traceback holds memory
        self.failed[GRAPHS] = "memory ran out"
        return self._fastest_or_exact(problem, x, samples)

    @property
    def compiles(self) -> bool:
        """Whether walks are compiled: on a GPU with fast gradients their own work would else take its share of time."""
        return self.ready is not None and self.device.type == "cuda"

    def walk(self, scorer: Scorer, route: Route, path: Path, rule: StepRule, momentum: float) -> Iterator[Step]:
        """Yield the walk's Steps; compiled where the path has a form for it: one that counts steps would be compiled
        anew at each.
        """
        if not self.compiles or not hasattr(path, "compiled_form"):
            return walk(scorer, route, path, rule, momentum)
        from samp.fast.walk import compiled_walk  # needs torch's compiler, which is slow to import

        return compiled_walk(scorer, route, path.compiled_form(), rule, momentum)

    def compiler(self, path: Path) -> Compiler:
        """Return what compiles functions of the Steps of such a path."""
        if not self.compiles or not hasattr(path, "compiled_form"):
            return keep_function
        from samp.fast.compiled import compile_function

        return compile_function

    def compiling(self) -> AbstractContextManager[None]:
        """Return the context in which compiled walks are walked."""
        if not self.compiles:
            return nullcontext()
        from samp.fast.compiled import raise_recompile_limit

        return raise_recompile_limit()

    def _fastest_or_exact(self, problem: Problem, x: Tensor, samples: Tensor) -> ValueAndGradient:
        broken: dict[str, str] = {}
        found = self._try_ways(problem, x, samples, broken) or problem.exact_value_and_gradient(x, samples)
        if broken and self.ready is not None:  # only now: where the exact call fails as well, the question was wrong
            self.failed |= broken
            self.ready.failed |= broken
        return found

    def _try_ways(
        self, problem: Problem, x: Tensor, samples: Tensor, broken: dict[str, str]
    ) -> ValueAndGradient | None:
        for name, way in self._ways(problem, len(x)).items():
            try:
                found = way(problem, x, samples)
            except Exception as error:  # what a compiler, a capture or a copy may raise cannot be listed
                if is_out_of_memory(error):
                    raise
                broken[name] = _error_summary(error)
                continue
            if self._is_trusted(name, found[1], problem, x, samples):
                self.used.add(name)
                return found
            self.failed[name] = "its gradient was not that of the exact call"
        return None

    def _is_trusted(self, name: str, *found: Any) -> bool:
        """Whether a way's gradients are the exact ones, give or take bfloat16; looked at once for each model."""
        if self.ready is None or name in self.ready.trusted:
            return True
        trusted = gradients_agree(*found)
        self.ready.trusted |= {name} if trusted else set()
        return trusted

    def _ways(self, problem: Problem, rows: int) -> dict[str, GradientFunction]:
        """The ways to call, fastest first."""
        ready = self.ready
        if ready is None:
            return {}
        ways: dict[str, GradientFunction] = {}
        asked = problem.objective
        if (
            isinstance(asked, TargetIndex)
            and not problem.forward_args
            and (self.feed not in ready.outputs or is_in_range(asked, ready.outputs[self.feed]))
            and (size := ready.size_for(self.feed, rows))
        ):
            ways[GRAPHS] = partial(self._by_graph, size)
        for name, net in ((COMPILED, ready.compiled), (COPY, ready.plain)):
            if net is not None:
                ways[name] = partial(value_and_gradient_through, net, self.feed)
        return {name: way for name, way in ways.items() if name not in self.failed}

    def _by_graph(self, size: int, problem: Problem, x: Tensor, samples: Tensor) -> ValueAndGradient:
        """Through a graph of this size, captured the first time."""
        ready, asked = self.ready, problem.objective
        if ready is None or ready.capture is None or not isinstance(asked, TargetIndex):
            raise TypeError("only scores at an index are captured")
        index = self._index(asked, samples)
        if (self.feed, size) not in ready.graphs:
            net = self._compile_for_capture(ready, problem, x[:1].repeat(size, 1), samples[:1].repeat(size))
            ready.outputs[self.feed] = net.sizes
            work = partial(value_and_gradients_at, net)  # nothing of self: a graph outlives its problem
            ready.graphs[self.feed, size] = CapturedCall(work, self.feed, size, x, index, ready.capture)
        found = ready.graphs[self.feed, size](x, index)
        self.sizes.add(size)
        return found

    def _index(self, cached_index: TargetIndex, samples: Tensor) -> Tensor:
        """The places of these samples' scores; looked up once for all steps of a batch."""
        if self.asked is None or self.asked[0] is not cached_index or self.asked[1] is not samples:
            self.asked = cached_index, samples, cached_index.index[samples]
        return self.asked[2]

    def _compile_for_capture(self, ready: FastModel, problem: Problem, x: Tensor, samples: Tensor) -> ModelCopy:
        """The net to capture, called once: that compiles it, and checks the target. Uncompiled, where that fails."""
        try:
            value_and_gradient_through(ready.fastest, self.feed, problem, x, samples)
        except Exception as error:
            if ready.fastest is ready.plain or is_out_of_memory(error):
                raise
            value_and_gradient_through(
                ready.plain, self.feed, problem, x, samples
            )  # where this fails as well, the question was wrong
            self.failed[COMPILED] = ready.failed[COMPILED] = _error_summary(error)
        return ready.fastest

    @property
    def label(self) -> str:
        """What was used, and why the rest was not."""
        if self.ready is None:
            return f"exact: {self.why_not}"
        failed = "".join(f"; no {name}: {reason}" for name, reason in self.failed.items())
        if not self.used:
            return f"exact{failed}" if failed else "exact: this method asks for no plain gradients"
        compiled = self.ready.compiled is not None and COMPILED not in self.failed
        parts = ["bfloat16"] * self.ready.half + ["channels last"] + ["compiled"] * compiled
        graphs = [f"CUDA graphs of {', '.join(map(str, sorted(self.sizes)))} rows"] if self.sizes else []
        return f"fast: {', '.join(parts + graphs)}{failed}"


def value_and_gradient_through(
    net: ModelCopy, feed: Feed, problem: Problem, x: Tensor, samples: Tensor
) -> ValueAndGradient:
    """Score and gradient of any objective, with the net called through its copy."""
    args = problem.arguments(samples)

    def score(leaf: Tensor) -> Tensor:
        return problem.score(to_float32(observe(net, lambda: net(*feed.inputs(leaf), *args))), samples)

    value, (gradient,) = value_and_gradients(score, x)
    return value.to(x.dtype), gradient


def gradients_agree(gradient: Tensor, problem: Problem, x: Tensor, samples: Tensor) -> bool:
    """Whether the gradients of the first two rows point where the exact ones do; those decide nothing if not finite."""
    exact = problem.exact_value_and_gradient(x[:2], samples[:2])[1]
    cosine = torch.cosine_similarity(exact.flatten(), gradient[:2].flatten(), 0)
    return bool((cosine >= LEAST_COSINE) | (exact == 0).all() | ~exact.isfinite().all())


def _error_summary(error: BaseException) -> str:
    """The first line of an error, short enough for a label."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}{': ' if line else ''}{line[:120]}"
