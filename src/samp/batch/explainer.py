"""The net's side of the work: samples, batch by batch, to one row of numbers and one map each.

Whatever goes wrong with one sample costs that sample alone: a batch that fails is done again in halves, down to the
sample it fails for. So an out-of-memory halves the batch too.
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
from samp.batch.preprocess import Sample, stack_inputs
from samp.batch.shards import Answer, encode_maps
from samp.batch.sources import legible
from samp.batch.tables import Row
from samp.devices import is_out_of_memory
from samp.engine.driver import Batches, BatchSize
from samp.engine.record import sum_rows
from samp.isolation import isolate, observe
from samp.methods import Method
from samp.metrics.concentration import concentration
from samp.models import Classifier

PREDICTED = "predicted"
GONE = "its row of an earlier run is gone: run the same again."


class BrokenDeviceError(OSError):
    """Nothing more can be done on this device in this process."""


class BatchExplainer:
    """A classifier and a method that turn samples into rows and maps.

    `target` is a class by name or number, "predicted", or None: what the data set says, else the predicted one. `how`
    goes to `samp.explain`: its batch size, seed and speed.

    All that is calculated is calculated where the net is: beside a GPU, a CPU that works on whole maps would be slow.
    """

    def __init__(
        self, classifier: Classifier, method: Method, target: str | None, map_dtype: torch.dtype, **how: Any
    ) -> None:
        self.classifier, self.target, self.map_dtype = classifier, target, map_dtype
        self.batch_size: BatchSize = how["batch_size"]
        self.how = {"method": method, **how}
        self.classes: dict[tuple[str | None, int], int] = {}
        self.like = next((p for p in classifier.net.parameters() if p.is_floating_point()), torch.empty(0))

    def explain(self, samples: Sequence[Sample]) -> dict[str, Answer]:
        """A row and a map for each sample, by its id; one that failed has a row with its error, and no map."""
        read = [sample for sample in samples if sample.shown is not None]
        done = dict(zip([sample.id for sample in read], self._attempt(read), strict=True)) if read else {}
        return {s.id: done.get(s.id) or (failure_row(s, s.error or GONE), None) for s in samples}

    def _attempt(self, chunk: Sequence[Sample]) -> list[Answer]:
        """What becomes of these; where that fails, of each half, and in the end of each alone."""
        try:
            return self._answers(chunk)
        except Exception as error:
            if _is_device_broken(error):
                said = str(error).splitlines()[0]
                raise BrokenDeviceError(f"the device is lost ({said}): run the same again to go on.") from error
            said = " ".join(str(error).split()) or type(error).__name__
        # The handler is left first, since its traceback holds memory that the halves will need.
        if len(chunk) == 1:
            return [(failure_row(chunk[0], said), None)]
        half = len(chunk) // 2
        return [*self._attempt(chunk[:half]), *self._attempt(chunk[half:])]

    def _answers(self, chunk: Sequence[Sample]) -> list[Answer]:
        started = time.perf_counter()
        x = stack_inputs([s.shown for s in chunk if s.shown is not None], self.classifier, self.like)
        outputs = self._outputs(x)  # b k
        classifier = self.classifier.with_outputs(outputs.shape[1])
        predicted = outputs.flatten(1).argmax(1).tolist()
        targets = [self._target(classifier, *one, outputs.shape[1]) for one in zip(chunk, predicted, strict=True)]
        result, said = self._result(x, targets)
        whole = result.map.isfinite().flatten(1).all(1).tolist()
        numbers = _column_values(result, outputs[torch.arange(len(chunk)), targets])
        maps = encode_maps(result.map, self.map_dtype)
        seconds = (time.perf_counter() - started) / len(chunk)
        answers: list[Answer] = []
        for i, sample in enumerate(chunk):
            if not whole[i]:
                answers.append((failure_row(sample, said or "the map is not finite: try another dtype."), None))
                continue
            own = {"target": targets[i], "label": classifier.label(targets[i]), "predicted": predicted[i]}
            row = {"id": sample.id, **own, **{name: values[i] for name, values in numbers.items()}, "seconds": seconds}
            answers.append((row, maps[i]))
        return answers

    def _outputs(self, x: Tensor) -> Tensor:
        batches = Batches(self.batch_size, max(x[0].numel(), 1), x.device)
        net, seed = self.classifier.net, self.how.get("seed", 0)

        def work(first: int, last: int) -> Tensor:
            made: Tensor = observe(net, lambda: net(x[first:last].clone()))  # which it may write to
            return made

        with torch.no_grad(), isolate(net, x.device, seed):
            outputs = torch.cat(list(batches.map_slices(len(x), work)))
        if outputs.ndim < 2:
            raise ValueError(
                f"the net gives outputs of shape {tuple(outputs.shape)}: it must give one row for each input."
            )
        return _to_double(outputs)

    def _target(self, classifier: Classifier, sample: Sample, predicted: int, classes: int) -> int:
        asked = sample.target if self.target is None else self.target
        if asked in (None, PREDICTED):
            return predicted
        if (asked, classes) not in self.classes:  # a name is looked for among all
            self.classes[asked, classes] = classifier.index(str(asked), classes)
        return self.classes[asked, classes]

    def _result(self, x: Tensor, targets: list[int]) -> tuple[Attribution, str]:
        """The attribution, and what was said of samples that turned NaN on the way."""
        try:
            return samp.explain(self.classifier.net, x, target=targets, **self.how), ""
        except samp.NonFiniteError as error:
            return error.result, "score or gradient turned NaN or Inf: try float32 or float64, or another baseline."


def failure_row(sample: Sample, error: str) -> Row:
    """The row of a sample that could not be explained.

    >>> failure_row(Sample("a.jpg", None, None), "a.jpg is no photo.")
    {'id': 'a.jpg', 'error': 'a.jpg is no photo.'}
    """
    return {"id": sample.id, "error": legible(error) or "it could not be read."}  # it may name a file, or a class


def fail_odd_shapes(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """The answers, where a map of another shape than the first is a failure: one file holds one shape.

    >>> from samp.batch.shards import StoredMap
    >>> one, other = (StoredMap(torch.zeros(side), torch.tensor(1.0)) for side in (2, 3))
    >>> fail_odd_shapes({"a": ({"id": "a"}, one), "b": ({"id": "b"}, other)})["b"][1] is None
    True
    """
    first = next((found.map.shape for _, found in answers.values() if found is not None), None)
    return {id_: _check_shape(first, id_, answer) for id_, answer in answers.items()}


def _check_shape(first: torch.Size | None, id_: str, answer: Answer) -> Answer:
    found = answer[1]
    if found is None or found.map.shape == first:
        return answer
    said = f"its map has shape {tuple(found.map.shape)} but the first of its shard {tuple(first or ())}: "
    return failure_row(Sample(id_, None, None), said + "give inputs of one shape, or shard_size=1."), None


def _column_values(result: Attribution, scores: Tensor) -> dict[str, list[Any]]:
    """A column for each number that is known of every sample; maps are sorted where they lie, on a GPU in no time."""
    values = result.group_values.detach()
    credit = _to_double(sum_rows(values.cpu() if values.device.type == "mps" else values))
    change = {way: _to_double(values) for way, values in result.score_change.items()}
    summed = torch.stack(list(change.values())).sum(0) if change else torch.full_like(credit, math.nan)
    flat = result.map.detach().flatten(1).nan_to_num()
    columns = {f"baseline_score_{way}": scores - values for way, values in change.items()}
    columns |= {"score": scores, "score_change": summed, "credit": credit, "residual": result.residual}
    clear = concentration(flat)
    columns |= {"gini": clear.gini, "top_share": clear.top_share}
    forwards = int(result.details.get("forwards", 0))
    return {
        **{name: [_finite_or_none(value) for value in values.tolist()] for name, values in columns.items()},
        "gradients": result.gradients.tolist(),
        "forwards": [forwards] * len(flat),
    }


def _to_double(values: Tensor) -> Tensor:
    """On the CPU in float64; made so before it goes there, where the device has it (Apple's has not)."""
    values = values.detach()
    return values.cpu().double() if values.device.type == "mps" else values.double().cpu()


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _is_device_broken(error: Exception) -> bool:
    """Whether nothing more can be done on this device: after such an error of CUDA's, every call fails."""
    return "CUDA error" in str(error) and not is_out_of_memory(error)
