"""Explain samples batch by batch: one row of numbers and one map of each.

How a metric becomes one of these numbers: `samp.metrics`.

An error costs no other sample than the one that causes it: a batch that fails is done again in halves, down to single
samples. An out-of-memory halves the batch likewise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

import samp
from samp.attribution import Attribution
from samp.batch.messages import error_line, utf8_text
from samp.batch.preprocess import Sample, floating_parameter, stack_inputs
from samp.batch.stored_maps import RowAndMap, encode_maps
from samp.batch.tables import Row
from samp.devices import WITHOUT_FLOAT64, is_out_of_memory, widen
from samp.engine.batches import Batches, BatchSize
from samp.engine.record import sum_rows
from samp.isolation import isolate, observe
from samp.methods import Method
from samp.metrics.concentration import concentration
from samp.models import Classifier

PREDICTED = "predicted"
GONE = "its row of an earlier run is gone: run the same again."  # of a sample that was not read for that row


class BrokenDeviceError(OSError):
    """The device is lost: no call on it succeeds any more in this process."""


class BatchExplainer:
    """Turns samples into rows and maps, by a classifier and a method.

    `target` is a class by name or number, "predicted", or None: the class that the data set gives, else the predicted
    one. `options` are arguments of `samp.explain`: its batch size, seed and speed.

    Everything is computed on the device of the net: a CPU that works on whole maps would keep a GPU waiting.
    """

    def __init__(
        self, classifier: Classifier, method: Method, target: str | None, map_dtype: torch.dtype, **options: Any
    ) -> None:
        self.classifier, self.target, self.map_dtype = classifier, target, map_dtype
        self.batch_size: BatchSize = options["batch_size"]
        self.options = {"method": method, **options}
        self.classes: dict[tuple[str | None, int], int] = {}
        self.like = floating_parameter(classifier)

    def explain(self, samples: Sequence[Sample]) -> dict[str, RowAndMap]:
        """Return the row and map of each sample by its id; a sample that failed has a row with its error and no map.

        Raises BrokenDeviceError if the device is lost.
        """
        readable = [sample for sample in samples if sample.array is not None]
        done = dict(zip([sample.id for sample in readable], self._attempt(readable), strict=True)) if readable else {}
        return {s.id: done.get(s.id) or (failure_row(s, s.error or GONE), None) for s in samples}

    def _attempt(self, chunk: Sequence[Sample]) -> list[RowAndMap]:
        """Explain these samples together; if that fails, each half, and in the end each sample alone."""
        try:
            return self._explain_together(chunk)
        except Exception as error:
            if _is_device_broken(error):
                why = str(error).splitlines()[0]
                raise BrokenDeviceError(f"the device is lost ({why}): run the same again to go on.") from error
            why = error_line(error)
        # The handler is left first, since its traceback holds memory that the halves will need.
        if len(chunk) == 1:
            return [(failure_row(chunk[0], why), None)]
        half = len(chunk) // 2
        return [*self._attempt(chunk[:half]), *self._attempt(chunk[half:])]

    def _explain_together(self, chunk: Sequence[Sample]) -> list[RowAndMap]:
        started = time.perf_counter()
        x = stack_inputs([s.array for s in chunk if s.array is not None], self.classifier, self.like)
        outputs = self._outputs(x)  # b k
        classifier = self.classifier.with_outputs(outputs.shape[1])
        predicted = outputs.flatten(1).argmax(1).tolist()
        targets = [self._target(classifier, *one, outputs.shape[1]) for one in zip(chunk, predicted, strict=True)]
        result, warning = self._result(x, targets)
        finite = result.map.isfinite().flatten(1).all(1).tolist()
        numbers = _column_values(result, outputs[torch.arange(len(chunk)), targets])
        numbers["confidence"] = [_finite_or_none(value) for value in confidences(outputs).tolist()]
        maps = encode_maps(result.map, self.map_dtype)
        seconds = (time.perf_counter() - started) / len(chunk)
        answers: list[RowAndMap] = []
        for i, sample in enumerate(chunk):
            if not finite[i]:
                answers.append((failure_row(sample, warning or "the map is not finite: try another dtype."), None))
                continue
            own = {"target": targets[i], "label": classifier.label(targets[i]), "predicted": predicted[i]}
            row = {"id": sample.id, **own, **{name: values[i] for name, values in numbers.items()}, "seconds": seconds}
            answers.append((row, maps[i]))
        return answers

    def _outputs(self, x: Tensor) -> Tensor:
        batches = Batches(self.batch_size, max(x[0].numel(), 1), x.device)
        net, seed = self.classifier.net, self.options.get("seed", 0)

        def work(first: int, last: int) -> Tensor:
            outputs: Tensor = observe(net, lambda: net(x[first:last].clone()))  # the net may write to its input
            return outputs

        with torch.no_grad(), isolate(net, x.device, seed):
            outputs = torch.cat(list(batches.map_slices(len(x), work)))
        if outputs.ndim < 2:
            raise ValueError(
                f"the net gives outputs of shape {tuple(outputs.shape)}: it must give one row for each input."
            )
        return _to_double(outputs)

    def _target(self, classifier: Classifier, sample: Sample, predicted: int, classes: int) -> int:
        name = sample.target if self.target is None else self.target
        if name in (None, PREDICTED):
            return predicted
        if (name, classes) not in self.classes:  # the search goes through all names
            self.classes[name, classes] = classifier.index(str(name), classes)
        return self.classes[name, classes]

    def _result(self, x: Tensor, targets: list[int]) -> tuple[Attribution, str]:
        """Return the attribution, and the error of samples that turned NaN or Inf, or ""."""
        try:
            return samp.explain(self.classifier.net, x, target=targets, **self.options), ""
        except samp.NonFiniteError as error:
            return error.result, "score or gradient turned NaN or Inf: try float32 or float64, or another baseline."


def confidences(outputs: Tensor) -> Tensor:
    """Return the probability of each row's best output (b k), NaN for a net of a single output, which may be anything.

    Outputs that all lie from 0 to 1 are probabilities as they are, others are made some by a softmax: row by row, so
    that a number does not depend on its batch.

    >>> confidences(torch.tensor([[0.5, 0.5], [0.25, 0.75], [-100.0, 100.0]])).tolist()
    [0.5, 0.75, 1.0]
    """
    if outputs.ndim != 2 or outputs.shape[1] < 2:
        return torch.full((len(outputs),), math.nan)
    within = ((outputs >= 0) & (outputs <= 1)).all(1)
    return torch.where(within, outputs.amax(1), outputs.softmax(1).amax(1))


def failure_row(sample: Sample, error: str) -> Row:
    """Return the row of a sample that could not be explained.

    >>> failure_row(Sample("a.jpg", None, None), "a.jpg is no photo.")
    {'id': 'a.jpg', 'error': 'a.jpg is no photo.'}
    """
    return {"id": sample.id, "error": utf8_text(error) or "it could not be read."}  # it may name a file or a class


def fail_odd_shapes(answers: Mapping[str, RowAndMap]) -> dict[str, RowAndMap]:
    """Return these rows and maps with a failure for each map of another shape than the first: a file holds one shape.

    >>> from samp.batch.stored_maps import StoredMap
    >>> one, other = (StoredMap(torch.zeros(side), torch.tensor(1.0)) for side in (2, 3))
    >>> fail_odd_shapes({"a": ({"id": "a"}, one), "b": ({"id": "b"}, other)})["b"][1] is None
    True
    """
    first = next((stored.map.shape for _, stored in answers.values() if stored is not None), None)
    return {id_: _check_shape(first, id_, answer) for id_, answer in answers.items()}


def _check_shape(first: torch.Size | None, id_: str, answer: RowAndMap) -> RowAndMap:
    stored = answer[1]
    if stored is None or stored.map.shape == first:
        return answer
    shapes = f"its map has shape {tuple(stored.map.shape)} but the first of its shard {tuple(first or ())}"
    return failure_row(Sample(id_, None, None), f"{shapes}: give inputs of one shape, or `shard_size=1`."), None


def _column_values(result: Attribution, scores: Tensor) -> dict[str, list[Any]]:
    """Return the columns of numbers by their names, one value for each sample."""
    values = result.group_values.detach()
    credit = _to_double(sum_rows(values.cpu() if values.device.type in WITHOUT_FLOAT64 else values))
    change = {direction: _to_double(values) for direction, values in result.score_change.items()}
    summed = torch.stack(list(change.values())).sum(0) if change else torch.full_like(credit, math.nan)
    flat = result.map.detach().flatten(1).nan_to_num()
    columns = {f"baseline_score_{direction}": scores - values for direction, values in change.items()}
    columns |= {"score": scores, "score_change": summed, "credit": credit, "residual": result.residual}
    concentrated = concentration(flat)  # sorts each map, which is fast on a GPU
    columns |= {"gini": concentrated.gini, "top_share": concentrated.top_share}
    forwards = int(result.details.get("forwards", 0))
    return {
        **{name: [_finite_or_none(value) for value in values.tolist()] for name, values in columns.items()},
        "resolution": [None] * len(flat) if result.resolution is None else result.resolution.tolist(),
        "gradients": result.gradients.tolist(),
        "forwards": [forwards] * len(flat),
    }


def _to_double(values: Tensor) -> Tensor:
    """Return the values on the CPU in float64; converted on the device first, if it has float64 (MPS does not)."""
    values = values.detach()
    return widen(values).cpu().double()


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _is_device_broken(error: Exception) -> bool:
    """Whether this is a CUDA error after which every call on the device fails."""
    return "CUDA error" in str(error) and not is_out_of_memory(error)
