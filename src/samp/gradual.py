"""`samp.explain_gradually`: ever clearer results of one explanation, each the mean of more walks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_flag, is_whole
from samp.engine.batches import Batches, BatchSize
from samp.engine.driver import RunOptions, run_walks
from samp.engine.inputs import Inputs
from samp.engine.jitter import EndScores, WalkMean
from samp.engine.problem import Problem
from samp.engine.watch import WalkStep
from samp.explain import explain
from samp.fast import Speed
from samp.groups import Groups
from samp.methods import Method, resolve_method
from samp.methods._common import MethodInfo
from samp.methods.consensus import Consensus
from samp.progress import JointBar
from samp.targets import Model, Objective, Target


def explain_gradually(
    model: Model,
    inputs: Inputs,
    target: Target = None,
    method: str | Method | None = None,
    *,
    rounds: Sequence[int] = (1, 2, 4, 8, 16),
    groups: Groups | None = None,
    forward_args: Any = (),
    batch_size: BatchSize = "auto",
    keep_points: bool | int = False,
    progress: bool = False,
    seed: int = 0,
    speed: Speed = "exact",
    on_step: Callable[[WalkStep], object] | None = None,
) -> Iterator[Attribution]:
    """Yield the result after 1, 2, 4, … walks of each sample: a picture that gets clearer while one looks at it.

    Each result is complete, of all walks so far, and equals that of `samp.explain` with as many: its credit sums to the
    score changes, its `gradients` are all that were spent, its `resolution` is that of all walks (None after one).
    Only new walks are computed in each round, when the next result is asked for; whoever has seen enough stops.

    - `method`: a `samp.Consensus` with any settings but `walks`, or its name; None is "consensus".
    - `rounds`: how many walks each result is the mean of.
    - The other arguments are those of `samp.explain`. Without a target, the class is predicted once.

    Raises ValueError for another method, since only this one is a mean of walks, and all that `samp.explain` raises.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> for result in samp.explain_gradually(model, torch.rand(1, 1, 8, 8), rounds=(1, 2, 4)):
    ...     print(result.gradients.tolist(), bool((result.residual.abs() < 1e-5).all()))
    [28] True
    [56] True
    [112] True
    """
    chosen = _check_method("consensus" if method is None else method)
    numbers = _check_rounds(rounds)
    check_flag("progress", progress)
    options: dict[str, Any] = {"groups": groups, "forward_args": forward_args, "batch_size": batch_size}
    options |= {"seed": seed, "speed": speed, "on_step": on_step}

    def results() -> Iterator[Attribution]:
        running = RunningConsensus(chosen)
        samples = _copy(inputs)  # the caller may change them between two results
        with JointBar(numbers[-1], "walk", progress) as bar:
            for walks in numbers:
                running = replace(running, walks=walks)
                points = keep_points if running.mean is None else False  # those kept are the first walk's
                with bar.piece(f"{walks} walks" if walks > 1 else "1 walk", size=walks - running.walks_before):
                    result = explain(
                        model, samples, target=target, method=running, keep_points=points, progress=progress, **options
                    )
                running = running.following
                yield result

    return results()


def _copy(inputs: Any) -> Any:
    """Return a copy of tensors, of sequences of them, or of whatever else inputs may be."""
    if isinstance(inputs, Tensor):
        return inputs.detach().clone(memory_format=torch.preserve_format)
    return type(inputs)(map(_copy, inputs)) if type(inputs) in (list, tuple) else deepcopy(inputs)


@dataclass(eq=False)
class RunningConsensus:
    """`Consensus` as a method that takes up where earlier walks of the same samples ended.

    `attribute` leaves this object as it is, and the one for the next round in `following`.
    """

    about: ClassVar[MethodInfo] = Consensus.about

    method: Consensus
    walks: int = 1
    """How many walks the next result is the mean of."""
    mean: WalkMean | None = None
    objective: Objective | None = None
    ends: EndScores | None = None

    @property
    def walks_before(self) -> int:
        return 0 if self.mean is None else self.mean.walks

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean attribution of all walks so far, of which the new ones are taken now."""
        if self.objective is None:
            problem = problem.with_target(Batches(run.batch_size, problem.x.shape[1], problem.x.device))
        else:
            problem = replace(problem, objective=self.objective)
        whole = replace(self.method, walks=self.walks).make_plan(problem, run.seed)
        mean = WalkMean(problem, whole.directions_per_row) if self.mean is None else self.mean.copy()
        plan = replace(
            whole,
            walks=self.walks - self.walks_before,
            first_walk=whole.first_walk + self.walks_before,
            before=mean,
            ends=self.ends or whole.ends,
        )
        result = run_walks(problem, plan, run)
        self.following = RunningConsensus(self.method, self.walks, mean, problem.objective, plan.ends)
        return result


def _check_method(method: str | Method) -> Consensus:
    chosen = resolve_method(method)
    if not isinstance(chosen, Consensus):
        raise ValueError(
            f"explain_gradually() averages ever more walks of 'consensus', and {method!r} is no mean of walks: "
            "leave method out, pass a samp.Consensus(), or use samp.explain()."
        )
    if chosen.walks is not None:
        raise ValueError(
            f"rounds says how many walks there are: leave out walks={chosen.walks}, and end rounds with it."
        )
    return chosen


def _check_rounds(rounds: Sequence[int]) -> list[int]:
    """Return the rounds as a list; raises ValueError unless they are increasing whole numbers."""
    fine = not isinstance(rounds, str | int) and all(is_whole(walks) for walks in rounds)
    numbers = [int(walks) for walks in rounds] if fine else []
    if not numbers or numbers[0] < 1 or numbers != sorted(set(numbers)):
        raise ValueError(
            "rounds are increasing numbers of walks, one for each result, such as (1, 2, 4, 8, 16), "
            f"not {rounds!r}: every result includes the walks of those before."
        )
    return numbers
