"""`samp.explain`: from a model and its inputs to an `Attribution`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any
from warnings import warn

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_flag
from samp.engine.driver import BatchSize, RunOptions
from samp.engine.inputs import Inputs
from samp.engine.problem import Accelerator, Problem, make_problem
from samp.errors import non_finite_error
from samp.fast import SPEEDS, Speed
from samp.groups import Groups
from samp.isolation import isolate
from samp.lookup import look_up
from samp.methods import Method, resolve_method
from samp.targets import Target

TAPE_BYTES = 2**28  # what keep_points=True may hold: 256 MiB


def explain(
    model: Callable[..., Any],
    inputs: Inputs,
    *,
    target: Target = None,
    method: str | Method = "coupled",
    groups: Groups | None = None,
    forward_args: Any = (),
    batch_size: BatchSize = "auto",
    keep_points: bool | int = False,
    progress: bool = False,
    seed: int = 0,
    speed: Speed = "exact",
    record: bool | int | None = None,
) -> Attribution:
    """Why did the model say that? The credit of every input element for one score of each sample.

    - `inputs`: floats of any shape `b *d`, or a tuple of such; the features of a tuple move in one joint walk.
    - `target`: which score. `None` explains the predicted class; an int, a tensor or list with one class per sample,
      a tuple index into a larger output (segmentation, detection), or a callable `output -> b`. A callable sees some
      of the samples at a time: one that needs data of each sample takes `(output, samples)` and picks by them.
    - `method`: a name (`samp.methods.names()`) or an object such as `samp.Coupled("fine")`. The default, "coupled", is
      our own method; "samp++" is the paper's.
    - `groups`: what a feature is: `samp.Pixels()` (default for `b c h w`), `samp.Elements()` (default for all else),
      `samp.Patches(k)`, or an integer mask (superpixels, tokens, columns).
    - `forward_args`: further arguments of the model, one or a tuple. What has one entry per sample is marked
      `samp.PerSample(tensor)` and split with the batch; all else goes whole to every call. A bare tensor that is as
      long as the batch is refused: say `samp.PerSample` or `samp.ForAll`.
    - `batch_size`: how many walks the model is given at once. "auto" finds a size that fits and halves it when
      memory runs out; the result does not depend on it.
    - `keep_points`: keep points of each walk (`result.tapes`), thinned to 256 MiB in all, or to as many bytes as given.
    - `seed`: of random baselines, and of a model's own randomness. Torch's, NumPy's and Python's random states are left
      as they were, also where several threads explain at once; each gets what it would get alone.
    - `speed`: "fast" takes gradients through a copy of the net in bfloat16 and channels last; on a GPU also compiled
      (the first call takes a minute longer) and captured. The copy is kept until the model goes. Single pixels of a map
      then differ, somewhat more than when an input changes by 1/1000; regions rank alike for SAMP++ and mostly for
      coupled. On single photos Deletion and Insertion agreed within 0.06 (SAMP++, three nets) and 0.09 (coupled, two
      nets) on a CPU; over 40 photos on a GPU coupled's means differed by 0.003 and 0.015.
      `result.details["speed"]` says what was used, and why the rest was not. (Where a call is captured, torch's own
      peak of memory starts anew.)
    - `record`: the former name of `keep_points`, deprecated.

    The model is left as it was found, its buffers too, and no gradient of a parameter is computed. The default's credit
    sums to the change of the score; of other methods look at `result.residual`: the paper's credit ranks well but
    rarely sums to it (`samp.credit` has some that do). Raises `samp.NonFiniteError`, whatever the method, where the
    model's score or the credit turns NaN or Inf; the other samples are in its `.result`.

    >>> import samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> result = samp.explain(model, torch.rand(2, 3, 4, 4))
    >>> result.map.shape, result.residual.shape
    (torch.Size([2, 4, 4]), torch.Size([2]))
    """
    chosen = resolve_method(method)
    points = _rename_record(keep_points, record)
    if not isinstance(points, Integral) or points < 0:
        raise ValueError(f"keep_points is True, False or a number of bytes, not {points!r}.")
    if not isinstance(progress, bool):
        check_flag("progress", progress)
    run = RunOptions(batch_size, TAPE_BYTES if points is True else int(points), progress, seed)
    with torch.inference_mode(False):  # autograd cannot use what is made in there
        problem = make_problem(model, inputs, target, groups, forward_args)
        if speed != "exact":
            problem = replace(problem, fast=_accelerator(speed, problem))
        ours = type(chosen).__module__.startswith("samp.")  # ours draw from generators of their own
        with isolate(problem.model, problem.x.device, run.seed, exclusive=not ours) as isolation:
            result = isolation.run(lambda: chosen.attribute(problem.forget_failures(), run))  # it may begin anew
        if not isinstance(result, Attribution):
            raise TypeError(f"the method {chosen!r} returned {type(result).__name__}, not an Attribution.")
        return _check_finite(result, problem.failures)


def _accelerator(speed: Speed, problem: Problem) -> Accelerator:
    look_up(speed, {known: known for known in SPEEDS}, "speed")
    from samp.fast.gradients import Fast  # torch's compiler comes with it, and takes long to import

    return Fast(problem.model, problem.inputs)


def _check_finite(result: Attribution, failures: Tensor) -> Attribution:
    """The result; raises NonFiniteError where a sample's credit is not finite, or any of its scores was not.

    `failures` counts each sample's scores that were NaN or Inf (b): a rectified or clipped map may not show them.
    """
    failed = (failures > 0) | ~result.group_values.isfinite().all(1)
    if bool(failed.any()):
        raise non_finite_error(result, failed)
    return result


def _rename_record(keep_points: bool | int, record: bool | int | None) -> bool | int:
    """Return the value of `keep_points`, which was called `record` up to 0.1; raises TypeError if both are given."""
    if record is None:
        return keep_points
    if keep_points is not False:
        raise TypeError("explain() got both keep_points= and its former name record=: pass keep_points= alone.")
    warn("explain(record=) is called keep_points= now; the former name goes in 0.3.", DeprecationWarning, stacklevel=3)
    return record
