"""`speed="fast"`: value and gradient through a copy of the net in bfloat16, compiled and captured where that works.

The ways to call the net are tried from the fastest to the slowest; one that fails is not tried again, and the result
states the reason. The last one is the exact call, so every model can be explained.
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
LEAST_COSINE = 0.3  # between the first fast gradients and the exact ones; bfloat16 alone gives 0.7 to 0.99


class Fast:
    """Fast gradients of one problem; afterwards `label` states what was used and what was not.

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
        self.last_index: tuple[TargetIndex, Tensor, Tensor] | None = None  # objective, samples, their indices
        self.why_not = ""
        try:
            self._prepare(model, inputs)
        except Exception as error:  # copying a model may raise anything
            if is_out_of_memory(error):
                raise
            self.why_not = f"the model cannot be copied ({_error_summary(error)})"

    def _prepare(self, model: Any, inputs: tuple[Tensor, ...]) -> None:
        device = inputs[0].device
        half = is_half_faster(device) and all(dtype == torch.float32 for dtype in self.feed.dtypes)
        self.ready = get_cached(model, half, device)  # first: a cached model has been checked
        if self.ready is None:
            self.why_not = reason_against(model, inputs)
            self.ready = None if self.why_not else get_or_prepare(model, half, device)
        self.failed |= self.ready.failed if self.ready else {}

    def value_and_gradient(self, problem: Problem, x: Tensor, samples: Tensor) -> ValueAndGradient:
        """Return score (r) and gradient (r n) at points x, by the fastest way that works.

        If memory runs out, captured calls are released and it is tried once more, before the caller shrinks the batch.
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
        """Whether walks are compiled: beside fast gradients on a GPU, their own work takes a good part of the time."""
        return self.ready is not None and self.device.type == "cuda"

    def walk(self, scorer: Scorer, route: Route, path: Path, rule: StepRule, momentum: float) -> Iterator[Step]:
        """Yield the walk's Steps; the walk is compiled if the path has a `compiled_form`.

        A path that counts its steps has none, since it would be compiled again at every step.
        """
        if not self.compiles_walks_of(path):
            return walk(scorer, route, path, rule, momentum)
        from samp.fast.walk import compiled_walk  # needs torch's compiler, which is slow to import

        return compiled_walk(scorer, route, path.compiled_form(), rule, momentum)  # type: ignore[attr-defined]  # it has one

    def compiles_walks_of(self, path: Path) -> bool:
        """Return whether walks along this path are compiled: it has a form for that."""
        return self.compiles and hasattr(path, "compiled_form")

    def compiler(self, path: Path) -> Compiler:
        """Return the compiler for functions of this path's Steps."""
        if not self.compiles_walks_of(path):
            return keep_function
        from samp.fast.compiled import compile_function

        return compile_function

    def compiling(self) -> AbstractContextManager[None]:
        """Return the context in which compiled walks run."""
        if not self.compiles:
            return nullcontext()
        from samp.fast.compiled import raise_recompile_limit

        return raise_recompile_limit()

    def _fastest_or_exact(self, problem: Problem, x: Tensor, samples: Tensor) -> ValueAndGradient:
        errors: dict[str, str] = {}
        result = self._try_candidates(problem, x, samples, errors) or problem.exact_value_and_gradient(x, samples)
        if errors and self.ready is not None:  # only now: if the exact call raises as well, the arguments are wrong
            self.failed |= errors
            self.ready.failed |= errors
        return result

    def _try_candidates(
        self, problem: Problem, x: Tensor, samples: Tensor, errors: dict[str, str]
    ) -> ValueAndGradient | None:
        """Return the first result that can be trusted, or None; add the reasons of those that raised to `errors`."""
        for name, candidate in self._candidates(problem, len(x)).items():
            try:
                result = candidate(problem, x, samples)
            except Exception as error:  # what a compiler, a capture or a copy may raise cannot be listed
                if is_out_of_memory(error):
                    raise
                errors[name] = _error_summary(error)
                continue
            if self._is_trusted(name, result[1], problem, x, samples):
                self.used.add(name)
                return result
            self.failed[name] = "its gradient was not that of the exact call"
        return None

    def _is_trusted(self, name: str, gradient: Tensor, problem: Problem, x: Tensor, samples: Tensor) -> bool:
        """Return whether these gradients are the exact ones up to bfloat16; checked once for each model."""
        if self.ready is None or name in self.ready.trusted:
            return True
        trusted = gradients_agree(gradient, problem, x, samples)
        self.ready.trusted |= {name} if trusted else set()
        return trusted

    def _candidates(self, problem: Problem, rows: int) -> dict[str, GradientFunction]:
        """Return the functions to try by name, fastest first, without those that have failed."""
        ready = self.ready
        if ready is None:
            return {}
        candidates: dict[str, GradientFunction] = {}
        objective = problem.objective
        if (
            isinstance(objective, TargetIndex)
            and not problem.forward_args
            and (self.feed not in ready.outputs or is_in_range(objective, ready.outputs[self.feed]))
            and (size := ready.size_for(self.feed, rows))
        ):
            candidates[GRAPHS] = partial(self._by_graph, size)
        for name, net in ((COMPILED, ready.compiled), (COPY, ready.plain)):
            if net is not None:
                candidates[name] = partial(value_and_gradient_through, net, self.feed)
        return {name: function for name, function in candidates.items() if name not in self.failed}

    def _by_graph(self, size: int, problem: Problem, x: Tensor, samples: Tensor) -> ValueAndGradient:
        """Return score and gradient through a graph of this size, which is captured on its first use."""
        ready, objective = self.ready, problem.objective
        if ready is None or ready.capture is None or not isinstance(objective, TargetIndex):
            raise TypeError("only scores at an index are captured")
        index = self._index(objective, samples)
        if (self.feed, size) not in ready.graphs:
            net = self._compile_for_capture(ready, problem, x[:1].repeat(size, 1), samples[:1].repeat(size))
            ready.outputs[self.feed] = net.sizes
            work = partial(value_and_gradients_at, net)  # without self: a graph outlives its problem
            ready.graphs[self.feed, size] = CapturedCall(work, self.feed, size, x, index, ready.capture)
        result = ready.graphs[self.feed, size](x, index)
        self.sizes.add(size)
        return result

    def _index(self, objective: TargetIndex, samples: Tensor) -> Tensor:
        """Return the indices of these samples' scores; looked up once for all steps of a batch."""
        if self.last_index is None or self.last_index[0] is not objective or self.last_index[1] is not samples:
            self.last_index = objective, samples, objective.index[samples]
        return self.last_index[2]

    def _compile_for_capture(self, ready: FastModel, problem: Problem, x: Tensor, samples: Tensor) -> ModelCopy:
        """Return the net to capture, after a call that compiles it and checks the target; the plain net if it fails."""
        try:
            value_and_gradient_through(ready.fastest, self.feed, problem, x, samples)
        except Exception as error:
            if ready.fastest is ready.plain or is_out_of_memory(error):
                raise
            # if this raises as well, the arguments are wrong
            value_and_gradient_through(ready.plain, self.feed, problem, x, samples)
            self.failed[COMPILED] = ready.failed[COMPILED] = _error_summary(error)
        return ready.fastest

    @property
    def label(self) -> str:
        """What was used, and the reasons for what was not."""
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
    """Return score and gradient of any objective, with the net called through its copy."""
    args = problem.arguments(samples)

    def score(leaf: Tensor) -> Tensor:
        return problem.score(to_float32(observe(net, lambda: net(*feed.inputs(leaf), *args))), samples)

    value, (gradient,) = value_and_gradients(score, x)
    return value.to(x.dtype), gradient


def gradients_agree(gradient: Tensor, problem: Problem, x: Tensor, samples: Tensor) -> bool:
    """Return whether the gradients of the first two rows point where the exact ones do.

    It is True as well if the exact ones are all 0 or not all finite, which decides nothing.
    """
    exact = problem.exact_value_and_gradient(x[:2], samples[:2])[1]
    cosine = torch.cosine_similarity(exact.flatten(), gradient[:2].flatten(), 0)
    return bool((cosine >= LEAST_COSINE) | (exact == 0).all() | ~exact.isfinite().all())


def _error_summary(error: BaseException) -> str:
    """Return the first line of an error, short enough for a label."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}{': ' if line else ''}{line[:120]}"
