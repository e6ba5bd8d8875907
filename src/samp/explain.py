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
from samp.engine.batches import BatchSize
from samp.engine.driver import RunOptions
from samp.engine.inputs import Inputs, preview_inputs
from samp.engine.problem import Accelerator, Problem, make_problem
from samp.engine.watch import WalkStep
from samp.errors import non_finite_error
from samp.fast import SPEEDS, Speed
from samp.groups import Groups
from samp.isolation import isolate
from samp.lookup import look_up
from samp.methods import Method, resolve_method
from samp.targets import Model, Target

TAPE_BYTES = 2**28  # what keep_points=True may hold: 256 MiB


def explain(
    model: Model,
    inputs: Inputs,
    *,
    target: Target = None,
    method: str | Method = "consensus",
    groups: Groups | None = None,
    forward_args: Any = (),
    batch_size: BatchSize = "auto",
    keep_points: bool | int = False,
    progress: bool = False,
    seed: int = 0,
    speed: Speed = "exact",
    on_step: Callable[[WalkStep], object] | None = None,
    record: bool | int | None = None,
) -> Attribution:
    """Return the credit of every input element for one score of each sample.

    - `inputs`: floats of any shape `b *d`, or a tuple of such; the features of a tuple move in one joint walk.
    - `target`: which score: an int, a tensor or list with one class per sample, a tuple index into a larger output,
      `samp.Margin(of, against)` of two classes (why this rather than that), another of `samp.targets` (segmentation,
      detection, embeddings, regression, tokens), or a callable `output -> b`; `None` is the predicted class. A callable
      gets some of the samples at a time: one that needs data
      of each sample takes `(output, samples)` and indexes by `samples`.
    - `method`: a name (`samp.methods.names()`) or an object such as `samp.Consensus("fine")`. The default, "consensus",
      is this library's own method, the mean of several walks; "samp++" is the paper's.
    - `groups`: the features: `samp.Pixels()` (default for `b c h w`), `samp.Elements()` (default for all else),
      `samp.Patches(k)`, `samp.Superpixels(n)`, or an integer mask (of a segmenter, of tokens or columns).
    - `forward_args`: further arguments of the model, one or a tuple. Mark one with an entry per sample as
      `samp.PerSample(tensor)`, which is split with the batch; any other is passed whole to every call. A bare tensor as
      long as the batch is ambiguous and refused: mark it as `samp.PerSample` or `samp.ForAll`.
    - `batch_size`: how many walks are in one call of the model. "auto" chooses a size that fits and halves it when
      memory runs out; the result does not depend on it.
    - `keep_points`: keep points of each walk (`result.tapes`), thinned to 256 MiB in all, or to as many bytes as given.
    - `seed`: of the default's noise, of random baselines, and of a model's own randomness. Torch's, NumPy's and
      Python's random states are restored, even if several threads explain at once; each gets the result that it would
      get alone.
    - `speed`: "fast" computes gradients with a copy of the net in channels last, and in bfloat16 where the device
      computes that itself; on a GPU also compiled (the first call takes a minute longer) and captured. The copy lives
      as long as the model. Single pixels of a map then differ, somewhat more than when an input changes by 1/1000, and
      are less steady under such changes; regions rank alike for SAMP++ and mostly for coupled. On single photos
      Deletion and Insertion agreed within 0.06 (SAMP++, three nets) and 0.09 (coupled, two nets) on a CPU; over 40
      photos on a GPU coupled's means differed by 0.003 and 0.015.
      `result.details["speed"]` names what was used, and why the rest was not. (Capturing a call resets torch's peak
      memory statistics.)
    - `on_step`: called after each step of the walks with a `samp.WalkStep`: points, scores and the credit so far. The
      result is the same to the bit. An exception that it raises stops the walk, leaves the model as it was, and is
      raised here: so a walk is cancelled. Methods that do not walk never call it; where the model turns out to draw
      random numbers, the walks begin again from step 0.
    - `record`: the former name of `keep_points`, deprecated.

    The model and its buffers are left unchanged, and no gradient of a parameter is computed. The default's credit sums
    to the change of the score; for other methods see `result.residual`: the paper's credit ranks well but rarely sums
    to it (`samp.credit` has some that do). Raises `samp.NonFiniteError`, for every method, if the model's score or the
    credit is NaN or Inf; the other samples are in its `.result`.

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
    if on_step is not None and not callable(on_step):
        raise TypeError(f"on_step is a function that is called with each step of the walks, not {on_step!r}.")
    run = RunOptions(batch_size, TAPE_BYTES if points is True else int(points), progress, seed, on_step)
    with torch.inference_mode(False):  # autograd cannot use tensors made in inference mode
        problem = make_problem(model, inputs, target, groups, forward_args)
        if speed != "exact":
            problem = replace(problem, fast=_accelerator(speed, problem))
        built_in = type(chosen).__module__.startswith("samp.")  # these draw from their own generators
        with isolate(problem.model, problem.x.device, run.seed, exclusive=not built_in) as isolation:
            result = isolation.run(lambda: chosen.attribute(problem.forget_failures(), run))  # may run again
        if not isinstance(result, Attribution):
            raise TypeError(f"the method {chosen!r} returned {type(result).__name__}, not an Attribution.")
        result = replace(result, preview=preview_inputs(model, inputs, problem.inputs))
        return _check_finite(result, problem.failures)


def _accelerator(speed: Speed, problem: Problem) -> Accelerator:
    look_up(speed, {known: known for known in SPEEDS}, "speed")
    from samp.fast.gradients import Fast  # imports torch's compiler, which is slow

    return Fast(problem.model, problem.inputs)


def _check_finite(result: Attribution, failures: Tensor) -> Attribution:
    """Return the result; raises NonFiniteError if the credit or any score of a sample was not finite.

    `failures` (b) counts each sample's scores that were NaN or Inf, which a rectified or clipped map may hide.
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
